"""Landmarks: which are chosen, what is called, and what is left of the calls when something goes wrong."""

import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from reference import edit_distance
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from semimetric import DistanceCallError, InputError, LandmarkFeatures, load
from semimetric.distances.features.landmarks import medoids

RNG = np.random.default_rng(0)
WORDS = ["".join(RNG.choice(list("abcdefgh"), RNG.integers(2, 8))) for _ in range(60)]
TRUE = np.array([[edit_distance(a, b) for b in WORDS] for a in WORDS], dtype=float)
STRATEGIES = ["maxmin", "random", "medoids"]


class Counted:
    """Edit distance that counts its calls, and fails when it is told to."""

    def __init__(self, fails_at=None, failure=None):
        self.n, self.fails_at, self.failure = 0, fails_at, failure
        self.lock = threading.Lock()

    def __call__(self, x, y):
        with self.lock:
            self.n += 1
            now = self.n
        if now == self.fails_at:
            if isinstance(self.failure, BaseException):
                raise self.failure
            return self.failure
        return edit_distance(x, y)


@pytest.mark.parametrize("backend", ["threads", "processes"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_features_are_the_distances_to_landmarks(strategy, backend):
    model = LandmarkFeatures(edit_distance, n_landmarks=5, strategy=strategy, n_jobs=2, backend=backend)
    found = model.fit_transform(WORDS)
    np.testing.assert_array_equal(found, TRUE[:, model.landmark_indices_])
    np.testing.assert_array_equal(model.transform(WORDS[::-1]), found[::-1])
    assert found.dtype == np.float64
    assert model.landmarks_ == [WORDS[i] for i in model.landmark_indices_]
    assert len(set(model.landmark_indices_.tolist())) == 5
    assert model.get_feature_names_out().tolist() == [f"distance to {i}" for i in model.landmark_indices_]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_calls_are_counted_and_none_is_made_twice(strategy, n_jobs):
    distance = Counted()
    model = LandmarkFeatures(distance, n_landmarks=5, strategy=strategy, n_jobs=n_jobs)
    found = model.fit_transform(WORDS)
    n = len(WORDS)
    once = 5 * n - 5 - 10  # of two landmarks one direction, of none itself
    drawn = 20
    want = once if strategy != "medoids" else drawn * (drawn - 1) // 2 + 5 * (n - drawn)
    assert model.n_calls_ == distance.n == want
    model.transform(WORDS[:7])
    assert model.n_calls_ == want == distance.n - 35  # the state of a transformer is that of its fit
    assert found.shape == (n, 5)


def test_maxmin_takes_the_farthest_from_those_before():
    order = LandmarkFeatures(edit_distance, n_landmarks=8).fit(WORDS).landmark_indices_
    for k in range(1, 8):
        nearest = TRUE[:, order[:k]].min(axis=1)
        assert nearest[order[k]] == nearest.max()


def test_maxmin_ends_where_all_are_at_a_landmark():
    model = LandmarkFeatures(edit_distance, n_landmarks=10).fit(["aa", "bb", "aa", "bb", "aa"])
    assert sorted(model.landmarks_) == ["aa", "bb"]


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_no_exchange_improves_medoids(seed, n):
    points = np.random.default_rng(seed).random((12, 2))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    chosen = medoids(D, n)
    assert len(set(chosen.tolist())) == n
    cost = D[:, chosen].min(axis=1).sum()
    for k in range(n):
        for other in set(range(12)) - set(chosen.tolist()):
            swapped = np.r_[np.delete(chosen, k), other]
            assert D[:, swapped].min(axis=1).sum() >= cost * (1 - 1e-9)


@given(st.lists(st.text("abc", max_size=6), min_size=2, max_size=8), st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_the_largest_difference_of_features_is_a_lower_bound_of_a_metric(words, x, y):
    a, b = LandmarkFeatures(edit_distance, n_landmarks=4).fit(words).transform([x, y])
    assert np.abs(a - b).max() <= edit_distance(x, y)


class Opaque:
    """An object that refuses to become an array, to be copied or compared."""

    def __init__(self, value):
        self.value = value

    def __array__(self, *args, **kwargs):
        raise AssertionError("made an array")

    def __len__(self):
        raise AssertionError("asked for its length")

    def __copy__(self):
        raise AssertionError("copied")

    __deepcopy__ = __copy__
    __reduce__ = __copy__


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_objects_are_handed_over_as_they_are(strategy):
    given_objects = [Opaque(v) for v in range(12)]
    seen = set()

    def distance(x, y):
        seen.update((id(x), id(y)))
        return abs(x.value - y.value)

    model = LandmarkFeatures(distance, n_landmarks=3, strategy=strategy, n_jobs=2)
    assert model.fit_transform(given_objects).shape == (12, 3)
    assert seen <= {id(o) for o in given_objects}
    assert all(any(kept is o for o in given_objects) for kept in model.landmarks_)


@pytest.mark.parametrize(
    "objects",
    [
        [{1, 2}, {2}, {3, 4, 5}, set()],
        [np.arange(3), np.arange(5), np.zeros((2, 2)), np.ones(1)],
        [{"a": 1}, {}, {"b": 2, "c": 3}, {"a": 2}],
        ("ab", "c", "abc", ""),
        np.arange(8.0).reshape(4, 2),
        pd.Series(["ab", "c", "abc", ""], index=[7, 5, 3, 1]),
    ],
)
def test_any_sequence_will_do(objects):
    def sizes(x, y):
        return abs(np.size(x) if isinstance(x, np.ndarray) else len(x) - len(y))

    assert LandmarkFeatures(sizes, n_landmarks=2, strategy="random").fit_transform(objects).shape == (4, 2)


@pytest.mark.parametrize(
    ("given_objects", "words"),
    [
        ("words", "one text of 5 characters"),
        ({"a": 1}, "of type dict, which has no entries by number"),
        ({"a"}, "of type set"),
        (iter(WORDS), "which has no entries by number"),
        (5, "of type int"),
        (np.float64(3), "has no entries by number"),
        (pd.DataFrame({"a": [1.0]}), "is a frame"),
        ([], "has 0 objects; at least 1 object"),
    ],
)
def test_what_is_no_sequence_is_refused_before_any_call(given_objects, words):
    distance = Counted()
    assert_refused(lambda: LandmarkFeatures(distance).fit(given_objects), words, "")
    assert distance.n == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"distance": None}, "distance=None must be callable"),
        ({"distance": "edit"}, "distance='edit' must be callable"),
        ({"n_landmarks": 0}, "n_landmarks=0"),
        ({"strategy": "best"}, "strategy='best' is not known"),
        ({"backend": "fibres"}, "backend='fibres' is not known"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"cache": []}, "must be a mapping"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(changes, words):
    assert_refused(lambda: LandmarkFeatures(**{"distance": edit_distance} | changes).fit(WORDS), words, "")


FAILURES = [
    (np.nan, "it returned nan"),
    (-1.0, "it returned -1"),
    (np.inf, "it returned inf"),
    (np.ones(2), "an array of shape (2,)"),
    (np.ones(1), "an array of shape (1,)"),
    ("3", "it returned '3', and no number"),
    (None, "it returned None, and no number"),
    (1j, "and no number"),
    (ZeroDivisionError("by nought"), "ZeroDivisionError: by nought"),
]


@pytest.mark.parametrize(("failure", "words"), FAILURES)
def test_a_distance_that_fails_names_its_objects_and_keeps_the_rest(failure, words):
    distance = Counted(100, failure)
    model = LandmarkFeatures(distance, n_landmarks=5, cache={})
    error = assert_refused(lambda: model.fit(WORDS), words, "A finite number >= 0 is required", error=DistanceCallError)
    assert f"objects {error.pair[0]} and {error.pair[1]}" in str(error)
    assert model.n_calls_ == distance.n == 100
    known = ~np.isnan(model.distances_)
    np.testing.assert_array_equal(model.distances_[known], TRUE[:, model.landmark_indices_][known])
    assert known.sum() >= 99
    np.testing.assert_array_equal(error.distances, TRUE[tuple(error.pairs.T)])
    with pytest.raises(NotFittedError):
        model.transform(WORDS)
    again = model.fit_transform(WORDS)  # nothing of the 99 is called again
    assert distance.n == 100 + 285 - 99
    np.testing.assert_array_equal(again, TRUE[:, model.landmark_indices_])


def test_transform_names_the_object_and_the_landmark():
    distance = Counted()
    model = LandmarkFeatures(distance, n_landmarks=5).fit(WORDS)
    distance.fails_at, distance.failure = distance.n + 8, np.nan
    error = assert_refused(lambda: model.transform(WORDS), "object 1 and landmark 2", "", error=DistanceCallError)
    assert error.pair == (1, 2)
    assert len(error.distances) == 7


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ctrl_c_keeps_what_was_evaluated(n_jobs):
    cache = {}
    distance = Counted(150, KeyboardInterrupt())
    model = LandmarkFeatures(distance, n_landmarks=5, cache=cache, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        model.fit(WORDS)
    assert not hasattr(model, "landmarks_")
    before = distance.n  # with what another thread answered meanwhile
    assert 100 < len(cache) < before
    model.fit(WORDS)
    assert distance.n - before < 285 - 100


SLOW = """
import threading, time
from semimetric import LandmarkFeatures

def slow(x, y):
    time.sleep(0.01)
    return abs(len(x) - len(y))

def watch():
    while not cache:
        time.sleep(0.01)
    print("begun", flush=True)

cache = {{}}
threading.Thread(target=watch).start()
model = LandmarkFeatures(slow, n_landmarks=60, strategy="random", n_jobs={n_jobs}, backend={backend!r}, cache=cache)
try:
    model.fit_transform(["a" * k for k in range(400)])
except KeyboardInterrupt:
    print("stopped", 0 < len(cache) <= model.n_calls_ < 20_000, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("n_jobs", "backend"), [(1, "threads"), (2, "threads"), (2, "processes")])
def test_a_real_ctrl_c_ends_it(n_jobs, backend, tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(SLOW.format(n_jobs=n_jobs, backend=backend))
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out == "stopped True\n", err


def test_the_cache_is_of_objects_and_shared_by_clones():
    distance, cache = Counted(), {}
    model = LandmarkFeatures(distance, n_landmarks=5, cache=cache)
    first = model.fit_transform(WORDS)
    assert clone(model).cache is cache
    np.testing.assert_array_equal(clone(model).fit_transform(WORDS[::-1])[:, 0] >= 0, True)
    before = distance.n
    np.testing.assert_array_equal(clone(model).fit(WORDS).transform(WORDS[::-1]), first[::-1])
    assert distance.n - before <= 5 + 10  # landmarks to themselves, which no fit has called
    arrays = [np.arange(k) for k in range(1, 6)]
    remembered = LandmarkFeatures(lambda x, y: abs(len(x) - len(y)), n_landmarks=2, cache={}).fit(arrays)
    n_kept = len(remembered.cache)
    remembered.transform([a.copy() for a in arrays])
    assert len(remembered.cache) - n_kept == 2  # landmarks to themselves


def test_objects_that_cannot_be_remembered_are_refused_with_a_cache():
    class Fleeting:
        __hash__ = None

        def __reduce__(self):
            raise TypeError("no")

    objects = [Fleeting(), Fleeting()]
    assert LandmarkFeatures(lambda x, y: 1.0, n_landmarks=1).fit_transform(objects).tolist() in ([[0.0], [1.0]], [[1.0], [0.0]])
    assert_refused(
        lambda: LandmarkFeatures(lambda x, y: 1.0, cache={}).fit(objects),
        "type Fleeting",
        "hashed nor pickled",
        "leave cache= out",
    )


def test_it_is_a_transformer_of_scikit_learn():
    model = LandmarkFeatures(edit_distance, n_landmarks=4, random_state=3)
    assert clone(model).get_params() == model.get_params()
    scaled = make_pipeline(model, StandardScaler()).set_params(landmarkfeatures__n_landmarks=3).fit_transform(WORDS)
    assert scaled.shape == (60, 3)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0)
    frame = clone(model).set_output(transform="pandas").fit_transform(WORDS)
    assert list(frame.columns)[0].startswith("distance to ")
    again = pickle.loads(pickle.dumps(clone(model).fit(WORDS)))
    np.testing.assert_array_equal(again.transform(WORDS), frame.to_numpy())
    with pytest.raises(NotFittedError):
        clone(model).get_feature_names_out()
    assert_refused(lambda: again.get_feature_names_out(["a"]), "no features of their own", "leave input_features out")


def test_it_is_saved_without_its_distance(tmp_path):
    model = LandmarkFeatures(edit_distance, n_landmarks=4, cache={}).fit(WORDS)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.distance is None
    assert_refused(
        lambda: again.transform(WORDS), "distance=None must be callable", "set_params(distance=...)", error=InputError
    )
    np.testing.assert_array_equal(again.set_params(distance=edit_distance).transform(WORDS), model.transform(WORDS))
