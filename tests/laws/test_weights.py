"""Weights equal repetition, and travel: what votes counts weights, and scikit-learn routes them to whoever asks."""

import numpy as np
import pytest
import sklearn
from cases import assert_refused, cityblock
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from semimetric import (
    DistanceRegressor,
    EmbeddedLinearClassifier,
    EmbeddedLinearRegressor,
    LargeMarginLearner,
    PairLearner,
    QuadrupletLearner,
    SemimetricClassifier,
    SemimetricNeighborsTransformer,
    SemimetricRegressor,
    Tables,
    TripletLearner,
    Triplets,
)

RNG = np.random.default_rng(0)
X = RNG.random((40, 3))
Y = (X[:, 0] + 0.2 * RNG.normal(size=40) > 0.5).astype(int)
TIMES = RNG.integers(0, 4, 40)
COPIES = RNG.permutation(np.repeat(np.arange(40), TIMES))
LEARNER = LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped", triplets=Triplets(n_passes=1))
CLASSIFIER = SemimetricClassifier(LEARNER, n_neighbors=5, weights="distance")
REGRESSOR = SemimetricRegressor(DistanceRegressor(n_knots=3, alpha=1e-2), n_pairs=200)

TUPLES = {
    DistanceRegressor(n_knots=3, alpha=1e-2, tables=Tables(knots="uniform")): 2,
    PairLearner(n_knots=3, alpha=1e-2, directions=None, tables=Tables("warped", knots="uniform")): 2,
    TripletLearner(n_knots=3, alpha=1e-2, directions=None, tables=Tables("warped", knots="uniform")): 3,
    QuadrupletLearner(n_knots=3, alpha=1e-2, directions=None, tables=Tables("warped", knots="uniform")): 4,
}


@pytest.mark.parametrize(
    "model",
    [
        CLASSIFIER,
        REGRESSOR,
        SemimetricClassifier(LEARNER),
        SemimetricClassifier(LEARNER, class_weight="balanced"),
        SemimetricRegressor(),
        EmbeddedLinearClassifier(),
        EmbeddedLinearRegressor(),
    ],
)
def test_an_item_of_weight_three_is_the_item_three_times(model):
    one = clone(model).fit(X, Y, sample_weight=TIMES)
    many = clone(model).fit(X[COPIES], Y[COPIES])
    queries = RNG.random((50, 3))
    np.testing.assert_allclose(one.predict(queries), many.predict(queries), rtol=1e-9)
    if hasattr(one, "predict_proba"):
        np.testing.assert_allclose(one.predict_proba(queries), many.predict_proba(queries), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@pytest.mark.parametrize(("model", "size"), TUPLES.items(), ids=str)
def test_a_tuple_of_weight_three_is_the_tuple_three_times(model, size):
    index = np.array([RNG.choice(40, size, replace=False) for _ in range(60)])
    d = [cityblock(X[index[:, a]], X[index[:, b]]) for a, b in ((0, 1), (size - 2 if size > 3 else 0, size - 1))]
    index[d[0] > d[1]] = index[d[0] > d[1]][:, [*range(size - 2), size - 1, size - 2]] if size == 3 else index[d[0] > d[1]]
    y = () if size > 2 else (d[0],) if isinstance(model, DistanceRegressor) else (np.where(d[0] < np.median(d[0]), 1, -1),)
    times = RNG.integers(1, 4, 60)
    copies = np.repeat(np.arange(60), times)
    one = clone(model).set_params(preprocessor=X).fit(index, *y, sample_weight=times)
    many = clone(model).set_params(preprocessor=X).fit(index[copies], *(part[copies] for part in y))
    pairs = RNG.integers(0, 40, (50, 2))
    np.testing.assert_allclose(one.pair_distance(pairs), many.pair_distance(pairs), rtol=1e-3, atol=1e-5)  # the solver's


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
def test_votes_count_weights_until_there_are_enough():
    line = np.arange(6.0)[:, None]
    model = SemimetricClassifier(LEARNER, n_neighbors=3, weights="uniform").fit(
        line, list("aabbab"), sample_weight=[1, 0.5, 1, 0.25, 5, 0]
    )
    assert model.classes_.tolist() == ["a", "b"]
    shares = {0: (1.5 + 5, 1.25), 5: (5, 0)}  # a 1, a 1/2, b 1, b 1/4 and the whole a 5, as if it was repeated; then a alone
    for query, (a, b) in shares.items():
        np.testing.assert_allclose(model.predict_proba([[float(query)]]), [[a / (a + b), b / (a + b)]])
    everyone = SemimetricClassifier(LEARNER, n_neighbors=9, weights="uniform").fit(
        line, list("aabbab"), sample_weight=np.ones(6)
    )
    np.testing.assert_allclose(everyone.predict_proba([[0.0]]), [[0.5, 0.5]])


@pytest.mark.parametrize("model", [CLASSIFIER, REGRESSOR, SemimetricClassifier(LEARNER), SemimetricRegressor()])
def test_equal_weights_however_small_vote_like_none(model):
    queries = RNG.random((50, 3))
    want = clone(model).fit(X, Y).predict(queries)
    assert np.ptp(want) > 0
    for small in (1 / 40, 1e-300):
        np.testing.assert_allclose(clone(model).fit(X, Y, sample_weight=np.full(40, small)).predict(queries), want, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
def test_weights_below_one_vote_in_proportion_to_the_largest():
    line = np.arange(4.0)[:, None]
    model = SemimetricClassifier(LEARNER, n_neighbors=2, weights="uniform")
    model.fit(line, list("abab"), sample_weight=[0.1, 0.05, 0.1, 0.1])
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[0.8, 0.2]])  # a 1, b 1/2, and an a


