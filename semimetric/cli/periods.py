"""The option ``--periodic``: columns that are circles, such as hours and angles, and their periods."""

import argparse
import math
from collections.abc import Sequence

from .._foundation.errors import InputError

Period = tuple[str, float | str]
_OF_TIMES = ("day", "week", "year")  # as in `data.times`, which a parser does not import, because it takes NumPy with it


def period(text: str) -> Period:
    """The type of an option that names a column and its period, such as ``hour=24``, or ``when=day`` of times."""
    column, _, given = text.rpartition("=")
    if column and given in _OF_TIMES:
        return column, given
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not column or not 0 < value < math.inf:
        words = ", ".join(_OF_TIMES)
        raise argparse.ArgumentTypeError(f"{text!r} must be COLUMN=PERIOD, such as hour=24; of times the period is {words}")
    return column, value


def periods_of(given: Sequence[Period], columns: Sequence[str], path: str) -> dict[int | str, float | str] | None:
    """The parameter ``periodic`` of a learner; None if no column is periodic.

    Raises
    ------
    InputError
        If a column is named twice, or is no feature.
    """
    for column, _ in given:
        if column not in columns:
            raise InputError(f"--periodic names {column!r}, which is no column of features of {path}; correct it")
        if sum(name == column for name, _ in given) > 1:
            raise InputError(f"--periodic gives {column!r} twice; one period a column is required: leave one out")
    found: dict[int | str, float | str] = dict(given)
    return found or None
