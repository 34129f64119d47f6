"""The knots of an embedding as a file holds them: those of all features in one array, and how many each feature has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers

__all__ = ["STORED_KNOTS", "knots_of_stored", "stored_knots"]

STORED_KNOTS: dict[str, Any] = {"flat_knots": Floats, "knot_counts": Integers}
"""The annotation of each of the arrays of `stored_knots`."""


def stored_knots(knots: Sequence[Floats]) -> dict[str, Any]:
    """The knots of all features, one feature after another, and their numbers, shape (n_features,)."""
    return {"flat_knots": np.concatenate([np.empty(0), *knots]), "knot_counts": np.array([len(k) for k in knots], np.int64)}


def knots_of_stored(fitted: dict[str, Any], n_features: int) -> list[Floats]:
    """The knots of every feature, of which `stored_knots` gave the arrays; that they increase is left to the caller.

    Raises
    ------
    InputError
        If there are not so many features, or the numbers of knots do not add up to those that are there.
    """
    flat, counts = fitted["flat_knots"], fitted["knot_counts"]
    if counts.shape != (n_features,) or flat.ndim != 1 or not ((counts >= 0) & (counts <= len(flat))).all():
        raise InputError(f"there are knots of {counts.shape} features; numbers >= 0 of {n_features} features are required")
    if counts.sum() != len(flat):
        raise InputError(f"there are {len(flat)} knots, but their numbers add up to {counts.sum()}")
    return [np.array(part) for part in np.split(flat, np.cumsum(counts)[:-1])]
