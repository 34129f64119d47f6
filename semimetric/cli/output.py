"""Output of the command line: results on standard output, and messages, warnings and errors on standard error.

Nothing else in the command line prints.
"""

import errno
import json
import math
import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO

from .._foundation.errors import SemimetricWarning

ABOUT_COLUMNS = ("constant features", "fewer knots")
"""Causes of warnings about the columns of a table, which a second fit of the same table would repeat."""


@dataclass(frozen=True)
class CommandResult:
    """Result of a command."""

    values: dict[str, Any]  # for programs: what ``--json`` prints. Arrays become lists
    text: str  # for people: what is printed without ``--json``


def print_result(result: CommandResult, *, as_json: bool) -> None:
    """Print the result of a command on standard output, as text or as one line of JSON."""
    flush_output(f"{json.dumps(_json_values(result.values), allow_nan=False) if as_json else result.text}\n")


def flush_output(text: str = "") -> None:
    """Write ``text`` and the buffer on standard output; if that fails, drop them, since Python would try again."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed, so there is nowhere to print the result")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        error.filename = "standard output"
        raise


def print_message(message: str) -> None:
    """Print a warning or an error on standard error, behind the name of the program; nowhere, if nobody reads it."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"semimetric: {' '.join(message.splitlines())}\n")
            sys.stderr.flush()


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Print warnings as messages of one line, and the same one only once."""
    printed: set[str] = set()

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int,
        file: TextIO | None = None, line: str | None = None,
    ) -> None:  # fmt: skip
        text = " ".join(str(message).split())
        if text not in printed:
            print_message(text)
        printed.add(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", SemimetricWarning)  # also where -W or PYTHONWARNINGS makes errors of warnings
        warnings.showwarning = show
        yield


def _json_values(value: Any) -> Any:
    """Return ``value`` made of lists, dicts with text as keys, and JSON's scalars; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(key): _json_values(part) for key, part in value.items()}
    if hasattr(value, "tolist"):  # an array or a scalar of NumPy, which help and wrong usage do without
        return _json_values(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_json_values(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its class if it has no message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def shows_progress(arguments: Namespace) -> bool:
    """Return True if ``--verbose`` asks for progress, or standard error is a terminal."""
    return getattr(arguments, "verbose", False) or (sys.stderr is not None and sys.stderr.isatty())
