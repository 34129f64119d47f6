import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from learners import made
from sklearn.base import clone

from semimetric import (
    DistanceApproximator,
    DistanceRegressor,
    LargeMarginLearner,
    PairLearner,
    Program,
    Ridge,
    Semimetric,
    SemimetricClassifier,
    Tables,
    TripletLearner,
)

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=120),
        "colour": pd.Categorical(RNG.choice(["red", "green", "blue"], 120)),
        "hour": RNG.uniform(0, 24, 120),
        "floor": np.where(RNG.random(120) < 0.2, np.nan, RNG.integers(0, 6, 120)),
    }
)
KINDS = {"periodic": {"hour": 24}, "missing": "level"}
PRIOR = Semimetric.gower(FRAME, weights={"size": 4, "hour": 0.5}, **KINDS)
PAIRS = RNG.integers(0, 120, (400, 2))
NUMBERS = FRAME[["size", "hour"]].to_numpy()
L1 = Semimetric.l1(NUMBERS, weights=[3.0, 0.2])
NOISE = RNG.lognormal(0.0, 0.5, 400)


def knots_that_hold(d):
    """The knots of a distance as a learner takes them: the grid adds the seams of circles and the codes of categories."""
    grid = d.embedding.grid
    return [k[:-1] if kind == "periodic" else k for k, kind in zip(grid.knots, grid.kinds, strict=True)]


@pytest.mark.parametrize("tables", ["full", "warped"])
@pytest.mark.parametrize("penalty", ["auto", "ridge", "roughness", "roughness-2"])
def test_a_strong_penalty_gives_the_prior_back_at_its_best_multiple(tables, penalty):
    """Of noisy distances it is the multiple that least squares gives; the knots are those of the prior, so they hold it."""
    true = PRIOR.paired_by_index(PRIOR.schema.encode(FRAME), PAIRS)
    y = 3.0 * true * NOISE
    options = {"knots": knots_that_hold(PRIOR), "delta": 0.0, "tables": tables, "preprocessor": FRAME, **KINDS}
    model = made(DistanceRegressor, penalty=penalty, alpha=1e8, prior=PRIOR, **options).fit(PAIRS, y)
    multiple = (true @ y) / (true @ true)
    np.testing.assert_allclose(model.semimetric_.pairwise(FRAME), multiple * PRIOR.pairwise(FRAME), rtol=1e-3, atol=1e-5)


@pytest.mark.slow
def test_without_noise_the_prior_is_what_comes_back():
    y = L1.paired_by_index(NUMBERS, PAIRS)
    d = DistanceRegressor(alpha=1e8, n_knots=4, program=Program(prior=L1), preprocessor=NUMBERS).fit(PAIRS, y).semimetric_
    np.testing.assert_allclose(d.pairwise(NUMBERS), L1.pairwise(NUMBERS), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["pairs", [(0, 1)], [(0,), (0, 1)]])
def test_groups_that_share_a_feature_share_its_prior(groups):
    y = L1.paired_by_index(NUMBERS, PAIRS) * NOISE
    d = (
        DistanceRegressor(alpha=1e8, n_knots=3, tables=Tables(groups=groups), program=Program(prior=L1), preprocessor=NUMBERS)
        .fit(PAIRS, y)
        .semimetric_
    )
    ratio = d.pairwise(NUMBERS)[L1.pairwise(NUMBERS) > 0.1] / L1.pairwise(NUMBERS)[L1.pairwise(NUMBERS) > 0.1]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)


def test_few_pairs_with_a_good_prior_beat_few_pairs_without():
    """The weights of the truth are nearly those of the prior, and 20 noisy pairs of 10 features say little of them."""
    rng = np.random.default_rng(1)
    X, w = rng.random((300, 10)), rng.lognormal(0.0, 1.0, 10)
    prior, truth = Semimetric.l1(X, weights=w), Semimetric.l1(X, weights=w * rng.lognormal(0.0, 0.2, 10))
    pairs = rng.integers(0, 300, (20, 2))
    y = truth.paired_by_index(X, pairs) * rng.lognormal(0.0, 0.2, 20)
    errors = {}
    for name, given in (("with", prior), ("without", None)):
        d = DistanceRegressor(n_knots=3, alpha=0.1, program=Program(prior=given), preprocessor=X).fit(pairs, y).semimetric_
        errors[name] = np.abs(d.pairwise(X) - truth.pairwise(X)).mean()
    assert errors["with"] < 0.5 * errors["without"]


