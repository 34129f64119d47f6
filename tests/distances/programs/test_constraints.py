"""What is known of a distance beside its axioms holds off the grid; what vertices cannot guarantee is refused."""

import cases
import numpy as np
import pytest
from cases import assert_refused
from learners import made

from semimetric import (
    AtLeast,
    AtMost,
    Bounded,
    Concave,
    CuttingPlane,
    DistanceRegressor,
    LargeMarginLearner,
    Monotone,
    NotSupportedError,
    TranslationInvariant,
    TripletLearner,
    UniformDirections,
)

ITEMS, INDEX, _ = cases.sample()
WAVES = np.abs(np.sin(4 * (ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]))).sum(axis=1)  # neither monotone nor concave
TIED = {"knots": "uniform"}


def learned(*constraints, y=WAVES, **options):
    options = {"n_knots": 5, "alpha": 1e-4, "outside": "clip", "constraints": constraints} | options
    return made(DistanceRegressor, preprocessor=ITEMS, **options).fit(INDEX, y).semimetric_


def within(d, n, seed=0):
    """Points in the range of the knots."""
    grid = d.embedding.grid
    return np.random.default_rng(seed).uniform(grid.low, grid.high, (n, 3))


GROUPS = {"one": "singles", "two": [(0, 1), (2,)], "three": [(0, 1, 2)], "several": "pairs"}
AXIOMS = ("semimetric", "metric", "premetric", "quasimetric")


@pytest.mark.parametrize("axioms", AXIOMS)
@pytest.mark.parametrize("groups", GROUPS)
def test_monotone(groups, axioms):
    """d(x', y') <= d(x, y) for x <= x' <= y' <= y along a feature, the others anywhere; and the other way round."""
    d = learned(Monotone(), groups=GROUPS[groups], axioms=axioms, n_knots=3 if groups != "one" else 5)
    x, y = within(d, 4000), within(d, 4000, 1)
    f = np.random.default_rng(2).integers(0, 3, 4000)
    rows = np.arange(4000)
    inner = np.sort(np.random.default_rng(3).random((4000, 2)), axis=1)
    a, b = x.copy(), y.copy()
    a[rows, f] = x[rows, f] + inner[:, 0] * (y - x)[rows, f]
    b[rows, f] = x[rows, f] + inner[:, 1] * (y - x)[rows, f]
    assert (d.paired(a, b) <= d.paired(x, y) + 1e-12).all()
    assert d.axioms.triangle or axioms in ("semimetric", "premetric")


def test_without_it_the_same_pairs_ask_for_no_such_thing():
    d = learned()
    t = np.linspace(d.embedding.grid.low[0], d.embedding.grid.high[0], 50)
    line = np.tile(ITEMS[0], (50, 1))
    line[:, 0] = t
    along = d.paired(np.tile(line[0], (50, 1)), line)
    assert (np.diff(along) < -1e-3).any()


@pytest.mark.parametrize("axioms", AXIOMS)
@pytest.mark.parametrize("options", [{}, {"groups": "pairs", "n_knots": 3}, {"link": "sqrt"}], ids=str)
def test_bounded(options, axioms):
    free = learned(axioms=axioms, **options)
    ceiling = 0.5 * float(free.paired(within(free, 3000), within(free, 3000, 1)).max())
    d = learned(Bounded(ceiling), axioms=axioms, **options)
    assert d.paired(within(d, 3000), within(d, 3000, 1)).max() <= ceiling * (1 + 1e-9)
    corners = np.array([[d.embedding.grid.low], [d.embedding.grid.high]])[:, 0]
    assert d.pairwise(corners).max() <= ceiling * (1 + 1e-9)


@pytest.mark.parametrize("tables", ["warped"])
def test_bounded_scales(tables):
    d = learned(Bounded(0.7), tables=tables)
    assert d([*d.embedding.grid.low], [*d.embedding.grid.high]) <= 0.7 * (1 + 1e-9)


@pytest.mark.parametrize("axioms", AXIOMS)
@pytest.mark.parametrize("more", [(), (Monotone(),), (Concave(),), (Concave(), Monotone(), Bounded(2.0))], ids=len)
def test_translation_invariant_and_concave(more, axioms):
    d = learned(TranslationInvariant(), *more, axioms=axioms, **TIED)
    grid, rng = d.embedding.grid, np.random.default_rng(0)
    size = grid.high - grid.low
    x, y = (grid.low + size * rng.uniform(0.3, 0.7, (1000, 3)) for _ in range(2))
    shift = size * rng.uniform(-0.3, 0.3, (1000, 3))
    np.testing.assert_allclose(d.paired(x + shift, y + shift), d.paired(x, y), atol=1e-12)
    if any(isinstance(shape, Concave) for shape in more):
        steps = np.linspace(0, 1, 60)[:, None] * size
        along = d.paired(np.tile(grid.low, (60, 1)), grid.low + steps)
        assert (np.diff(along, 2) <= 1e-12).all()


