"""Approximating distances of objects: words, of which the features are landmarks or what a function makes of them."""

import numpy as np
import pytest
from cases import assert_absent, assert_refused, cityblock
from learners import made
from reference import edit_distance
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from semimetric import (
    DistanceApproximator,
    DistanceCallError,
    DistanceRegressor,
    HistogramFeatures,
    InputError,
    LandmarkFeatures,
    NeighborIndex,
    NotSupportedError,
    SemimetricWarning,
    StringFeatures,
    load,
)

RNG = np.random.default_rng(0)
WORDS = ["".join(RNG.choice(list("abcd"), RNG.integers(2, 9))) for _ in range(90)]
OTHERS = ["".join(RNG.choice(list("abcd"), RNG.integers(2, 9))) for _ in range(40)]
FAST = {"n_pairs": 400, "n_knots": 2, "tables": "warped", "alpha": 1e-2}
CLOSE = LandmarkFeatures(n_landmarks=20)

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*lie outside the range of the fit", "ignore:on .* pairs of items that were set"
)


class Counted:
    """Edit distance that counts its calls and keeps the pairs."""

    def __init__(self):
        self.calls = []

    def __call__(self, x, y):
        self.calls.append((x, y))
        return edit_distance(x, y)


def letters(words):
    """A letter's number in a word, for a, b, c and d, and its length."""
    return np.array([[w.count(c) for c in "abcd"] + [len(w)] for w in words], dtype=float)


def cityblock_of_letters(x, y):
    a, b = letters([x, y])
    return np.abs(a - b).sum()


def fit(features=CLOSE, distance=edit_distance, X=WORDS, **changes):
    return made(DistanceApproximator, distance, features=features, **FAST | changes).fit(X)


def test_it_learns_the_distance_of_words():
    model = fit()
    pairs = [(a, b) for a in OTHERS[:20] for b in OTHERS[20:]]
    true = np.array([edit_distance(a, b) for a, b in pairs])
    found = model.predict(pairs)
    assert spearmanr(found, true)[0] > 0.75
    assert 0 < model.error_quantiles_[0.5] < 0.35
    np.testing.assert_array_equal(found, model.pair_distance(pairs))
    np.testing.assert_allclose(model.pairwise(OTHERS[:20], OTHERS[20:]).ravel(), found)
    np.testing.assert_allclose(model.pairwise(OTHERS), model.pairwise(OTHERS).T)
    assert model.semimetric_.feature_names[0].startswith("distance to ")
    assert model.n_features_in_ == 20


def test_pairs_and_distances_are_those_of_the_objects():
    model = fit()
    assert model.pairs_.max() < len(WORDS)
    np.testing.assert_array_equal(model.distances_, [edit_distance(WORDS[i], WORDS[j]) for i, j in model.pairs_])


def test_calls_are_counted_and_those_of_landmarks_made_once():
    distance = Counted()
    model = fit(distance=distance, validation_fraction=0.0, n_pairs=10**6)
    n = len(WORDS)
    assert model.n_calls_ == len(distance.calls)
    asked = [tuple(sorted(pair)) for pair in distance.calls]
    assert n * (n - 1) // 2 <= len(asked) <= n * (n - 1) // 2 + 9  # every pair, and a few both ways and of words to themselves
    assert len(model.pairs_) == n * (n - 1) // 2
    before = len(distance.calls)
    model.encode(OTHERS)
    assert len(distance.calls) - before == 20 * len(OTHERS)


def test_a_distance_of_its_own_stays_that_of_the_landmarks():
    other = Counted()
    model = fit(LandmarkFeatures(other, n_landmarks=3), validation_fraction=0.0)
    assert len(other.calls) == 3 * len(WORDS) - 3 - 3
    assert model.n_calls_ == len(other.calls) + model.distances_.size + 9
    cache = {}
    remembered = Counted()
    fit(LandmarkFeatures(n_landmarks=3, cache=cache), distance=remembered)
    calls = len(remembered.calls)
    fit(LandmarkFeatures(n_landmarks=3, cache=cache), distance=remembered)
    assert len(remembered.calls) - calls == 9  # in both orders, and of items to themselves
    assert len(cache) > 400


def test_equal_objects_are_held_out_together():
    words = [w for w in WORDS[:40] for _ in range(2)]
    model = fit(letters, X=words, validation_fraction=0.3)
    learned = {words[i] for i in model.pairs_.ravel()}
    assert len({*words} - learned) >= 0.2 * len({*words})


