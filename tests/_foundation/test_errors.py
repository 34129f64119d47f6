import inspect
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from semimetric import DistanceRegressor, LargeMarginLearner, SemimetricClassifier, SemimetricWarning, Triplets
from semimetric._foundation import errors


@pytest.mark.parametrize(
    "name", [name for name, made in vars(errors).items() if inspect.isclass(made) and made.__module__ == errors.__name__]
)
def test_one_base_catches_everything_that_is_raised_on_purpose(name):
    kind = getattr(errors, name)
    base = errors.SemimetricWarning if issubclass(kind, Warning) else errors.SemimetricError
    assert issubclass(kind, base)


@pytest.mark.parametrize(
    ("name", "builtin"), [("InputError", ValueError), ("StorageError", ValueError), ("MissingExtraError", ImportError)]
)
def test_errors_are_also_the_builtin_that_one_expects(name, builtin):
    assert issubclass(getattr(errors, name), builtin)


def test_a_failed_call_keeps_what_was_evaluated_through_pickling():
    error = errors.DistanceCallError("it failed", (3, 4), np.array([[0, 1]]), np.array([2.5]))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.pair) == ("it failed", (3, 4))
    assert (again.pairs == [[0, 1]]).all()
    assert (again.distances == [2.5]).all()


def test_a_warning_points_to_the_line_of_the_caller():
    pairs = np.random.default_rng(0).random((50, 2, 2)) * [1.0, 0.0]
    with pytest.warns(SemimetricWarning, match="feature x1 is constant") as caught:
        DistanceRegressor(n_knots=3, alpha=1e-3).fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1))
    assert {w.filename for w in caught} == {__file__}


def tied(n=120):
    """Items of which a feature has so many ties that quantiles coincide, and their classes."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(n), np.where(rng.random(n) < 0.8, 0.0, rng.random(n))])
    return X, (X[:, 0] > 0.5).astype(int)


LEARNER = LargeMarginLearner(n_knots=6, alpha=1e-2, directions=None, tables="warped", triplets=Triplets(n_passes=1))
OF_FOLDS = {
    "cross_val_score": lambda X, y: cross_val_score(SemimetricClassifier(LEARNER), X, y, cv=4),
    "grid search": lambda X, y: GridSearchCV(SemimetricClassifier(LEARNER), {"n_neighbors": [1, 3]}, cv=3).fit(X, y),
    "pipeline": lambda X, y: cross_val_score(make_pipeline(StandardScaler(), SemimetricClassifier(LEARNER)), X, y, cv=3),
}


@pytest.mark.parametrize(
    "name", ["cross_val_score", *(pytest.param(name, marks=pytest.mark.slow) for name in ("grid search", "pipeline"))]
)
@pytest.mark.parametrize("action", ["default", "always"])
def test_a_cause_is_told_once_in_all_folds_at_the_line_of_the_caller(name, action, monkeypatch):
    monkeypatch.setattr(errors, "_WARNED", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        OF_FOLDS[name](*tied())
    assert [str(w.message).partition(" (")[0] for w in caught] == ["ties in the data leave fewer knots"]
    assert caught[0].filename == __file__


def test_a_model_that_a_person_fits_tells_it_once_every_time(monkeypatch):
    monkeypatch.setattr(errors, "_WARNED", set())
    X, y = tied()
    model = SemimetricClassifier(LEARNER)
    for fit in (model.fit, make_pipeline(StandardScaler(), model).fit):
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("default")
                fit(X, y)
            assert [w.filename for w in caught if "fewer knots" in str(w.message)] == [__file__]


def test_a_warning_that_is_an_error_is_one_in_every_fold(monkeypatch):
    monkeypatch.setattr(errors, "_WARNED", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error", SemimetricWarning)
        warnings.simplefilter("ignore", FitFailedWarning)
        with pytest.raises(ValueError, match="All the 3 fits failed"):
            cross_val_score(SemimetricClassifier(LEARNER), *tied(), cv=3)


def test_other_causes_at_the_same_line_are_told(monkeypatch):
    monkeypatch.setattr(errors, "_WARNED", set())
    X, y = tied()
    constant = np.column_stack([X, np.ones(len(X))])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for items in (X, constant, X):
            cross_val_score(SemimetricClassifier(LEARNER), items, y, cv=3)
    assert [str(w.message).split()[0] for w in caught] == ["ties", "feature"]


def test_causes_are_silent_inside_and_told_again_after():
    def tell_all():
        for cause in "abc":
            errors.warn(f"told of {cause}", cause=cause)

    def fail():
        with errors.silent("a"), errors.silent("b"):
            tell_all()
            raise KeyError

    with pytest.warns(SemimetricWarning, match="told") as inside, pytest.raises(KeyError):
        fail()
    with pytest.warns(SemimetricWarning, match="told") as after:
        tell_all()
    assert [str(w.message) for w in inside] == ["told of c"]
    assert [str(w.message) for w in after] == ["told of a", "told of b", "told of c"]
