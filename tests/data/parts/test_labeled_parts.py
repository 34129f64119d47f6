"""Labelled items in parts: every form gives the same items, errors name the part, and a survey does not depend on cuts."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric.data import knots
from semimetric.data.parts.engine import SerialEngine
from semimetric.data.parts.labeled_parts import (
    LabelColumns,
    LabeledPart,
    LabeledTable,
    check_same_kind,
    divided,
    features_of,
    labeled_parts,
    loaded,
    read_items,
    read_label_columns,
    sample_items,
)
from semimetric.data.parts.readers import column_named

ITEMS = np.random.default_rng(0).random((40, 2))
LABELS = np.array(["a", "b"])[np.arange(40) % 2]
NAMES = ("u", "v")
TABLE = LabeledTable(NAMES, "kind", "s")


@pytest.fixture
def frame():
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(ITEMS, columns=list(NAMES)).assign(kind=LABELS, s=np.arange(40.0))


@pytest.mark.parametrize("form", ["array", "mapped", "npy", "frame", "parquet"])
def test_every_form_gives_the_same_items(form, frame, tmp_path):
    np.save(tmp_path / "x.npy", ITEMS)
    x, y = tmp_path / "x.npy", LABELS
    if form == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(tmp_path / "x.parquet", row_group_size=7)
        x, y = tmp_path / "x.parquet", "kind"
        frame = frame.drop(columns="s")
        frame.to_parquet(x, row_group_size=7)
    elif form != "npy":
        x = {"array": ITEMS, "mapped": np.load(x, mmap_mode="r"), "frame": frame[list(NAMES)]}[form]
    parts, table = labeled_parts(x, y, None, 15)
    assert len(parts) > 2
    assert [part.n for part in parts] == [len(read_items(part, table)) for part in parts]
    assert (np.concatenate([read_items(part, table) for part in parts]) == ITEMS).all()
    assert table.names == (NAMES if form in ("frame", "parquet") else ("x0", "x1"))
    if form == "parquet":
        assert np.concatenate([read_label_columns(part, table).y for part in parts]).tolist() == LABELS.tolist()


def test_items_that_do_not_count_are_not_read(frame):
    keep = np.arange(40) % 3 > 0
    assert (read_items(LabeledPart("a", frame, keep=keep), TABLE) == ITEMS[keep]).all()
    frame.loc[20, "v"] = np.nan
    assert_refused(lambda: read_items(LabeledPart("a", frame, keep=keep), TABLE), "feature 'v' of item 20 is nan", "finite")


def test_columns_say_of_which_class_items_are_and_what_they_weigh(frame):
    found = read_label_columns(LabeledPart("a", frame), TABLE)
    assert found.n == 40
    assert found.y.tolist() == LABELS.tolist()
    assert found.weight.tolist() == list(range(40))
    nothing = read_label_columns(LabeledPart("a", frame), LabeledTable(NAMES))
    assert (nothing.n, nothing.y, nothing.weight) == (40, None, None)


def test_names_of_columns_are_no_paths(tmp_path):
    np.save(tmp_path / "y.npy", LABELS)
    assert [column_named(v) for v in ("kind", "y.npy", LABELS, None)] == ["kind", None, None, None]
    assert [loaded(v) for v in ("kind", None)] == ["kind", None]
    assert loaded(LABELS) is LABELS
    for path in (tmp_path / "y.npy", str(tmp_path / "y.npy")):
        assert loaded(path).tolist() == LABELS.tolist()
    assert features_of(["u", "kind", "v"], ["kind", None], "X") == NAMES
    assert_refused(lambda: features_of(["u", "v"], ["kind", None], "X"), "X has the columns u, v", "none is called 'kind'")


BAD_ITEMS = {
    "empty": (lambda f: f[:0], "is empty", "every part needs some items", "leave it out"),
    "column": (lambda f: f[["u"]], "no column 'v'", "all parts need the same", "write it again"),
    "text": (lambda f: f.assign(u="far"), "dtype object", "numbers of shape (n, 2) are required", "leave columns out"),
    "shape": (lambda f: ITEMS[:, :1], "shape (40, 1)", "numbers of shape (n, 2) are required"),
    "missing": (
        lambda f: f.assign(v=np.where(np.arange(40) == 5, np.nan, 1.0)),
        "feature 'v' of item 5 is nan",
        "finite",
        "drop",
    ),
}


@pytest.mark.parametrize("name", BAD_ITEMS)
def test_parts_whose_items_cannot_be_used_are_named(name, frame):
    change, *parts = BAD_ITEMS[name]
    error = assert_refused(lambda: read_items(LabeledPart("part 7", change(frame)), TABLE), *parts)
    assert str(error).startswith("part 7")


BAD_LABELS = {
    "no column": (lambda f: f.drop(columns="kind"), "no column 'kind'", "name another, or add it"),
    "missing class": (lambda f: f.assign(kind=[None, *LABELS[1:]]), "'kind' of item 0 is missing", "one for every item"),
    "missing weight": (lambda f: f.assign(s=np.where(np.arange(40) == 3, np.nan, 1)), "'s' of item 3 is missing", "drop"),
    "negative": (lambda f: f.assign(s=-1.0), "the weights in 's' have dtype float64", "finite numbers >= 0 are required"),
    "infinite": (lambda f: f.assign(s=np.inf), "the weights in 's'", "finite numbers >= 0 are required"),
    "text": (lambda f: f.assign(s="heavy"), "the weights in 's' have dtype", "finite numbers >= 0 are required"),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_parts_whose_labels_cannot_be_used_are_named(name, frame):
    change, *parts = BAD_LABELS[name]
    error = assert_refused(lambda: read_label_columns(LabeledPart("part 7", change(frame)), TABLE), *parts)
    assert str(error).startswith("part 7: ")


def test_classes_are_of_one_type_in_all_parts():
    parts = [LabeledPart(f"part {k}", None) for k in range(3)]
    numbers, truth = LabelColumns(2, np.array([0, 1])), LabelColumns(2, np.array([True, False]))
    check_same_kind(parts, [numbers, truth, numbers])
    check_same_kind(parts, [LabelColumns(2)] * 3)
    text = LabelColumns(2, np.array(["a", "b"]))
    call = lambda: check_same_kind(parts, [numbers, numbers, text])  # noqa: E731
    assert_refused(call, "part 2: classes have dtype <U1, those of part 0 int64", "one type in all parts", "convert them")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.data())
def test_rows_are_divided_among_parts(counts, data):
    n = sum(counts)
    rows = data.draw(st.lists(st.integers(0, n - 1), unique=True)) if n else []
    found = list(divided(np.array(rows, dtype=np.int64), counts))
    starts = np.cumsum([0, *counts])[:-1]
    assert np.concatenate([f + s for f, s in zip(found, starts, strict=True)]).tolist() == sorted(rows)
    assert all((f >= 0).all() and (f < n).all() for f, n in zip(found, counts, strict=True))
    assert list(divided(None, counts)) == [None] * len(counts)


@pytest.mark.parametrize("most", [9, 10**6])
@given(cuts=st.lists(st.integers(1, 39), max_size=5, unique=True).map(sorted), rows=st.sets(st.integers(0, 39)).map(sorted))
def test_a_survey_does_not_depend_on_the_cuts(most, cuts, rows):
    surveys = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(knots, "_MOST_ROWS", most)
        for places in ([], cuts):
            parts = [LabeledPart(f"part {k}", x) for k, x in enumerate(np.split(ITEMS, places))]
            counts = [len(part.items) for part in parts]
            wanted = np.array(rows, dtype=np.int64)
            surveys.append(sample_items(SerialEngine(), parts, LabeledTable(NAMES), counts, wanted, 0))
        drawn = knots.sampled_rows(40, 0)
    one, other = surveys
    if drawn is not None:  # in the order of the draw, as one fit draws them, and then the extremes
        assert (other.items[:-2] == ITEMS[drawn]).all()
    assert (one.items == other.items).all()
    assert (other.picked == ITEMS[rows]).all()
    assert len(other.items) == min(most + 2, 40)
    assert (other.items.min(axis=0) == ITEMS.min(axis=0)).all()
    assert (other.items.max(axis=0) == ITEMS.max(axis=0)).all()


def test_items_that_are_no_table_are_refused():
    assert_refused(
        lambda: labeled_parts(ITEMS[:, :, None], LABELS, None, 10), "shape (40, 2, 1)", "(n, n_features) are required"
    )
    assert_refused(
        lambda: labeled_parts(ITEMS, "kind", None, 10), "'kind' names a column", "read as an array", "give the values"
    )
    assert_refused(lambda: labeled_parts(ITEMS, LABELS, "s", 10), "'s' names a column", "an array", "give the values")
