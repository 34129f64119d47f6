"""What the abstract bases promise: pair maps, solvers and learners."""

import cases
import numpy as np
import pytest
from cases import assert_absent, assert_refused
from learners import made

from semimetric import ConvergenceWarning, DistanceRegressor, FirstOrder, Gram, NotSupportedError, Reference
from semimetric.data.grid import Grid
from semimetric.data.schema import feature_names
from semimetric.distances import Solution, Status

GRID = Grid([[0.0, 1.0, 3.0], [0.0, 2.0], [5.0]])


@pytest.mark.parametrize("name", cases.EMBEDDINGS)
def test_pair_maps_keep_their_word(name):
    embedding = cases.EMBEDDINGS[name](GRID)
    owner = embedding.group_of_column
    assert owner.shape == (embedding.n_columns,)
    assert (np.diff(owner) >= 0).all()
    assert owner.max() < len(embedding.groups)
    assert embedding.covered == {f for group in embedding.groups for f in group}
    assert len(embedding.locate(np.zeros((4, 3)))) == 4
    w = np.ones(embedding.n_columns)
    for kind in ("tables", "curves", "shifts"):
        assert embedding.differences(kind).shape[1] == embedding.n_columns
    whole, weights = embedding.expanded(w)
    assert whole.n_columns == len(weights)
    assert embedding.positive_groups(w).shape == (len(embedding.groups),)
    assert not embedding.positive_groups(0 * w)[
        [len(g) > 0 and (owner == k).any() for k, g in enumerate(embedding.groups)]
    ].any()


REFUSED = {
    "gram, other loss": (Gram(), {"loss": "absolute"}, "Gram", "not a squared loss", "FirstOrder or Reference"),
    "first order, free": (FirstOrder(), {"axioms": None}, "FirstOrder", "weights are free", "use Reference, or Gram"),
    "unknown engine": (Reference("NOPE"), {}, "Reference", "no engine 'NOPE'", "use an installed one"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_solver_refuses_before_the_first_iteration(name):
    solver, parameters, *parts = REFUSED[name]
    program = cases.program(cases.PENALTIES["ridge"], **parameters)
    assert assert_refused(lambda: solver.solve(program), *parts, error=NotSupportedError)


def test_a_solution_says_how_good_it_is():
    solution = Solution(np.ones(2), 2.0, 0.5, 7, Status.LIMIT, "Any")
    assert solution.relative_gap == 0.25
    for part in ("Any", "raise max_iter", "objective 2", "gap <= 0.5", "7 iterations"):
        assert part in repr(solution)


def test_stopping_early_warns_with_advice():
    program = cases.program(cases.PENALTIES["ridge"])
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        assert FirstOrder(tol=1e-15, max_iter=3).solve(program).status is Status.LIMIT


def test_learners_share_distance_score_and_metric():
    model, items, index, _ = cases.fitted("singles")
    distances = model.pair_distance(index)
    assert (distances == model.predict(index)).all()
    assert (model.pair_score(index) == -distances).all()
    i, j = index[0]
    assert model.get_metric()(items[i], items[j]) == pytest.approx(distances[0])
    assert_absent(model, "transform", 'tables="warped"', "pairwise(X)")


def test_names_come_from_a_frame():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    items, index, y = cases.sample()
    frame = pd.DataFrame(items, columns=["u", "v", "w"])
    model = DistanceRegressor(**cases.FAST, preprocessor=frame).fit(index, y)
    assert model.semimetric_.feature_names == ("u", "v", "w")
    assert model.feature_names_in_.tolist() == ["u", "v", "w"]
    assert feature_names(pd.DataFrame(items), 3) == feature_names(items, 3) == ("x0", "x1", "x2")
    assert not hasattr(model.set_params(preprocessor=items).fit(index, y), "feature_names_in_")


def test_a_frame_of_other_columns_is_refused():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    items, index, y = cases.sample()
    frame = pd.DataFrame(items, columns=["u", "v", "w"])
    model = made(DistanceRegressor, **cases.RECIPES["warped"], preprocessor=frame).fit(index, y)
    d, turned, other = model.semimetric_, frame[["w", "v", "u"]], frame.rename(columns={"u": "t"})
    assert (d.pairwise(frame, items) == d.pairwise(items)).all()
    assert (model.predict(index) == d.paired_by_index(items, index)).all()
    for call in (d.pairwise, d.transform, d.outside, lambda X: d.paired(frame, X), lambda X: d.contributions(X, frame)):
        assert_refused(lambda call=call: call(turned), "the columns w, v, u", "u, v, w are required", "their order differs")
        assert_refused(lambda call=call: call(other), "the columns t, v, w", "u, v, w are required", "'t' is not among them")
    model.set_params(preprocessor=turned)
    assert_refused(lambda: model.predict(index), "preprocessor has the columns w, v, u", "u, v, w are required", "in its order")


def test_a_model_of_an_array_has_no_names_to_compare():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    model, items, _, _ = cases.fitted("singles")
    d = model.semimetric_
    assert (d.pairwise(pd.DataFrame(items, columns=["u", "v", "w"])) == d.pairwise(items)).all()
    assert_refused(lambda: d.pairwise(pd.DataFrame(items, columns=["x1", "x0", "x2"])), "x1, x0, x2", "x0, x1, x2 are required")


def test_learners_name_the_columns_of_transform():
    model = cases.fitted("directions")[0]
    assert model.get_feature_names_out().tolist() == list(model.semimetric_.columns)
    assert model.transform(np.zeros((2, 3))).shape == (2, len(model.get_feature_names_out()))
