"""Tables with text among the numbers: what becomes a feature, and what is refused or warned of."""

import numpy as np
import pytest
from cases import assert_refused

from semimetric import Columns, LargeMarginLearner, SemimetricWarning
from semimetric.cli.tables import read_frame, read_items, read_new_items
from semimetric.data.tables import keys_of

pd = pytest.importorskip("pandas")


def read_mixed(path, label, id_column=None, *, missing=False):
    return read_new_items(path, id_column, label, missing="level" if missing else "error")


def categories(schema):
    return tuple(f.name for f in schema.features if f.kind == "categorical")


def write(path, text):
    path.write_text(text)
    return str(path)


@pytest.fixture
def flowers(tmp_path):
    rows = "".join(f"{k:02d},{k % 3}.5,{['red', 'NA', '7'][k % 3]},{'ab'[k % 2]}\n" for k in range(12))
    return write(tmp_path / "flowers.csv", "name,width,colour,kind\n" + rows)


def test_numbers_are_features_text_is_categories_and_both_are_read_as_written(flowers):
    table, schema = read_mixed(flowers, "kind", "name")
    assert list(table.frame.columns) == ["width", "colour"]
    assert categories(schema) == ("colour",)
    assert table.frame["width"].tolist()[:3] == [0.5, 1.5, 2.5]
    assert table.frame["colour"].tolist()[:3] == ["red", "NA", "7"]
    assert table.ids[:2].tolist() == ["00", "01"]
    assert table.labels.tolist()[:3] == ["a", "b", "a"]
    with pytest.warns(SemimetricWarning, match="give --id name"):
        numbered, _ = read_mixed(flowers, "kind")
    assert numbered.ids[:2].tolist() == [0, 1]


def test_empty_cells_are_missing_values_if_they_may_be(tmp_path):
    path = write(tmp_path / "t.csv", "width,colour,kind\n1,red,a\n,red,b\n3,,a\n4,blue,b\n")
    table, _ = read_mixed(path, "kind", missing=True)
    assert np.isnan(table.frame["width"].to_numpy()[1])
    assert pd.isna(table.frame["colour"].iloc[2])
    assert_refused(lambda: read_mixed(path, "kind"), "row 1 of", "has no width (1 such rows in all)", "--missing auto")
    assert read_new_items(path, None, "kind")[1].missing == (True, True)


def test_a_blank_among_numbers_is_missing(tmp_path):
    path = write(tmp_path / "t.csv", "width,cost,kind\n1.5,2.5,a\n2, ,b\n3, 4.5,a\n")
    table, schema = read_new_items(path, None, "kind")
    np.testing.assert_array_equal(table.frame["cost"], [2.5, np.nan, 4.5])
    assert (schema.kinds, schema.missing) == (("numeric", "numeric"), (False, True))
    np.testing.assert_array_equal(read_items(path, schema, None).frame["cost"], [2.5, np.nan, 4.5])


def test_numbers_that_are_text_are_read_by_the_model(tmp_path):
    pytest.importorskip("pyarrow")
    path = str(tmp_path / "t.parquet")
    pd.DataFrame({"cost": [f"{k}.5" for k in range(24)], "kind": list("ab") * 12}).to_parquet(path)
    _, schema = read_new_items(path, None, "kind")
    assert schema.kinds == ("numeric",)
    assert read_items(path, schema, None).frame["cost"].tolist() == [k + 0.5 for k in range(24)]


@pytest.mark.parametrize(
    ("column", "warning"),
    [
        (lambda k: f"week {k + 1} of 2024", r"left out: 'extra' \(24 different texts in 24 rows\)"),
        (lambda k: f"note {k}", r"left out: 'extra' \(24 different texts in 24 rows\)"),
        (lambda k: "", r"left out: 'extra' \(empty\)"),
        (lambda k: "here", r"left out: 'extra' \(the same on every row\)"),
        (lambda k: str(k), "column extra of .* if it names the items, give --id extra"),
    ],
)
def test_columns_that_are_likely_no_features_are_warned_of(column, warning, tmp_path):
    rows = "".join(f"{k % 3}.5,{'ab'[k % 2]},{column(k)}\n" for k in range(24))
    path = write(tmp_path / "t.csv", "width,kind,extra\n" + rows)
    with pytest.warns(SemimetricWarning, match=warning):
        table, _ = read_mixed(path, "kind")
    assert list(table.frame.columns) == (["width", "extra"] if "--id" in warning else ["width"])


