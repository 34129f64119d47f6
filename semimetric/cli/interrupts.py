"""Ctrl-C ends a command soon, also where compiled code runs, which does not look for signals."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["end_soon_on_ctrl_c"]

_PATIENCE = 1.0  # seconds between Ctrl-C and the end, in which Python may end by itself


@contextmanager
def end_soon_on_ctrl_c(say: Callable[[], None], code: int) -> Iterator[None]:
    """End the process with this exit code if Ctrl-C has not ended the block a second later; ``say`` is called before.

    Python raises KeyboardInterrupt between two of its own instructions, so a loop of compiled code goes on as long as it takes.
    No file is being written then, since Python writes them. The signal itself is noticed at once, by a thread that is told of
    it through a socket.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    told, tells = socket.socketpair()
    tells.setblocking(False)
    ended = threading.Event()

    def watch() -> None:
        while number := told.recv(1):
            if number[0] == signal.SIGINT and not ended.wait(_PATIENCE):
                say()
                os._exit(code)

    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        tells.close()
        watcher.join()
        told.close()
