"""A parser of arguments whose errors are one line, with a hint."""

import argparse
from difflib import get_close_matches
from typing import Any, NoReturn

STANDARD_INPUT = "<stdin>"
"""What a table from standard input, which is given as ``-``, is called in the arguments and in messages."""


class OneLineParser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong, and where the usage is told, instead of telling all of it."""

    def error(self, message: str) -> NoReturn:
        """End the program with the exit code 2 and one line: the command, what is wrong with it, and where more is told."""
        self.exit(2, f"{self.prog}: {' '.join(message.splitlines())}; see {self.prog} --help\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What arguments mean; none may be left over, so that a command, not the program, tells which are its own."""
        namespace, left = super().parse_known_args(args, namespace)
        if [*vars(namespace).values()].count(STANDARD_INPUT) > 1:
            self.error("two tables are -, but only one can come from standard input; give a file for the other")
        if left:
            similar = get_close_matches(left[0], self._option_string_actions, n=1)
            hint = f" (did you mean {similar[0]}?)" if similar else ""
            self.error(f"unrecognized arguments: {' '.join(left)}{hint}")
        return namespace, left
