"""The entry point of the command line: parse the arguments, run one command, print its result.

Exit codes are 0 for success, 1 if the data or the model cannot be used, 2 for wrong usage and 130 for Ctrl-C. Errors are one
sentence on standard error.
"""

import errno
import signal
import socket
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from os import _exit

from .._foundation.errors import SemimetricError
from .._foundation.unfinished import standstill, undo_all
from .output import CommandResult, first_line, flush_output, print_message, print_result, warnings_as_messages
from .parser import make_parser
from .table_names import check_arguments, check_named_ids

_INTERRUPTED = "interrupted"
_PATIENCE = 1.0  # seconds between Ctrl-C and the end, in which Python may end by itself


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments, or those of the process, and return its exit code."""
    arguments = Namespace()
    try:
        arguments = _parsed(argv)
        with end_soon_on_ctrl_c(partial(print_message, _INTERRUPTED), 130):
            result = _run(arguments)
            print_result(result, as_json=arguments.json)
    except BrokenPipeError:  # the program that reads the output, such as head, has ended
        return 1
    except (SemimetricError, OSError, ValueError, MemoryError) as error:
        print_message(_sentence(error, getattr(arguments, "output", None)))
        return 1
    except KeyboardInterrupt:
        print_message(_INTERRUPTED)
        return 130
    return 0


def _parsed(argv: Sequence[str] | None) -> Namespace:
    try:
        arguments = make_parser().parse_args(argv)
        if hasattr(arguments, "check"):
            arguments.check(arguments)
    except SystemExit:
        flush_output()  # the help
        raise
    return arguments


def _run(arguments: Namespace) -> CommandResult:
    """Run the command of the arguments; missing files are refused before anything large is imported."""
    check_arguments(arguments)
    check_named_ids(arguments)
    if getattr(arguments, "where", None) is not None:
        from ..data.conditions import read_condition  # which imports NumPy, and help should not

        read_condition(arguments.where)
    module, function = arguments.command.split(".")
    command = getattr(import_module(f".{module}", __package__), function)
    from .._foundation.threads import one_blas_thread  # which imports joblib, and help should not

    with warnings_as_messages(), one_blas_thread():  # threads are for --n-jobs
        result: CommandResult = command(arguments)
    return result


def _sentence(error: BaseException, output: str | None) -> str:
    """Return the first line of an error's message; of an error of the system, its file or ``output``, and what is wrong."""
    if isinstance(error, MemoryError):
        detail = f" ({first_line(error)})" if str(error) else ""
        return f"memory ran out{detail}; take fewer rows, or work part by part in Python, by semimetric.out_of_core"
    if isinstance(error, OSError) and error.strerror:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            place = error.filename or output or "a temporary file"
            return f"{place} cannot be written ({error.strerror}); make room, or give another place"
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return first_line(error)


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