@pytest.mark.parametrize(
    "features",
    [
        letters,
        FunctionTransformer(letters),
        CountVectorizer(analyzer="char", ngram_range=(1, 2)),
        make_pipeline(CountVectorizer(analyzer="char"), StandardScaler(with_mean=False)),
        make_union(LandmarkFeatures(n_landmarks=4), CountVectorizer(analyzer="char")),
        make_pipeline(LandmarkFeatures(n_landmarks=4), StandardScaler()),
    ],
    ids=["function", "function transformer", "sparse", "pipeline", "union", "pipeline of landmarks"],
)
def test_any_transformer_or_function_will_do(features):
    model = fit(features)
    assert model.encode(OTHERS).shape == (40, model.n_features_in_)
    assert len(model.predict([(WORDS[0], OTHERS[0])])) == 1
    again = clone(model).fit(WORDS)
    np.testing.assert_array_equal(again.pairwise(OTHERS), model.pairwise(OTHERS))


def test_rows_of_an_array_are_objects_too():
    X = np.random.default_rng(1).random((60, 3))
    model = fit(HistogramFeatures([0.0, 1.0, 2.0], bins=True), cityblock, X)
    assert model.predict(X.reshape(30, 2, 3)).shape == (30,)
    np.testing.assert_allclose(model.encode(X[:5]), model.features_.transform(X[:5]))


def test_parameters_of_features_are_set_and_searched():
    model = made(DistanceApproximator, edit_distance, features=LandmarkFeatures(n_landmarks=3), **FAST)
    assert model.get_params()["features__n_landmarks"] == 3
    assert clone(model).set_params(features__n_landmarks=5).fit(WORDS).n_features_in_ == 5
    assert model.features.distance is None
    assert not hasattr(model.features, "landmarks_")


def test_neighbours_are_found_among_encoded_objects():
    model = fit()
    codes = model.encode(WORDS)
    distance, found = NeighborIndex(model.semimetric_).fit(codes).kneighbors(model.encode(OTHERS), 3)
    np.testing.assert_allclose(distance, np.sort(model.pairwise(OTHERS, WORDS), axis=1)[:, :3], atol=1e-9)
    assert found.shape == (40, 3)


def test_coordinates_are_of_objects():
    model = fit()
    coordinates = model.transform(OTHERS)
    np.testing.assert_allclose(np.abs(coordinates[:, None] - coordinates).sum(axis=2), model.pairwise(OTHERS), atol=1e-9)


def test_without_features_it_is_as_it_was():
    X = np.random.default_rng(1).random((60, 2))
    model = DistanceApproximator(cityblock, DistanceRegressor(n_knots=3, alpha=1e-3), n_pairs=200).fit(X)
    np.testing.assert_array_equal(model.pairwise(X), model.semimetric_.pairwise(X))
    assert_absent(model, "encode", "features=")
    assert not hasattr(model, "features_")
    again = fit(letters, cityblock_of_letters).set_params(features=None, distance=cityblock).fit(X)
    assert not hasattr(again, "features_")
    assert again.n_calls_ == clone(again).fit(X).n_calls_ < 400 + 2 * 40 + 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": 3}, "features=3 must be a transformer"),
        ({"features": LandmarkFeatures}, "must be a transformer"),
        ({"features": lambda words: np.ones((2, 2))}, "returned the shape (2, 2) for 81 objects"),
        ({"features": lambda words: np.full((len(words), 1), np.nan)}, "features of the objects"),
        ({"features": lambda words: np.ones(len(words))}, "returned the shape (81,)"),
        ({"distance": None}, "distance=None must be callable"),
        ({"X": "words"}, "is one text"),
        ({"X": WORDS[:1]}, "has 1 objects; at least 2"),
        ({"method": "vertices"}, 'use method="regress"'),
        ({"missing": "level"}, "leave columns= out"),
    ],
)
def test_what_cannot_be_used_is_refused_before_any_call(changes, words):
    distance = Counted()
    assert_refused(lambda: fit(**{"distance": distance} | changes), words, "", error=ValueError)
    assert not distance.calls


def test_pairs_that_are_none_are_refused():
    model = fit(letters)
    for pairs, words in (
        (["ab", "cd"], "pairs[0] is of type str and no pair"),
        ([("a", "b", "c")], "no pair"),
        (3, "type int"),
    ):
        assert_refused(lambda pairs=pairs: model.predict(pairs), words, "give a list")


@pytest.mark.parametrize("fails_at", [30, 1300, 1700, 2050])
def test_a_distance_that_fails_names_the_objects_of_X(fails_at):
    """While landmarks are chosen, while held-out objects are encoded, while pairs are called, and those held out."""
    seen = []

    def moody(x, y):
        seen.append((x, y))
        return np.nan if len(seen) == fails_at else edit_distance(x, y)

    model = made(DistanceApproximator, moody, features=CLOSE, **FAST | {"n_pairs": 600}, validation_fraction=0.3)
    error = assert_refused(lambda: model.fit(WORDS), "it returned nan", "A finite number", error=DistanceCallError)
    i, j = error.pair
    assert (WORDS[i], WORDS[j]) == seen[-1]
    assert model.n_calls_ == fails_at
    np.testing.assert_array_equal(error.distances, [edit_distance(WORDS[i], WORDS[j]) for i, j in error.pairs])


