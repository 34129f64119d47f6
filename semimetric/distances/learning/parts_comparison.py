"""The comparison of a distance of scales, which its user can read, with components and trees.

Items are divided once. From one part each candidate learns: kernel ridge regression on the scales, and neighborhood components,
a forest, or half of each, with votes of the nearest items. The other part scores them by the error rate plus the log loss.
Votes are chosen on the same items, which favors them a little; the scales were learned from all items, which favors these.
"""

import numpy as np

from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ...data.schema import Feature, Schema
from ...data.splits import ItemClasses, leaves_enough
from ..features.from_labels import labelled_directions
from ..features.linear_directions import with_directions
from ..model.semimetric import Semimetric
from ..pairs.monotone_scales import l1_pairwise
from ..search.votes import MOST_NEIGHBORS, HeldOutNeighbors, choose_votes, nearest_columns
from .gradient_scales import GapCoordinates
from .kernel_machine import Calibration, Targets, kernel_of, solve
from .options import SearchCost
from .search import Candidate, Choices
from .sum_of_distances import MEASURE, first_unless_far_better

_MOST_LEARNED, _MOST_HELD = 1_000, 4_000  # items
_HELD = 0.25  # of few items
_N_PARTS = 10  # of the items held out, by which the standard error is known
_LEAST_HELD = 20  # items
_NEIGHBOR = 15  # distances are in units of the mean distance to this neighbor
_LEAST = 1e-6  # probability of the true class in a log loss


def compare_with_parts(
    d: Semimetric,
    width: float,
    strength: float,
    schema: Schema,
    items: Floats,
    targets: Targets,
    *,
    random_state: int,
    n_jobs: int | None,
) -> Choices:
    """Compare a distance of scales with components and trees; there are no candidates where too few items can be held out.

    ``width`` and ``strength`` are those of the machine under the distance d of scales. ``items`` (n_items, n_features) are
    distinct and encoded, and ``targets`` are their classes.
    """
    assert targets.classes is not None
    classes = np.zeros(len(items), dtype=np.int64)
    classes[targets.item] = targets.classes  # the last one of items with several
    part, held = _divided(items, classes, random_state)
    if len(held) < _LEAST_HELD or not leaves_enough(classes[part]):
        return Choices()
    weight = targets.of_items()[1]
    losses = {"scales": _of_machine(d, width, strength, items, targets, part, held, n_jobs)}
    between = _distances_of_parts(schema, items, classes, weight, part, held, random_state, n_jobs)
    if len(between) == 2:
        between["1/2 components + 1/2 forest"] = np.add(*map(_in_unit, between.values()))
    n_classes = targets.outputs.shape[1]
    for name, distances in between.items():
        losses[name] = _of_votes(distances, classes, weight, part, held, n_classes)
    settings = {"tables": "warped", "alpha": strength}
    candidates = [Candidate(settings | {"directions": name}, tuple(found)) for name, found in losses.items()]
    cost = SearchCost("items", len(part) + len(held), len(items), len(losses), len(losses))
    return Choices(candidates, MEASURE, first_unless_far_better, cost=cost)


def _divided(items: Floats, classes: Integers, random_state: int) -> tuple[Integers, Integers]:
    """Return the rows to learn from and those to score, both sorted."""
    rng = np.random.default_rng(random_state)
    part, held = ItemClasses(items, classes).split(_HELD, random_state)
    if len(part) > _MOST_LEARNED:
        part, rest = np.split(rng.permutation(part), [_MOST_LEARNED])
        held = np.concatenate([held, rest])
    if len(held) > _MOST_HELD:
        held = rng.choice(held, _MOST_HELD, replace=False)
    return np.sort(part), np.sort(held)


def _parts(n: int) -> list[Integers]:
    return np.array_split(np.random.default_rng(0).permutation(n), _N_PARTS)