@pytest.mark.parametrize("options", [{}, {"axioms": "metric", "groups": "pairs", "n_knots": 3}, {"tables": "warped"}], ids=str)
def test_at_least_and_at_most(options):
    free = learned(**options)
    points = np.stack([within(free, 6), within(free, 6, 1)], axis=1)
    before = free.paired(points[:, 0], points[:, 1])
    d = learned(AtLeast(points[:3], 1.3 * before[:3]), AtMost(points[3:], 0.8 * before[3:]), **options)
    after = d.paired(points[:, 0], points[:, 1])
    assert (after[:3] >= 1.3 * before[:3] * (1 - 1e-9)).all()
    assert (after[3:] <= 0.8 * before[3:] * (1 + 1e-9)).all()


def test_learners_from_comparisons_take_them():
    triplets = np.random.default_rng(0).integers(0, 40, (150, 3))
    options = {"n_knots": 4, "alpha": 1e-2, "directions": None, "tables": "full", "constraints": [Monotone()]}
    for model in (
        made(TripletLearner, preprocessor=ITEMS, axioms="metric", **options).fit(triplets),
        made(LargeMarginLearner, axioms="quasimetric", **options).fit(ITEMS, (ITEMS[:, 0] > 0.5).astype(int)),
    ):
        d = model.semimetric_
        assert d.axioms.triangle
        x, y = within(d, 500), within(d, 500, 1)
        assert (d.paired(0.7 * x + 0.3 * y, 0.3 * x + 0.7 * y) <= d.paired(x, y) + 1e-12).all()


CLASSES = (ITEMS[:, 0] > 0.5).astype(int)


@pytest.mark.slow
def test_what_is_chosen_automatically_keeps_to_them():
    """Directions would void what is asked of features, so none are tried; groups are compared under the rows."""
    monotone = {"constraints": [Monotone()], "alpha": 1e-2}
    one = made(LargeMarginLearner, n_knots=3, tables="full", **monotone).fit(ITEMS, CLASSES)
    triplets = np.random.default_rng(0).integers(0, 40, (150, 3))
    two = made(TripletLearner, n_knots=3, preprocessor=ITEMS, **monotone).fit(triplets)
    three = made(LargeMarginLearner, n_knots=3, tables="full", directions=None, groups="auto", **monotone).fit(ITEMS, CLASSES)
    assert one.semimetric_.directions is None
    assert two.semimetric_.directions is None
    for model in (one, two, three):
        x, y = within(model.semimetric_, 500), within(model.semimetric_, 500, 1)
        inner = model.semimetric_.paired(0.7 * x + 0.3 * y, 0.3 * x + 0.7 * y)
        assert (inner <= model.semimetric_.paired(x, y) + 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"tables": "full", "groups": "auto", "directions": None}], ids=["all", "groups"])
def test_settings_of_quasimetrics_are_chosen_automatically(options):
    d = made(LargeMarginLearner, axioms="quasimetric", n_knots=3, alpha=1e-2, **options).fit(ITEMS, CLASSES).semimetric_
    assert d.axioms.name == "quasimetric"


