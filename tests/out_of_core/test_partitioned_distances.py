"""Measured distances in parts: what one fit learns, from sums over parts."""

from dataclasses import replace

import cases
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners import made

from semimetric import DistanceRegressor, FirstOrder, Gram, PowerLink, SemimetricWarning, out_of_core
from semimetric._foundation.types import Pairs
from semimetric.data import identical_items
from semimetric.data.parts import readers
from semimetric.data.parts.engine import SerialEngine
from semimetric.data.parts.row_parts import array_rows
from semimetric.data.parts.tuples import TargetSpec, TuplePart, TupleTable, sample_tuples
from semimetric.distances.learning.measured import MeasuredDistances, MomentSums
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import fit_l1_prior, with_vertices
from semimetric.distances.learning.structure import build_structure

ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]


@pytest.fixture(autouse=True, scope="module")
def small():
    """Parts of about 40 pairs, whatever the limit."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(readers, "tuple_size", lambda *_: 40)
        yield


def in_blocks(options, pairs=POINTS, y=Y, weight=None, **more):
    return out_of_core.fit(made(DistanceRegressor, **options), pairs, y, weight, **more)


OTHERS = {"no axioms", "lasso", "categories", "periodic", "missing", "mixed warped"}
WAYS = [name for name in cases.RECIPES if name not in OTHERS]


@pytest.mark.parametrize("name", WAYS)
def test_blocks_learn_what_one_fit_learns(name):
    parts = in_blocks(cases.RECIPES[name])
    whole = made(DistanceRegressor, **cases.RECIPES[name]).fit(POINTS, Y)
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-9)
    np.testing.assert_allclose(parts.predict(POINTS), whole.predict(POINTS), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
def test_the_first_order_method_goes_the_same_way(loss):
    options = cases.FAST | {"loss": loss, "solver": FirstOrder(max_iter=50)}
    parts, whole = in_blocks(options), made(DistanceRegressor, **options).fit(POINTS, Y)
    assert parts.solution_.n_iter == 50
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-9)
    assert parts.solution_.gap == pytest.approx(whole.solution_.gap, rel=1e-6)


def test_knots_of_a_sample_are_those_of_one_fit(monkeypatch):
    monkeypatch.setattr(identical_items, "_MOST", 20)
    for options, pairs in (({}, POINTS), ({"preprocessor": ITEMS}, INDEX), ({"knots": "kmeans"}, POINTS)):
        options = cases.FAST | options
        parts, whole = in_blocks(options, pairs), made(DistanceRegressor, **options).fit(pairs, Y)
        for a, b in zip(parts.semimetric_.embedding.grid.knots, whole.semimetric_.embedding.grid.knots, strict=True):
            assert (a == b).all()


@pytest.mark.filterwarnings("ignore:.* items .* lie outside the range of the fit")  # pairs of weight 0 set no range
@pytest.mark.parametrize("least", [0, 60])  # the first part has none of weight > 0
def test_weights_and_pairs_of_weight_zero(least):
    weight = np.where(np.arange(150) < least, 0.0, np.arange(150.0) % 3)
    parts = out_of_core.fit(DistanceRegressor(**cases.FAST), POINTS, Y, weight)
    whole = DistanceRegressor(**cases.FAST).fit(POINTS, Y, weight)
    np.testing.assert_allclose(parts.predict(POINTS), whole.predict(POINTS), rtol=1e-9)


def test_items_beyond_given_knots_are_told_once():
    with pytest.warns(SemimetricWarning, match=r"beyond the knots \(x0: \d+") as told:
        parts = in_blocks(cases.FAST | {"knots": [[0.2, 0.8]] * 3})
    assert len([w for w in told if "beyond" in str(w.message)]) == 1
    with pytest.warns(SemimetricWarning):
        whole = made(DistanceRegressor, **cases.FAST | {"knots": [[0.2, 0.8]] * 3}).fit(POINTS, Y)
    assert parts.semimetric_.epsilon == pytest.approx(whole.semimetric_.epsilon)


def test_scales_are_metrics_from_parts_too():
    assert in_blocks(cases.FAST | {"axioms": "metric", "tables": "warped"}).semimetric_.axioms.triangle


def euclidean(x, y):
    return np.sqrt(((x - y) ** 2).sum(axis=-1))


ASKED = {
    "singles": Recipe(n_knots=4),
    "relative": Recipe(n_knots=3, relative=0.2),
    "square root": Recipe(n_knots=3, link="sqrt"),
    "power": Recipe(n_knots=3, link=PowerLink(0.7), relative=0.2),
    "base": Recipe(n_knots=3, base_distances=(euclidean,)),
    "directions": Recipe(n_knots=3, directions=[[1.0, -1.0, 0.0]], tables="warped"),
    "beyond": Recipe(knots=[[0.2, 0.8], [0.0, 1.0], [0.3, 0.5, 0.9]], outside="clip"),
    "touched": Recipe(n_knots=11, groups=[(0, 1, 2)]),
}


def both(name, cuts, weight):
    """The recipe, the structure, the data in memory and the same data in parts."""
    recipe, names = ASKED[name], ("x0", "x1", "x2")
    structure = build_structure(recipe, ITEMS, names)
    whole = MeasuredDistances.of_arrays(Pairs(ITEMS, INDEX), Y, weight / weight.sum())
    table = TupleTable(names, TargetSpec(), array_rows(ITEMS, 40, "preprocessor")[0])
    pieces = zip(*(np.split(a, cuts) for a in (INDEX, Y, weight)), strict=True)
    parts = [TuplePart(f"part {k}", *piece) for k, piece in enumerate(pieces)]
    sample = sample_tuples(SerialEngine(), parts, tuple(len(p.tuples) for p in parts), table)
    apart = MeasuredDistances.of_parts(SerialEngine(), parts, table, sample)
    return recipe, structure, whole.scaled(recipe, structure), apart.scaled(recipe, structure)


CUTS = st.lists(st.integers(1, 149), max_size=6, unique=True).map(sorted)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (k > 0)) for k, name in enumerate(ASKED)])
@settings(max_examples=8)
@given(cuts=CUTS, seed=st.integers(0, 9))
def test_data_in_parts_answer_as_data_in_memory(name, cuts, seed):
    weight = np.random.default_rng(seed).uniform(0.1, 1.0, 150)
    recipe, structure, whole, parts = both(name, cuts, weight)
    assert parts.unit == pytest.approx(whole.unit, rel=1e-12)
    here, there = whole.columns(recipe, structure)[2], parts.columns(recipe, structure)[2]
    np.testing.assert_allclose(there.l1_moments.mean.gram, here.l1_moments.gram, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(there.l1_moments.mean.cross, here.l1_moments.cross, rtol=1e-9, atol=1e-12)
    assert (here.vertices is None) == (there.vertices is None) == (name != "touched")
    if name == "touched":
        assert all((a == b).all() for a, b in zip(here.vertices, there.vertices, strict=True))
        structure = with_vertices(structure, here.vertices, fit_l1_prior(structure, here.l1_moments))
    one, other = whole.rows(recipe, structure), parts.rows(recipe, structure)
    np.testing.assert_allclose(other.target, one.target, rtol=1e-12)
    np.testing.assert_allclose(other.weight, one.weight, rtol=1e-12)
    w, r = np.random.default_rng(seed).random(one.design.shape[1]), np.random.default_rng(seed + 1).random(150)
    assert other.design.shape == one.design.shape
    np.testing.assert_allclose(other.design.matvec(w), one.design.matvec(w), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.design.rmatvec(r), one.design.rmatvec(r), rtol=1e-9, atol=1e-12)


@given(cuts=CUTS)
@settings(max_examples=10)
def test_items_outside_the_knots_count_as_often_as_pairs_name_them(cuts):
    recipe, structure, whole, parts = both("beyond", cuts, np.ones(150))
    outside = (ITEMS < [0.2, 0.0, 0.3]) | (ITEMS > [0.8, 1.0, 0.9])
    want = outside[INDEX].sum(axis=(0, 1)).tolist()
    assert parts.columns(recipe, structure)[2].out_of_range.tolist() == want
    assert whole.columns(recipe, structure)[2].out_of_range.tolist() == want


@given(cuts=CUTS)
@settings(max_examples=10)
def test_examples_are_the_first_pairs(cuts):
    recipe, structure, whole, parts = both("singles", cuts, np.ones(150))
    few, first = (data.columns(recipe, structure)[2].examples for data in (parts, whole))
    assert (few.items[few.index] == first.items[first.index][: len(few)]).all()


def test_sums_are_gathered_only_where_the_loss_and_the_solver_take_them():
    recipe, structure, _, parts = both("singles", [70], np.ones(150))
    assert isinstance(parts.sums(recipe, structure), MomentSums)
    assert isinstance(parts.sums(replace(recipe, solver=Gram()), structure), MomentSums)
    assert parts.sums(replace(recipe, solver=FirstOrder()), structure) is None
    assert parts.sums(replace(recipe, loss="huber"), structure) is None
