"""Groups of features that are modelled jointly, by name, by number or by column."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from .._checks import check_choice
from .._errors import InputError

__all__ = ["resolve_groups"]


def resolve_groups(
    groups: str | Iterable[Sequence[int | str]], n_features: int, names: Sequence[str] = ()
) -> tuple[tuple[int, ...], ...]:
    """``"singles"``, ``"pairs"`` or given tuples of features, by number or by one of ``names``, checked.

    Raises
    ------
    InputError
        If a group is empty, is none, repeats a feature or another group, or names a feature that is not there.
    """
    if isinstance(groups, str):
        check_choice("groups", groups, ("singles", "pairs"))
        size = 1 if groups == "singles" or n_features == 1 else 2
        return tuple(combinations(range(n_features), size))
    resolved = tuple(_group(group, names) for group in groups)
    if not resolved:
        raise InputError("groups is empty; name at least one group of features")
    for group in resolved:
        if not group or len(set(group)) < len(group):
            raise InputError(f"group {group} must name at least one feature, and each once")
        if min(group) < 0 or max(group) >= n_features:
            raise InputError(f"group {group} names a feature outside 0 to {n_features - 1}; correct groups=")
    if len({frozenset(g) for g in resolved}) < len(resolved):
        raise InputError("groups repeats a set of features; give each group once")
    return resolved


def _group(group: object, names: Sequence[str]) -> tuple[int, ...]:
    """Numbers of the features of a group."""
    if isinstance(group, str) or not isinstance(group, Iterable):
        raise InputError(
            f"groups= holds {group!r}, which is no group; groups are tuples of features, by number or by column name of a "
            f"frame: write ({group!r},) for a group of one, or a tuple of several"
        )
    return tuple(_feature(f, names) for f in group)


def _feature(feature: object, names: Sequence[str]) -> int:
    if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool):
        return int(feature)
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    known = ", ".join(map(str, names[:8])) + (", ..." if len(names) > 8 else "")
    raise InputError(
        f"groups= names the feature {feature!r}; a number is required{f', or one of the columns {known}' if known else ''}: "
        "correct it"
    )
