"""Learning from comparisons in parts: what one fit learns, here and on a cluster."""

from dataclasses import replace

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from learners import made

from semimetric import (
    FirstOrder,
    InputError,
    NotSupportedError,
    PairLearner,
    QuadrupletLearner,
    SemimetricWarning,
    TripletLearner,
    out_of_core,
)
from semimetric._foundation.types import Pairs, Quadruplets, TripletTuples
from semimetric.data import identical_items
from semimetric.data.parts import readers
from semimetric.data.parts.engine import SerialEngine
from semimetric.data.parts.row_parts import array_rows
from semimetric.data.parts.tuples import TargetSpec, TuplePart, TupleTable, sample_tuples
from semimetric.distances.learning.comparisons import ComparisonData, LabeledPairs, OrderedTuples
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.structure import build_structure

ITEMS = np.random.default_rng(0).random((60, 3))
INDEX = np.random.default_rng(1).integers(0, 60, (300, 4))
FAST = {"n_knots": 3, "alpha": 1e-3, "directions": None}
LEARNERS = {"pairs": PairLearner, "triplets": TripletLearner, "quadruplets": QuadrupletLearner}


def far(a, b):
    return np.abs(ITEMS[a] - ITEMS[b]) @ [1.0, 4.0, 0.0]


def said(kind):
    """Tuples by row number, and y."""
    if kind == "pairs":
        d = far(*INDEX[:, :2].T)
        return INDEX[:, :2], np.where(d < np.median(d), 1, -1)
    if kind == "triplets":
        i, j, l = INDEX[:, :3].T  # noqa: E741 - as in the learner
        swap = far(i, j) > far(i, l)
        return np.column_stack([i, np.where(swap, l, j), np.where(swap, j, l)]), None
    return INDEX, np.where(far(*INDEX[:, :2].T) < far(*INDEX[:, 2:].T), 1, -1)


