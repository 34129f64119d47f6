"""Columns beside an index come back as they were written, and those that do not belong to it are refused."""

import json

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import StorageError
from semimetric.cli.tables import columns_of, read_columns, write_columns
from semimetric.distances.search.files import FILE

pytest.importorskip("pandas")
CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6) | st.sampled_from(["NA", "007", "", ' "x", '])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what stands for an index."""
    folder = tmp_path_factory.mktemp("index")
    (folder / FILE).write_text("an index")
    return folder


@given(st.lists(st.tuples(st.floats(allow_infinity=False), CELLS), min_size=1, max_size=6))
def test_columns_come_back_with_every_bit_and_letter(folder, rows):
    numbers, text = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=object)
    write_columns(folder, {"unit price": numbers, "colour": text})
    found = read_columns(folder)
    assert list(found) == ["unit price", "colour"]
    np.testing.assert_array_equal(found["unit price"], numbers)
    assert found["colour"].tolist() == text.tolist()


def test_columns_of_a_file_are_its_numbers_and_its_text_as_written(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("name,width,code\na,1,007\nb,2,x\nc,3,\n")
    columns = columns_of(str(path), "name")
    assert columns["width"].tolist() == [1.0, 2.0, 3.0]
    assert columns["code"].tolist() == ["007", "x", ""]
    assert list(columns) == ["width", "code"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "columns.json").unlink(), "has no columns for --where"),
        (lambda f: (f / "columns.json").write_text("{"), "columns.json is damaged"),
        (lambda f: (f / "columns.json").write_text(json.dumps({"columns.csv": ""})), "columns.json is damaged"),
        (lambda f: (f / "columns.csv").write_text("width\n2.0\n"), "was altered after it was saved"),
        (lambda f: (f / FILE).write_text("another index"), "was saved again after its columns.csv"),
    ],
)
def test_what_does_not_belong_together_is_refused(damage, message, tmp_path):
    (tmp_path / FILE).write_text("an index")
    write_columns(tmp_path, {"width": np.array([1.0])})
    assert read_columns(tmp_path)["width"].tolist() == [1.0]
    damage(tmp_path)
    assert_refused(lambda: read_columns(tmp_path), message, "semimetric index", error=StorageError)