@pytest.mark.parametrize("learner", [PairLearner, TripletLearner])
def test_comparisons_start_from_a_given_distance(learner):
    """Judgements under the prior, with a strong penalty, leave its proportions: another distance would order pairs anew."""
    encoded = PRIOR.schema.encode(FRAME)
    index = np.random.default_rng(4).integers(0, 120, (300, 3))
    near, far = (PRIOR.paired_by_index(encoded, index[:, [0, k]]) for k in (1, 2))
    options = {"knots": knots_that_hold(PRIOR), "directions": None, "delta": 0.0, "preprocessor": FRAME, **KINDS}
    model = made(learner, alpha=1e5, prior=PRIOR, **options)
    if learner is TripletLearner:
        index = np.where((near < far)[:, None], index, index[:, [0, 2, 1]])[near != far]
        model.fit(index)
    else:
        model.fit(index[:, :2], np.where(near < np.median(near), 1, -1))
    given, learned = PRIOR.pairwise(FRAME), model.semimetric_.pairwise(FRAME)
    apart = given > 0.01
    np.testing.assert_allclose(learned[apart] / given[apart], (learned[apart] / given[apart])[0], rtol=1e-3)


@pytest.mark.slow
def test_auto_chooses_with_a_prior_too():
    y = L1.paired_by_index(NUMBERS, PAIRS) ** 2
    model = DistanceRegressor(program=Program(prior=L1), preprocessor=NUMBERS).fit(PAIRS, y)
    assert model.score(PAIRS, y) > 0.9
    assert len(model.choices_) > 1
    approximator = DistanceApproximator(
        lambda x, y: L1(x, y), DistanceRegressor(n_knots=3, alpha=1e8, program=Program(prior=L1)), n_pairs=300
    ).fit(NUMBERS)
    np.testing.assert_allclose(approximator.semimetric_.pairwise(NUMBERS), L1.pairwise(NUMBERS), rtol=1e-4, atol=1e-5)


def test_categories_go_by_name():
    """The items that are learned from have fewer categories than the prior, in another order of codes."""
    some = FRAME[FRAME["colour"] != "blue"].reset_index(drop=True)
    some["colour"] = some["colour"].cat.set_categories(["red", "green"])
    pairs = np.random.default_rng(5).integers(0, len(some), (200, 2))
    y = PRIOR.paired(some.iloc[pairs[:, 0]], some.iloc[pairs[:, 1]])
    options = {"knots": knots_that_hold(PRIOR), "delta": 0.0, "preprocessor": some, **KINDS}
    d = made(DistanceRegressor, alpha=1e8, prior=PRIOR, **options).fit(pairs, y).semimetric_
    np.testing.assert_allclose(d.pairwise(some), PRIOR.pairwise(some), rtol=1e-3, atol=1e-5)