@pytest.fixture(autouse=True, scope="module")
def small():
    """Parts of at most 80 tuples, whatever the limit."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(readers, "tuple_size", lambda *_: 80)
        yield


def both(kind, y=None, weight=None, by_row=False, **options):
    """The model from parts, the model of one fit, and the tuples."""
    index, judged = said(kind)
    y = judged if y is None else y
    options = FAST | options | ({"preprocessor": ITEMS} if by_row else {})
    data = index if by_row else ITEMS[index]
    parts, whole = (made(LEARNERS[kind], **options) for _ in range(2))
    return out_of_core.fit(parts, data, y, weight), whole.fit(data, y, weight), data


every_kind = pytest.mark.parametrize("kind", LEARNERS)


def slow(case):
    return pytest.param(case, marks=pytest.mark.slow)


def assert_alike(parts, whole, data, rel=1e-8):
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=rel)
    pairs = data[:, :2]
    np.testing.assert_allclose(parts.pair_distance(pairs), whole.pair_distance(pairs), rtol=1e-4, atol=1e-4)
    assert (parts.n_features_in_, parts.groups_) == (whole.n_features_in_, whole.groups_)
    assert (repr(parts.choices_), repr(parts.group_choices_)) == (repr(whole.choices_), repr(whole.group_choices_))


@every_kind
@pytest.mark.parametrize(
    "options",
    [{}, slow({"tables": "full"}), slow({"tables": "full", "groups": [(0, 1, 2)], "n_knots": 4}), {"loss": "hinge"},
     slow({"directions": "pca", "knots": "kmeans"}), slow({"axioms": "metric"})],
)  # fmt: skip
def test_parts_learn_what_one_fit_learns(kind, options):
    assert_alike(*both(kind, **options), rel=1e-5 if options.get("loss") == "hinge" else 1e-8)


@every_kind
def test_row_numbers_and_weights(kind):
    assert_alike(*both(kind, by_row=True))
    assert_alike(*both(kind, weight=np.arange(300.0) % 3))
    assert_alike(*both(kind, weight=np.arange(300.0) // 200, by_row=True))  # parts without any weight


@pytest.mark.slow
@every_kind
@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
def test_the_first_order_method_goes_the_same_way(kind):
    parts, whole, _ = both(kind, solver=FirstOrder(max_iter=50))
    assert parts.solution_.n_iter == whole.solution_.n_iter == 50
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-9)


def test_pairs_bring_their_threshold():
    parts, whole, data = both("pairs")
    assert parts.threshold_ == pytest.approx(whole.threshold_, rel=1e-6)
    assert (parts.predict(data) == whole.predict(data)).all()
    assert parts.classes_.tolist() == [-1, 1]


@pytest.mark.slow
def test_knots_of_a_sample_are_those_of_one_fit(monkeypatch):
    monkeypatch.setattr(identical_items, "_MOST", 20)
    for by_row in (False, True):
        parts, whole, _ = both("quadruplets", by_row=by_row)
        pairs = zip(parts.semimetric_.embedding.grid.knots, whole.semimetric_.embedding.grid.knots, strict=True)
        assert all((a == b).all() for a, b in pairs)


def test_items_beyond_given_knots_are_told_once():
    index, _ = said("triplets")
    with pytest.warns(SemimetricWarning, match=r"of 900 items, .*, some lie beyond the knots \(x0: \d+") as told:
        parts = out_of_core.fit(made(TripletLearner, **FAST | {"knots": [[0.2, 0.8]] * 3}), ITEMS[index])
    assert len([w for w in told if "beyond" in str(w.message)]) == 1
    with pytest.warns(SemimetricWarning):
        whole = made(TripletLearner, **FAST | {"knots": [[0.2, 0.8]] * 3}).fit(ITEMS[index])
    assert parts.semimetric_.epsilon == pytest.approx(whole.semimetric_.epsilon)


@pytest.mark.parametrize("kind", [*map(slow, ["pairs", "quadruplets"]), "triplets"])
def test_tables_of_tuples(kind, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    sides = {"pairs": ("left", "right"), "triplets": "ijl", "quadruplets": "abce"}[kind]
    index, y = said(kind)
    points = ITEMS[index]
    columns = {f"{side}.{name}": points[:, s, f] for s, side in enumerate(sides) for f, name in enumerate("uvw")}
    told = {} if y is None else {"y": y}
    pd.DataFrame(columns | told).to_parquet(tmp_path / "points.parquet", row_group_size=70)
    pd.DataFrame({s: index[:, k] for k, s in enumerate(sides)} | told).to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    name = None if y is None else "y"
    a = out_of_core.fit(made(LEARNERS[kind], **FAST), tmp_path / "points.parquet", name)
    b = out_of_core.fit(made(LEARNERS[kind], **FAST, preprocessor=ITEMS), tmp_path / "rows.parquet", name)
    assert a.semimetric_.feature_names == ("u", "v", "w")
    assert_alike(a, made(LEARNERS[kind], **FAST).fit(points, y), points)
    assert_alike(b, made(LEARNERS[kind], **FAST, preprocessor=ITEMS).fit(index, y), index)
    model = made(LEARNERS[kind], **FAST)
    assert_refused(lambda: out_of_core.fit(model, tmp_path / "rows.parquet", name), f"{sides[0]}.NAME", "preprocessor=")


def test_bad_tuples_are_named_by_part():
    def refused(kind, *parts, y=None, data=None, error=InputError, **options):
        index, judged = said(kind)
        call = lambda: out_of_core.fit(  # noqa: E731
            made(LEARNERS[kind], **FAST | options), ITEMS[index] if data is None else data, judged if y is None else y
        )
        assert_refused(call, *parts, error=error)

    spoilt = ITEMS[INDEX]
    spoilt[290, 3, 1] = np.nan
    refused("quadruplets", "rows 225 to 299 of quadruplets", "'x1'", "drop those quadruplets", data=spoilt)
    y = said("pairs")[1].copy()
    y[80] = 3
    refused("pairs", "rows 75 to 149 of pairs: y[5] is 3", "+1 and -1", "DistanceRegressor takes distances", y=y)
    refused("pairs", "one class only, +1", "dissimilar (-1) pairs", "add some", y=np.ones(300))
    refused("triplets", "(300, 4, 3)", "(n_triplets, 3, n_features)", "preprocessor=", data=ITEMS[INDEX])
    refused("triplets", "triplet 0 is", "row numbers between 0 and 59", data=INDEX[:, :3] + 40, preprocessor=ITEMS)
    refused("triplets", "300 tuples compares equal points", "that differ", data=np.repeat(ITEMS[INDEX[:, :1]], 3, axis=1))
    assert_refused(lambda: out_of_core.fit(PairLearner(**FAST), ITEMS[INDEX[:, :2]]), "y is None", "+1 or -1 for every pair")
    unsaid = {"error": NotSupportedError}
    refused(
        "triplets", "directions='auto' compares all data", "give None", "semimetric_.directions", directions="auto", **unsaid
    )
    refused("pairs", "directions='discriminant'", "a matrix", "fit on a sample", directions="discriminant", **unsaid)
    refused("pairs", "cannot be held out", "numbers for n_knots=", "sample", alpha="auto", **unsaid)
    refused("triplets", "axioms='metric' on full tables", "fit on a sample", axioms="metric", tables="full", **unsaid)


SPECS = {"pairs": TargetSpec(labeled=True), "triplets": TargetSpec(TripletTuples, labeled=True),
         "quadruplets": TargetSpec(Quadruplets, labeled=True)}  # fmt: skip


def in_memory(kind, weight):
    index, y = said(kind)
    if kind == "pairs":
        return LabeledPairs(Pairs(ITEMS, index), weight / weight.sum(), y)
    if kind == "quadruplets":
        index = np.where(y[:, None] < 0, index[:, [2, 3, 0, 1]], index)
    return OrderedTuples(SPECS[kind].kind(ITEMS, index), weight / weight.sum())


def in_parts(kind, cuts, weight):
    index, y = said(kind)
    table = TupleTable(("x0", "x1", "x2"), SPECS[kind], array_rows(ITEMS, 60, "preprocessor")[0])
    targets = [None] * (len(cuts) + 1) if y is None else np.split(y, cuts)
    pieces = zip(np.split(index, cuts), targets, np.split(weight, cuts), strict=True)
    parts = [TuplePart(f"part {k}", *piece) for k, piece in enumerate(pieces)]
    sample = sample_tuples(SerialEngine(), parts, tuple(len(p.tuples) for p in parts), table)
    return ComparisonData.of_parts(SerialEngine(), parts, table, sample)


@every_kind
@pytest.mark.parametrize("groups", ["singles", [(0, 1, 2)]])
@given(cuts=st.lists(st.integers(1, 299), max_size=6, unique=True).map(sorted), seed=st.integers(0, 9))
@settings(max_examples=8)
def test_data_in_parts_answer_as_data_in_memory(kind, groups, cuts, seed):
    weight = np.random.default_rng(seed).uniform(0.1, 1.0, 300)
    whole, parts = ComparisonData.of(in_memory(kind, weight)), in_parts(kind, cuts, weight)
    recipe = Recipe(n_knots=4, groups=groups)
    structure = build_structure(recipe, ITEMS, ("x0", "x1", "x2"))
    assert parts.n_extra == whole.n_extra == (kind == "pairs")
    np.testing.assert_allclose(parts.weight, whole.weight, rtol=1e-12)
    np.testing.assert_allclose(parts.spread(structure, None), whole.spread(structure, None), rtol=1e-9)
    np.testing.assert_allclose(parts.norms(structure, None), whole.norms(structure, None), rtol=1e-9, atol=1e-12)
    assert all((a == b).all() for a, b in zip(parts.vertices(structure), whole.vertices(structure), strict=True))
    one, other = (data.design(structure, structure.embedding, None) for data in (whole, parts))
    w, r = np.random.default_rng(seed).random(one.shape[1]), np.random.default_rng(seed + 1).random(300)
    assert other.shape == one.shape
    np.testing.assert_allclose(other.matvec(w), one.matvec(w), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.rmatvec(r), one.rmatvec(r), rtol=1e-9, atol=1e-12)
    assert (np.sort(parts.items, axis=0) == np.sort(whole.items, axis=0)).all()


def test_weights_that_are_not_given_are_even_and_examples_are_pairs_of_the_sample():
    parts = in_parts("triplets", [100], np.ones(300))
    unweighted = [replace(part, weight=None) for part in parts.parts.parts]
    table = TupleTable(("x0", "x1", "x2"), SPECS["triplets"], array_rows(ITEMS, 60, "preprocessor")[0])
    plain = ComparisonData.of_parts(SerialEngine(), unweighted, table, parts.sample)
    assert (plain.weight == 1 / 300).all()
    examples = plain.examples
    assert (examples.items[examples.index.ravel()] == plain.items[:8]).all()


@pytest.mark.parametrize("kind", [*map(slow, ["pairs", "quadruplets"]), "triplets"])
@pytest.mark.slow
def test_the_same_parts_give_the_same_bits_on_a_cluster(kind, client):
    from semimetric import out_of_core

    index, y = said(kind)
    here, there = (made(LEARNERS[kind], **FAST, tables="full") for _ in range(2))
    out_of_core.fit(here, ITEMS[index], y)
    out_of_core.fit(there, ITEMS[index], y, client=client)
    assert (here.semimetric_.weights == there.semimetric_.weights).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pairs", "quadruplets"])
def test_dask_arrays_and_frames(kind, client):
    da, dd, pd = (pytest.importorskip(name) for name in ("dask.array", "dask.dataframe", "pandas"))
    from semimetric import out_of_core

    index, y = said(kind)
    sides = {"pairs": ("left", "right"), "triplets": "ijl", "quadruplets": "abce"}[kind]
    whole, points = made(LEARNERS[kind], **FAST).fit(ITEMS[index], y), ITEMS[index]
    arrays = da.from_array(points, chunks=(110, 2, 2)), None if y is None else da.from_array(y, chunks=70)
    assert_alike(out_of_core.fit(made(LEARNERS[kind], **FAST), *arrays, client=client), whole, points)
    columns = {f"{side}.{name}": points[:, s, f] for s, side in enumerate(sides) for f, name in enumerate("uvw")}
    frame = dd.from_pandas(pd.DataFrame(columns | ({} if y is None else {"y": y})), npartitions=3)
    model = out_of_core.fit(made(LEARNERS[kind], **FAST), frame, None if y is None else "y", client=client)
    assert model.semimetric_.feature_names == ("u", "v", "w")
    assert_alike(model, whole, points)
    lacks = frame.drop(columns=f"{sides[-1]}.w")
    assert_refused(
        lambda: out_of_core.fit(made(LEARNERS[kind], **FAST), lacks, None if y is None else "y", client=client),
        f"{sides[-1]}.w is missing", f"{sides[0]}.NAME", "preprocessor=",
    )  # fmt: skip
    spoilt = points.copy()
    spoilt[115, 1, 0] = np.inf
    arrays = da.from_array(spoilt, chunks=(110, 2, 2)), arrays[1]
    assert_refused(
        lambda: out_of_core.fit(made(LEARNERS[kind], **FAST), *arrays, client=client),
        f"partition 1 of {kind}",
        "'x0'",
        "finite",
    )
