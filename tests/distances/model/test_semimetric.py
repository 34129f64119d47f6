import pickle

import cases
import numpy as np
import pytest
from cases import assert_refused
from mixed_distances import distance
from sklearn.neighbors import NearestNeighbors

from semimetric import ConcaveLink, InputError, NotSupportedError, Semimetric, StorageError, load
from semimetric._foundation.files import State
from semimetric._foundation.stored import state_of, value_of
from semimetric.data.grid import Grid
from semimetric.distances.features.linear_directions import Directions
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding


@pytest.fixture
def line():
    embedding = PairEmbedding(Grid([[0.0, 1.0, 2.0], [0.0, 4.0]]))
    return Semimetric(embedding, embedding.prior(np.array([3.0, 1.0])), np.array([0.5, 0.25]), ("u", "v"))


def test_outside_the_range_the_distance_grows_by_epsilon(line):
    assert line([0.0, 0.0], [2.0, 4.0]) == 10.0
    assert line([-2.0, 0.0], [4.0, 8.0]) == 10.0 + 0.5 * (2 + 2) + 0.25 * 4
    assert line([5.0, 0.0], [7.0, 0.0]) == 0.5 * 2  # both beyond the same end
    assert line.outside([[-2.0, 0.0], [1.0, 9.0], [3.0, 1.0], [1.0, 1.0]]).tolist() == [0.5, 0.25]


def test_each_side_of_the_range_has_a_slope_of_its_own(line, tmp_path):
    """What lies below the range counts by one slope, what lies above by the other; one number a feature is both."""
    d = Semimetric(line.embedding, line.weights, np.array([[0.5, 2.0], [0.0, 1.0]]), ("u", "v"))
    assert d([-2.0, 0.0], [4.0, 8.0]) == 10.0 + 0.5 * 2 + 2.0 * 2 + 1.0 * 4
    assert d([5.0, -3.0], [7.0, -9.0]) == 2.0 * 2
    assert d([-5.0, 0.0], [-7.0, 0.0]) == 0.5 * 2
    assert line.epsilon.tolist() == [[0.5, 0.5], [0.25, 0.25]]
    assert not d.axioms.positive  # all that lies below the range of v is at distance 0
    for number, one in enumerate([line, d]):
        one.save(tmp_path / f"{number}.smm")
        assert load(tmp_path / f"{number}.smm").epsilon.tolist() == one.epsilon.tolist()


def test_terms_tables_and_repr_can_be_read(line):
    assert line.terms == ("u", "v", "outside range")
    assert line.contributions([0.0, 0.0], [2.0, 5.0]).tolist() == [6.0, 4.0, 0.25]
    tables = line.tables()
    assert list(tables) == ["u", "v"]
    assert tables["u"].values.tolist() == [[0, 3, 6], [3, 0, 3], [6, 3, 0]]
    for part in ("metric", "2 features", "2 to 3 knots", "4 weights"):
        assert part in repr(line)


def test_tables_are_frames_with_the_values_of_knots_and_categories():
    d = distance(1, "pairs", gaps=True)
    tables = d.tables()
    frame = tables["d"].to_frame()
    assert frame.index.tolist() == frame.columns.tolist() == [0, 1, 2, "(other)"]
    assert (frame.to_numpy() == tables["d"].values).all()
    assert tables["b"].to_frame().index.tolist() == [-2.0, 0.1, 2.0, "(missing)"]
    joint = tables["b * d"].to_frame()
    assert joint.index.names == ["b", "d"]
    assert joint.loc[("(missing)", 1), (0.1, "(other)")] == tables["b * d"].values[3 * 4 + 1, 1 * 4 + 3]
    assert repr(tables["b * d"]).startswith("Table of b * d: values 0 to ")
    assert repr(tables["b * d"]).endswith("between 4 x 4 grid points")
    assert "16 grid points, of which the first 12 are shown" in tables["b * d"]._repr_html_()
    assert "<th>(other)</th>" in tables["d"]._repr_html_()
    assert tables["p"].names == ("p",)


def test_coordinates_have_the_names_of_what_they_are_of(rng):
    embedding = WarpedEmbedding(Grid([[0.0, 1.0]] * 3), [(0,), (2,)])
    d = Semimetric(embedding, np.ones(2), np.ones(3), ("u", "v", "w"))
    assert d.coordinate_names == ("u", "w", "v outside range")
    X = rng.random((5, 3)) * 3 - 1
    at = d.transform(X)
    assert at.shape == (5, 3)
    assert (at[:, 2] == X[:, 1] - np.clip(X[:, 1], 0, 1)).all()
    with pytest.raises(NotSupportedError, match="only warped models"):
        _ = distance(1).coordinate_names


def test_contributions_are_by_terms_or_by_features(line):
    assert line.contributions([0.0, 0.0], [2.0, 5.0], by="features").tolist() == [6.0, 4.25]
    assert line.contribution_names("features") == ("u", "v")
    assert line.contribution_names() == line.terms
    for call in (lambda: line.contributions([0.0, 0.0], [2.0, 5.0], by="columns"), lambda: line.contribution_names("columns")):
        with pytest.raises(InputError, match="by='columns'"):
            call()


