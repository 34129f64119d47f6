"""What users give, as parts: arrays, mapped files, .npy and Parquet give the same tuples."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric._foundation.types import Pairs, Quadruplets, TripletTuples
from semimetric.data.parts.readers import (
    columns_needed,
    is_parquet,
    item_rows,
    named_in,
    rows_of,
    tuple_parts,
    tuple_size,
    width_of,
)
from semimetric.data.parts.tuples import TargetSpec, read_tuples, tuple_columns

RNG = np.random.default_rng(0)
ITEMS = RNG.random((30, 3))
INDEX = RNG.integers(0, 30, (50, 4))
Y, WEIGHT = RNG.random(50), RNG.random(50)
NAMES = ("u", "v", "w")
KINDS = {"pairs": Pairs, "triplets": TripletTuples, "quadruplets": Quadruplets}
LIMIT = 10_000  # bytes: some twenty tuples a part


def gathered(source, y, weight, items, spec):
    """The points, targets and weights of all parts, and what the features are called."""
    parts, table = tuple_parts(source, y, weight, items, spec, limit=LIMIT)
    read = [read_tuples(part, table) for part in parts]
    assert len(parts) > 1
    points = np.concatenate([r.tuples.items[r.tuples.index] for r in read])
    return points, np.concatenate([r.y for r in read]), np.concatenate([r.weight for r in read]), table.names


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def sources(request, tmp_path):
    """Every form of the same tuples: (tuples, y, weight, items), and what the features are called."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    kind = request.param
    index = INDEX[:, : kind.size]
    points, told = ITEMS[index], {"d": Y, "s": WEIGHT}
    for name, array in (("points", points), ("index", index), ("items", ITEMS), ("y", Y), ("weight", WEIGHT)):
        np.save(tmp_path / f"{name}.npy", array)
    columns = tuple_columns(kind, NAMES, by_row=False)
    pd.DataFrame(points.reshape(50, -1), columns=columns).assign(**told).to_parquet(
        tmp_path / "points.parquet", row_group_size=9
    )
    numbers = pd.DataFrame(index, columns=tuple_columns(kind, NAMES, by_row=True)).assign(**told)
    (tmp_path / "folder").mkdir()
    numbers[:20].to_parquet(tmp_path / "folder" / "0.parquet", row_group_size=9)
    numbers[20:].to_parquet(tmp_path / "folder" / "1.parquet", row_group_size=9)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    frame, unnamed = pd.DataFrame(ITEMS, columns=list(NAMES)), ("x0", "x1", "x2")
    forms = {
        "array": ((points, Y, WEIGHT, None), unnamed),
        "mapped": ((mapped, Y, WEIGHT, None), unnamed),
        "npy": ((tmp_path / "points.npy", str(tmp_path / "y.npy"), tmp_path / "weight.npy", None), unnamed),
        "parquet": ((tmp_path / "points.parquet", "d", "s", None), NAMES),
        "parquet and arrays": ((str(tmp_path / "points.parquet"), Y, WEIGHT, None), NAMES),
        "rows": ((index, Y, WEIGHT, ITEMS), unnamed),
        "rows of a file": ((tmp_path / "index.npy", Y, WEIGHT, tmp_path / "items.npy"), unnamed),
        "rows of a frame": ((index, Y, WEIGHT, frame), NAMES),
        "folder of rows": ((tmp_path / "folder", "d", "s", frame), NAMES),
    }
    return TargetSpec(kind), forms


def test_every_form_gives_the_same_tuples(sources):
    spec, forms = sources
    for given_as, names in forms.values():
        points, y, weight, called = gathered(*given_as, spec)
        assert (points == ITEMS[INDEX[:, : spec.kind.size]]).all()
        assert (y == Y).all()
        assert (weight == WEIGHT).all()
        assert called == names


def test_without_targets_and_weights_all_are_1(sources):
    spec, forms = sources
    for given_as, _ in forms.values():
        _, y, weight, _ = gathered(given_as[0], None, None, given_as[3], spec)
        assert (y == 1).all()
        assert (weight == 1).all()