def test_an_item_without_weight_neither_votes_nor_makes_a_class():
    weight = np.where(np.arange(40) < 30, 1.0, 0.0)
    y = np.where(np.arange(40) < 30, Y, 7)
    model = SemimetricClassifier(LEARNER, n_neighbors=1, weights="distance").fit(X, y, sample_weight=weight)
    assert model.classes_.tolist() == [0, 1]
    assert set(model.predict(X)) <= {0, 1}
    assert SemimetricRegressor(REGRESSOR.learner, n_pairs=50).fit(X, y, sample_weight=weight).predict(X).max() <= 1


class Unweighted(BaseEstimator):
    """A learner whose fit takes no weights."""

    def fit(self, X, y):
        self.semimetric_ = clone(LEARNER).fit(X, y).semimetric_
        return self


def test_weights_that_nobody_takes_are_refused():
    for model in (SemimetricClassifier(Unweighted()), SemimetricNeighborsTransformer(learner=Unweighted())):
        assert_refused(
            lambda model=model: model.fit(X, Y, sample_weight=TIMES), "sample_weight is given", "takes none", "drop it"
        )
    d = clone(LEARNER).fit(X, Y).semimetric_
    given = SemimetricNeighborsTransformer(d)
    assert_refused(lambda: given.fit(X, sample_weight=TIMES), "semimetric= is a distance", "for a learner", "drop it")
    assert SemimetricClassifier(Unweighted()).fit(X, Y).score(X, Y) > 0.8


def test_weights_are_routed_through_pipelines_searches_and_ensembles():
    expected = clone(CLASSIFIER).fit(X, Y, sample_weight=TIMES).predict_proba(X)
    with sklearn.config_context(enable_metadata_routing=True):
        asks = clone(CLASSIFIER).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asks)
        at = StandardScaler().fit_transform(X)
        got = clone(CLASSIFIER).fit(at, Y, sample_weight=TIMES).predict_proba(at)
        np.testing.assert_array_equal(pipeline.fit(X, Y, sample_weight=TIMES).predict_proba(X), got)
        search = GridSearchCV(asks, {"n_neighbors": [5]}, cv=2).fit(X, Y, sample_weight=TIMES)
        np.testing.assert_array_equal(search.predict_proba(X), expected)
        scores = cross_validate(asks, X, Y, params={"sample_weight": TIMES}, cv=2)["test_score"]
        assert (scores > 0.5).all()
        bag = BaggingClassifier(asks, n_estimators=2, random_state=0).fit(X, Y, sample_weight=TIMES + 1)
        assert bag.score(X, Y) > 0.6
        graph = SemimetricNeighborsTransformer(learner=LEARNER).set_fit_request(sample_weight=True)
        vote = KNeighborsClassifier(5, metric="precomputed")
        assert make_pipeline(graph, vote).fit(X, Y, sample_weight=TIMES).score(X, Y) > 0.6
    boosted = AdaBoostClassifier(EmbeddedLinearClassifier(), n_estimators=3, random_state=0).fit(X, Y)
    assert boosted.score(X, Y) > 0.7


def test_one_seed_reaches_what_the_learner_draws():
    seeded = SemimetricClassifier(LEARNER, random_state=3).fit(X, Y)
    assert seeded.learner_.random_state == SemimetricClassifier(LEARNER, random_state=3).fit(X, Y).learner_.random_state
    assert seeded.learner_.random_state != LEARNER.random_state
    assert SemimetricClassifier(LEARNER).fit(X, Y).learner_.random_state == LEARNER.random_state
    assert SemimetricClassifier(LEARNER, random_state=np.random.RandomState(0)).fit(X, Y).score(X, Y) > 0.8
    assert SemimetricClassifier(Unweighted(), random_state=0).fit(X, Y).score(X, Y) > 0.8
