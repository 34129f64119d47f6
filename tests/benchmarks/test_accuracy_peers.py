"""The rivals are what they say: votes beside scikit-learn's, ModernNCA's gradient, limits and failures that are told."""

import argparse
import signal
from importlib import import_module

import numpy as np
import pytest
import sklearn.metrics
from sklearn.datasets import load_iris, make_blobs
from sklearn.neighbors import KNeighborsClassifier

needs_timer = pytest.mark.skipif(not hasattr(signal, "SIGVTALRM"), reason="the limit of processor seconds is a signal of POSIX")


@pytest.fixture
def peers():
    return import_module("accuracy_peers")


@pytest.fixture
def accuracy():
    return import_module("knn_accuracy")


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 4, 9])
def test_votes_are_those_of_scikit_learn(peers, rng, k, weights):
    X, T, y = rng.random((60, 2)), rng.random((30, 2)), rng.integers(0, 3, 60)
    T[:3], X[1], y[1] = X[:3], X[0], y[0]  # queries that coincide with one item, and with two, of which either may be the last
    distances, rows = peers.nearest(X, T, "euclidean", 9)
    expected = KNeighborsClassifier(k, weights=weights).fit(X, y).predict_proba(T)
    np.testing.assert_allclose(peers.shares(distances, y[rows], 3, k, weights), expected, atol=1e-12)


def test_noise_asks_for_more_neighbors(peers, rng):
    X, y = make_blobs(300, centers=2, cluster_std=1.0, random_state=0)
    y = np.where(rng.random(300) < 0.25, 1 - y, y)
    k, _ = peers.chosen(peers.identity, X, y, "euclidean", 5)
    assert k >= 9


def test_log_loss_is_that_of_scikit_learn_until_the_floor(peers, rng):
    p, y = rng.dirichlet(np.ones(3), 50), np.r_[0, 1, 2, rng.integers(0, 3, 47)]
    assert peers.log_loss(p, y, 1e-15) == pytest.approx(sklearn.metrics.log_loss(y, p))
    assert peers.log_loss(np.array([[0.0, 1.0]]), np.array([0])) == pytest.approx(-np.log(peers.FLOOR))


@pytest.mark.slow
def test_every_family_answers_under_its_names(peers):
    X, y = load_iris(return_X_y=True)
    for names in peers.FAMILIES:
        if not {"semimetric", "lmnn", "itml", "scml"} & set(names):  # our own has its tests; metric-learn may not be there
            answers = list(peers.FAMILIES[names](X[::2], y[::2], X[1::2]))
            assert [name for name, _, _ in answers] == list(names)
            for name, predicted, probabilities in answers:
                assert np.mean(predicted == y[1::2]) > 0.9, name
                np.testing.assert_allclose(probabilities().sum(1), 1, rtol=1e-5)


def test_the_gradient_of_modern_nca_is_that_of_central_differences():
    gradient_error = import_module("modern_nca").gradient_error
    assert max(gradient_error(seed) for seed in range(3)) < 1e-6


def test_modern_nca_learns_what_no_linear_map_shows(rng):
    X = rng.uniform(-1.5, 1.5, (400, 3))
    y = (np.floor(X[:, 0] * 2) % 2).astype(int)  # stripes, beside two features that say nothing
    model = import_module("modern_nca").ModernNCA(0).fit(X[:300], y[:300])
    wrong = np.mean(model.predict_proba(X[300:]).argmax(1) != y[300:])
    euclid = 1 - KNeighborsClassifier(3).fit(X[:300], y[:300]).score(X[300:], y[300:])
    assert wrong < 0.15
    assert wrong < euclid


