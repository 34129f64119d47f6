"""The knots of the features of vectors: from a sample, from labels, or as given; for each feature, or one set for all."""

from collections.abc import Sequence

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.multiclass import type_of_target

from ..._foundation.errors import InputError
from ..._foundation.types import Floats, Integers, Knots
from ..._foundation.validation import check_choice
from ...data.knots import STRATEGIES, knot_counts, knots_of_values
from .reservoir import Reservoir

__all__ = ["check_placement", "place_vectors"]

_MOST_KNOTS = 65_000  # of a feature; vertices are numbered by uint16 elsewhere


def check_placement(knots: Knots, n_features: int, shared: bool) -> None:
    """Refuse knots that are neither the name of a strategy nor one array for each feature."""
    if isinstance(knots, str):
        check_choice("knots", knots, (*STRATEGIES, "tree"))
    elif len(knots) != n_features:
        raise InputError(f"knots has {len(knots)} arrays for {n_features} features; one a feature is required")
    elif shared and any(not np.array_equal(np.asarray(k), np.asarray(knots[0])) for k in knots):
        raise InputError("knots differ between features, but shared_knots=True; give the same to all, or shared_knots=False")


def place_vectors(
    knots: Knots,
    n_knots: int | Sequence[int],
    sample: Reservoir,
    y: np.ndarray | None,
    *,
    names: Sequence[str],
    shared: bool,
) -> list[Floats]:
    """The knots of every feature: at most ``n_knots``, from the minimum to the maximum of its values.

    A feature of which a sparse sample stores no value has no knots.

    Parameters
    ----------
    knots : {"kmeans", "quantile", "uniform", "tree"} or sequence of array-like
        The strategy, or the knots of every feature. The strategy "tree" takes the thresholds of a decision tree of n_knots - 1
        leaves, grown on each feature alone.
    n_knots : int or sequence of int
    sample : Reservoir
        The rows from which knots are placed.
    y : ndarray of shape (rows of the sample,) or None
        The labels or numbers for which trees are grown.
    names : sequence of str
        The names of the features.
    shared : bool
        Whether the values of all features together make one set of knots.

    Raises
    ------
    InputError
        If n_knots is no number >= 2, or a feature has only missing values.
    """
    if not isinstance(knots, str):
        return [np.asarray(k, np.float64).ravel() for k in knots]
    counts = knot_counts(n_knots, len(names), _MOST_KNOTS)
    columns = list(sample.columns())
    for name, (values, _) in zip(names, columns, strict=True):
        if not len(values) and isinstance(sample.rows, np.ndarray):
            raise InputError(f"feature {name!r} has nothing but missing values in the rows of the fit; drop it")
    if shared:
        if len(set(counts.tolist())) > 1:
            raise InputError(f"n_knots={n_knots!r} differ between features, but shared_knots=True; give one number")
        values, rows = (np.concatenate(parts) for parts in zip(*columns, strict=True))
        columns = [(values, rows)]
    placed = [_place(*column, y, int(c), knots) for column, c in zip(columns, counts, strict=False)]
    return placed * (len(names) if shared else 1)


def _place(values: Floats, rows: Integers, y: np.ndarray | None, n_knots: int, knots: str) -> Floats:
    """The knots of one feature, whose values come from the given rows of the sample."""
    if not len(values):
        return np.empty(0)
    if y is not None and knots == "tree":
        return _tree_knots(values, rows, y, n_knots)
    return knots_of_values(values, n_knots, knots)


def _tree_knots(values: Floats, rows: Integers, y: np.ndarray, n_knots: int) -> Floats:
    """The minimum, the maximum, and the thresholds of a decision tree; values of row -1 have no label."""
    ends = np.array([values.min(), values.max()])
    if n_knots == 2 or ends[0] == ends[1]:
        return np.unique(ends)
    labelled = rows >= 0
    make = DecisionTreeRegressor if type_of_target(y).startswith("continuous") else DecisionTreeClassifier
    tree = make(max_leaf_nodes=n_knots - 1, random_state=0).fit(values[labelled, None], y[rows[labelled]]).tree_
    inner = tree.threshold[tree.feature >= 0]
    return np.unique(np.clip(np.append(inner, ends), *ends))
