"""Models that commands take, and files that they refuse before any work."""

import pytest
from cases import assert_refused

from semimetric import NeighborIndex
from semimetric.cli.model_files import check_folder, load_model, load_numeric_model


def test_a_model_is_loaded_and_an_index_is_not(folder, tmp_path, rng):
    d = load_numeric_model(str(folder / "model.smm"))
    assert d.feature_names == ("width", "height")
    pandas = pytest.importorskip("pandas")
    NeighborIndex(d).fit(pandas.DataFrame(rng.random((5, 2)), columns=["width", "height"])).save(tmp_path / "x.index")
    assert_refused(lambda: load_model(str(tmp_path / "x.index")), "is an index, not a model", "semimetric fit")


def test_a_folder_that_is_not_there_is_said_before_the_work(tmp_path):
    check_folder(str(tmp_path / "model.smm"))
    assert_refused(lambda: check_folder(str(tmp_path / "none" / "model.smm")), "there is no folder", "none", "make it first")