def test_modern_nca_answers_the_same_again_and_takes_a_class_of_one_item(rng):
    make = import_module("modern_nca").ModernNCA
    X, y = rng.standard_normal((12, 2)), np.r_[np.zeros(6, int), np.ones(5, int), 2]
    first, again = (make(3).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (12, 3)


def endless(X, y, T):
    """Answers once, then never."""
    yield "quick", np.zeros(len(T), int), None
    while True:
        sum(range(1000))


def broken(X, y, T):
    yield "whole", y[: len(T)], None
    raise ValueError("no such thing")


@pytest.fixture
def data():
    return np.zeros((4, 1)), np.array([5, 5, 7, 7]), np.zeros((2, 1)), np.array([5, 7])


@needs_timer
def test_a_method_that_takes_too_long_is_stopped_and_said_so(accuracy, data, monkeypatch):
    monkeypatch.setitem(accuracy.FAMILIES, ("quick", "slow"), endless)
    first, second = accuracy.timed(("quick", "slow"), data, 0.2)
    assert first["error"] == 0.5
    assert second == {"method": "slow", "error": None, "failed": "more than 0.2 s of the processor"}
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0


@needs_timer
def test_a_failure_is_told_with_its_reason(accuracy, data, monkeypatch):
    monkeypatch.setitem(accuracy.FAMILIES, ("whole", "half"), broken)
    first, second = accuracy.timed(("whole", "half"), data, 5)
    assert first["error"] == 0.5
    assert second == {"method": "half", "error": None, "failed": "ValueError('no such thing')"}


@needs_timer
def test_what_is_there_is_not_run_again(accuracy, monkeypatch, tmp_path):
    calls = []

    def counted(X, y, T):
        calls.append(len(X))
        yield "once", np.zeros(len(T), int), lambda: np.tile([0.75, 0.25], (len(T), 1))

    monkeypatch.setattr(accuracy, "FAMILIES", {("once",): counted})
    monkeypatch.setattr(accuracy, "package", lambda method: "scikit-learn")
    X, y = np.arange(8.0)[:, None], np.tile([0, 1], 4)
    tasks = {"toy": (X, y, [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))])}
    arguments, file = argparse.Namespace(splits=[0, 1], methods=["once"], limit=5), tmp_path / "results.jsonl"
    for expected in (2, 2):
        rows = import_module("report").read(file, accuracy.BENCHMARK)
        found = {(row["set"], row["method"], row["split"]): row for row in rows}
        accuracy.run(tasks, arguments, found, file)
        assert len(calls) == expected
    assert {row["split"] for row in rows} == {0, 1}
    assert rows[0]["error"] == 0.5
    assert rows[0]["log_loss"] == pytest.approx(-np.log([0.75, 0.25]).mean())
    assert {"date", "version", "commit", "machine", "seconds", "processor_seconds"} <= rows[0].keys()


def test_tasks_pool_fixed_splits_and_leave_out_what_cannot_be_split(accuracy, rng, tmp_path):
    y = np.r_[np.tile([3, 4], 1_500), 9]  # one item of a class
    X = np.c_[np.arange(3_001), rng.random(3_001)]
    np.savez(tmp_path / "fixed.npz", X_train=X[:2_000], y_train=y[:2_000], X_test=X[2_000:], y_test=y[2_000:])
    np.savez(tmp_path / "small.npz", X=X[:40], y=y[:40])
    np.savez(tmp_path / "combvd_colour.npz", dv=X)
    tasks = accuracy.small_tasks(tmp_path, None)
    assert list(tasks) == ["small", "fixed"]
    items, classes, splits = tasks["fixed"]
    assert 2_499 <= len(items) <= accuracy.ROWS
    assert items[:, 0].max() > 2_000
    assert set(classes) == {0, 1}
    assert len(splits) == accuracy.SPLITS
    for train, test in splits:
        assert sorted(np.r_[train, test]) == list(range(len(items)))
        assert np.bincount(classes[test]) == pytest.approx(0.3 * np.bincount(classes), abs=1)


def test_large_tasks_are_all_letters_by_five_seeds_and_the_fixed_split_of_usps(accuracy, rng, tmp_path):
    np.savez(tmp_path / "letter.npz", X=rng.random((50, 2)), y=np.tile([0, 1], 25))
    np.savez(
        tmp_path / "usps.npz",
        X_train=np.zeros((7_291, 1)),
        y_train=np.zeros(7_291, int),
        X_test=np.ones((9, 1)),
        y_test=np.ones(9, int),
    )
    tasks = accuracy.large_tasks(tmp_path, None)
    X, _, (split,) = tasks["usps, fixed split"]
    assert [X[part].mean() for part in split] == [0, 1]
    splits = tasks["letter, all rows"][2]
    assert len({tuple(test) for _, test in splits}) == 5
    assert all((len(train), len(test)) == (40, 10) for train, test in splits)
