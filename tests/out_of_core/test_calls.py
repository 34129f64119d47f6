"""More data than memory: arrays, mapped arrays and files of either kind learn and answer alike."""

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import (
    DistanceRegressor,
    NeighborIndex,
    out_of_core,
)
from semimetric.data.parts import readers

ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Parts of about 40 pairs, whatever the limit."""
    monkeypatch.setattr(readers, "tuple_size", lambda *_: 40)


def in_blocks(options, pairs=POINTS, y=Y, weight=None, **more):
    return out_of_core.fit(DistanceRegressor(**options), pairs, y, weight, **more)


def test_the_same_blocks_give_the_same_bits_wherever_they_are(tmp_path, monkeypatch):
    np.save(tmp_path / "pairs.npy", POINTS)
    np.save(tmp_path / "y.npy", Y)
    mapped = np.load(tmp_path / "pairs.npy", mmap_mode="r")
    models = [in_blocks(cases.FAST, p, y) for p, y in ((POINTS, Y), (mapped, Y), (tmp_path / "pairs.npy", tmp_path / "y.npy"))]
    assert len({m.semimetric_.weights.tobytes() for m in models}) == 1
    monkeypatch.undo()
    whole = in_blocks(cases.FAST).semimetric_.weights
    assert not (whole == models[0].semimetric_.weights).all()  # another tree: so there were blocks


def test_row_numbers_of_items_in_a_file(tmp_path):
    np.save(tmp_path / "items.npy", ITEMS)
    options = cases.FAST | {"preprocessor": np.load(tmp_path / "items.npy", mmap_mode="r")}
    parts = in_blocks(options, INDEX)
    np.testing.assert_allclose(parts.predict(INDEX), DistanceRegressor(**options).fit(INDEX, Y).predict(INDEX), rtol=1e-9)


def test_tables_of_pairs(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    sides = {f"{side}.{name}": POINTS[:, s, k] for s, side in enumerate(("left", "right")) for k, name in enumerate("uvw")}
    pd.DataFrame(sides | {"d": Y, "w": 1.0}).to_parquet(tmp_path / "pairs.parquet", row_group_size=25)
    pd.DataFrame({"left": INDEX[:, 0], "right": INDEX[:, 1], "d": Y}).to_parquet(tmp_path / "rows.parquet", row_group_size=25)
    a = out_of_core.fit(DistanceRegressor(**cases.FAST), tmp_path / "pairs.parquet", "d", "w")
    assert a.semimetric_.feature_names == ("u", "v", "w")
    b = in_blocks(cases.FAST | {"preprocessor": ITEMS}, tmp_path / "rows.parquet", "d")
    np.testing.assert_allclose(a.predict(POINTS), DistanceRegressor(**cases.FAST).fit(POINTS, Y).predict(POINTS), rtol=1e-9)
    whole = DistanceRegressor(**cases.FAST, preprocessor=ITEMS).fit(INDEX, Y)
    np.testing.assert_allclose(b.predict(INDEX), whole.predict(INDEX), rtol=1e-9)
    assert_refused(lambda: in_blocks(cases.FAST, tmp_path / "pairs.parquet", "e"), "'e'", "missing", "same columns")
    assert_refused(lambda: in_blocks(cases.FAST, tmp_path / "rows.parquet", "d"), "left, right", "left.NAME", "preprocessor=")


@pytest.fixture(scope="module")
def d():
    return cases.fitted("square root")[0].semimetric_


X = np.round(np.random.default_rng(1).random((700, 3)), 2)


def test_queries_in_blocks(d, tmp_path):
    index = NeighborIndex(d).fit(X)
    index.save(tmp_path / "one")
    np.save(tmp_path / "x.npy", X)
    found = out_of_core.kneighbors(tmp_path / "one", tmp_path / "x.npy", 3, memory_limit="100 kB")
    assert all((a == b).all() for a, b in zip(found, index.kneighbors(X, 3), strict=True))
