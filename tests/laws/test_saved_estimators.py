"""A fitted estimator that is saved and loaded is the same: what it answers, to the bit, its parameters, and all it holds."""

import numpy as np
import pytest
from cases import assert_refused
from fitted_estimators import CLASSES, FITTED, ITEMS, answers, bases_of
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

import semimetric
from semimetric import StorageError, load
from semimetric._foundation.estimator import SavedEstimator
from semimetric.distances import Status

pytestmark = pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")

SECRET = b"0123456789abcdef"


@pytest.fixture(scope="module", params=FITTED)
def row(request, tmp_path_factory):
    """A fitted estimator, and itself once it was saved and loaded."""
    model, path = FITTED[request.param](), tmp_path_factory.mktemp("saved") / "model.smm"
    model.save(path)
    again = load(path, base_distances=bases_of(request.param))
    if hasattr(again, "distance"):
        again.set_params(distance=model.distance)  # which is code, and is given again
    return model, again, path


def text_of(params):
    """Parameters as text, with arrays in full, but for distances that are callables, which are not saved."""
    plain = {k: v for k, v in params.items() if k.split("__")[-1] != "distance"}
    with np.printoptions(threshold=10**6, floatmode="unique"):
        return str({k: [type(v), v] for k, v in plain.items() if not isinstance(v, BaseEstimator)})


def test_it_answers_to_the_bit(row):
    model, again, _ = row
    assert type(again) is type(model)
    want, got = answers(model), answers(again)
    assert list(got) == list(want)
    assert want or type(model).__name__ == "BoundaryPoints"
    for name in want:
        for a, b in zip(want[name], got[name], strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b)


def test_it_has_the_same_parameters_and_can_be_cloned(row):
    model, again, _ = row
    assert text_of(again.get_params()) == text_of(model.get_params())
    copy = clone(again)
    assert text_of(copy.get_params()) == text_of(again.get_params())
    check_is_fitted(again)
    assert not hasattr(copy, "semimetric_") or not hasattr(copy, "learner_")


def test_nothing_that_was_learned_is_lost(row):
    model, again, _ = row
    unsaved = {"held_out_neighbors_", "_built"}  # by which votes were chosen, and are no more; and the program, with its rows
    unsaved |= {"distances_"} if type(model).__name__ == "LandmarkFeatures" else set()  # of the objects of the fit
    assert {*vars(again)} == {*vars(model)} - unsaved
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and name.endswith("_") and name not in unsaved:
            np.testing.assert_array_equal(vars(again)[name], value)
    told = ("recipe_", "choices_", "group_choices_", "link_choices_", "solution_", "semimetric_", "passes_", "error_quantiles_")
    for name in told:
        if name in vars(model):
            assert repr(getattr(again, name)) == repr(getattr(model, name))


@pytest.mark.parametrize("name", ["machine", "machine in steps", "machine of truth values", "machine for values"])
def test_a_machine_learns_on_from_the_steps_that_it_had(name, tmp_path):
    model = FITTED[name]()
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    X, y = ITEMS[:20], (model.classes_[CLASSES[:20]] if hasattr(model, "classes_") else ITEMS[:20].sum(axis=1))
    before = model.coef_.copy()
    np.testing.assert_array_equal(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)
    assert not np.array_equal(model.coef_, before)
    assert clone(again).set_params(solver="dual", warm_start=False).fit(X, y).status_ in (Status.SOLVED, Status.LIMIT)


def test_saved_again_it_gives_the_same_bytes(row, tmp_path):
    _, again, path = row
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_every_public_learner_is_among_the_rows():
    kinds = {type(make()).__name__ for name, make in FITTED.items() if name not in semimetric.__all__} - {"IdentityEmbedding"}
    public = {n for n in semimetric.__all__ if isinstance(c := getattr(semimetric, n), type) and issubclass(c, SavedEstimator)}
    assert public == kinds


def test_a_signed_estimator_opens_with_its_key_alone(tmp_path):
    FITTED["triplets"]().save(tmp_path / "m", key=SECRET)
    assert load(tmp_path / "m", key=SECRET).semimetric_.n_features == 3
    assert_refused(lambda: load(tmp_path / "m"), "is signed", "no key was given", "key=", error=StorageError)
    assert_refused(lambda: load(tmp_path / "m", key=SECRET[::-1]), "not signed with this key", "key that", error=StorageError)


def test_base_distances_are_asked_for(tmp_path):
    FITTED["base"]().save(tmp_path / "m")
    assert_refused(lambda: load(tmp_path / "m"), "1 base distances", "0 were given", "base_distances=[...]", error=StorageError)