def test_contributions_of_one_vector_and_many_rows(line, rng):
    X = rng.random((4, 2))
    want = line.contributions(X, np.tile([1.0, 2.0], (4, 1)))
    np.testing.assert_array_equal(line.contributions(X, [1.0, 2.0]), want)
    np.testing.assert_array_equal(line.contributions([1.0, 2.0], X), want)
    np.testing.assert_allclose(want.sum(axis=1), line.pairwise(X, [[1.0, 2.0]])[:, 0])


def test_directions_and_bases_are_named_terms():
    assert cases.fitted("base")[0].semimetric_.terms[-2:] == ("cityblock", "outside range")
    d = cases.fitted("pairs")[0].semimetric_
    assert d.terms[:3] == ("x0 * x1", "x0 * x2", "x1 * x2")


def test_terms_of_the_same_name_are_told_apart():
    embedding = PairEmbedding(Grid([[0.0, 1.0]] * 4))
    names, directions = ("pca0", "outside range"), Directions(np.array([[1.0, 1.0], [1.0, -1.0]]), ("pca0", "pca0 (2)"))
    d = Semimetric(embedding, np.arange(1.0, 5.0), np.ones(4), names, directions)
    assert d.terms == ("pca0", "outside range", "pca0 (2)", "pca0 (2) (2)", "outside range (2)")
    assert [table.values[0, 1] for table in d.tables().values()] == [1.0, 2.0, 3.0, 4.0]
    assert d.feature_names == names


@pytest.mark.parametrize("name", ["singles", "touched", "base", "pca"])
def test_a_distance_is_a_value(name):
    d = cases.fitted(name)[0].semimetric_
    for one in (d, pickle.loads(pickle.dumps(d))):
        arrays = [one.weights, one.epsilon, *(v.kept for v in getattr(one.embedding, "vertices", ()) if not v.whole)]
        arrays += [one.directions.matrix] if one.directions else []
        arrays += [a for base in one.base_distances for a in (base.probe, base.values)]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = -1
    given = np.array([1.0])
    own = Semimetric(PairEmbedding(Grid([[0.0, 1.0]])), given, np.ones(1), ("u",))
    given[0] = -1.0
    assert own.weights == [1.0]


@pytest.mark.parametrize("name", ["pca", "directions", "square root"])
def test_the_distance_of_an_item_to_itself_is_0_in_any_batch(name, rng):
    """The features of an item do not depend on the items beside it: BLAS gave 1e-17, and the root of it 1e-8."""
    directions = rng.normal(size=(7, 3)) if name == "square root" else cases.RECIPES[name]["directions"]
    d = cases.fitted(name, directions=directions)[0].semimetric_
    X = rng.normal(size=(50, 3)) * 2
    for size in (1, 2, 5):
        assert all((np.diag(d.pairwise(X[k : k + size], X)[:, k:]) == 0).all() for k in range(50))
    assert all(d(x, x) == 0 for x in X)


WRONG_PARTS = {
    "weights": (np.ones(3), np.ones(2), ("u", "v"), "weights have shape (3,)", "(4,)"),
    "epsilon": (np.ones(4), np.ones(1), ("u", "v"), "epsilon (1,)", "(2,) or (2, 2)"),
    "sides": (np.ones(4), np.ones((2, 3)), ("u", "v"), "epsilon (2, 3)", "(2,) or (2, 2)"),
    "names": (np.ones(4), np.ones(2), ("u",), "there are 1 features", "and 2 are required"),
}


@pytest.mark.parametrize("name", WRONG_PARTS)
def test_parts_that_do_not_fit_are_refused(line, name):
    weights, epsilon, names, *parts = WRONG_PARTS[name]
    assert assert_refused(lambda: Semimetric(line.embedding, weights, epsilon, names), *parts)


def test_the_square_root_link_is_a_root(rng):
    d = cases.fitted("square root")[0].semimetric_
    X = rng.random((6, 3))
    np.testing.assert_allclose(d.pairwise(X) ** 2, Semimetric(d.embedding, d.weights, d.epsilon, d.feature_names).pairwise(X))


