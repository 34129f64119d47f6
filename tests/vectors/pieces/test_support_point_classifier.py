import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from sklearn.datasets import load_iris, make_moons
from sklearn.neighbors import KNeighborsClassifier
from strategies import labelled_items

from semimetric import NeighborIndex, Semimetric, SemimetricWarning, SupportPointClassifier, report


@given(labelled_items())
def test_theorem_1_no_training_error(made):
    X, y = made
    model = SupportPointClassifier().fit(X, y)
    assert (model.predict(X) == y).all()
    assert 0 < model.generalization_bound_ <= 1


@given(labelled_items())
def test_one_left_out_errs_no_more_often_than_theorem_2_counts(made):
    """What its proof says of every sample, before expectations are taken."""
    X, y = made
    bound, wrong = SupportPointClassifier().fit(X, y).generalization_bound_, 0
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        wrong += len(set(y[rest])) < 2 or bool(SupportPointClassifier().fit(X[rest], y[rest]).predict(X[i : i + 1])[0] != y[i])
    assert wrong / len(X) <= bound


@pytest.mark.parametrize("d", [2, 5])
def test_theorem_2_in_expectation(d):
    """Classes overlap, so that there are errors to bound."""
    bounds, errors = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y, y_test = rng.integers(0, 2, 100), rng.integers(0, 2, 400)
        X, X_test = (rng.normal(size=(len(c), d)) + 2.0 * c[:, None] for c in (y, y_test))
        bounds.append(SupportPointClassifier().fit(X, y).generalization_bound_)
        errors.append(1 - SupportPointClassifier().fit(X[1:], y[1:]).score(X_test, y_test))
    assert 0.02 < np.mean(errors) < np.mean(bounds) < 1


def test_fewer_items_vote_as_well_as_all():
    X, y = load_iris(return_X_y=True)
    model = SupportPointClassifier().fit(X[::2], y[::2])
    assert model.support_share_ < 0.5
    assert model.score(X[1::2], y[1::2]) >= KNeighborsClassifier(1).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) - 0.03


def test_contradictions_count_in_the_bound():
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), [0, 0, 1, 0, 0, 1, 1, 1]
    with pytest.warns(SemimetricWarning, match="3 items at 1 places"):
        model = SupportPointClassifier().fit(X, y)
    assert model.support_.tolist() == [4, 5]
    assert model.generalization_bound_ == (2 * 2 - 2 + 3) / 8
    assert model.predict(X).tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


def test_any_scale():
    X, y = load_iris(return_X_y=True)
    answers = [SupportPointClassifier().fit(X * s, y).predict(X * s) for s in (1.0, 2.0**1000, 2.0**-500)]
    assert all((a == y).mean() > 0.99 for a in answers)


def test_a_distance_takes_the_place_of_euclids(rng):
    X, new = rng.normal(size=(120, 2)), rng.normal(size=(200, 2))
    y = X[:, 0] * X[:, 1] > 0
    l1 = Semimetric.l1(np.vstack([X, new]))
    model = SupportPointClassifier(neighbors=NeighborIndex(l1)).fit(X, y)
    among = KNeighborsClassifier(1, metric="manhattan").fit(X[model.support_], y[model.support_])
    assert np.array_equal(model.predict(new), among.predict(new))
    assert not np.array_equal(model.support_, SupportPointClassifier().fit(X, y).support_)
    assert (model.predict(X) == y).mean() > 0.97
    assert_refused(
        lambda: SupportPointClassifier(neighbors="l1").fit(X, y), "neighbors='l1'", "an unfitted estimator", "None for Euclid"
    )
    assert_refused(
        lambda: SupportPointClassifier(neighbors=NeighborIndex(l1)).fit(X[:, :1], y),
        "X has 1 features",
        "2 features are required",
    )


def test_support_points_are_rows_of_the_fit_with_their_classes():
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1, 1e6, 1e-6]
    y = np.where(X[:, 0] > 0, "right", "left")
    model = SupportPointClassifier().fit(X, y)
    np.testing.assert_array_equal(model.support_points_, X[model.support_])  # a power of 2 is the unit
    np.testing.assert_array_equal(model.classes_[model.support_codes_], y[model.support_])


def test_under_another_distance_no_bound_is_told():
    X, y = make_moons(60, noise=0.1, random_state=0)
    model = SupportPointClassifier(neighbors=NeighborIndex("l1")).fit(X, y)
    assert np.isnan(model.generalization_bound_)
    assert not any("theorem" in line for line in report(model, X, y).facts["summary"])
