"""Ctrl-C ends a command soon, also where compiled code runs, which does not look for signals."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import _exit

from .._foundation.unfinished import standstill, undo_all

_PATIENCE = 1.0  # seconds between Ctrl-C and the end, in which Python may end by itself


@contextmanager
def end_soon_on_ctrl_c(say: Callable[[], None], code: int) -> Iterator[None]:
    """End the process with this exit code if Ctrl-C has not ended the block a second later; ``say`` is called before.

    Python raises KeyboardInterrupt between two instructions, so compiled code and large writes go on. A thread hears of the
    signal through a socket, waits for short work that must be whole, and deletes what was begun.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    ended = threading.Event()

    def watch() -> None:
        while number := receiver.recv(1):
            if number[0] == signal.SIGINT and not ended.wait(_PATIENCE):
                with standstill():
                    if not ended.is_set():
                        undo_all()
                        say()
                        _exit(code)

    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        sender.close()
        watcher.join()
        receiver.close()
