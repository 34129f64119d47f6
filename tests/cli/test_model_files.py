"""Models that commands take, and files that they refuse before any work."""

import os

import numpy as np
import pytest
from cases import assert_refused, fitted
from command_line import call, paths

import semimetric
from semimetric import InputError, NeighborIndex, StorageError
from semimetric.cli.model_files import check_folder, load_model, load_unsigned


def test_a_model_is_loaded_and_an_index_is_not(folder, tmp_path, rng):
    d = load_model(str(folder / "model.smm"))
    assert d.feature_names == ("width", "height")
    pandas = pytest.importorskip("pandas")
    NeighborIndex(d).fit(pandas.DataFrame(rng.random((5, 2)), columns=["width", "height"])).save(tmp_path / "x.index")
    assert_refused(lambda: load_model(str(tmp_path / "x.index")), "is an index, not a model", "semimetric fit")


def test_a_folder_that_is_not_there_is_said_before_the_work(tmp_path):
    check_folder(str(tmp_path / "model.smm"))
    assert_refused(lambda: check_folder(str(tmp_path / "none" / "model.smm")), "there is no folder", "none", "make it first")


def test_an_output_that_is_a_link_to_itself_is_said_before_the_work(folder, tmp_path, capsys):
    (tmp_path / "loop").symlink_to("loop")
    d = load_model(str(folder / "model.smm"))
    index = NeighborIndex(d).fit(np.random.default_rng(0).random((9, 2)))
    for path in (tmp_path / "loop", tmp_path / "loop" / "model.smm"):
        for do in (d.save, index.save, lambda path: check_folder(str(path))):
            assert_refused(lambda do=do, path=path: do(path), "leads to itself", "give another name", error=StorageError)
        code, _, said = call(capsys, "index", *paths(folder, "model.smm", "items.csv"), "--output", path)
        assert (code, "leads to itself" in said) == (1, True)


def test_signed_files_are_for_python(folder, tmp_path, capsys):
    d, key = semimetric.load(folder / "model.smm"), bytes(range(16))
    X = np.random.default_rng(0).random((9, 2))
    d.save(tmp_path / "signed.smm", key=key)
    semimetric.NeighborIndex(d).fit(X).save(tmp_path / "one", key=key)
    semimetric.ShardedIndex.build(tmp_path / "shards", d, X, n_shards=2, key=key)
    for command in (
        ["info", str(tmp_path / "signed.smm")],
        ["neighbors", *paths(tmp_path, "signed.smm"), *paths(folder, "items.csv"), "--items", *paths(folder, "items.csv")],
        ["query", str(tmp_path / "one"), *paths(folder, "items.csv")],
        ["query", str(tmp_path / "shards"), *paths(folder, "items.csv")],
    ):
        code, _, said = call(capsys, *command)
        assert code == 1
        assert f"{command[1]} is signed, and the command line opens no signed files" in said
        assert "semimetric.load(path, key=...)" in said


def test_models_and_pictures_are_written_through_links(folder, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "far").mkdir()
    semimetric.load(folder / "model.smm").save(tmp_path / "far" / "a.smm")
    before = (tmp_path / "far" / "a.smm").read_bytes()
    (tmp_path / "far" / "a.smm").write_bytes(b"old")
    for name in ("a.smm", "b.png"):
        (tmp_path / name).symlink_to(tmp_path / "far" / name)
    semimetric.load(folder / "model.smm").save(tmp_path / "a.smm")
    assert (tmp_path / "far" / "a.smm").read_bytes() == before
    picture = str(tmp_path / "b.png")
    assert call(capsys, "plot", *paths(folder, "model.smm"), "--term", "width", "--output", picture)[0] == 0
    assert (tmp_path / "far" / "b.png").read_bytes().startswith(b"\x89PNG")
    assert all((tmp_path / name).is_symlink() for name in ("a.smm", "b.png"))
    assert sorted(os.listdir(tmp_path / "far")) == ["a.smm", "b.png"]


def test_of_a_fitted_estimator_the_distance_is_read(tmp_path):
    model = fitted("singles")[0]
    model.save(tmp_path / "m")
    assert repr(load_model(str(tmp_path / "m"))) == repr(model.semimetric_)


def test_an_estimator_without_a_distance_is_named(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    semimetric.EmbeddedLinearClassifier("linear").fit(X, X[:, 0] > 0).save(tmp_path / "linear.smm")
    with pytest.raises(InputError, match="EmbeddedLinearClassifier, which has learned no distance"):
        load_unsigned(str(tmp_path / "linear.smm"))
