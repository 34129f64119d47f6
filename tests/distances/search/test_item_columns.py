"""Conditions on the items of an index: the features by name, as they were given, of the items that are there."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal
from searches import search_problem

import semimetric
from semimetric import Columns, DistanceRegressor, NeighborIndex, ShardedIndex
from semimetric.distances.search import index as index_module
from semimetric.distances.search.items import ItemColumns, ItemRows


@pytest.fixture(scope="module")
def wines():
    """A frame of wines with numbers, an hour, text, numbered grades and missing values, and a distance of its rows."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "alcohol": rng.uniform(11, 15, 80).round(1),
            "picked at": rng.uniform(0, 24, 80),
            "origin": rng.choice(["France", "Italy", None], 80),
            "grade": rng.choice([1, 2, 3], 80),
        }
    )
    frame.loc[::7, "alcohol"] = np.nan
    pairs = rng.integers(0, 80, (400, 2))
    model = DistanceRegressor(
        n_knots=3,
        alpha=0.1,
        columns=Columns(["origin", "grade"], periodic={"picked at": 24}, missing="level"),
        preprocessor=frame,
    )
    return frame, model.fit(pairs, rng.uniform(1, 2, 400) * (pairs[:, 0] != pairs[:, 1])).semimetric_


CONDITIONS = {
    "alcohol > 13": lambda t: t.alcohol > 13,
    "alcohol in (13.1, 12.5) or `picked at` < 6": lambda t: t.alcohol.isin([13.1, 12.5]) | (t["picked at"] < 6),
    "origin in ('France', '') and not grade == 2": lambda t: t.origin.isin(["France", None]) & (t.grade != 2),
    "not (alcohol <= 13 or origin == 'Italy')": lambda t: (t.alcohol > 13) & (t.origin != "Italy"),
    "grade != 3": lambda t: t.grade != 3,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_is_the_mask_of_its_rows(condition, wines):
    frame, d = wines
    index = NeighborIndex(d).fit(frame, ids=[f"wine{k}" for k in range(80)])
    mask = CONDITIONS[condition](frame).to_numpy()
    assert 0 < mask.sum() < 80
    for got, want in zip(
        index.kneighbors(frame[:5], 7, where=condition), index.kneighbors(frame[:5], 7, where=mask), strict=True
    ):
        assert_array_equal(got, want)
    found = index.radius_neighbors(frame[:5], 1.0, return_distance=False, where=condition)
    assert {*np.concatenate(found)} <= {*index.ids_[mask]}
    assert index.estimate_recall(frame[:5], 3, where=condition) == index.estimate_recall(frame[:5], 3, where=mask)


def test_columns_are_those_of_the_items_that_are_there(monkeypatch):
    monkeypatch.setattr(index_module, "_TAIL", 0)
    d, items, _ = search_problem(60)
    items = items.astype(np.float32)
    index = NeighborIndex(d).fit(items[:45]).add(items[45:]).remove([2, 50])
    parts = [ItemRows(s.points.raw, s.ids, s.alive) for s in index.segments_]
    columns = ItemColumns(d.feature_names, d.schema, parts)
    assert [*columns] == ["x0", "x1", "x2", "x3"]
    assert "x4" not in columns
    for k, name in enumerate(columns):
        assert_array_equal(columns[name], items[index.ids_, k])
    value = items[7, 1]
    assert index.kneighbors(items[:1], 1, where=f"x1 == {value}")[1].item() == 7  # compared as float32


def test_every_shard_answers_a_condition(tmp_path):
    d, items, queries = search_problem(60)
    index = NeighborIndex(d).fit(items)
    index.save(tmp_path / "one")
    for other in (ShardedIndex.build(tmp_path / "many", d, items, n_shards=3), semimetric.load(tmp_path / "one")):
        got = other.kneighbors(queries, 4, where="x0 > 0.2 or x1 in (1, 2)")
        want = index.kneighbors(queries, 4, where=items[:, 0] > 0.2)
        assert_array_equal(got[0], want[0])
        assert_array_equal(got[1], want[1])


REFUSED = {
    "an id": ("wine5", "where is 'wine5': the condition names 'wine5'", "no column of the items", "where=['wine5']"),
    "half a condition": ("x0 >", "is not complete", "comparisons such as", "ids are given as a list"),
    "another column": ("price < 3", "'price', which is no column of the items", "their columns are x0, x1, x2, x3", ""),
    "a number": (5, "where is 5", "a condition as text, a mask or a list of ids", "where=[5]"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("named", [True, False], ids=["text as ids", "numbers as ids"])
def test_text_that_is_no_condition_is_refused(name, named):
    where, *words = REFUSED[name]
    d, items, queries = search_problem(60)
    index = NeighborIndex(d).fit(items, ids=[f"wine{k}" for k in range(60)] if named else None)
    assert_refused(lambda: index.kneighbors(queries, 3, where=where), *words)
    assert_refused(lambda: index.radius_neighbors(queries, 0.1, where=where), *words)


def test_categories_of_numbers_and_text_are_text():
    frame = pd.DataFrame({"size": pd.Categorical(["a", 1, "b", 2] * 5), "price": np.arange(20.0)})
    index = NeighborIndex("gower").fit(frame)
    for condition, rows in {'size < "2"': [1, 5], 'size in ("1", "b")': [1, 2, 5, 6]}.items():
        ids = index.kneighbors(frame[:1], 20, False, where=f"price < 8 and {condition}")
        assert_array_equal(np.sort(ids[0]), rows)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_a_condition_on_a_column_of_times_is_the_mask_of_its_rows(zone, tmp_path):
    rng = np.random.default_rng(5)
    when = pd.Series(pd.Timestamp("2024-01-30") + pd.to_timedelta(rng.integers(0, 96, 60), unit="h")).dt.tz_localize(zone)
    frame = pd.DataFrame({"when": when, "size": rng.random(60), "city": rng.choice(["Rome", "Oslo"], 60)})
    d = semimetric.gower(frame)
    assert d.schema.features[0].time == "scale"
    index = NeighborIndex(d).fit(frame)
    index.save(tmp_path / "index")
    start = pd.Timestamp("2024-01-31", tz=None if zone is None else "UTC")
    mask = ((frame["when"] >= start) & (frame["city"] == "Rome")).to_numpy()
    assert 0 < mask.sum() < 60
    for searched in (index, semimetric.load(tmp_path / "index")):
        got = searched.kneighbors(frame[:3], 4, where='when >= 2024-01-31 and city == "Rome"')
        for a, b in zip(got, index.kneighbors(frame[:3], 4, where=mask), strict=True):
            assert_array_equal(a, b)
    at = frame["when"][7]
    found = index.kneighbors(frame[:1], 1, where=f"when == '{at.isoformat()}'")[1]
    assert (frame["when"][found.item()]) == at
    assert_refused(lambda: index.kneighbors(frame[:1], 1, where="when > 2024-13-01"), "'2024-13-01'", "no date or time")
