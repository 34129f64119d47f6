"""Identical items are found, and distinct ones do not depend on how often, in which order or in which parts items come."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from semimetric.data import identical_items
from semimetric.data.identical_items import DistinctItems, distinct_items, identities, surely_differ

VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, 1e300, 5e-324, np.nan, np.inf])
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=30).map(np.array)


def keys(rows):
    """Every row as a tuple that is equal for identical rows."""
    return [tuple("missing" if np.isnan(v) else v for v in row) for row in rows.tolist()]


@given(ROWS)
def test_identities_are_those_of_a_dictionary(rows):
    seen = {}
    numbers = [seen.setdefault(key, len(seen)) for key in keys(rows)]
    first, number, hashes = identities(rows)
    assert number.tolist() == numbers
    assert first.tolist() == [numbers.index(k) for k in range(len(seen))]
    assert len(set(hashes.tolist())) == len(seen)
    again = identities(rows[::-1])
    np.testing.assert_array_equal(again.hashes[again.number][::-1], hashes[number])
    assert surely_differ(rows) == (len(seen) == len(rows))


@given(ROWS)
def test_sparse_rows_have_the_identities_of_dense_ones(rows):
    hashes = identical_items._hashes

    def first_hashes(rows, seed=0):
        assert seed == 0, "items of one hash that are identical are told apart"
        return hashes(rows, seed)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(identical_items, "_hashes", first_hashes)
        for a, b in zip(identities(rows), identities(sparse.csr_array(rows)), strict=True):
            assert (a == b).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_no_rows_are_no_items(form):
    assert [len(part) for part in identities(form(np.empty((0, 3))))] == [0, 0, 0]


def test_items_of_one_hash_are_told_apart_by_another(monkeypatch, rng):
    hashes = identical_items._hashes
    monkeypatch.setattr(identical_items, "_hashes", lambda rows, seed=0: hashes(rows, seed) % [2, 7, 2**63][min(seed, 2)])
    rows = rng.integers(0, 3, (200, 3)).astype(float)
    seen = {}
    assert identities(rows).number.tolist() == [seen.setdefault(key, len(seen)) for key in keys(rows)]


@pytest.mark.parametrize("most", [5, 1000])
@given(ROWS, st.integers(0, 99), st.lists(st.integers(0, 30), max_size=4).map(sorted))
def test_distinct_items_depend_neither_on_order_nor_on_copies_nor_on_parts(most, rows, seed, cuts):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(identical_items, "_MOST", most)
        once = distinct_items(rows)
        rng = np.random.default_rng(seed)
        again = rng.permutation(np.vstack([rows, rows[rng.integers(0, len(rows), 9)]]))
        parts = [DistinctItems.of(part) for part in np.split(again, np.minimum(cuts, len(again))) if len(part)]
        added = sum(parts[1:], start=parts[0])
    n = len(set(keys(rows)))
    assert added.is_sample == (n > most)
    assert len(once) == (n if n <= most else most + 2)
    np.testing.assert_array_equal(added.knot_items, once)
    assert set(keys(once[:most])) <= set(keys(rows))
    np.testing.assert_array_equal(np.fmin.reduce(once), np.fmin.reduce(rows))
    np.testing.assert_array_equal(np.fmax.reduce(once), np.fmax.reduce(rows))


def test_a_sample_is_a_random_one(monkeypatch):
    monkeypatch.setattr(identical_items, "_MOST", 2_000)
    found = distinct_items(np.arange(20_000.0)[:, None])
    assert abs(found.mean() / 10_000 - 1) < 0.05  # five standard errors
    assert abs(found.std() / 5_774 - 1) < 0.05
