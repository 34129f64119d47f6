"""The features that parameters name: by number or by name, and the periods of those that go round."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .columns import column_of, is_categorical

__all__ = ["check_period", "chosen_columns", "column_number"]


def chosen_columns(X: Any, given: Any, names: Sequence[str]) -> set[int]:
    """The numbers of the categorical columns of X, given as the parameter ``categorical_features``."""
    if given is None:
        return set()
    if isinstance(given, str):
        if not hasattr(X, "columns"):
            return set()
        return {k for k in range(len(names)) if is_categorical(column_of(X, k))}
    return {column_number(f, names, "categorical_features") for f in given}


def column_number(feature: object, names: Sequence[str], parameter: str) -> int:
    """The number of a column that is given by number or by name."""
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return int(feature)
    known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise InputError(
        f"{parameter}= names the feature {feature!r}; a name ({known}) or a number below {len(names)} is required: correct it"
    )


def check_period(feature: object, period: Any) -> float:
    """The valid period of a feature."""
    number = isinstance(period, (int, float, np.number)) and not isinstance(period, bool)
    if not number or not 0 < period < np.inf:
        raise InputError(f"periodic= gives {feature!r} the period {period!r}; a finite number > 0 is required")
    return float(period)
