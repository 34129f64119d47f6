"""Calls of an expensive distance on items that were set aside, to judge its approximation by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._foundation.types import Floats, Integers, Pairs
from ..data.pair_sampling import sample_pairs
from ..distances.callables import DistanceFunction
from ..distances.object_calls import ObjectDistance
from ..distances.semimetric import Semimetric
from ..learning.regression.unseen_pairs import (
    FEWEST_OTHERS,
    UnseenPairs,
    divided,
    landmarks_among,
    neighbour_recall,
    novelty_of,
    whole_rows,
)
from .distance_errors import DistanceErrors, quantiles_of, relative_errors
from .measured_errors import NOTHING_ASIDE, SET_ASIDE

__all__ = ["judge_by_calls", "judged_items"]

_LEVELS = (0.5, 0.9, 0.99)  # of the quantiles of errors


def judge_by_calls(
    model: Any, items: Floats, learn: Integers, held: Integers, function: DistanceFunction | ObjectDistance, number: Integers
) -> None:
    """Judge an approximator by calls on pairs of the items that were set aside, and record its errors and its calls.

    Parameters
    ----------
    model : DistanceApproximator
        Fitted.
    items : ndarray of shape (n_items, n_features)
    learn, held : ndarray of int64
        The rows of the items that were learned from, and of those set aside.
    function : DistanceFunction or ObjectDistance
    number : ndarray of shape (n_items,), int64
        That of each item among the distinct ones. Of objects these are not told by features, which different ones may share.
    """
    n_learned = len(model.distances_) if isinstance(model.n_pairs, str) else model.n_pairs
    n_pairs = max(2, round(model.validation_fraction * n_learned))
    options = {"n_jobs": model.n_jobs, "verbose": model.verbose, "nonnegative": model.axioms is not None}
    unseen, n_calls = judged_items(
        model.semimetric_, items, learn, held, number, function, n_pairs, model.random_state, options
    )
    model.n_calls_ = len(model.distances_) + n_calls
    relative = np.empty(0) if unseen is None else relative_errors(unseen.true, unseen.predicted)
    model.n_error_pairs_, model.error_quantiles_ = len(relative), quantiles_of(relative, _LEVELS)
    if unseen is None:
        model.error_ = DistanceErrors(note=NOTHING_ASIDE)
    else:
        model._judge(unseen, items[learn], SET_ASIDE)


def judged_items(
    d: Semimetric, items: Floats, learn: Integers, held: Integers, number: Integers,
    function: DistanceFunction | ObjectDistance, n_pairs: int, random_state: int | None, options: dict[str, Any],
) -> tuple[UnseenPairs | None, int]:  # fmt: skip
    """Random pairs of the items set aside, judged, and how many calls that took; None and 0 of no items.

    Where the pairs are not all that there are, and the items enough, a few items are compared with all others besides, in as
    many calls again at most: recall of neighbours is told of these.

    Parameters
    ----------
    d : Semimetric
        The approximation.
    items : ndarray of shape (n_items, n_features)
    learn, held : ndarray of int64
        The rows of the items that were learned from, and of those set aside.
    number : ndarray of shape (n_items,), int64
        That of each item among the distinct ones.
    function : DistanceFunction or ObjectDistance
    n_pairs : int
        The most pairs to judge by.
    random_state : int or None
    options : dict
        Of `DistanceFunction.evaluate`.
    """
    if not len(held):
        return None, 0
    held = held[np.unique(number[held], return_index=True)[1]]  # each item once
    index = held[sample_pairs(items[held], n_pairs, near=0.0, random_state=random_state)]
    true = function.evaluate(Pairs(items, index), **options)
    predicted = d.paired_by_index(items, index, n_jobs=options["n_jobs"])
    novelty = novelty_of(d, items, index, landmarks_among(items[learn], random_state), n_jobs=options["n_jobs"])
    teaches, calibrates = divided(number[index], np.arange(int(number.max()) + 1), random_state)
    unseen = UnseenPairs(true, predicted, novelty, number[index], teaches, calibrates)
    n_others = len(held) - 1
    if n_others < FEWEST_OTHERS or len(index) == len(held) * n_others // 2:
        return replace(unseen, recalls=whole_rows(number[index], true, predicted)), len(index)
    queries = np.random.default_rng(random_state).permutation(held)[: n_pairs // n_others]
    if not len(queries):
        return unseen, len(index)
    rows = np.array([(q, other) for q in queries for other in held if other != q])
    found = function.evaluate(Pairs(items, rows), **options).reshape(-1, n_others)
    learned = d.paired_by_index(items, rows, n_jobs=options["n_jobs"]).reshape(-1, n_others)
    recalls = tuple(neighbour_recall(*row) for row in zip(found, learned, strict=True))
    return replace(unseen, recalls=recalls), len(index) + len(rows)
