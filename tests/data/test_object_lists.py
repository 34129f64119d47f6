"""Sequences of objects: what is one, what is equal, and which are held out together."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from semimetric._foundation.errors import InputError, TooFewError
from semimetric.data.object_lists import as_objects, hold_out_objects, listed_objects, object_key, object_pairs


class Own:
    """A sequence of one's own, of which entries are made when they are asked for."""

    def __len__(self):
        return 3

    def __getitem__(self, k):
        return [k] * k


def test_what_is_a_sequence_is_left_as_it_is():
    for given_objects in (["a", "b"], ("a", {1}), np.ones((2, 3)), Own(), range(3)):
        assert as_objects(given_objects) is given_objects
    series = pd.Series(["a", "b"], index=[1, 0])
    assert list(as_objects(series)) == ["a", "b"]
    assert as_objects(series)[0] == "a"  # by number, and not by label


def test_too_few_objects_are_told():
    assert_refused(lambda: as_objects(["a"], min_objects=2), "X has 1 objects", "at least 2 objects", error=TooFewError)


def test_keys_are_equal_where_objects_are():
    assert object_key("a") == object_key("a") != object_key("b")
    assert object_key(np.arange(3)) == object_key(np.arange(3)) != object_key(np.arange(4))
    assert object_key([1, [2]]) == object_key([1, [2]]) != object_key([1, [3]])
    assert object_key((1, np.ones(2))) == object_key((1, np.ones(2)))
    assert_refused(lambda: object_key([x for x in (lambda: 0,)]), "type list", "leave cache= out", error=InputError)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=20), st.floats(0, 1), st.integers(0, 99))
def test_equal_objects_are_held_out_together(objects, share, seed):
    learn, held = hold_out_objects(objects, share, seed)
    assert sorted([*learn, *held]) == list(range(len(objects)))
    kept, out = ({objects[i] for i in side} for side in (learn, held))
    assert not kept & out
    n = len({*objects})
    whole = int(share * n)
    assert len(out) == (whole if whole >= 2 and n - whole >= 2 else 0)
    again = hold_out_objects(objects, share, seed)
    np.testing.assert_array_equal(again[1], held)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("bcd")), min_size=1, max_size=9))
def test_objects_of_pairs_are_found_once_each(pairs):
    found, index = object_pairs(pairs)
    assert len(found) == len({*found}) == len({x for pair in pairs for x in pair})
    assert [(found[i], found[j]) for i, j in index] == pairs


def test_pairs_of_arrays_and_arrays_of_pairs():
    one, other = np.arange(3), np.arange(5)
    found, index = object_pairs([(one, other), [other, one]])
    assert [id(x) for x in found] == [id(one), id(other)]
    assert index.tolist() == [[0, 1], [1, 0]]
    table = np.arange(12.0).reshape(3, 2, 2)
    found, index = object_pairs(table)
    np.testing.assert_array_equal(np.array(found)[index], table)


@pytest.mark.parametrize("pairs", [["ab"], [{"a": 1, "b": 2}], [{"a", "b"}], [5], [("a",)]])
def test_what_is_no_pair_is_refused(pairs):
    assert_refused(lambda: object_pairs(pairs), "pairs[0] is of type", "no pair", "give a list of (one, other) objects")


@pytest.mark.parametrize(
    "sequence",
    [["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Series(["a", "b"]), iter(["a", "b"])],
    ids=lambda g: type(g).__name__,
)
def test_listed_objects_are_the_entries(sequence):
    assert [str(entry) for entry in listed_objects(sequence)] == ["a", "b"]


def test_listed_objects_are_rows_of_a_frame_and_never_copies_of_entries():
    rows = listed_objects(pd.DataFrame({"u": [1.0, 2.0], "v": [3.0, 4.0]}))
    assert [row.tolist() for row in rows] == [[1.0, 3.0], [2.0, 4.0]]
    objects = [object(), object()]
    assert all(x is y for x, y in zip(listed_objects(objects), objects, strict=True))
    assert_refused(lambda: listed_objects(sparse.eye_array(2)), "Sparse data", "toarray", error=TypeError)
    assert_refused(lambda: listed_objects([], minimum=1), "X has 0 objects", "at least 1")