POINTS = ITEMS[:4].reshape(2, 2, 3)
REFUSED = {
    "no shape": ({"constraints": ["monotone"]}, "constraints=", "sequence of Monotone", ""),
    "no such feature": ({"constraints": [Monotone(["size"])]}, "'size'", "a name of a feature", ""),
    "extended": ({"constraints": [Bounded(1.0)], "outside": "extend"}, "Bounded cannot hold", "outside", 'outside="clip"'),
    "no axioms": ({"constraints": [Monotone()], "axioms": None}, "weights >= 0", "", "premetric"),
    "base": ({"constraints": [Monotone()], "base_distances": (cases.cityblock,)}, "whole distance", "", "leave out"),
    "directions": (
        {"constraints": [Monotone([0])], "directions": UniformDirections((0, 1), n_directions=3)}, "a direction uses it",
        "'x0'", "directions=None",
    ),
    "missing": ({"constraints": [Monotone([0])], "missing": "level"}, "missing values have a level", "'x0'", "leave"),
    "circle": ({"constraints": [Monotone([0])], "periodic": {0: 1.0}}, "it is periodic", "'x0'", "leave"),
    "none left": ({"constraints": [Monotone()], "missing": "level"}, "would hold of no feature", "numbers", "directions=None"),
    "none left to tie": (
        {"constraints": [TranslationInvariant()], "directions": UniformDirections((0, 1, 2), n_directions=3), **TIED},
        "would hold of no feature", "numbers", "directions=None",
    ),
    "pairs of text": ({"constraints": [AtLeast([[["a", 0, 0], [1, 1, 1]]], [1.0])]}, "no arrays of numbers", "points", ""),
    "one distance": ({"constraints": [AtLeast(POINTS, 1.0)]}, "distances of shape ()", "one distance for each pair", "list"),
    "no distance": ({"constraints": [AtLeast(ITEMS[:2, None].repeat(2, 1), [1.0, 1.0])]}, "no weights keep AtLeast;", "", ""),
    "shared": ({"constraints": [Bounded(0.5), AtLeast(POINTS, [2.0, 2.0])]}, "the ceiling shared out", "loosen Bounded", ""),
    "text": ({"constraints": [Monotone("x0")]}, "features='x0'", "a list of names", "write ['x0']"),
    "truth": ({"constraints": [Monotone([True])]}, "the feature True", "a number below 3", ""),
    "joint": ({"constraints": [TranslationInvariant([0])], "groups": "pairs", **TIED}, "joint groups", "'x0'", "alone"),
    "knots": ({"constraints": [TranslationInvariant([0])]}, "uniform knots", "'x0'", 'knots="uniform"'),
    "scales": ({"constraints": [TranslationInvariant([0])], "tables": "warped", **TIED}, "scales are not tables", "", "full"),
    "concave": ({"constraints": [Concave([1])]}, "guarantees nothing between", "'x1'", "add TranslationInvariant"),
    "shape of pairs": ({"constraints": [AtMost(POINTS[0], [1.0])]}, "shape (2, 3)", "(1, 2, 3)", ""),
    "outside": ({"constraints": [AtLeast(9 * POINTS, [1.0, 1.0])]}, "outside the knots", "", "points in range"),
    "negative": ({"constraints": [AtLeast(POINTS, [1.0, -1.0])]}, "negative", ">= 0", ""),
    "both": (
        {"constraints": [AtLeast(POINTS, [2.0, 2.0]), AtMost(POINTS, [1.0, 3.0])]}, "no weights keep AtLeast, AtMost", "loosen",
        "",
    ),
    "ceiling": ({"constraints": [Bounded(0.5), AtLeast(POINTS, [2.0, 2.0])]}, "no weights keep Bounded, AtLeast", "loosen", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_guaranteed_is_refused_with_the_reason(name):
    options, given, required, remedy = REFUSED[name]
    options = dict(options)
    constraints = options.pop("constraints")
    wrong = (
        "no shape",
        "no such feature",
        "text",
        "truth",
        "pairs of text",
        "one distance",
        "no distance",
        "shared",
        "shape of pairs",
        "outside",
        "negative",
        "both",
        "ceiling",
    )
    error = cases.InputError if name in wrong else NotSupportedError
    assert_refused(lambda: learned(*constraints, **options), given, required, remedy, error)


def test_the_triangle_inequality_can_be_what_is_in_the_way():
    """A short way round: d(a, b) and d(b, c) at most 0.1, d(a, c) at least 1."""
    grid = np.linspace(0, 1, 3)
    a, b, c = (np.full(3, v) for v in grid)
    ways = [AtMost([[a, b], [b, c]], [0.1, 0.1]), AtLeast([[a, c]], [1.0])]
    knots = {"knots": [grid] * 3}
    assert learned(*ways, **knots)(a, c) >= 1.0 - 1e-9
    assert_refused(lambda: learned(*ways, axioms="metric", **knots), "and the triangle inequality at once", "loosen")


@pytest.mark.parametrize("axioms", ["metric", "quasimetric"])
@pytest.mark.filterwarnings("ignore:Solution")
def test_tables_that_a_solver_leaves_violated_are_repaired_and_stay_tied(axioms):
    """After one round only a few triangle inequalities were known, so the solver's weights violate others."""
    options = {"axioms": axioms, "n_knots": 7, "alpha": 1e-6, **TIED}
    squares = ((ITEMS[INDEX[:, 0]] - ITEMS[INDEX[:, 1]]) ** 2).sum(axis=1)
    d = learned(TranslationInvariant(), y=squares, solver=CuttingPlane(all_rows=0, max_rounds=1), **options)
    free = learned(TranslationInvariant(), y=squares, **options | {"axioms": {"metric": "semimetric"}.get(axioms, "premetric")})
    assert not free.axioms.triangle
    assert d.axioms.name == axioms
    rng = np.random.default_rng(0)
    x, y, z = (within(d, 2000, seed) for seed in range(3))
    assert (d.paired(x, y) + d.paired(y, z) - d.paired(x, z)).min() >= -1e-12
    size = d.embedding.grid.high - d.embedding.grid.low
    x, y = (d.embedding.grid.low + size * rng.uniform(0.3, 0.7, (1000, 3)) for _ in range(2))
    shift = size * rng.uniform(-0.3, 0.3, (1000, 3))
    np.testing.assert_allclose(d.paired(x + shift, y + shift), d.paired(x, y), atol=1e-12)
    assert np.corrcoef(d.paired(x, y), ((x - y) ** 2).sum(axis=1))[0, 1] > 0.8
