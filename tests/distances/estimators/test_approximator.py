from dataclasses import replace

import cases
import numpy as np
import pytest
from cases import assert_refused
from learners import made

from semimetric import (
    DistanceApproximator,
    DistanceCallError,
    DistanceRegressor,
    InputError,
    Monotone,
    NotSupportedError,
    Semimetric,
    SemimetricWarning,
    Tables,
)
from semimetric.data import calls
from semimetric.distances.estimators import approximator
from semimetric.distances.learning.options import DISTANCES

ITEMS = np.random.default_rng(0).random((60, 2))
FAST = {"n_pairs": 300, "n_knots": 5, "alpha": 1e-6}


def fit(distance=cases.warped_sum, X=ITEMS, **options):
    return made(DistanceApproximator, distance, **FAST | options).fit(X)


def by_vectors(x, y):
    return float(np.abs(np.ravel(x) ** 3 - np.ravel(y) ** 3).sum() + 0.3 * np.abs(np.ravel(x) - np.ravel(y)).sum())


def test_learns_a_distance_that_is_called():
    model = fit()
    true = cases.warped_sum(ITEMS[:, None], ITEMS[None])
    learned = model.semimetric_.pairwise(ITEMS)
    assert np.abs(learned - true).max() < 0.1 * true.mean()
    np.testing.assert_allclose(model.distances_, true[tuple(model.pairs_.T)])
    assert 0 < model.error_quantiles_[0.5] < model.error_quantiles_[0.9] < model.error_quantiles_[0.99] < 1


def test_vectors_and_batches_and_threads_learn_the_same():
    want = fit().semimetric_.weights
    for again in (fit(by_vectors), fit(n_jobs=2), fit(by_vectors, n_jobs=2)):
        np.testing.assert_allclose(again.semimetric_.weights, want, rtol=1e-6, atol=1e-9)


def test_vertices_leave_nothing_that_an_earlier_fit_compared():
    model = fit(link="power", n_knots=3)
    assert len(model.link_choices_) > 0
    model.set_params(method="vertices", learner__link="identity").fit(ITEMS)
    assert (len(model.choices_), len(model.link_choices_), len(model.group_choices_)) == (0, 0, 0)


def test_items_set_aside_are_in_no_pair():
    model = fit(validation_fraction=0.3)
    assert len(np.unique(model.pairs_)) <= 42
    assert np.isnan(list(fit(validation_fraction=0.0).error_quantiles_.values())).all()


@pytest.mark.parametrize("link", ["identity", "sqrt"])
@pytest.mark.parametrize("groups", ["singles", [(0, 1)]])
def test_vertices_are_exact_at_the_grid(groups, link):
    """Exact for one group of all features, and for sums over the groups."""
    model = fit(method="vertices", groups=groups, n_knots=4, delta=0.0, link="identity" if groups == "singles" else link)
    knots = model.semimetric_.embedding.grid.knots
    grid = np.array(np.meshgrid(*knots)).reshape(2, -1).T
    np.testing.assert_allclose(model.semimetric_.pairwise(grid), cases.warped_sum(grid[:, None], grid[None]), atol=1e-7)
    assert "nothing learned" in model.solution_.solver
    points = model.vertices_[model.pairs_]
    np.testing.assert_array_equal(model.distances_, cases.warped_sum(points[:, 0], points[:, 1]))


@pytest.mark.parametrize("method", ["regress", "vertices"])
def test_a_distance_that_fails_names_its_pair_and_keeps_the_rest(method):
    calls = []

    def moody(x, y):
        calls.append(1)
        return np.nan if len(calls) > 20 else by_vectors(x, y)

    with pytest.raises(DistanceCallError, match="it returned nan") as caught:
        fit(moody, method=method)
    assert len(caught.value.pairs) == len(caught.value.distances) > 0
    assert np.isfinite(caught.value.distances).all()
    assert ("failed on vertices" in str(caught.value)) == (method == "vertices")


def test_vertices_are_named_as_such_and_numbered_over_all_groups():
    model = DistanceApproximator(
        lambda x, y: np.nan if x[1] != y[1] else by_vectors(x, y), DistanceRegressor(n_knots=3), method="vertices"
    )
    with pytest.raises(DistanceCallError, match=r"failed on vertices 3 and 4 \(pair 3 of 6\)") as caught:
        model.fit(ITEMS)
    x, y = model.vertices_[list(caught.value.pair)]
    assert x[0] == y[0] == np.median(ITEMS[:, 0])
    assert x[1] != y[1]
    assert len(model.pairs_) == len(model.distances_) == 3


