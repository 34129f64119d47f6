"""The features that parameters name: by number or by name, and the periods of those that go round."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .._foundation.errors import InputError
from .columns import column_of, is_categorical

__all__ = ["by_column", "check_period", "chosen_columns", "column_number", "column_numbers"]

T = TypeVar("T")


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


def column_numbers(features: object, names: Sequence[str], parameter: str) -> list[int]:
    """The numbers of some columns, each once, in the order in which they are given; one name or number is one column."""
    if isinstance(features, str) or not isinstance(features, Iterable):
        features = (features,)
    return list(dict.fromkeys(column_number(feature, names, parameter) for feature in features))


def by_column(given: Mapping[Any, T], names: Sequence[str], parameter: str) -> dict[int, T]:
    """What a dict gives for some columns, by number or name, by their numbers; a column that it names twice is refused."""
    found: dict[int, T] = {}
    keys: dict[int, object] = {}
    for feature, value in given.items():
        k = column_number(feature, names, parameter)
        if k in found:
            raise InputError(
                f"{parameter}= names the column {names[k]!r} twice, as {keys[k]!r} and as {feature!r}; once is required: "
                "leave one out"
            )
        found[k], keys[k] = value, feature
    return found


def check_period(feature: object, period: Any) -> float:
    """The valid period of a feature."""
    number = isinstance(period, (int, float, np.number)) and not isinstance(period, bool)
    if not number or not 0 < period < np.inf:
        raise InputError(f"periodic= gives {feature!r} the period {period!r}; a finite number > 0 is required")
    return float(period)