def times_read(path):
    table, schema = read_mixed(path, "kind", missing=True)
    assert categories(schema) == ()
    return table.frame["when"]


@pytest.mark.parametrize(
    ("cells", "third"),
    [
        (["2024-01-01", "2024-02-29", "", "2024-03-01"], "2024-03-01"),
        (["2024-01-01 08:30", "2024-02-29 09:15:20.5", "", "2024-03-01T10:00"], "2024-03-01 10:00"),
        (["2024-01-01T08:30Z", "2024-02-29T09:15+02:00", "", "2024-03-01T10:00+01:00"], "2024-03-01 09:00+00:00"),
    ],
)
def test_text_that_is_dates_on_every_row_is_times(cells, third, tmp_path):
    rows = "".join(f"{k}.5,{cell},{'ab'[k % 2]}\n" for k, cell in enumerate(cells))
    times = times_read(write(tmp_path / "t.csv", "width,when,kind\n" + rows))
    assert times.isna().tolist() == [False, False, True, False]
    assert times[3] == pd.Timestamp(third)


def test_dates_of_a_parquet_file_are_times(tmp_path):
    pytest.importorskip("pyarrow")
    dates = pd.date_range("2024-01-01", periods=4, tz="Europe/Berlin")
    pd.DataFrame({"width": [1.5, 2, 3, 4], "when": dates, "kind": list("abab")}).to_parquet(tmp_path / "t.parquet")
    assert times_read(str(tmp_path / "t.parquet")).tolist() == dates.tolist()


def test_columns_of_other_types_are_not_used(tmp_path):
    pytest.importorskip("pyarrow")
    spans = pd.to_timedelta([1, 2, 3, 4], unit="D")
    pd.DataFrame({"width": [1.5, 2, 3, 4], "span": spans, "kind": list("abab")}).to_parquet(tmp_path / "t.parquet")
    with pytest.warns(SemimetricWarning, match="neither numbers nor text are not used: span"):
        table, _ = read_mixed(str(tmp_path / "t.parquet"), "kind")
    assert list(table.frame.columns) == ["width"]


def test_classes_are_text_and_on_every_row(tmp_path):
    frame = read_frame(write(tmp_path / "t.csv", "kind\n1\n1.0\n02\n"), ["kind"])
    assert keys_of(frame, "kind", "t.csv").tolist() == ["1", "1", "02"]
    hole = read_frame(write(tmp_path / "hole.csv", "kind,x\na,1\n,2\n"), ["kind"])
    assert_refused(
        lambda: keys_of(hole, "kind", "hole.csv"), "row 1 of hole.csv has no kind", "every row needs", "drop the row"
    )


def test_features_of_a_model_come_by_name_and_categories_by_how_they_are_written(flowers, tmp_path):
    table, _ = read_mixed(flowers, "kind", "name")
    learner = LargeMarginLearner(n_knots=2, alpha=0.1, directions=None, tables="warped", columns=Columns(["colour"]))
    d = learner.fit(table.frame, table.labels).semimetric_
    path = write(tmp_path / "rows.csv", "other,colour,width\nx,7.0,1\ny,NA,2\nz,green,0.5\n")
    read = read_items(path, d.schema, None)
    assert list(read.frame.columns) == ["width", "colour"]
    assert read.frame["colour"].tolist() == ["7", "NA", "green"]  # 7.0 is how a table of numbers writes 7
    assert read.frame["width"].tolist() == [1.0, 2.0, 0.5]
    assert (read.ids.tolist(), read.labels) == ([0, 1, 2], None)
    wrong = write(tmp_path / "wrong.csv", "colour,width\nred,wide\n")
    assert_refused(lambda: read_items(wrong, d.schema, None), "'width'", "is not of numbers", "correct its cells")
    assert_refused(
        lambda: read_items(write(tmp_path / "n.csv", "width\n1\n"), d.schema, None), "no column 'colour'", "2 that the model"
    )


@pytest.mark.parametrize("cells", [["2024-01-01 08:30", "2024-02-29 09:15Z"], ["2024-02-29 09:15+01:00", "2024-01-01"]])
def test_times_with_and_without_an_offset_are_not_compared(cells, tmp_path):
    path = write(tmp_path / "t.csv", "when,kind\n" + "".join(f"{cell},a\n" for cell in cells))
    assert_refused(lambda: read_mixed(path, "kind"), "column 'when' has times with an offset", "and without", "or to none")
