"""Predictions of items by models that did not have them, and scales learned again from halves of the items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.types import Floats, Integers
from ...data.schema import Schema
from ..learning.kernel_machine import Calibration, KernelMachine, kernel_of, solve
from ..model.semimetric import Semimetric
from ..search.votes import HeldOutNeighbors, VoteRule
from .kernel_ridge_learner import KernelRidgeLearner, blas_threads, item_targets

_LEAST = 10  # items of a half
_OTHERS = "expect slightly less of others."


class LeftOutPredictions(NamedTuple):
    """Predictions of items by models that did not have them."""

    rows: Integers  # (n,): numbers of the items among those of the fit; -1 where they are not known
    predicted: Floats  # (n, n_classes) probabilities, or (n, 1) values
    targets: NDArray[Any]  # (n,): numbers of classes, or values
    weight: Floats  # (n,): how many items each row is
    how: str  # a sentence that says what was left out of what


def left_out_by_machine(
    d: Semimetric,
    machine: KernelMachine,
    items: Floats,
    known: NDArray[Any],
    counts: Floats,
    factors: Floats | None,
    *,
    n_items: int,
    random_state: int,
    n_jobs: int | None,
) -> LeftOutPredictions:
    """Predict each item by the machine of all others, exactly, from one factorization (`kernel_machine`).

    Parameters
    ----------
    d : Semimetric
    machine : KernelMachine
        Its width, its strength and its calibration are kept.
    items : ndarray of shape (n_items, n_features)
        Those of the fit, encoded.
    known : ndarray of shape (n_items,)
        Numbers of classes (int64), or values (float64).
    counts : ndarray of shape (n_items,)
        How many items each row is; rows of 0 are left out.
    factors : ndarray of shape (n_classes,) or None
        How much an item of each class counts.
    n_items : int
        Of more distinct items, a sample of so many is predicted by machines of one another.
    random_state : int
    n_jobs : int or None
    """
    rows, targets = item_targets(items, known, counts, factors, len(machine.offset))
    n = len(rows)
    if n > n_items:
        some = np.sort(np.random.default_rng(random_state).choice(n, n_items, replace=False))
        rows, targets = rows[some], targets.take(some)
    with blas_threads(n_jobs):
        between = d.distances_to(items[rows], n_jobs=n_jobs)(items[rows])
        left_out = solve(kernel_of(between, machine.width), targets, machine.width, machine.strength).left_out
    weight = targets.weight
    how = f"Each of the {n:,} different items is predicted by the machine of all the others."
    if n > n_items:
        how = (
            f"Each of {n_items:,} items, a random sample of {n:,}, is predicted by a machine of the other {n_items - 1:,}. The "
            "model itself has more items."
        )
    how += f" The distance, the width, the strength and the calibration were chosen with all items: {_OTHERS}"
    if targets.classes is None:
        return LeftOutPredictions(rows[targets.item], left_out, targets.outputs[:, 0], weight, how)
    assert machine.slope is not None
    assert machine.shifts is not None
    found = Calibration(machine.slope, machine.shifts).probabilities(left_out)
    weight = weight if factors is None else weight / factors[targets.classes]
    return LeftOutPredictions(rows[targets.item], found, targets.classes, weight, how)


def left_out_by_votes(rule: VoteRule, parts: Sequence[HeldOutNeighbors]) -> LeftOutPredictions:
    """Predict items that were held out of the fit of a distance, by votes of the others; rows are not known.

    Parameters
    ----------
    rule : VoteRule
    parts : sequence of HeldOutNeighbors
        All of classes, or all of values.
    """
    found = [_voted(rule, part)[part.weight > 0] for part in parts]
    targets, weight = (np.concatenate([getattr(p, name)[p.weight > 0] for p in parts]) for name in ("targets", "weight"))
    how = (
        f"Each of {len(targets):,} items was held out of a fit of the distance, and is predicted by votes of the others. The "
        f"settings were chosen by these items: {_OTHERS}"
    )
    return LeftOutPredictions(np.full(len(targets), -1), np.concatenate(found), targets, weight, how)


def _voted(rule: VoteRule, part: HeldOutNeighbors) -> Floats:
    near = part.distances, part.neighbor_targets
    if part.class_shares is None:
        return rule.values(*near, part.neighbor_weight)[:, None]
    return rule.probabilities(*near, part.class_shares, part.neighbor_weight)


def refitted_weights(
    learner: KernelRidgeLearner, schema: Schema, items: Floats, known: NDArray[Any], *, n_refits: int, n_items: int, seed: int
) -> Floats | None:
    """Return ``weights_`` over their sum, learned anew from random halves of the items, shape (n_refits, n_features).

    Two halves are the parts of one division. The standard deviation among them is the standard error of the weights that all
    items give (the delete-half jackknife, Shao & Wu 1989). Halves of more than ``n_items`` items are cut to so many, which
    makes it larger. None stands for too few items.

    Parameters
    ----------
    learner : KernelRidgeLearner
        Its target, knots and effort are kept.
    schema : Schema
    items : ndarray of shape (n_items, n_features)
        Encoded.
    known : ndarray of shape (n_items,)
        Numbers of classes (int64), or values (float64).
    n_refits, n_items : int
    seed : int
    """
    n, rng = len(items), np.random.default_rng(seed)
    if n < 2 * _LEAST:
        return None
    found: list[Floats] = []
    for _ in range((n_refits + 1) // 2):
        order = rng.permutation(n)
        for half in (order[: n // 2], order[n // 2 :]):
            some = np.sort(half[:n_items])
            if np.ptp(known[some]) > 0 and len(found) < n_refits:
                weights = learner.weights_of(schema, items[some], known[some], np.ones(len(some)), rng)
                found.append(weights / weights.sum())
    return np.array(found) if len(found) > 1 else None