def _of_machine(
    d: Semimetric,
    width: float,
    strength: float,
    items: Floats,
    targets: Targets,
    part: Integers,
    held: Integers,
    n_jobs: int | None,
) -> list[float]:
    """Return the losses of the machine that learns from the part, one for each part of the items held out."""
    to_part, of_part, of_held = d.distances_to(items[part], n_jobs=n_jobs), targets.take(part), targets.take(held)
    assert of_part.classes is not None
    assert of_held.classes is not None
    fit = solve(kernel_of(to_part(items[part]), width), of_part, width, strength)
    outputs = kernel_of(to_part(items[held]), width) @ fit.coefficients + of_part.mean
    found = Calibration.fit(fit.left_out, of_part.classes, of_part.weight).probabilities(outputs)[of_held.item]
    own = found[np.arange(len(found)), of_held.classes]
    each = (found.argmax(axis=1) != of_held.classes) - np.log(np.maximum(own, _LEAST))
    in_part = [np.isin(of_held.item, rows) for rows in _parts(len(held))]
    return [float(np.average(each[rows], weights=of_held.weight[rows])) for rows in in_part]


def _distances_of_parts(
    schema: Schema,
    items: Floats,
    classes: Integers,
    weight: Floats,
    part: Integers,
    held: Integers,
    random_state: int,
    n_jobs: int | None,
) -> dict[str, Floats]:
    """Return the distances (n_held, n_part) by components and by a forest, which learn from the part."""
    _, labels = np.unique(classes[part], return_inverse=True)
    kinds = ("nca-embedded", "forest")

    def learned(block: slice) -> Floats | None:
        directions = labelled_directions(
            kinds[block.start], items[part], labels.astype(np.int64), weight=weight[part], usable=schema.usable,
            random_state=random_state,
        )  # fmt: skip
        if directions is None:
            return None
        left, right = (with_directions(directions, items[rows])[:, items.shape[1] :] for rows in (held, part))
        if kinds[block.start] == "forest":
            return sum((left[:, [t]] != right[:, t]).astype(np.float64) for t in range(left.shape[1])) / left.shape[1]
        left, right = np.split(_without_gaps(np.vstack([left, right])), [len(held)])
        return l1_pairwise(np.ascontiguousarray(left), np.ascontiguousarray(right))

    found = map_blocks(learned, len(kinds), size=1, n_jobs=n_jobs)
    return {name: d for name, d in zip(("components", "forest"), found, strict=True) if d is not None}


def _without_gaps(components: Floats) -> Floats:
    """Return coordinates under whose L1 distance a component that is missing has the gaps of `GapCoordinates`."""
    if not np.isnan(components).any():
        return components
    known = components[:, ~np.isnan(components).all(axis=0)]
    schema = Schema(tuple(Feature(f"component{k}", missing=True) for k in range(known.shape[1])))
    return GapCoordinates.of(schema, known).values if known.shape[1] else np.zeros((len(known), 1))


def _in_unit(distances: Floats) -> Floats:
    """Return distances in units of the mean distance to a near item."""
    k = min(_NEIGHBOR, distances.shape[1]) - 1
    return distances / (np.partition(distances, k, axis=1)[:, k].mean() or distances.mean() or 1.0)


def _of_votes(
    distances: Floats, classes: Integers, weight: Floats, part: Integers, held: Integers, n_classes: int
) -> list[float]:
    """Return the losses of the best votes, one for each part of the items held out."""
    near, columns = nearest_columns(distances, MOST_NEIGHBORS)
    rows = part[columns]
    of_classes = np.bincount(classes[part], weights=weight[part], minlength=n_classes)
    alike = bool((weight == 1).all())
    parts = [
        HeldOutNeighbors(
            near[some], classes[rows[some]], classes[held[some]], weight[held[some]], of_classes / of_classes.sum(),
            None if alike else weight[rows[some]],
        )
        for some in _parts(len(held))
    ]  # fmt: skip
    _, losses = choose_votes(parts, weights="kernel")
    return (losses.error + losses.log_loss).tolist()
