"""The benchmark of paper 0: its tests against SciPy, and what it does not run against running everything."""

from importlib import import_module

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_rel
from sklearn.datasets import load_iris, load_wine
from sklearn.svm import SVC


@pytest.fixture
def paper0():
    return import_module("paper0")


def test_the_paired_test_is_that_of_scipy(paper0, rng):
    better, worse = rng.normal(1.0, 2.0, 30), rng.normal(0.0, 2.0, 30)
    assert paper0.p_value(better, worse) == pytest.approx(ttest_rel(better, worse, alternative="greater").pvalue)


def test_the_corrected_test_widens_the_variance_by_the_share_of_the_test_part(paper0, rng):
    better, worse = rng.normal(1.0, 2.0, 30), rng.normal(0.0, 2.0, 30)
    share = 3 / 7
    statistic = ttest_rel(better, worse).statistic / np.sqrt(1 + 30 * share)  # Nadeau and Bengio: 1 / n + share for 1 / n
    assert paper0.p_value(better, worse, share) == pytest.approx(student.sf(statistic, 29))


@pytest.mark.parametrize("method", ["LIN", "PL2", "POLY-BTB", "RBF"])
@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.filterwarnings("ignore:.*max_iter")
def test_what_is_skipped_would_not_have_been_chosen(paper0, method, load):
    X, y = load(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    fit, held = order[: len(X) // 2], order[len(X) // 2 :]
    chosen = paper0.choose(paper0.METHODS[method](X[fit], X[held]), y[fit], y[held])
    best, every = -1.0, None
    for setting, kernels in paper0.METHODS[method](X[fit], X[held]):
        left, right = kernels()
        for C in paper0.COSTS:
            machine = SVC(kernel="precomputed", C=C, max_iter=200_000).fit(left, y[fit])
            found = (machine.predict(right) == y[held]).mean()
            if found > best:
                best, every = found, (setting, C)
    assert chosen == every


def test_rows_that_were_kept_are_read_by_split_and_method_and_other_parts_are_left_out(paper0, tmp_path):
    file = tmp_path / "rows.jsonl"
    split = {"set": "iris", "irrelevant": 5, "split": 2, "accuracy": {"PL2": 95.0, "RBF": 90.0}}
    paper0.append(file, {"benchmark": "paper0 covtype", "rows": 10})
    paper0.append(file, {"benchmark": "paper0", **split, "chosen": {"RBF": [2.0, 8.0], "PL2": [4, 0.5]}})
    found = paper0.known(file)
    assert sorted(found) == [("iris", 5, 2, "PL2"), ("iris", 5, 2, "RBF")]
    assert found["iris", 5, 2, "RBF"] == {"accuracy": 90.0, "setting": 2.0, "C": 8.0}


def test_the_chi_squared_map_of_degree_1_is_that_of_scikit_learn(paper0, rng):
    X = rng.random((20, 3))
    by_degree = {setting: kernels() for setting, kernels in paper0.METHODS["CHI-H chosen"](X, X[:5])}
    ((_, kernels),) = paper0.METHODS["CHI-H"](X, X[:5])
    assert sorted(by_degree) == pytest.approx([k / 10 for k in range(1, 11)])
    for ours, theirs in zip(by_degree[1.0], kernels(), strict=True):
        assert np.allclose(ours, theirs)
    assert not np.allclose(by_degree[0.5][0], kernels()[0])
    assert "CHI-H" not in paper0.TESTED
