"""Rows by key: groups are those of a dict of the keys, and what is missing is in none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric.data.payload import PayloadColumn
from semimetric.distances.search.groups import KeyGroups, Keys

TEXTS = st.sampled_from([None, "", "a", "b", "aa", "é"])
NUMBERS = st.sampled_from([np.nan, -0.0, 0.0, 1.0, 2.5])
ROWS = st.lists(st.tuples(TEXTS, NUMBERS, st.booleans()), max_size=30)
WHOLE = PayloadColumn.read(np.arange(1), "number"), PayloadColumn.read(["a"], "text")


def columns_of(rows, names):
    """The columns of these names, with kinds that hold where there are no values."""
    text = PayloadColumn.read([t for t, _, _ in rows], "text", WHOLE[1])
    number = PayloadColumn.read(np.array([n for _, n, _ in rows], dtype=np.float64), "number")
    return [{"text": text, "number": number}[name] for name in names]


def keys_of(rows, names):
    """The key of every row, None where a part of it is missing."""
    keys = [tuple({"text": t, "number": n}[name] for name in names) for t, n, _ in rows]
    return [None if any(part in (None, "") or part != part for part in key) else key for key in keys]


@given(items=ROWS, queries=ROWS, names=st.sampled_from([("text",), ("number",), ("text", "number"), ("number", "text")]))
def test_the_group_of_a_query_has_the_rows_of_its_key(items, queries, names):
    alive = np.array([there for _, _, there in items], dtype=bool)
    groups = KeyGroups.of(columns_of(items, names), alive)
    found = groups.find(Keys(tuple(columns_of(queries, names))))
    keys = keys_of(items, names)
    want = [
        [row for row, own in enumerate(keys) if own is not None and own == key and alive[row]]
        for key in keys_of(queries, names)
    ]
    assert [groups.rows_of(int(group)).tolist() for group in found] == want
    assert groups.sizes(found).tolist() == [len(rows) for rows in want]
    padded = groups.rows(found)
    assert [row[row >= 0].tolist() for row in padded] == want
    assert (np.diff((padded < 0).astype(int), axis=1) >= 0).all()
    even = groups.among(np.arange(len(items)) % 2 == 0)
    assert [even.rows_of(int(group)).tolist() for group in found] == [[r for r in rows if r % 2 == 0] for rows in want]
    assert even.sizes(found).tolist() == [sum(r % 2 == 0 for r in rows) for rows in want]
    assert groups.among(None) is groups


def test_numbers_of_single_precision_are_found_by_the_number_that_was_meant():
    column = PayloadColumn.read(np.array([0.1, 0.2], np.float32), "price")
    groups = KeyGroups.of([column], np.ones(2, dtype=bool))
    assert groups.find(Keys((PayloadColumn.read([0.2, 0.1, 0.3], "price", column),))).tolist() == [1, 0, -1]


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([1, 2]), np.array([False, True, True])])
def test_keys_of_some_queries(rows):
    keys = Keys((PayloadColumn.read(["a", "b", "c"], "text"), PayloadColumn.read([1, 2, 3], "number")))
    taken = keys.take(rows)
    assert (len(taken), taken.names) == (2, ("text", "number"))
    assert taken.columns[1].cells.tolist() == [2.0, 3.0]
    assert taken.columns[0].shown().tolist() == ["b", "c"]