JOINT = (
    DistanceRegressor(n_knots=3, alpha=1e-2, tables=Tables(groups="pairs"), preprocessor=NUMBERS).fit(PAIRS, NOISE).semimetric_
)
BAD = {
    "no distance": ({"prior": "gower"}, "a str", "gower(X)"),
    "joint groups": ({"prior": JOINT}, "joint groups", "sum over single features"),
    "lasso": ({"prior": L1, "penalty": "lasso"}, "'lasso'", "does not draw to it"),
    "towards zero": ({"prior": L1, "penalty": Ridge(towards="zero")}, "Ridge", "does not draw to it"),
    "no penalty": ({"prior": L1, "penalty": None}, "penalty=None", "does not draw to it"),
    "roots": ({"prior": L1, "link": "sqrt"}, "prior=", 'link="identity"'),
    "other features": ({"prior": PRIOR}, "size, colour", "x0, x1"),
    "a feature left out": ({"prior": L1, "groups": [(0,)]}, "'x1'", "groups="),
    "another kind": ({"prior": L1, "periodic": {1: 24}}, "'x1'", "periodic"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_started_from_is_refused(name):
    options, *words = BAD[name]
    model = made(DistanceRegressor, **({"n_knots": 3, "alpha": 1e-3, "preprocessor": NUMBERS} | options))
    assert_refused(lambda: model.fit(PAIRS, NOISE), *words, error=ValueError)


def test_streams_have_no_prior():
    model = DistanceRegressor(n_knots=3, alpha=1e-3, program=Program(prior=L1), preprocessor=NUMBERS)
    assert_refused(lambda: model.partial_fit(PAIRS, NOISE), "partial_fit", "prior=", error=ValueError)


def test_a_prior_that_is_0_where_distances_are_not_is_refused():
    nothing = Semimetric.l1(NUMBERS, weights=[0.0, 0.0])
    model = DistanceRegressor(n_knots=3, alpha=1e-3, program=Program(prior=nothing), preprocessor=NUMBERS)
    assert_refused(lambda: model.fit(PAIRS, NOISE), "nothing in common", "another")


LABELS = (NUMBERS[:, 0] + (NUMBERS[:, 1] > 12) > 0.4).astype(int)
SCALES = {"directions": None, "tables": "warped"}


def mean_target(d, items, n_targets=3):
    """The mean distance of an item to the nearest ones of its class that are not at distance 0."""
    distances = np.where(LABELS[:, None] == LABELS, d.pairwise(items), np.inf)
    distances[distances <= 0] = np.inf
    return np.sort(distances, axis=1)[:, :n_targets].mean()


@pytest.mark.parametrize("tables", ["full", "warped"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_labels_start_from_a_given_distance_of_which_the_proportions_count(tables, loss):
    """A strong penalty gives it back in units of the margin, which is 0.7 of its mean distance to a target."""
    options = {"knots": knots_that_hold(PRIOR), "directions": None, "delta": 0.0, "tables": tables, "loss": loss, **KINDS}
    d = made(LargeMarginLearner, alpha=1e8, prior=PRIOR, **options).fit(FRAME, LABELS).semimetric_
    multiple = 1 / (0.7 * mean_target(PRIOR, FRAME))
    np.testing.assert_allclose(d.pairwise(FRAME), multiple * PRIOR.pairwise(FRAME), rtol=1e-5, atol=1e-6)


def test_the_unit_of_the_prior_of_labels_plays_no_part():
    learned = [
        made(LargeMarginLearner, n_knots=4, alpha=1e-2, prior=Semimetric.l1(NUMBERS, weights=w), **SCALES).fit(NUMBERS, LABELS)
        for w in ([3.0, 0.2], [3e4, 2e3])
    ]
    first, second = (model.semimetric_.pairwise(NUMBERS) for model in learned)
    np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-9)
    without = LargeMarginLearner(n_knots=4, alpha=1e-2, **SCALES).fit(NUMBERS, LABELS).semimetric_.pairwise(NUMBERS)
    assert np.abs(first - without).max() > 0.1 * first.mean()


@pytest.mark.slow
def test_few_labels_with_a_good_prior_beat_few_labels_without():
    rng = np.random.default_rng(1)
    w = rng.lognormal(0.0, 1.5, 10)
    errors = {"with": [], "without": []}
    for _ in range(3):
        X = rng.random((320, 10))
        y = (X @ w > w.sum() / 2).astype(int)
        for name, given in (("with", Semimetric.l1(X[:20], weights=w)), ("without", None)):
            learner = made(LargeMarginLearner, n_knots=3, alpha=0.1, prior=given, **SCALES)
            errors[name].append(1 - SemimetricClassifier(learner).fit(X[:20], y[:20]).score(X[20:], y[20:]))
    assert np.mean(errors["with"]) < np.mean(errors["without"]) - 0.02


@pytest.mark.slow
def test_auto_of_labels_chooses_with_a_prior_and_directions_join_it():
    model = LargeMarginLearner(program=Program(prior=L1), effort="fast").fit(NUMBERS, LABELS)
    assert len(model.choices_) > 1
    joined = LargeMarginLearner(n_knots=4, alpha=1e-3, program=Program(prior=L1), directions="lda", tables="warped").fit(
        NUMBERS, LABELS
    )
    assert joined.semimetric_.directions is not None
    np.testing.assert_array_equal(clone(joined).program.prior.pairwise(NUMBERS), L1.pairwise(NUMBERS))


NOTHING = Semimetric.l1(NUMBERS, weights=[0.0, 0.0])
BAD_OF_LABELS = {
    "no distance": ({"prior": "gower"}, "a str", "gower(X)"),
    "lasso": ({"prior": L1, "penalty": "lasso"}, "'lasso'", "does not draw to it"),
    "places": ({"prior": L1, "base": "positions"}, "prior=", 'base="values"'),
    "other features": ({"prior": PRIOR}, "size, colour", "x0, x1"),
    "no margin": ({"prior": NOTHING}, "0 between every item and the nearest ones of its class", "give another"),
}


@pytest.mark.parametrize("name", BAD_OF_LABELS)
def test_what_labels_cannot_start_from_is_refused(name):
    options, *words = BAD_OF_LABELS[name]
    model = made(LargeMarginLearner, **({"n_knots": 3, "alpha": 1e-3} | SCALES | options))
    assert_refused(lambda: model.fit(NUMBERS, LABELS), *words, error=ValueError)
