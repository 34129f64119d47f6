"""Real numbers as float64: the one way in for a single number, and its text in messages."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .errors import InputError, InputTypeError

_LONGEST = 60  # characters of a value in a message


def real_number(value: Any) -> float | None:
    """Return a number as float64, infinite if it is larger than any; None for what is none, such as text, True or a Decimal."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return None
    try:
        with np.errstate(over="ignore"):
            return float(value)
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1)


def shown(value: object) -> str:
    """Return a value as a message shows it, in at most 60 characters; integers of thousands of digits have no text."""
    try:
        text = repr(value)
    except ValueError:
        return "an integer of more than 4,300 digits"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]} ..."


def check_number(cell: Any, row: str, column: str) -> None:
    """Refuse a cell that is no number, or one that float64 does not hold; its row and column are named as messages do."""
    given = f"{row} has {shown(cell)}{column}, which is no number"
    remedy = "numbers are required: correct it, or encode it in numbers"
    if isinstance(cell, (str, bytes)):
        raise InputError(f"{given} but text; {remedy}")
    try:
        float(np.nan if cell is None else cell)
    except TypeError as error:
        by_name = "; of an item by name give the values in the order of the columns" if isinstance(cell, Mapping) else ""
        raise InputTypeError(f"{given} ({error}); {remedy}{by_name}") from error
    except ValueError as error:
        raise InputError(f"{given} ({error}); {remedy}") from error
    except OverflowError as error:
        raise InputError(f"{given} that float64 can hold ({error}); {remedy}") from error
