import json
import zipfile

import fitted_estimators as rows
import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from learners import made
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from semimetric import DistanceRegressor, InputError, NotSupportedError, SemimetricClassifier, StorageError, load
from semimetric._foundation.files import State, read_state, write_state
from semimetric.distances.estimators.regressor import DistanceRegressor as Registered


def changed(path, change):
    """The file again, with a digest that fits, after ``change`` was made to its values and arrays."""
    state = read_state(path)
    values, arrays = json.loads(json.dumps(state.values)), dict(state.arrays)
    change(values["object"], arrays)
    write_state(path, State(state.kind, values, arrays))
    return path


CHANGES = {
    "not fitted": (lambda e, a: (e.update(fitted=None), a.clear()), "no fitted TripletLearner"),
    "nothing learned": (lambda e, a: e["fitted"].pop("semimetric_"), "has no semimetric_"),
    "another class": (lambda e, a: e.update(estimator="PairLearner"), "PairLearner"),
    "no class of ours": (lambda e, a: e.update(estimator="Pipeline"), "'Pipeline', which this version cannot read"),
    "a parameter that is not known": (lambda e, a: e["parameters"].update(gamma=1), "'gamma'"),
    "a parameter of another type": (lambda e, a: e["parameters"].update(n_knots={"float": "nan"}), "n_knots is of type float"),
    "a parameter out of range": (lambda e, a: e["parameters"].update(alpha=-1), "alpha"),
    "an attribute that is not known": (lambda e, a: e["fitted"].update(coef_=1), "'coef_'"),
    "features": (lambda e, a: e["fitted"].update(n_features_in_=5), "there are 5 features"),
    "names": (lambda e, a: e["fitted"].update(feature_names_in_={"cells": [1, 2, 3], "shape": [3]}), "names of others"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_crafted_file_is_refused(name, tmp_path):
    path = tmp_path / "m"
    rows.FITTED["triplets"]().save(path)
    change, part = CHANGES[name]
    with pytest.raises(StorageError) as caught:
        load(changed(path, change))
    assert part in str(caught.value)
    assert str(path) in str(caught.value)


CANDIDATE = {"object": "Candidate", "arguments": {"settings": {"n_knots": 3, "alpha": 1.0}, "losses": {"tuple": [1.0]}}}


def array_of(stored):
    """The name of the array that is the first value of a dict."""
    return stored["dict"][0][1]["array"]


def index_of(e):
    """The arguments of the stored index."""
    return e["fitted"]["index_"]["arguments"]


CALLED = {
    "items outside the schema": (
        "classifier of a frame",
        lambda e, a: a[index_of(e)["items"]["array"]].fill(77.0),
    ),
    "a label too few": ("classifier", lambda e, a: a.update({e["fitted"]["_targets"]["array"]: np.zeros(47)})),
    "one class missing": ("classifier", lambda e, a: e["fitted"]["_targets"].update(array="a999")),
    "negative weights": ("classifier of names", lambda e, a: a[e["fitted"]["_weight"]["array"]].fill(-1.0)),
    "an algorithm of the index": ("classifier", lambda e, a: index_of(e)["parameters"]["dict"].append(["algorithm", "fast"])),
    "votes": ("classifier", lambda e, a: e["parameters"].update(weights="by luck")),
    "a learner that is not fitted": ("classifier", lambda e, a: e["fitted"]["learner_"].update(fitted=None)),
    "a mode": ("transformer", lambda e, a: e["parameters"].update(mode="angle")),
    "a line without end": ("pairs with a line", lambda e, a: a[array_of(e["fitted"]["calibrator_"])].fill(np.nan)),
    "steps that fall": ("pairs with steps", lambda e, a: [v.sort() or v[::-1].sort() for v in a.values() if v.ndim == 1]),
    "a method": ("approximator", lambda e, a: e["parameters"].update(method="guess")),
    "importances": ("large margin", lambda e, a: a.update({e["fitted"]["feature_importances_"]["array"]: np.ones(7)})),
    "losses": ("auto regressor", lambda e, a: e["fitted"]["choices_"]["arguments"]["candidates"]["tuple"].append(CANDIDATE)),
}


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@pytest.mark.parametrize("name", CALLED)
def test_what_does_not_go_together_is_refused(name, tmp_path):
    kind, change = CALLED[name]
    rows.FITTED[kind]().save(tmp_path / "m")

    def writable(e, arrays):
        arrays |= {label: array.copy() for label, array in arrays.items()}
        change(e, arrays)

    with pytest.raises(StorageError):
        load(changed(tmp_path / "m", writable))


def regressor(**changes):
    index, y = np.arange(48).reshape(-1, 2), rows.cityblock(*rows.PAIRS.transpose(1, 0, 2))
    return made(DistanceRegressor, **rows.FAST | {"preprocessor": rows.ITEMS} | changes).fit(index, y)


class Own(Registered):
    """An estimator of somebody else."""


UNSAVED = {
    "transformer": (lambda: regressor(directions=PCA(2)), "directions is of type sklearn.decomposition._pca.PCA"),
    "frame": (lambda: regressor(preprocessor=pd.DataFrame(rows.ITEMS)), "preprocessor is of type pandas"),
    "seed": (
        lambda: rows.classifier(rows.ITEMS, rows.CLASSES, random_state=np.random.RandomState(0)),
        "random_state is of type numpy.random",
    ),
}


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@pytest.mark.parametrize("name", UNSAVED)
def test_what_no_file_holds_is_refused_by_name(name, tmp_path):
    make, part = UNSAVED[name]
    model = make()
    assert_refused(lambda: model.save(tmp_path / "m"), part, "Values of JSON", "set_params", error=NotSupportedError)
    assert not (tmp_path / "m").exists()


def test_a_frame_is_left_out_and_given_again(tmp_path):
    model, index = regressor(preprocessor=pd.DataFrame(rows.ITEMS, columns=list("abc"))), [[0, 1], [5, 7]]
    want, items = model.predict(index), model.preprocessor
    model.set_params(preprocessor=None).save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.set_params(preprocessor=items).predict(index) == want).all()


def test_an_index_that_was_changed_is_no_part_of_the_file(tmp_path):
    model = rows.classifier(rows.ITEMS, rows.CLASSES)
    model.index_.remove([3])
    assert_refused(lambda: model.save(tmp_path / "m"), "47 items", "48 that were fitted", "fit again", error=NotSupportedError)


def test_what_is_not_fitted_whole_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        SemimetricClassifier().save(tmp_path / "m")
    model = regressor()
    del model.recipe_
    assert_refused(lambda: model.save(tmp_path / "m"), "has no recipe_", "whole fit is required", "fit again", error=InputError)


def test_classes_of_others_are_not_saved(tmp_path):
    own = Own(**rows.FAST).fit(rows.PAIRS, rows.cityblock(*rows.PAIRS.transpose(1, 0, 2)))
    with pytest.raises(NotSupportedError, match="Own cannot be saved"):
        own.save(tmp_path / "m")


def test_no_pickle_is_in_the_file(tmp_path):
    rows.FITTED["classifier"]().save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        assert {name.split(".")[-1] for name in archive.namelist()} == {"json", "npy"}
