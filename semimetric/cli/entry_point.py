"""The entry point of the command line: parse the arguments, run one command, print its result.

Exit codes are 0 for success, 1 if the data or the model cannot be used (with one sentence on standard error), 2 for wrong
usage and 130 for Ctrl-C.
"""

import os
import sys
from collections.abc import Sequence

from threadpoolctl import threadpool_limits

from .._foundation.errors import SemimetricError
from .output import CommandResult, first_line, print_message, print_result, warnings_as_messages
from .parser import make_parser

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str or None
        Arguments; those of the process by default.
    """
    arguments = make_parser().parse_args(argv)
    if hasattr(arguments, "check"):
        arguments.check(arguments)
    try:
        with warnings_as_messages(), threadpool_limits(1, user_api="blas"):  # threads are for --n-jobs
            result: CommandResult = arguments.command(arguments)
        print_result(result, as_json=arguments.json)
    except BrokenPipeError:  # the program that reads the output, such as head, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (SemimetricError, OSError, ValueError, MemoryError) as error:
        print_message(_sentence(error))
        return 1
    except KeyboardInterrupt:
        print_message("interrupted")
        return 130
    return 0


def _sentence(error: BaseException) -> str:
    """The first line of an error's message; of an error of the system, the file and what is wrong with it."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return first_line(error)