@given(st.integers(1, 100), st.integers(1, 10**7), st.integers(2, 4))
def test_what_is_made_of_a_part_takes_less_than_half_of_the_limit(n_features, limit, size):
    n = tuple_size(n_features, limit, size)
    copies = 4 * n * size * n_features * 8
    assert n == 1 or copies < limit / 2
    assert tuple_size(n_features + 1, limit, size) <= n <= tuple_size(n_features, 2 * limit, size)


def test_paths_that_are_no_arrays_are_tables(tmp_path):
    assert all(is_parquet(path) for path in ("a.parquet", tmp_path))
    assert not any(is_parquet(source) for source in ("a.npy", tmp_path / "a.npy", ITEMS))


@pytest.mark.parametrize("kind", ["array", "npy", "parquet"])
def test_items_are_read_in_parts_whose_width_is_known(kind, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    np.save(tmp_path / "x.npy", ITEMS)
    pd.DataFrame(ITEMS, columns=list(NAMES)).to_parquet(tmp_path / "x.parquet", row_group_size=7)
    source = {"array": ITEMS, "npy": tmp_path / "x.npy", "parquet": tmp_path / "x.parquet"}[kind]
    rows = item_rows(source, 14)
    assert max(map(len, rows)) <= 14
    assert (np.concatenate([np.asarray(r.read()) for r in rows]) == ITEMS).all()
    assert width_of(source) == 3


def test_parts_are_of_one_length_or_all_but_the_last():
    assert [len(r) for r in item_rows(ITEMS, 13)] == [10, 10, 10]
    assert [len(r) for r in item_rows(ITEMS, 13, even=False)] == [13, 13, 4]


def test_features_are_named_by_the_columns_of_the_first_member():
    columns = ["i.a", "i.b.c", "j.a", "j.b.c", "l.a", "l.b.c", "y"]
    assert named_in(columns, TargetSpec(TripletTuples)) == ("a", "b.c")
    text = columns_needed(TargetSpec(TripletTuples))
    assert text.startswith("i.NAME, j.NAME and l.NAME of every feature are required")
    assert "i, j and l with row numbers" in text


PAIRS, SPEC = ITEMS[INDEX[:, :2]], TargetSpec()


def parts_of(tuples, y, weight, items, spec=SPEC):
    return tuple_parts(tuples, y, weight, items, spec, limit=LIMIT)


BAD = {
    "no rows": (lambda: item_rows(ITEMS[:0], 5), "X has no rows", "at least one is required"),
    "flat": (lambda: width_of(ITEMS[0]), "X has shape (3,)", "(n, n_features) are required", "reshape it"),
    "items": (lambda: rows_of(ITEMS[0]), "preprocessor has shape (3,)", "numbers of shape (n, n_features) are required"),
    "names": (lambda: rows_of(np.full((3, 2), "a")), "dtype <U1", "numbers are required"),
    "size": (lambda: parts_of(PAIRS, Y, None, None, TargetSpec(TripletTuples)), "triplets have shape (50, 2, 3)",
             "(n_triplets, 3, n_features) is required", "preprocessor="),
    "no numbers": (lambda: parts_of(PAIRS, Y, None, ITEMS), "shape (50, 2, 3) and dtype float64",
                   "row numbers (n_pairs, 2) are required"),
    "none": (lambda: parts_of(PAIRS[:0], Y[:0], None, None), "there are 0 pairs", "at least one"),
    "y": (lambda: parts_of(PAIRS, Y[:9], None, None), "y has shape (9,) for 50 pairs", "one entry a pair"),
    "weight": (lambda: parts_of(PAIRS, Y, Y[:9], None), "sample_weight has shape (9,)", "one entry a pair"),
    "path": (lambda: parts_of("no/such/folder", "y", None, None), "no Parquet file", "check the path"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused(name):
    assert_refused(*BAD[name])


def test_tables_without_the_columns_of_tuples_are_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": Y, "b": Y}).to_parquet(tmp_path / "a.parquet")
    call = lambda: tuple_parts(tmp_path / "a.parquet", "a", None, None, SPEC, limit=LIMIT)  # noqa: E731
    assert_refused(call, "has the columns a, b", "left.NAME and right.NAME of every feature are required", "preprocessor=")