def test_ctrl_c_keeps_the_pairs_that_were_called():
    calls = []

    def interrupted(x, y):
        calls.append(1)
        if len(calls) > 150:
            raise KeyboardInterrupt
        return edit_distance(x, y)

    model = made(DistanceApproximator, interrupted, features=letters, **FAST)
    with pytest.raises(KeyboardInterrupt):
        model.fit(WORDS)
    assert not hasattr(model, "semimetric_")
    assert 100 < len(model.pairs_) == len(model.distances_) < 150
    np.testing.assert_array_equal(model.distances_, [edit_distance(WORDS[i], WORDS[j]) for i, j in model.pairs_])


def test_of_an_earlier_fit_nothing_is_left_by_one_that_fails():
    model = fit()
    with pytest.raises(DistanceCallError):
        model.set_params(distance=lambda x, y: np.nan).fit(WORDS)
    assert not {"semimetric_", "pairs_", "distances_"} & vars(model).keys()
    assert model.features_.distances_.shape[0] == 81  # what was called stays: of the landmarks


def test_objects_that_share_their_features_are_judged_too():
    """Different words of one length are told to be equal: errors that leave them out would be too small."""
    model = fit(lambda words: letters(words)[:, -1:], validation_fraction=0.4)
    words = sorted(set(WORDS))
    assert model.error_.n_items == int(0.4 * len(words))
    assert model.error_.n_pairs == round(0.4 * FAST["n_pairs"])
    assert model.error_.quantile_90 == pytest.approx(1.0)


def test_an_asymmetric_distance_is_told():
    with pytest.warns(SemimetricWarning, match="distance= is not symmetric"):
        fit(letters, lambda x, y: float(max(len(x) - len(y), 0)))


def test_it_is_saved_with_its_landmarks_and_without_code(tmp_path):
    model = fit()
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.distance is None
    assert again.n_calls_ == model.n_calls_
    np.testing.assert_array_equal(again.set_params(distance=edit_distance).pairwise(OTHERS), model.pairwise(OTHERS))
    of_function = fit(letters)
    of_function.save(tmp_path / "f")
    again = load(tmp_path / "f")
    assert again.features is None
    assert_absent(again, "encode", "features=")
    np.testing.assert_array_equal(again.pairwise(letters(OTHERS)), of_function.pairwise(OTHERS))
    again.set_params(features=letters)
    np.testing.assert_array_equal(again.pairwise(OTHERS), of_function.pairwise(OTHERS))


def test_features_that_no_file_holds_are_refused(tmp_path):
    for features, words in (
        (CountVectorizer(analyzer="char"), "is a CountVectorizer"),
        (LandmarkFeatures(Counted(), n_landmarks=2), "has a distance of its own"),
    ):
        model = fit(features)
        assert_refused(lambda model=model: model.save(tmp_path / "m"), words, "semimetric_.save(path)", error=NotSupportedError)


def test_counts_that_no_word_tells_apart_are_no_news_but_a_constant_column_of_a_function_is():
    strings = StringFeatures(q=(1,), n_places=0)
    assert np.ptp(strings.fit(WORDS).transform(WORDS)[:, -1]) == 0  # "other 1-grams": warnings are errors here
    fit(strings)
    with pytest.warns(SemimetricWarning, match="feature feature1 is constant"):
        fit(lambda words: np.array([[len(w), 1.0] for w in words]))


def test_texts_without_features_are_told_of_them():
    for X in (WORDS, tuple(WORDS), np.array(WORDS)):
        assert_refused(lambda X=X: fit(None, X=X), "X holds texts, such as", "features= is None", "features=StringFeatures()")


def test_an_object_that_cannot_be_read_is_named_by_its_place_among_all():
    with pytest.raises(InputError, match=r"X\[90\] is of type NoneType"):
        DistanceApproximator(lambda a, b: float(abs(len(a) - len(b))), features=StringFeatures(), n_pairs=50).fit(
            [*WORDS, None]
        )


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            lambda word: [len(word), word.index("a"), word.lower()],
            r"features= failed on \d+ objects \(ValueError: .*is called once",
        ),
        (
            lambda words: [len(word) for word in words],
            r"returned the shape \(\d+,\) for \d+ objects; a function is called once",
        ),
    ],
)
def test_a_function_of_one_object_is_refused_with_advice(features, message):
    with pytest.raises(InputError, match=message):
        DistanceApproximator(lambda a, b: float(abs(len(a) - len(b))), features=features, n_pairs=50).fit(WORDS)
