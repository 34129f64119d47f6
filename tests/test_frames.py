import numpy as np
import pytest

from semimetric import InputError
from semimetric.frames import ItemTable, read_items, read_pairs, read_target, write_table

pd = pytest.importorskip("pandas")


def table(path, **columns):
    write_table(pd.DataFrame(columns), str(path))
    return str(path)


@pytest.mark.parametrize("extension", ["csv", "parquet", "pq"])
def test_items_come_back_from_every_kind_of_file(extension, tmp_path):
    path = table(tmp_path / f"items.{extension}", name=["a", "b"], width=[1, 2], note=["x", "y"], height=[0.5, 0.25])
    items = read_items(path, "name")
    assert (items.names, items.ids) == (("width", "height"), ("a", "b"))
    assert items.values.tolist() == [[1, 0.5], [2, 0.25]]
    assert items.row("b") == 1


def test_numeric_ids_are_no_feature_and_match_however_they_are_read(tmp_path):
    items = read_items(table(tmp_path / "items.csv", key=[30, 10, 20], width=[1, 2, 3]), "key")
    assert items.names == ("width",)
    assert [items.row(name) for name in (10, "20", 30.0)] == [1, 2, 0]


def test_pairs_name_rows_of_two_tables(tmp_path):
    left = read_items(table(tmp_path / "left.csv", name=["a", "b"], width=[1, 2]), "name")
    right = read_items(table(tmp_path / "right.csv", width=[1, 2, 3]))
    path = table(tmp_path / "pairs.csv", one=["b", "a"], two=[2, 0], d=[1.5, 2.5])
    rows, frame = read_pairs(path, ("one", "two"), left, right)
    assert rows.tolist() == [[1, 2], [0, 0]]
    assert read_target(frame, "d", path).tolist() == [1.5, 2.5]


def test_a_target_of_words_is_refused(tmp_path):
    path = table(tmp_path / "pairs.csv", left=[0, 0], d=["1", "far"])
    with pytest.raises(InputError, match="row 1 of .*pairs.csv has d=far; a finite number is required"):
        read_target(pd.read_csv(path), "d", path)


def test_features_go_by_name_and_unnamed_ones_by_place():
    items = ItemTable("items.csv", np.array([[1.0, 2.0]]), ("b", "a"), (0,), named=False)
    assert items.features(["a", "b"]).tolist() == [[2.0, 1.0]]
    assert items.features(["a"]).tolist() == [[2.0]]
    assert items.features(["x0", "x1"]).tolist() == [[1.0, 2.0]]
    for wrong in (["x0"], ["x1", "x0"], ["a", "c"]):
        with pytest.raises(InputError, match="items.csv has no numeric column"):
            items.features(wrong)
