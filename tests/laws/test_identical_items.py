"""An item given twice is one item: points and row numbers, any order and any parts teach the same distance."""

import numpy as np
import pytest
from learners import made

from semimetric import DistanceRegressor, PairLearner, QuadrupletLearner, TripletLearner, out_of_core
from semimetric.data.parts import readers

RNG = np.random.default_rng(0)
ITEMS = np.round(RNG.random((60, 2)) ** 2, 2)
TWICE = np.vstack([ITEMS, ITEMS[::3]])  # rows that repeat an item
QUERIES = RNG.random((2, 30, 2))
LEARNERS = {"pairs": PairLearner, "triplets": TripletLearner, "quadruplets": QuadrupletLearner, "distances": DistanceRegressor}
FIXED = {"n_knots": 5, "alpha": 1e-2, "directions": "pca"}


def said(kind):
    """Row numbers of tuples among the items that repeat, and their targets."""
    size = {"triplets": 3, "quadruplets": 4}.get(kind, 2)
    index = RNG.integers(0, len(TWICE), (400, size))
    gap = np.abs(TWICE[index[:, 0]] - TWICE[index[:, 1]]) @ [1.0, 2.0]
    targets = {"pairs": np.where(gap < np.median(gap), 1, -1), "distances": gap + (gap == 0)}
    return index, targets.get(kind)


def learned(kind, tuples, y, options, fit=None):
    model = made(LEARNERS[kind], **options)
    arguments = (tuples,) if y is None else (tuples, y)
    return (model.fit(*arguments) if fit is None else fit(model, *arguments)).semimetric_


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        pytest.param(kind, options, id=f"{name}-{kind}", marks=[pytest.mark.slow] * (name == "auto"))
        for name, options in {"fixed": FIXED, "auto": {}}.items()
        for kind in LEARNERS
    ],
)
@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
def test_points_row_numbers_orders_and_parts_teach_one_distance(kind, options, monkeypatch):
    monkeypatch.setattr(readers, "tuple_size", lambda *_: 90)
    index, y = said(kind)
    order, merged = RNG.permutation(len(index)), np.where(index < 60, index, 3 * (index - 60))
    shuffled = None if y is None else y[order]
    ways = [
        learned(kind, index, y, options | {"preprocessor": TWICE}),
        learned(kind, merged, y, options | {"preprocessor": ITEMS}),
        learned(kind, TWICE[index], y, options),
        learned(kind, TWICE[index][order], shuffled, options),
    ]
    if options:
        ways.append(learned(kind, TWICE[index], y, options, out_of_core.fit))
        ways.append(learned(kind, index[order], shuffled, options | {"preprocessor": TWICE}, out_of_core.fit))
    distances = [d.paired(*QUERIES) for d in ways]
    for d, found in zip(ways[1:], distances[1:], strict=True):
        for a, b in zip(d.embedding.grid.knots[:2], ways[0].embedding.grid.knots[:2], strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(found, distances[0], rtol=1e-5)