BAD = {
    "features": (lambda d: d.pairwise(np.ones((2, 3))), "X has 3 features", "2 features are required", "same columns"),
    "of Y": (lambda d: d.pairwise(np.ones((2, 2)), np.ones((2, 1))), "Y has 1 features", "2 features are required"),
    "rows": (lambda d: d.paired(np.ones((2, 2)), np.ones((3, 2))), "X has 2 rows and Y 3", "same number", "use pairwise"),
    "terms": (lambda d: d.contributions(np.ones((4, 2)), np.ones((2, 2))), "X has 4 rows and Y 2", "same number"),
    "transform": (lambda d: d.transform(np.ones((2, 2))), "only warped models", "precomputed", 'fit with tables="warped"'),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(line, name):
    call, *parts = BAD[name]
    assert assert_refused(lambda: call(line), *parts, error=ValueError)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused(line, value):
    with pytest.raises(ValueError, match=r"row 0 of X has (a missing|an infinite) value"):
        line([value, 0.0], [0.0, 0.0])


def test_blocks_do_not_change_the_result(monkeypatch, rng):
    X, Y = rng.random((30, 3)), rng.random((20, 3))
    for name in ("singles", "pairs", "warped", "base"):
        d = cases.fitted(name)[0].semimetric_
        whole = d.paired(X[:20], Y), d.pairwise(X, Y)
        monkeypatch.setattr("semimetric.distances.model.semimetric._BLOCK", 7)
        for part, again in zip(whole, (d.paired(X[:20], Y, n_jobs=2), d.pairwise(X, Y, n_jobs=2)), strict=True):
            np.testing.assert_allclose(again, part, rtol=1e-12)
        monkeypatch.undo()


@pytest.mark.slow
@pytest.mark.parametrize("link", ["identity", "sqrt", 0.7, 1.5, ConcaveLink((0.3, 1.0), (2.0, 1.0, 0.1))])
@pytest.mark.parametrize("kind", ["singles", "pairs", "warped", "with directions"])
def test_the_exported_metric_is_the_distance(kind, link, rng):
    """In and out of range, at knots, for float64, float32 and read-only arrays, with a constant feature."""
    knots = [np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0]), np.array([1.0])]
    directions = Directions(rng.normal(size=(2, 3)), ("u", "v")) if kind == "with directions" else None
    grid = Grid(knots + ([np.array([-1.0, 0.0, 2.0])] * 2 if directions else []))
    embedding = cases.EMBEDDINGS["singles" if kind == "with directions" else kind](grid)
    d = Semimetric(
        embedding, rng.random(embedding.n_columns), rng.random(grid.n_features), ("a", "b", "c"), directions, link=link
    )  # fmt: skip
    metric = d.get_numba_metric()
    points = np.vstack([rng.uniform(-1, 4, (20, 3)), [[0.0, 0.0, 1.0], [3.0, 2.0, 1.0], [1.0, 0.0, 0.0]]])
    for x in points:
        for y in points[::5]:
            assert metric(x, y) == pytest.approx(d(x, y), rel=1e-12, abs=1e-12)
    single = points.astype(np.float32)
    single.setflags(write=False)
    assert metric(single[0], single[1]) == pytest.approx(d(single[0], single[1]), rel=1e-6)


def test_what_cannot_be_exported_says_what_to_do():
    for embedding, said in (
        (PairEmbedding(Grid([[0.0, 1.0]] * 2), [(0, 1)], symmetry="swap"), 'symmetry="swap"'),
        (cases.EMBEDDINGS["touched"](Grid([[0.0, 1.0]] * 2)), "vertices that its pairs touch"),
    ):
        d = Semimetric(embedding, np.ones(embedding.n_columns), np.ones(2), ("a", "b"))
        assert_refused(d.get_numba_metric, said, "NeighborIndex", "a callable metric", error=NotSupportedError)
    embedding = PairEmbedding(Grid([[0.0, 1.0]] * 3), [(0, 2)])
    d = Semimetric(embedding, np.ones(embedding.n_columns), np.ones(3), ("a", "b"), Directions(np.ones((1, 2)), ("u",)))
    assert_refused(d.get_numba_metric, "one of directions", "NeighborIndex", "a callable metric", error=NotSupportedError)


def test_slopes_outside_the_range_are_not_negative():
    embedding = PairEmbedding(Grid([[0.0, 1.0]]))
    assert_refused(lambda: Semimetric(embedding, np.ones(1), np.array([-0.5]), ("a",)), "epsilon has -0.5", "must be >= 0")


def test_a_distance_with_base_distances_is_a_metric_as_it_is_but_cannot_be_compiled():
    model, items, _, _ = cases.fitted("base")
    d = model.semimetric_
    assert_refused(d.get_numba_metric, "base distances cannot be compiled", "as it is", "a callable metric", NotSupportedError)
    search = NearestNeighbors(n_neighbors=3, metric=d, algorithm="brute").fit(items)
    found, _ = search.kneighbors(items[:4])
    np.testing.assert_allclose(found, np.sort(d.pairwise(items[:4], items), axis=1)[:, :3], rtol=1e-9, atol=1e-12)


def test_arrays_that_do_not_fit_together_are_refused():
    state = state_of(cases.fitted("singles")[0].semimetric_)
    label = state.values["object"]["arguments"]["weights"]["array"]
    short = State(state.kind, state.values, {**state.arrays, label: state.arrays[label][:-1]})
    assert_refused(
        lambda: value_of(short, Semimetric, ()), "'weights' has 17 numbers", "18 columns", "restore", error=StorageError
    )