@pytest.mark.parametrize("method", ["regress", "vertices"])
@pytest.mark.parametrize("batch", [True, False])
def test_ctrl_c_keeps_what_was_evaluated(method, batch, monkeypatch):
    calls = []

    def interrupted(x, y):
        calls.append(1)
        if len(calls) > 40:
            raise KeyboardInterrupt
        return cases.cityblock(x, y) if batch else by_vectors(x, y)

    monkeypatch.setattr("semimetric.data.calls._BATCH", 2)
    model = DistanceApproximator(interrupted, DistanceRegressor(n_knots=20, alpha=1e-6), method=method, n_pairs=300)
    with pytest.raises(KeyboardInterrupt):
        model.fit(ITEMS)
    assert not hasattr(model, "semimetric_")
    assert 20 < len(model.pairs_) == len(model.distances_)
    x, y = (model.vertices_ if method == "vertices" else ITEMS)[model.pairs_.T]
    want = cases.cityblock(x, y) if batch else [by_vectors(*pair) for pair in zip(x, y, strict=True)]
    np.testing.assert_array_equal(model.distances_, want)


@pytest.mark.filterwarnings("ignore:distance= is not symmetric")
def test_without_axioms_the_distance_may_be_negative():
    def signed(x, y):
        return (np.asarray(x) - np.asarray(y)).sum(axis=-1)

    for method in ("regress", "vertices"):
        model = fit(signed, method=method, axioms=None, penalty=None)
        assert (model.distances_ < 0).any()
        np.testing.assert_allclose(model.semimetric_.paired(ITEMS[:30], ITEMS[30:]), signed(ITEMS[:30], ITEMS[30:]), atol=1e-3)
        assert np.isfinite(list(model.error_quantiles_.values())).all()
    with pytest.raises(DistanceCallError, match="it returned -"):
        fit(signed)


def test_a_distance_that_is_not_symmetric_is_said_to_be():
    def excess(x, y):
        return np.maximum(np.asarray(x) - np.asarray(y), 0.0).sum(axis=-1)

    with pytest.warns(SemimetricWarning, match='distance= is not symmetric: it gave .* use axioms="premetric"; the values'):
        fit(excess)
    call, parts = (lambda: fit(excess, method="vertices")), ("distance= is not symmetric", "one value for both", "premetric")
    assert_refused(call, *parts, error=NotSupportedError)
    assert fit(excess, method="vertices", axioms="premetric").semimetric_(*ITEMS[:2]) > 0


def test_tables_that_cannot_be_held_are_refused_before_any_call(monkeypatch):
    def never(x, y):
        pytest.fail("was called")

    assert_refused(
        lambda: fit(never, method="vertices", n_knots=33, groups=[(0, 1)]), "(0, 1) has 1089²", "can be held", "fewer"
    )
    monkeypatch.setattr("semimetric.distances.estimators.approximator._MOST_VERTICES", 19)
    assert_refused(lambda: fit(never, method="vertices", n_knots=5), "more than 19 vertices", "evaluated", "fewer knots")


def test_all_pairs_are_drawn_where_all_are_asked_for():
    assert len(fit(n_pairs=1770, validation_fraction=0.0).pairs_) == 1770


