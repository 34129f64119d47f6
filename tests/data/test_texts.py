"""Texts that are numbered: their bytes compare as they do, and what is no list of texts is found out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semimetric.data import texts as texts_module
from semimetric.data.texts import DistinctTexts, TextCells

# Near in every way: common beginnings and ends, lengths about eight bytes, zero bytes, surrogates, characters of many bytes.
NEAR = st.text(st.sampled_from("ab\0é\ud800\uffff😀"), max_size=20)


@given(st.lists(NEAR, unique=True, max_size=12), NEAR)
def test_texts_compare_as_their_characters_do(texts, value):
    for sought in (value, *texts):
        numbered, with_missing = DistinctTexts.of(texts), ["", *texts]
        assert numbered.equal(sought).tolist() == [text == sought for text in with_missing]
        assert numbered.order(sought).tolist() == [(text > sought) - (text < sought) for text in with_missing]
    assert numbered.all.tolist() == with_missing
    assert numbered.check()


@given(st.lists(st.lists(st.none() | st.sampled_from(["a", "b", ""])), min_size=1, max_size=3))
def test_a_column_in_pieces_is_asked_for_each_text_once(pieces):
    cells = TextCells([piece for part in pieces for piece in TextCells.of(part).pieces])
    asked = []

    def holds(texts):
        asked.extend(texts.all[1:])
        return texts.equal("a")

    assert cells.where(holds).tolist() == [cell == "a" for part in pieces for cell in part]
    assert len(asked) == sum(len({*part} - {None}) for part in pieces)


@pytest.mark.parametrize(
    ("letters", "ends"),
    [(b"ab", [2, 1]), (b"ab", [1]), (b"ab", [1, 3]), (b"a\xff", [1, 2]), ("é".encode(), [1, 2]), (b"a\xc3", [2]), (b"a", [])],
    ids=["falling", "letters left", "too far", "no UTF-8", "within a character", "half a character", "no text"],
)
def test_what_is_no_list_of_texts_is_found_out(letters, ends):
    assert not DistinctTexts(np.frombuffer(letters, np.uint8), np.array(ends, np.int64)).check()


@given(st.lists(NEAR, unique=True, max_size=12), st.lists(NEAR, unique=True, max_size=12))
def test_texts_of_another_column_are_found_by_their_bytes(texts, others):
    here, there = DistinctTexts.of(texts), DistinctTexts.of(others)
    assert here.numbers(there).tolist() == [0, *(texts.index(other) + 1 if other in texts else 0 for other in others)]
    assert here.numbers(here).tolist() == list(range(len(texts) + 1))


def test_texts_of_one_checksum_are_told_apart(monkeypatch):
    monkeypatch.setattr(texts_module, "crc32", lambda letters: len(letters))
    here, there = DistinctTexts.of(["ab", "ba", "a"]), DistinctTexts.of(["ba", "bb", "a", "ab"])
    assert here.numbers(there).tolist() == [0, 2, 0, 3, 1]
