"""Groups of features that are modelled jointly: how users give them, and the numbers of their features."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from .._foundation.errors import InputError
from .._foundation.stored import storable
from .._foundation.validation import check_alpha, check_choice, check_count

_MOST_GROUPS = 100_000  # more joint tables than this are never learned, and listing them would fill the memory


@storable
@dataclass(frozen=True)
class AutoGroups:
    """The budget of ``Tables(groups="auto")``, which finds pairs of features that deserve a joint table beside single ones.

    Parameters
    ----------
    max_groups : int or None, default None
        The most pairs that are chosen; None is the number of features, but at most 10.
    max_columns : int, default 3000
        The most weights of all joint tables together. A pair with c knots each has (c⁴ - c²) / 2 weights, or twice that
        without symmetry.
    max_candidates : int, default 1000
        The most pairs that are scored. If there are more, only the features with the largest shares of the distance are
        paired; the others stay single.

    Raises
    ------
    InputError
        If a number is no integer >= 1.

    Examples
    --------
    >>> AutoGroups(max_groups=2)
    AutoGroups(max_groups=2, max_columns=3000, max_candidates=1000)
    """

    max_groups: int | None = None
    max_columns: int = 3_000
    max_candidates: int = 1_000

    def __post_init__(self) -> None:
        for name in ("max_groups", "max_columns", "max_candidates"):
            if getattr(self, name) is not None or name != "max_groups":
                check_count(name, getattr(self, name))


@storable
@dataclass(frozen=True)
class JointGroups:
    """Every single feature and, beside these, groups with joint tables: this is what ``Tables(groups="auto")`` chooses.

    Parameters
    ----------
    groups : tuple of tuples of int or str
        The features of each group, by number or by name. A group of one feature is its own table, to which
        ``penalty_factor`` then applies too.
    n_knots : int or None, default None
        The number of knots of a feature in such a group; None is as many as it has by itself.
    penalty_factor : float, default 1.0
        The factor of every penalty on the joint tables. The penalties called "auto" shrink joint tables towards sums over
        single features.

    Raises
    ------
    InputError
        If n_knots is less than 2, or penalty_factor is no number > 0.

    Examples
    --------
    >>> resolve_groups(JointGroups(((1, 2),)), 3)
    ((0,), (1,), (2,), (1, 2))
    """

    groups: tuple[tuple[int | str, ...], ...]
    n_knots: int | None = None
    penalty_factor: float = 1.0

    def __post_init__(self) -> None:
        if self.n_knots is not None:
            check_count("n_knots", self.n_knots, minimum=2)
        check_alpha("penalty_factor", self.penalty_factor, strict=True)

    def penalty_factors(self, names: Sequence[str] = ()) -> dict[tuple[int, ...], float]:
        """Return the factor of the penalties on each of the groups, by the numbers of their features."""
        return {_group(group, names, "groups"): self.penalty_factor for group in self.groups}


Groups: TypeAlias = str | int | AutoGroups | JointGroups | Sequence[Sequence[int | str]]


def automatic(groups: object) -> AutoGroups | None:
    """Return the budget for finding groups, if ``groups`` asks to find them; else None."""
    if isinstance(groups, str) and groups == "auto":
        return AutoGroups()
    return groups if isinstance(groups, AutoGroups) else None


def common_size(groups: object, n_features: int) -> int | None:
    """Return the size that all groups share if ``groups`` asks for every group of it, at most n_features; else None."""
    if isinstance(groups, str) and groups in ("singles", "pairs"):
        groups = 1 if groups == "singles" else 2
    if isinstance(groups, bool) or not isinstance(groups, (int, np.integer)):
        return None
    check_count("groups", groups)
    size = min(int(groups), n_features)
    if math.comb(n_features, size) > _MOST_GROUPS:
        raise InputError(
            f"groups={groups!r} makes {math.comb(n_features, size):,} groups of {n_features} features; at most "
            f"{_MOST_GROUPS:,} are supported: name those that matter as tuples"
        )
    return size


def only_singles(groups: object) -> bool:
    """Return True if ``groups`` asks for a group of every single feature and for nothing else: "singles" or 1."""
    return isinstance(groups, (str, int)) and groups in ("singles", 1)


def resolve_groups(
    groups: Groups | Iterable[Sequence[int | str]], n_features: int, names: Sequence[str] = (), *, parameter: str = "groups"
) -> tuple[tuple[int, ...], ...]:
    """Return valid groups of features, by number: all ``"singles"`` or ``"pairs"``, all of a size, or the given tuples."""
    if automatic(groups) is not None:
        raise InputError(
            f"groups={groups!r} finds pairs of features on held-out comparisons or measured distances, of which there are none "
            'here; give "singles", "pairs" or tuples of features'
        )
    if isinstance(groups, str):
        check_choice("groups", groups, ("singles", "pairs"))
    size = common_size(groups, n_features)
    if size is not None:
        return tuple(combinations(range(n_features), size))
    if isinstance(groups, JointGroups):
        groups = (*((f,) for f in range(n_features)), *(group for group in groups.groups if len(group) > 1))
    if isinstance(groups, AutoGroups) or not isinstance(groups, Iterable):
        raise InputError(
            f"groups={groups!r} is no list of groups; tuples of features are required, or 'singles' or 'pairs', or "
            "the number of features of each"
        )
    resolved = tuple(_group(group, names, parameter) for group in groups)
    if not resolved:
        raise InputError(f"{parameter} is empty; name at least one group of features")
    for group in resolved:
        if not group or len(set(group)) < len(group):
            raise InputError(f"group {group} must name at least one feature, and each once")
        if min(group) < 0 or max(group) >= n_features:
            raise InputError(f"group {group} names a feature outside 0 to {n_features - 1}; correct {parameter}=")
    if len({frozenset(g) for g in resolved}) < len(resolved):
        raise InputError(f"{parameter} repeats a set of features; give each group once")
    return resolved


def _group(group: object, names: Sequence[str], parameter: str) -> tuple[int, ...]:
    if isinstance(group, str) or not isinstance(group, Iterable):
        raise InputError(
            f"{parameter}= holds {group!r}, which is no group; groups are tuples of features, by number or by column name of a "
            f"frame: write ({group!r},) for a group of one, or a tuple of several"
        )
    return tuple(_feature(f, names, parameter) for f in group)


def _feature(feature: object, names: Sequence[str], parameter: str) -> int:
    if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool):
        return int(feature)
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    known = ", ".join(map(str, names[:8])) + (", ..." if len(names) > 8 else "")
    column = f", or one of the columns {known}" if known else ""
    raise InputError(f"{parameter}= names the feature {feature!r}; a number is required{column}: correct it")
