"""Numbers that are so large that their squares overflow, and spreads that do not."""

from typing import Any

import numpy as np

from .errors import InputError
from .types import Floats

__all__ = ["check_squares", "spread"]

_LARGEST = 1e150  # its square is still a number
_POWER = 2.0**600  # by which larger numbers are divided without an error


def spread(values: Floats) -> Any:
    """The standard deviation along the first axis, also of numbers whose squares overflow."""
    if np.abs(values).max(initial=0.0) <= _LARGEST:
        return values.std(axis=0)
    return (values / _POWER).std(axis=0) * _POWER


def check_squares(values: Floats, name: str) -> None:
    """Refuse numbers that cannot be squared; ``name`` is what messages call them."""
    largest = np.abs(values).max(initial=0.0)
    if largest > _LARGEST:
        raise InputError(f"{name} reaches {largest:g}; at most {_LARGEST:g} can be squared: rescale it")
