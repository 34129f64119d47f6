"""Progress of what takes long: bars and announcements on standard error, for those who asked for them or sit at a terminal.

With ``verbose`` a bar is shown at once. Without, it is shown at a terminal only, once its work has taken ten seconds, so that
short work stays silent; and nothing is written where nobody looks: in pipes, notebooks and tests.
"""

import sys
from typing import Any

from tqdm import tqdm

__all__ = ["announce", "progress_bar"]

_PATIENCE = 10.0  # seconds


def _at_terminal() -> bool:
    """Whether standard error is read by a person."""
    return sys.stderr is not None and sys.stderr.isatty()


def progress_bar(total: int, description: str, *, verbose: bool, unit: str = "it") -> Any:
    """A bar of `tqdm` for work of ``total`` steps, to be used as a context; ``update()`` counts one.

    Parameters
    ----------
    total : int
    description : str
        What is done, in a word or two.
    verbose : bool
        Whether it is shown at once; else at a terminal after ten seconds, and then taken away at the end.
    unit : str
        What a step is called.
    """
    shown = verbose or _at_terminal()
    return tqdm(
        total=total, desc=description, unit=unit, disable=not shown, delay=0.0 if verbose else _PATIENCE, leave=verbose
    )  # fmt: skip


def announce(message: str, *, verbose: bool) -> None:
    """Say what is about to be done, where that is likely to take minutes: to those who asked for it or sit at a terminal."""
    if verbose or _at_terminal():
        tqdm.write(message, file=sys.stderr)
