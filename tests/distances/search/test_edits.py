"""Bounds of the edit distance: they hold for all strings, are tight where letters alone differ, and find neighbours."""

import numpy as np
import pytest
import reference
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import DistanceCallError, EditBounds, FilterRefineIndex, InputError

texts = st.lists(st.text(st.sampled_from("ab\0é" + chr(ord("a") + 64)), max_size=7), min_size=2, max_size=4)


@given(texts, st.integers(1, 4), st.sampled_from([1, 2, 7, 256]))
def test_no_distance_is_outside_its_bounds(words, q, n_counters):
    bounds = EditBounds(q=q, n_counters=n_counters).fit(words)
    low, high = bounds.pairwise(words)
    true = np.array([[reference.edit_distance(x, y) for y in words] for x in words])
    assert (low <= true).all()
    assert (true <= high).all()
    assert (low == np.ceil(low)).all()
    np.testing.assert_array_equal(low, low.T)


def test_words_that_share_no_letter_are_as_far_as_the_longer_is_long():
    assert EditBounds().fit(["abc"]).bounds("abc", "xyzzy") == (5.0, 5.0)


@pytest.mark.parametrize("q", [2, 3])
def test_the_order_of_letters_counts_through_their_sequences(q):
    x, y = "abcdefgh", "hgfedcba"
    low, _ = EditBounds(q=q, n_counters=10_007).fit([x]).bounds(x, y)
    assert low == np.ceil((2 * (8 + q - 1)) / (2 * q))  # all sequences differ, and no letter does
    assert low <= reference.edit_distance(x, y)


def words_of(rng, n):
    stems = ["".join(rng.choice(list("abcdefg"), 6)) for _ in range(n // 5)]
    return ["".join(c if rng.random() > 0.15 else rng.choice(list("abcdefg")) for c in stems[k % len(stems)]) for k in range(n)]


@pytest.mark.parametrize("own", [False, True])
def test_neighbours_are_those_of_all_calls_and_few_are_made(own):
    words = words_of(np.random.default_rng(0), 300)
    items, queries = words[:280], None if own else words[280:]
    found = FilterRefineIndex(None, reference.edit_distance, bounds=EditBounds()).fit(items).search(queries, 3)
    asked = items if own else queries
    true = np.array([[reference.edit_distance(x, y) for y in items] for x in asked], dtype=float)
    if own:
        np.fill_diagonal(true, np.inf)
    np.testing.assert_array_equal(found.distances, np.sort(true, axis=1)[:, :3])
    np.testing.assert_array_equal(found.ids, np.argsort(true, axis=1, kind="stable")[:, :3])
    assert found.certified.all()
    assert found.n_calls.mean() < 140


def test_another_distance_than_edits_is_found_out():
    index = FilterRefineIndex(None, lambda x, y: 0.5 * reference.edit_distance(x, y), bounds=EditBounds()).fit(["abc", "xyz"])
    assert_refused(lambda: index.search(["pqr"], 1), "rerank", "bound", error=DistanceCallError)


BAD = {
    "number": (lambda: EditBounds().fit(["a", 3]), "object 1 of X is of type int", "give strings"),
    "text": (lambda: EditBounds().fit("abc"), "X is one text", "list of objects"),
    "query": (lambda: EditBounds().fit(["a"]).lower(b"a"), "object 0 of query is of type bytes", "give strings"),
    "q": (lambda: EditBounds(q=0).fit(["a"]), "q=0", "an integer >= 1"),
    "counters": (lambda: EditBounds(n_counters=1.5).fit(["a"]), "n_counters=1.5", "an integer >= 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_list_of_strings_is_refused(name):
    call, *parts = BAD[name]
    assert_refused(call, *parts, error=InputError)
