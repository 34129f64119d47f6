"""Large-margin learning from parts: the triplets and the objective of one fit, here and on a cluster."""

import pickle

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from learners import made
from sklearn.datasets import load_wine

from semimetric import FirstOrder, LargeMarginLearner, NotSupportedError, SemimetricClassifier, out_of_core
from semimetric.data import knots
from semimetric.data.parts.engine import SerialEngine
from semimetric.data.parts.labeled_parts import LabeledPart, LabeledTable
from semimetric.distances.learning import from_labels as label_learning
from semimetric.distances.learning import items as partitioned_items
from semimetric.distances.search.shard_files import _OPEN
from semimetric.out_of_core import calls as fit_labeled

X, Y = load_wine(return_X_y=True)
X = X[:, :5]
FAST = {"n_knots": 4, "alpha": 1e-2, "directions": None, "tables": "warped", "n_passes": 2}
INNER = [np.quantile(column, [0.2, 0.5, 0.8]) for column in X.T]  # knots that leave items outside


@pytest.fixture(autouse=True, scope="module")
def small():
    """Parts of at most 50 items under the limit of 1 MB."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fit_labeled, "item_bytes", lambda *_: 10_000)
        yield


@pytest.fixture(params=[60, 1000])
def shards(request, monkeypatch):
    """Three shards, or one."""
    monkeypatch.setattr(partitioned_items, "shard_size", lambda *_: request.param)


def in_parts(x=X, y=Y, weight=None, **options):
    return out_of_core.fit(made(LargeMarginLearner, **FAST | options), x, y, weight, memory_limit=1_000_000)


def assert_alike(parts, whole, rtol=1e-5):
    assert [p.n_triplets for p in parts.passes_] == [p.n_triplets for p in whole.passes_]
    for a, b in zip(parts.passes_, whole.passes_, strict=True):
        assert a.before == pytest.approx(b.before, rel=1e-7)
        assert a.after == pytest.approx(b.after, rel=1e-7)
        assert a.n_violated == b.n_violated
    d, e = parts.semimetric_, whole.semimetric_
    np.testing.assert_allclose(d.pairwise(X[:30]), e.pairwise(X[:30]), rtol=rtol, atol=1e-6)
    np.testing.assert_allclose(parts.feature_importances_, whole.feature_importances_, rtol=rtol, atol=1e-6)
    assert (parts.classes_ == whole.classes_).all()
    assert parts.n_features_in_ == whole.n_features_in_
    assert (repr(parts.choices_), repr(parts.group_choices_)) == (repr(whole.choices_), repr(whole.group_choices_))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:of .* some lie beyond the knots")
@pytest.mark.parametrize(
    "options",
    [{}, {"tables": "full"}, {"tables": "full", "groups": [(0, 1), (2,), (3,), (4,)], "n_knots": 3}, {"mu": 0.5},
     {"loss": "hinge"}, {"n_targets": 2, "n_impostors": 3, "n_passes": 3}, {"knots": INNER},
     {"knots": INNER, "outside": "clip"}],
)  # fmt: skip
def test_parts_learn_what_one_fit_learns(options, shards):
    parts, whole = in_parts(**options), made(LargeMarginLearner, **FAST | options).fit(X, Y)
    if options.get("loss") == "hinge":  # solved to 1e-6, by rows in another order
        assert [p.n_triplets for p in parts.passes_] == [p.n_triplets for p in whole.passes_]
        assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-4)
    else:
        assert_alike(parts, whole)
    assert "parts" not in repr(parts.solution_)


@pytest.mark.slow
def test_directions_without_weight_are_kept_while_passes_go_on():
    options = {"directions": "pca", "penalty": "lasso", "alpha": 0.1, "delta": 0.0}
    parts, whole = in_parts(**options), made(LargeMarginLearner, **FAST | options).fit(X, Y)
    dropped = parts.semimetric_.directions
    assert dropped is None or len(dropped.names) < 5
    assert [p.after for p in parts.passes_] == pytest.approx([p.after for p in whole.passes_], rel=1e-6)
    np.testing.assert_allclose(parts.feature_importances_, whole.feature_importances_, atol=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
def test_the_first_order_method_goes_the_same_way():
    solver = {"solver": FirstOrder(max_iter=50), "n_passes": 1}
    parts, whole = in_parts(**solver), made(LargeMarginLearner, **FAST | solver).fit(X, Y)
    assert parts.solution_.n_iter == whole.solution_.n_iter == 50
    assert parts.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-8)


def test_weights_and_items_of_weight_zero():
    weight = np.where(np.arange(len(X)) < 50, 0.0, np.arange(len(X)) % 3)  # the first part has none
    parts, whole = in_parts(weight=weight), made(LargeMarginLearner, **FAST).fit(X, Y, weight)
    # in memory weighted items are in another order, so that other pairs are drawn to measure spreads by
    got, want = (model.semimetric_.pairwise(X[50:90]).ravel() for model in (parts, whole))
    assert np.corrcoef(got, want)[0, 1] > 0.99


def test_knots_of_a_sample_are_those_of_one_fit(monkeypatch):
    monkeypatch.setattr(knots, "_MOST_ROWS", 60)
    assert_alike(in_parts(), made(LargeMarginLearner, **FAST).fit(X, Y))


def test_items_in_files(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    names = ["malt", "acid", "ash", "alkali", "mg"]
    frame = pd.DataFrame(X, columns=names).assign(kind=np.array(["a", "b", "c"])[Y], w=1.0)
    frame.to_parquet(tmp_path / "items.parquet", row_group_size=40)
    whole = made(LargeMarginLearner, **FAST).fit(X, Y)
    assert_alike(in_parts(np.load(tmp_path / "x.npy", mmap_mode="r"), tmp_path / "y.npy"), whole)
    model = in_parts(tmp_path / "items.parquet", "kind", "w")
    assert model.semimetric_.feature_names == tuple(names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.semimetric_.weights, whole.semimetric_.weights, rtol=1e-5)
    assert model.transform(X).shape == (len(X), 5)
    assert_refused(lambda: in_parts(tmp_path / "items.parquet", "sort"), "none is called 'sort'", "name another")
    assert_refused(lambda: in_parts(tmp_path / "items.parquet", Y), "dtype object", "numbers of shape", "leave columns out")


def test_nothing_is_left_in_the_scratch_folder(tmp_path):
    model = out_of_core.fit(made(LargeMarginLearner, **FAST), X, Y, memory_limit=1_000_000, scratch=tmp_path)
    assert not list(tmp_path.iterdir())
    assert not [place for place in _OPEN if str(tmp_path) in place.root]  # what stays mapped keeps its room
    assert str(tmp_path).encode() not in pickle.dumps(model)
    lost = {"scratch": tmp_path / "away"}
    assert_refused(
        lambda: out_of_core.fit(made(LargeMarginLearner, **FAST), X, Y, **lost), "away", "is no folder", "make it first"
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_nothing_is_left_of_a_fit_that_is_interrupted(tmp_path, monkeypatch, error):
    def stop(*_):
        raise error

    monkeypatch.setattr(label_learning, "fit_large_margin", stop)
    model = made(LargeMarginLearner, **FAST)
    with pytest.raises(error):
        out_of_core.fit(model, X, Y, memory_limit=1_000_000, scratch=tmp_path)
    assert not list(tmp_path.iterdir())
    assert not hasattr(model, "semimetric_")


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(fit_labeled.os, "access", lambda *_: False)  # who runs this may write anywhere
    call = lambda: out_of_core.fit(made(LargeMarginLearner, **FAST), X, Y, scratch=tmp_path)  # noqa: E731
    assert_refused(call, "is no folder that can be written", "make it first")


def test_bad_items_are_named_by_part():
    def refused(x, y, *parts, **options):
        assert_refused(lambda: in_parts(x, y, **options), *parts)

    spoilt = X.copy()
    spoilt[100, 2] = np.nan
    refused(spoilt, Y, "rows 89 to 132 of X: feature 'x2' of item 11 is nan", "finite numbers", "drop those items")
    refused(X, Y[:-1], "177 class labels for 178 items", "one for each")
    refused(X, None, "y is None", "a class for every item")
    refused(X, "kind", "'kind' names a column, and X is read as an array", "give the values")
    refused(X, np.zeros(len(X), int), "one class only", "at least two")
    refused(np.ones_like(X), Y, "constant", "differ in at least one")
    refused(X[:, None], Y, "X has shape (178, 1, 5)", "(n, n_features)")
    refused(X[:, 0], Y, "X has shape (178,)", "(n, n_features)")


def test_a_frame_in_memory_keeps_its_names():
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))
    assert in_parts(frame, n_passes=1).semimetric_.feature_names == tuple("abcde")


@pytest.mark.parametrize(
    ("column", "values", "messages"),
    [
        ("kind", [1] * 60, ("classes have dtype int64, those of partition 0 of X", "one type in all parts")),
        ("kind", ["a"] * 59 + [None], ("'kind' of item 59 is missing", "one for every item")),
        ("w", [1.0] * 59 + [np.nan], ("'w' of item 59 is missing", "drop those items")),
        ("w", [1.0] * 59 + [-1.0], ("the weights in 'w'", "finite numbers >= 0")),
        ("w", ["heavy"] * 60, ("the weights in 'w'", "finite numbers >= 0")),
    ],
)
def test_a_part_that_says_something_else_is_named(column, values, messages):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.array(["a", "b", "c"])[Y], w=1.0)
    rest = frame[60:120].assign(**{column: values})
    parts = [LabeledPart(f"partition {k} of X", piece) for k, piece in enumerate([frame[:60], rest, frame[120:]])]
    model = made(LargeMarginLearner, **FAST)
    call = lambda: fit_labeled.fit_labeled(  # noqa: E731
        SerialEngine(), model, model.recipe_for_parts(), parts, LabeledTable(tuple("abcde"), "kind", "w"), "kind", "w",
        limit=10**6, scratch=None,
    )  # fmt: skip
    assert_refused(call, "partition 1 of X: ", *messages)


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=1, max_size=4), min_size=1, max_size=5))
def test_parts_keep_the_items_that_count(weights):
    parts = [LabeledPart(f"part {k}", np.arange(len(w))) for k, w in enumerate(weights)]
    weight = np.concatenate(weights)
    kept, found = fit_labeled._used_parts(parts, [len(w) for w in weights], weight > 0, weight)
    assert [part.name for part in kept] == [part.name for part, w in zip(parts, weights, strict=True) if any(w)]
    assert [w.tolist() for w in found] == [[v for v in w if v] for w in weights if any(w)]
    for part, w in zip(kept, found, strict=True):
        assert len(part.items if part.keep is None else part.items[part.keep]) == len(w)


def test_says_what_cannot_be_learned_from_parts():
    def refused(*parts, **options):
        assert_refused(lambda: in_parts(**options), *parts, error=NotSupportedError)

    refused("directions='auto' compares all data", "give None", "semimetric_.directions", directions="auto")
    refused("directions='nca'", "a matrix", "fit on a sample", directions="nca")
    refused('tables="auto" compares both', '"warped" or "full"', "fit on a sample", tables="auto")
    refused("cannot be held out", "n_knots= and alpha=", "recipe_", alpha="auto")
    refused("groups='auto'", "held out", "groups_", groups="auto")
    refused("axioms='metric' on full tables", "fit on a sample", axioms="metric", tables="full")
    refused("Reference needs all rows", "Newton", '"auto"', solver="cvxpy")
    classifier = SemimetricClassifier(made(LargeMarginLearner, **FAST))
    assert_refused(
        lambda: out_of_core.fit(classifier, X, Y), "SemimetricClassifier learns from all its data at once",
        "LargeMarginLearner learn from parts", error=NotSupportedError,
    )  # fmt: skip


@pytest.mark.slow
def test_the_same_parts_give_the_same_bits_on_a_cluster(client, tmp_path):
    from semimetric import out_of_core

    here, there = in_parts(), made(LargeMarginLearner, **FAST)
    out_of_core.fit(there, X, Y, block_size=1_000_000, scratch=tmp_path, client=client)
    assert (here.semimetric_.weights == there.semimetric_.weights).all()
    assert_alike(there, made(LargeMarginLearner, **FAST).fit(X, Y))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_dask_arrays_and_frames(client):
    da, dd, pd = (pytest.importorskip(name) for name in ("dask.array", "dask.dataframe", "pandas"))
    from semimetric import out_of_core

    whole, quick = made(LargeMarginLearner, **FAST | {"n_passes": 1}).fit(X, Y), FAST | {"n_passes": 1}
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=Y)
    frame = dd.from_pandas(frame, npartitions=3)
    arrays = da.from_array(X, chunks=((60, 60, 58), 2)), da.from_array(Y, chunks=40)
    for x, y in (arrays, (frame, "kind"), (frame.drop(columns="kind"), frame["kind"])):
        assert_alike(out_of_core.fit(made(LargeMarginLearner, **quick), x, y, client=client), whole)
    spoilt = X.copy()
    spoilt[70, 1] = np.inf
    x = da.from_array(spoilt, chunks=((60, 60, 58), 5))
    call = lambda: out_of_core.fit(made(LargeMarginLearner, **quick), x, Y, client=client)  # noqa: E731
    assert_refused(call, "partition 1 of X", "'x1'", "finite")
    call = lambda: out_of_core.fit(made(LargeMarginLearner, **quick), frame, "sort", client=client)  # noqa: E731
    assert_refused(call, "none is called 'sort'", "name another")
