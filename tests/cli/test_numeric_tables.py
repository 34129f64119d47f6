import numpy as np
import pytest

from semimetric import InputError
from semimetric.cli.numeric_tables import ItemTable, read_items, read_pairs, read_target
from semimetric.cli.table_files import write_table

pd = pytest.importorskip("pandas")


def table(path, **columns):
    write_table(pd.DataFrame(columns), str(path))
    return str(path)


@pytest.mark.parametrize("extension", ["csv", "parquet", "pq"])
def test_items_come_back_from_every_kind_of_file(extension, tmp_path):
    path = table(tmp_path / f"items.{extension}", name=["a", "b"], width=[1, 2], note=["x", "y"], height=[0.5, 0.25])
    items = read_items(path, "name")
    assert (items.names, items.ids, items.unused) == (("width", "height"), ("a", "b"), ("note",))
    assert items.values.tolist() == [[1, 0.5], [2, 0.25]]
    assert items.row("b") == 1


def test_numeric_ids_are_no_feature_and_match_however_they_are_read(tmp_path):
    items = read_items(table(tmp_path / "items.csv", key=[30, 10, 20], width=[1, 2, 3]), "key")
    assert items.names == ("width",)
    assert [items.row(name) for name in (10, "20", 30.0)] == [1, 2, 0]


def test_ids_are_text_that_keeps_its_zeros(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("key,width\n000,1\n 01,2\n1,3\nNA,4\n2.0,5\n")
    items = read_items(str(path), "key")
    assert items.ids == ("000", "01", "1", "NA", "2")
    assert [items.row(name) for name in ("000", "01", 1, 1.0, "1.0", "NA", 2)] == [0, 1, 2, 2, 2, 3, 4]
    with pytest.raises(InputError, match="'0' is no id"):
        items.row(0)
    unnamed = read_items(table(path, width=[5, 6]))
    assert [unnamed.row(name) for name in (1, "1", "01", 1.0)] == [1, 1, 1, 1]


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_a_missing_id_is_refused_on_either_side(extension, tmp_path):
    path = table(tmp_path / f"items.{extension}", key=[0.0, 1.0, np.nan], width=[1, 2, 3])
    with pytest.raises(
        InputError, match=r"row 2 of .*items.* has no key \(1 such rows in all\); an id is required on every row"
    ):
        read_items(path, "key")
    items = read_items(table(tmp_path / f"whole.{extension}", key=[0.0, 1.0], width=[1, 2]), "key")
    pairs = table(tmp_path / f"pairs.{extension}", left=[1.0, 0.0, np.nan], right=[0, 1, 1])
    with pytest.raises(InputError, match=r"row 2 of .*pairs.* has no left"):
        read_pairs(pairs, ("left", "right"), items, items)
    pairs = table(tmp_path / f"good.{extension}", left=[1.0, 0.0], right=[0, 1])
    assert read_pairs(pairs, ("left", "right"), items, items)[0].tolist() == [[1, 0], [0, 1]]


def test_a_column_of_numbers_with_a_word_in_it_is_refused_and_never_dropped(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text('a,b\n1,0.5\n2,"0,5"\n3,0.5\n')
    with pytest.raises(InputError, match=r"row 1 of .* has b=0,5, which is no number, but 2 cells .* correct the cell or drop"):
        read_items(str(path))
    path.write_text("a,b\n1,0.5\n2,x\n3,y\n")
    assert read_items(str(path)).unused == ("b",)


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_true_is_1_and_false_0(extension, tmp_path):
    path = table(tmp_path / f"items.{extension}", a=[True, False], b=[1.5, 2.0])
    assert read_items(path).values.tolist() == [[1.0, 1.5], [0.0, 2.0]]
    gap = table(tmp_path / f"gap.{extension}", a=pd.array([True, None], dtype=object), b=[1.5, 2.0])
    with pytest.raises(InputError, match="row 1 of .* has a=nan"):
        read_items(gap)


def test_digits_stored_as_text_and_dates_are_no_features(tmp_path):
    when = pd.to_datetime(["2024-01-01", "2024-01-02"])
    items = read_items(table(tmp_path / "items.parquet", code=["01", "02"], when=when, a=[1, 2]))
    assert (items.names, items.unused) == (("a",), ("code", "when"))


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
    items = ItemTable("items.csv", (0,), False, np.array([[1.0, 2.0]]), ("b", "a"))
    assert items.features(["a", "b"]).tolist() == [[2.0, 1.0]]
    assert items.features(["a"]).tolist() == [[2.0]]
    assert items.features(["x0", "x1"]).tolist() == [[1.0, 2.0]]
    for wrong in (["x0"], ["x1", "x0"], ["a", "c"]):
        with pytest.raises(InputError, match="items.csv has no numeric column"):
            items.features(wrong)


def test_a_named_index_of_a_parquet_file_is_a_column(tmp_path):
    frame = pd.DataFrame({"width": [1.0, 2.0]}, index=pd.Index(["a", "b"], name="name"))
    frame.to_parquet(tmp_path / "items.parquet")
    assert read_items(str(tmp_path / "items.parquet"), "name").ids == ("a", "b")
