import os

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import StorageError, load
from semimetric._foundation.files import State, write_state


def twice(X, Y):
    return 2 * cases.cityblock(X, Y)


@pytest.fixture
def saved(tmp_path):
    """A model with a base distance, and its file."""
    model = cases.fitted("base")[0]
    model.semimetric_.save(tmp_path / "model")
    return model.semimetric_, tmp_path / "model"


def test_a_base_distance_is_given_again_and_checked(saved):
    d, path = saved
    X = np.random.default_rng(1).random((5, 3))
    assert (load(path, base_distances=[cases.cityblock]).pairwise(X) == d.pairwise(X)).all()


BAD = {
    "missing": (
        [],
        "1 base distances (cityblock), which are Python functions, but 0 were given",
        "give the same callables",
        "base_distances=[...]",
    ),
    "one too many": ([cases.cityblock] * 2, "but 2 were given", "the same callables", "in the same order"),
    "another": ([twice], "'cityblock' does not give the values", "when the model was saved", "same function"),
    "no callable": (["cityblock"], "base distance 'cityblock'", "must be callable", "'cityblock'"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_base_distances_are_refused(saved, name):
    given, *parts = BAD[name]
    assert assert_refused(lambda: load(saved[1], base_distances=given), *parts, error=StorageError)


def test_a_class_that_this_version_does_not_know_is_refused(tmp_path):
    write_state(tmp_path / "x", State("BetterSemimetric", {}))
    assert_refused(lambda: load(tmp_path / "x"), "holds a BetterSemimetric", "cannot read", "upgrade", error=StorageError)


def test_a_killed_save_leaves_the_old_model(saved, monkeypatch):
    d, path = saved
    before = path.read_bytes()
    monkeypatch.setattr(
        "semimetric._foundation.files._write_archive", lambda *args: (_ for _ in ()).throw(OSError("disk full"))
    )
    with pytest.raises(StorageError, match=r"could not be written \(disk full\) and has not changed"):
        cases.fitted("singles")[0].semimetric_.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model"]


def test_text_paths_and_foreign_files(tmp_path):
    d = cases.fitted("warped")[0].semimetric_
    d.save(str(tmp_path / "m"))
    assert repr(load(str(tmp_path / "m"))) == repr(d)
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    assert_refused(
        lambda: load(tmp_path / "other.npz"), "not written by semimetric", "header.json", "check the path", StorageError
    )
