"""Distances of parts to parts in one file: all distances of one call, whatever the parts, or no file."""

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric.data.parts.engine import SerialEngine
from semimetric.out_of_core.pairwise_files import _checked_target, write_pairwise

pd = pytest.importorskip("pandas")
ITEMS = np.random.default_rng(0).random((23, 3))
OTHERS = np.random.default_rng(1).random((9, 3))


def parts_of(items, *ends):
    """Consecutive parts of the items, with their names; every second one is a table whose columns have another order."""
    starts = (0, *ends, len(items))
    arrays = [items[a:b] for a, b in zip(starts[:-1], starts[1:], strict=True)]
    tables = [pd.DataFrame(a, columns=["x0", "x1", "x2"])[["x2", "x0", "x1"]] if k % 2 else a for k, a in enumerate(arrays)]
    return [(f"part {k}", table) for k, table in enumerate(tables)]


def written(path):
    if path.suffix == ".zarr":
        return np.asarray(pytest.importorskip("zarr").open_array(str(path), mode="r")[:])
    pytest.importorskip("pyarrow")
    return np.vstack([pd.read_parquet(file).to_numpy() for file in sorted(path.iterdir())])


@pytest.mark.parametrize("suffix", ["zarr", "parquet"])
@pytest.mark.parametrize("name", ["singles", "premetric", "base", "square root", "metric trees"])
def test_parts_are_put_together_as_one_call_computes_them(name, suffix, tmp_path):
    pytest.importorskip("zarr" if suffix == "zarr" else "pyarrow")
    d = cases.fitted(name)[0].semimetric_
    rounding = 1e-14 if d.base_distances else 0.0  # one call adds base distances to tables that it has mirrored
    left = parts_of(ITEMS, 8, 16)
    one = write_pairwise(SerialEngine(), d, left, None, tmp_path / f"one.{suffix}")
    np.testing.assert_allclose(written(one), d.pairwise(ITEMS), rtol=rounding)
    two = write_pairwise(SerialEngine(), d, left, parts_of(OTHERS, 4), tmp_path / f"two.{suffix}")
    np.testing.assert_array_equal(written(two), d.pairwise(ITEMS, OTHERS))
    assert {path.name for path in tmp_path.iterdir()} == {one.name, two.name}


def test_parts_of_any_lengths_are_for_parquet_alone(tmp_path):
    pytest.importorskip("pyarrow")
    d = cases.fitted("singles")[0].semimetric_
    uneven = parts_of(ITEMS, 2, 16)
    call = lambda: write_pairwise(SerialEngine(), d, uneven, None, tmp_path / "d.zarr")  # noqa: E731
    assert_refused(call, "parts of the rows have 2 to 14 rows", "Zarr needs one length", "rechunk, or write .parquet")
    assert not [*tmp_path.iterdir()]
    found = written(write_pairwise(SerialEngine(), d, uneven, None, tmp_path / "d.parquet"))
    np.testing.assert_array_equal(found, d.pairwise(ITEMS))


def test_parts_that_cannot_be_used_are_named_before_anything_is_written(tmp_path):
    d = cases.fitted("singles")[0].semimetric_
    good = parts_of(ITEMS)
    bad = {
        "it is empty": ITEMS[:0],
        "x1": pd.DataFrame(ITEMS, columns=["x0", "x1", "x2"]).drop(columns="x1"),
        "2 features": ITEMS[:, :2],
        "NaN": np.full((4, 3), np.nan),
    }
    for given, rows in bad.items():
        for sides in (([*good, ("part 7", rows)], None), (good, [("part 7", rows)])):
            call = lambda s=sides: write_pairwise(SerialEngine(), d, *s, tmp_path / "d.parquet")  # noqa: E731
            assert_refused(call, "part 7: ", given)
    assert not [*tmp_path.iterdir()]


def test_a_name_must_be_free_and_say_the_kind_of_file(tmp_path):
    (tmp_path / "there.zarr").touch()
    assert_refused(lambda: _checked_target(tmp_path / "there.zarr"), "there.zarr is there already", "delete it", "another name")
    assert_refused(lambda: _checked_target(tmp_path / "d.csv"), "d.csv' must end in .zarr or .parquet", "", "give such a name")
    assert_refused(lambda: _checked_target(tmp_path / "a" / "d.zarr"), "there is no folder", "for d.zarr", "make it first")
    assert _checked_target(tmp_path / "d.zarr") == (tmp_path / "d.zarr").resolve()
