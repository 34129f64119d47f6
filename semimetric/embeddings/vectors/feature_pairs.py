"""The pairs of features that have terms: all, those of a list, neighbours on a chain or a grid, or the best of a ranking."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Integers
from ..._foundation.validation import check_choice, check_count
from ...data.feature_groups import resolve_groups

__all__ = ["GridShape", "check_pairs", "check_sorted_pairs", "listed_pairs", "neighbours"]

_CHOICES = ("all", "chain", "grid", "best")


GridShape = Sequence[int | Sequence[int]]  # of the axes, or of planes of axes


def check_pairs(
    pairs: object, n_features: int, n_pairs: int | None, reach: int, shape: GridShape | None, periodic: Sequence[int]
) -> None:
    """Refuse parameters of `PL2Embedding` that contradict one another or do not fit the number of features."""
    kind = pairs if isinstance(pairs, str) else None
    if kind is not None:
        check_choice("pairs", kind, _CHOICES)
    check_count("reach", reach)
    if (kind == "grid") != (shape is not None):
        raise InputError(f"pairs={pairs!r} and shape={shape!r}: shape belongs to pairs='grid', and is required there")
    axes = [] if shape is None else [side for plane in planes_of(shape) for side in plane]
    if shape is not None and math.prod(check_count("shape", side) for side in axes) != n_features:
        raise InputError(f"shape={shape!r} has {math.prod(axes)} places for {n_features} features; one each is required")
    if any(isinstance(axis, bool) or axis not in range(len(axes)) for axis in periodic):
        raise InputError(
            f"periodic={periodic!r} for {len(axes)} axes; numbers from 0 of axes of shape are required, with pairs='grid' alone"
        )
    if (kind == "best") != (n_pairs is not None):
        raise InputError(f"pairs={pairs!r} and n_pairs={n_pairs!r}: n_pairs belongs to pairs='best', and is required there")
    most = math.comb(n_features, 2)
    if n_pairs is not None and check_count("n_pairs", n_pairs) > most:
        raise InputError(
            f"n_pairs={n_pairs}, but there are {most} pairs of {n_features} feature(s); give at most that, or pairs='all'"
        )


def planes_of(shape: GridShape) -> list[tuple[int, ...]]:
    """The lengths of the axes, those along which a neighbour may be apart at once together.

    A shape of numbers alone is one such tuple; in one that holds sequences, every member is one.
    """
    if not any(isinstance(side, Sequence | np.ndarray) for side in shape):
        return [tuple(shape)]  # type: ignore[arg-type]  # which are numbers, or refused as none
    return [tuple(side) if isinstance(side, Sequence | np.ndarray) else (side,) for side in shape]


def check_sorted_pairs(pairs: Integers | None, n_features: int, *, none: bool) -> Integers | None:
    """The pairs of a saved embedding, or None where all pairs have terms, which ``none`` says, and none are listed.

    Raises
    ------
    InputError
        If pairs are listed or not where they should be, or they are not different, ascending pairs of features, sorted.
    """
    if none != (pairs is None):
        raise InputError("pairs are listed although pairs='all', or missing where pairs are to be some; restore the file")
    if pairs is None:
        return None
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"pairs have shape {pairs.shape}; (n_pairs, 2) is required")
    first, second = pairs.T
    after = (np.diff(first) > 0) | ((np.diff(first) == 0) & (np.diff(second) > 0))
    if not ((first >= 0) & (first < second) & (second < n_features)).all() or not after.all():
        raise InputError(f"pairs are not different pairs of {n_features} features in ascending order; restore the file")
    return np.array(pairs, np.int64)


def listed_pairs(pairs: Iterable[Sequence[int | str]], n_features: int, names: Sequence[str]) -> Integers:
    """The pairs that are given by numbers or names, shape (n_pairs, 2); each pair is ascending, and they are sorted.

    Raises
    ------
    InputError
        If a pair is not of two different features that exist, or is given twice.
    """
    groups = resolve_groups(pairs, n_features, names, parameter="pairs")
    wrong = [group for group in groups if len(group) != 2]
    if wrong:
        raise InputError(
            f"pairs holds {wrong[0]}, of {len(wrong[0])} features; two each are required: see IDEmbedding for more"
        )
    return np.array(sorted(tuple(sorted(group)) for group in groups), np.int64)


def neighbours(shape: GridShape, reach: int, periodic: Sequence[int] = ()) -> Integers:
    """The sorted pairs of features that are neighbours on a grid, shape (n_pairs, 2).

    Neighbours are at most ``reach`` steps apart along every axis of one plane of the ``shape``, and in the same place along all
    others; see `planes_of`. The last axis runs fastest, and ``periodic`` ones are circles.
    """
    planes = planes_of(shape)
    sides = np.array([side for plane in planes for side in plane])
    circles = np.isin(np.arange(len(sides)), periodic)[:, None]
    places = np.stack(np.unravel_index(np.arange(sides.prod()), tuple(sides)))
    found, start = [], 0
    for plane in planes:
        for step in np.ndindex(*(2 * reach + 1 for _ in plane)):
            moved = places.copy()
            moved[start : start + len(plane)] += (np.array(step) - reach)[:, None]
            moved = np.where(circles, moved % sides[:, None], moved)
            first = np.flatnonzero(((moved >= 0) & (moved < sides[:, None])).all(axis=0))
            second = np.ravel_multi_index(tuple(moved[:, first]), tuple(sides))
            found.append(np.stack([first, second], axis=1)[first < second])
        start += len(plane)
    return np.unique(np.concatenate(found), axis=0)