BAD = {
    "nothing to call": (lambda: fit(None), "distance=None", "must be callable", "two batches"),
    "method": (lambda: fit(method="guess"), "method='guess'", "not known", "'vertices'"),
    "near": (lambda: fit(near=1.5), "near=1.5", "must lie between 0 and 1"),
    "fraction": (lambda: fit(validation_fraction=-1), "validation_fraction=-1", "must be >= 0"),
    "zero": (lambda: fit(lambda x, y: 0.0 * by_vectors(x, y)), "all distances in y are 0", "nothing to learn", "pairs"),
    "overlap": (
        lambda: fit(X=np.random.default_rng(0).random((9, 3)), method="vertices", groups="pairs"), 'method="vertices"',
        "groups that share no feature", 'method="regress"', NotSupportedError,
    ),
    "directions": (
        lambda: fit(method="vertices", directions=[[1.0, 1.0]]), 'method="vertices"', "no directions", "raw features",
        NotSupportedError,
    ),
    "no pairs": (lambda: fit(n_pairs=0), "n_pairs=0", "an integer >= 1 is required"),
    "negative pairs": (lambda: fit(n_pairs=-5), "n_pairs=-5", "an integer >= 1 is required"),
    "half a pair": (lambda: fit(n_pairs=100.5), "n_pairs=100.5", "an integer >= 1 is required"),
    "near by name": (lambda: fit(near="a"), "near='a'", "must be a finite number"),
    "partial_fit": (lambda: fit().partial_fit(), "draws its own pairs", "DistanceRegressor.partial_fit", "", NotSupportedError),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    call, *parts = BAD[name]
    error = parts.pop() if isinstance(parts[-1], type) else ValueError
    assert assert_refused(call, *parts, error=error)


def test_one_item_is_too_few():
    with pytest.raises(ValueError, match="minimum of 2"):
        fit(X=ITEMS[:1])


def test_values_at_the_vertices_are_held_to_what_is_asked():
    """A sum of squares is no metric, so its vertices violate the triangle inequality; the sum of absolute values is one."""

    def squares(X, Y):
        return ((np.asarray(X) - np.asarray(Y)) ** 2).sum(axis=-1)

    options = {"method": "vertices", "axioms": "metric"}
    assert fit(cases.cityblock, **options).semimetric_.axioms.name == "metric"
    given = "distance= breaks the triangle inequality by 0.48"
    assert_refused(lambda: fit(squares, **options), given, "axioms='metric' asks for it", 'method="regress", or metric_repair')
    assert not fit(squares, method="vertices").semimetric_.axioms.triangle


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
def test_vertices_take_no_constraints_and_no_categories():
    options = {"method": "vertices"}
    assert_refused(
        lambda: fit(**options, constraints=[Monotone()]), 'method="vertices" learns nothing', "constraints= cannot hold",
        'method="regress"', NotSupportedError,
    )  # fmt: skip
    X = np.column_stack([np.arange(60) % 3, ITEMS[:, 0]])
    for table in ({"categorical_features": [0]}, {"periodic": {1: 2.0}}, {"missing": "level"}):
        call = lambda t=table: fit(X=X, **options, **t)  # noqa: E731
        assert_refused(
            call, 'method="vertices" needs features of numbers', "always there", 'method="regress"', NotSupportedError
        )


def counted(distance):
    """A distance of two batches, and the list of the numbers of pairs that it was called with."""
    calls = []

    def call(x, y):
        calls.append(len(np.atleast_2d(x)))
        return distance(x, y)

    return call, calls


@pytest.mark.slow
def test_wide_features_are_compared_with_two_knots(monkeypatch):
    monkeypatch.setitem(DISTANCES, "default", replace(DISTANCES["default"], n_columns={"full": 50}))
    X = np.random.default_rng(1).random((40, 30))
    learner = DistanceRegressor(tables="full")
    model = DistanceApproximator(lambda x, y: np.abs(x - y).sum(axis=-1), learner, n_pairs=500).fit(X)
    assert {c.settings["n_knots"] for c in model.choices_} == {2}
    assert model.error_quantiles_[0.9] < 0.05


def test_features_that_are_too_wide_are_refused_before_most_calls(monkeypatch):
    monkeypatch.setitem(DISTANCES, "default", replace(DISTANCES["default"], n_columns={"full": 20}))
    distance, calls = counted(lambda x, y: np.abs(x - y).sum(axis=-1))
    X = np.random.default_rng(1).random((40, 30))
    assert_refused(
        lambda: DistanceApproximator(distance, n_pairs=500).fit(X), "more than 20 weights", "set n_knots= and alpha="
    )
    assert_refused(
        lambda: DistanceApproximator(distance, DistanceRegressor(tables=Tables(groups=[(0, 31)]))).fit(X),
        "group (0, 31)",
        "0 to 29",
    )
    assert sum(calls) < 70  # those that tell batches from vectors, and what the distance keeps


def test_what_was_evaluated_is_kept_and_the_error_says_how_to_use_it(monkeypatch):
    def refuse(*args, **options):
        raise InputError("no")

    monkeypatch.setattr(DistanceApproximator, "fit_data", refuse)
    model = made(DistanceApproximator, cases.warped_sum, **FAST)
    with pytest.raises(InputError, match="no") as said:
        model.fit(ITEMS)
    assert "The 300 distances that were evaluated are kept" in said.value.__notes__[0]
    assert len(DistanceRegressor(preprocessor=ITEMS, n_knots=5, alpha=1e-6).fit(model.pairs_, model.distances_).groups_) == 2


def test_noise_is_said_to_be_useless_and_pairs_that_judge_are_counted():
    rng, noise = np.random.default_rng(0), {}

    def distance(x, y):
        return noise.setdefault(frozenset((x.tobytes(), y.tobytes())), 0.0 if (x == y).all() else rng.random() + 0.1)

    with pytest.warns(SemimetricWarning, match=r"explains .* % of the variance .* hardly better than one distance for all"):
        model = fit(distance, validation_fraction=0.5)
    assert model.n_error_pairs_ == 150
    assert fit(validation_fraction=0.0).n_error_pairs_ == 0


@pytest.mark.parametrize(("seconds", "is_cheap"), [(2.9, True), (3.1, False)])  # the learned distance takes 1
def test_a_distance_that_takes_no_longer_than_the_learned_one_is_told_of(seconds, is_cheap, monkeypatch, capsys):
    clock = [0.0]

    def takes(duration, answer):
        clock[0] += duration
        return answer

    def cityblock(x, y):
        return takes(seconds * (x.size // 2), np.abs(x - y).sum(axis=-1))

    pairwise = Semimetric.pairwise
    monkeypatch.setattr(approximator, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(calls, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(Semimetric, "pairwise", lambda self, X, **options: takes(len(X) ** 2, pairwise(self, X, **options)))
    X = np.random.default_rng(0).random((60, 2))
    DistanceApproximator(cityblock, DistanceRegressor(n_knots=3, alpha=1e-3), n_pairs=400, verbose=True).fit(X)
    assert ("not worth replacing for its speed" in capsys.readouterr().err) == is_cheap


@pytest.mark.parametrize("objects", [False, True])
def test_noise_is_no_asymmetry_and_an_item_has_a_distance_to_itself(objects):
    rng, X = np.random.default_rng(0), ITEMS if not objects else list(ITEMS)
    options = {"features": np.array} if objects else {}

    def noisy(x, y):
        return by_vectors(x, y) * rng.uniform(0.9, 1.1)

    with pytest.warns(SemimetricWarning, match=r"is noisy: it gave .* for a pair, and .* for the same pair again"):
        fit(noisy, X, **options)
    with pytest.warns(SemimetricWarning, match=r'is not symmetric: it gave .*"premetric".*lie between'):
        fit(lambda x, y: float((np.maximum(x - y, 0) + 0.1 * np.abs(x - y)).sum()), X, **options)
    with pytest.warns(SemimetricWarning, match="of an item to itself is 1, and the learned distance is 0 there"):
        fit(lambda x, y: 1.0 + by_vectors(x, y), X, **options)


UNPREPARED = {
    "correlation": (lambda x, y: 1.0 - np.corrcoef(x, y)[0, 1], "have a number added or are multiplied by one"),
    "angle": (lambda x, y: 1.0 - x @ y / np.linalg.norm(x) / np.linalg.norm(y), "are multiplied by one"),
    "differences": (lambda x, y: np.abs(np.diff(x) - np.diff(y)).sum(), "have a number added"),
}


@pytest.mark.parametrize("name", UNPREPARED)
def test_rows_whose_means_or_lengths_the_distance_does_not_see_are_to_be_prepared(name):
    distance, unseen = UNPREPARED[name]
    X = np.random.default_rng(0).random((60, 4)) + 0.5
    with pytest.warns(SemimetricWarning, match=rf"all numbers of an item {unseen}\. A sum over columns cannot know that"):
        fit(lambda x, y: max(float(distance(x, y)), 0.0), X)
    prepared = X - X.mean(axis=1, keepdims=True)
    fit(lambda x, y: max(float(distance(x, y)), 0.0), prepared / np.linalg.norm(prepared, axis=1, keepdims=True))
