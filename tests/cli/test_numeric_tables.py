import numpy as np
import pytest

from semimetric import InputError, SemimetricWarning
from semimetric.cli.tables import read_items, read_new_items, read_numbers, read_pairs, read_target, rows_of, write_table
from semimetric.data.schema import Schema

pd = pytest.importorskip("pandas")


def table(path, **columns):
    write_table(pd.DataFrame(columns), str(path))
    return str(path)


def new_items(path, id_column=None, **options):
    return read_new_items(str(path), id_column, **options)[0]


@pytest.mark.parametrize("extension", ["csv", "parquet", "pq"])
def test_items_come_back_from_every_kind_of_file(extension, tmp_path):
    path = table(tmp_path / f"items.{extension}", name=["a", "b"], width=[1, 2], note=["x", "y"], height=[0.5, 0.25])
    items = read_items(path, Schema.numeric(["width", "height"]), "name")
    assert items.ids.tolist() == ["a", "b"]
    assert items.frame.to_numpy().tolist() == [[1, 0.5], [2, 0.25]]
    assert rows_of(items, ["b"]) == [1]


def test_numeric_ids_are_no_feature_and_match_however_they_are_read(tmp_path):
    items = new_items(table(tmp_path / "items.csv", key=[30, 10, 20], width=[1, 2, 3.5]), "key")
    assert list(items.frame.columns) == ["width"]
    assert rows_of(items, (10, "20", 30.0)) == [1, 2, 0]


def test_ids_are_text_that_keeps_its_zeros(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("key,width\n000,1\n 01,2\n1,3\nNA,4\n2.0,5\n")
    items = new_items(path, "key")
    assert items.ids.tolist() == ["000", "01", "1", "NA", "2"]
    assert rows_of(items, ("000", "01", 1, 1.0, "1.0", "NA", 2)) == [0, 1, 2, 2, 2, 3, 4]
    with pytest.raises(InputError, match="'0' is no id"):
        rows_of(items, [0])
    unnamed = new_items(table(path, width=[5, 6]))
    assert rows_of(unnamed, (1, "1", "01", 1.0)) == [1, 1, 1, 1]
    with pytest.raises(InputError, match=r"'b' is no row number \(0 to 1\)"):
        rows_of(unnamed, ["b"])


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_a_missing_id_is_refused_on_either_side(extension, tmp_path):
    path = table(tmp_path / f"items.{extension}", key=[0.0, 1.0, np.nan], width=[1, 2, 3])
    with pytest.raises(InputError, match=r"row 2 of .*items.* has no key \(1 such rows in all\), which every row needs"):
        new_items(path, "key")
    items = new_items(table(tmp_path / f"whole.{extension}", key=[0.0, 1.0], width=[1, 2]), "key")
    pairs = table(tmp_path / f"pairs.{extension}", left=[1.0, 0.0, np.nan], right=[0, 1, 1])
    with pytest.raises(InputError, match=r"row 2 of .*pairs.* has no left"):
        read_pairs(pairs, ("left", "right"), items, items)
    pairs = table(tmp_path / f"good.{extension}", left=[1.0, 0.0], right=[0, 1])
    assert read_pairs(pairs, ("left", "right"), items, items)[0].tolist() == [[1, 0], [0, 1]]


def test_a_column_of_numbers_with_a_word_in_it_is_refused_and_never_dropped(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text('a,b\n1,0.5\n2,"0,5"\n3,0.5\n')
    with pytest.raises(InputError, match=r"row 1 of .* has b=0,5, which is no number, but 2 cells .* correct the cell or drop"):
        new_items(path)
    path.write_text("a,b\n1.5,NA\n2,x\n3,4\n4,5\n")
    with pytest.raises(InputError, match=r"row 1 of .* has b=x, which is no number, but 2 cells"):
        new_items(path)
    path.write_text("a,b\n1,0.5\n2,x\n3,y\n")
    with pytest.warns(SemimetricWarning, match="not numeric are not used: b"):
        assert list(read_numbers(str(path)).columns) == ["a"]


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_true_is_1_and_false_0(extension, tmp_path):
    path = table(tmp_path / f"items.{extension}", a=[True, False], b=[1.5, 2.0])
    assert new_items(path).frame.to_numpy().tolist() == [[1.0, 1.5], [0.0, 2.0]]
    gap = table(tmp_path / f"gap.{extension}", a=pd.array([True, None], dtype=object), b=[1.5, 2.0])
    with pytest.raises(InputError, match="row 1 of .* has no a"):
        new_items(gap, missing="error")
    assert np.isnan(new_items(gap).frame["a"][1])
    with pytest.raises(InputError, match="row 0 of .* has a=inf; finite numbers are required"):
        new_items(table(tmp_path / f"far.{extension}", a=[np.inf, 1.0]))


def test_digits_stored_as_text_are_categories_and_dates_are_times(tmp_path):
    when = pd.to_datetime(["2024-01-01", "2024-01-02"])
    path = table(tmp_path / "items.parquet", code=["01", "02"], when=when, a=[1, 2])
    _, schema = read_new_items(path, None)
    assert [(f.name, f.kind, f.time) for f in schema.features] == [
        ("code", "categorical", ""), ("when", "numeric", "scale"), ("a", "numeric", ""),
    ]  # fmt: skip


def test_pairs_name_rows_of_two_tables(tmp_path):
    left = new_items(table(tmp_path / "left.csv", name=["a", "b"], width=[1, 2]), "name")
    right = new_items(table(tmp_path / "right.csv", width=[1, 2, 3.5]))
    path = table(tmp_path / "pairs.csv", one=["b", "a"], two=[2, 0], d=[1.5, 2.5])
    rows, frame = read_pairs(path, ("one", "two"), left, right)
    assert rows.tolist() == [[1, 2], [0, 0]]
    assert read_target(frame, "d", path).tolist() == [1.5, 2.5]


def test_a_target_of_words_is_refused(tmp_path):
    path = table(tmp_path / "pairs.csv", left=[0, 0], d=["1", "far"])
    with pytest.raises(InputError, match="row 1 of .*pairs.csv has d=far; a finite number is required"):
        read_target(pd.read_csv(path), "d", path)


def test_features_go_by_name_and_unnamed_ones_by_place(tmp_path):
    path = table(tmp_path / "items.csv", b=[1.0], a=[2.0], note=["x"])

    def read(*names):
        return read_items(path, Schema.numeric(names), None).frame.to_numpy().tolist()

    assert read("a", "b") == [[2.0, 1.0]]
    assert read("a") == [[2.0]]
    assert read("x0", "x1") == [[1.0, 2.0]]
    for wrong in (["x0"], ["x1", "x0"], ["a", "c"]):
        with pytest.raises(InputError, match="items.csv has no column"):
            read(*wrong)


def test_a_named_index_of_a_parquet_file_is_a_column(tmp_path):
    frame = pd.DataFrame({"width": [1.0, 2.0]}, index=pd.Index(["a", "b"], name="name"))
    frame.to_parquet(tmp_path / "items.parquet")
    assert new_items(tmp_path / "items.parquet", "name").ids.tolist() == ["a", "b"]
