"""Columns of text, of which many cells are the same: texts that differ, and for each cell the number of its text."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_BYTES = 1 << 20  # that are decoded together
_WORD = 8  # bytes that are compared at once
_OWN = np.array([(1 << 64) - (1 << 64 - 8 * n) for n in range(_WORD + 1)], np.uint64)  # the first n bytes of a word


@dataclass(frozen=True, eq=False)
class DistinctTexts:
    """Texts that differ, numbered from 1 on; 0 is a missing one, which is compared as "".

    They are compared as the bytes that they are stored as, whose order is that of the characters, and decoded to be shown.
    """

    letters: NDArray[np.uint8]  # UTF-8, one text after another
    ends: NDArray[np.int64]  # (n_texts,), where each ends

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Return texts, the first of which gets the number 1."""
        encoded = [_encoded(text) for text in texts]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    def text(self, number: int) -> str:
        """Return the text of a number, from 1 on."""
        start = int(self.ends[number - 2]) if number > 1 else 0
        return self.letters[start : self.ends[number - 1]].tobytes().decode(errors="surrogatepass")

    @cached_property
    def all(self) -> NDArray[Any]:
        """All texts by their numbers, as objects, shape (n_texts + 1,); a missing one is ""."""
        out = np.full(len(self.ends) + 1, "", dtype=object)
        out[1:] = [self.text(number) for number in range(1, len(out))]
        return out

    @cached_property
    def by_checksum(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Checksums of the texts, increasing, and the numbers of the texts in this order."""
        letters = self.letters.tobytes()
        sums = np.array([crc32(letters[a:b]) for a, b in pairwise(self.bounds[1:].tolist())], np.uint32)
        order = np.argsort(sums, kind="stable")
        return sums[order], order + 1

    def numbers(self, others: DistinctTexts) -> NDArray[np.int64]:
        """Return the numbers here of other texts, by their numbers there; 0 for those that are not here: (n_others + 1,)."""
        if others is self:
            return np.arange(len(self.ends) + 1)
        sums, number = self.by_checksum
        sought, _ = others.by_checksum
        first, last = np.searchsorted(sums, sought), np.searchsorted(sums, sought, side="right")
        here, there, out = self.letters.tobytes(), others.letters.tobytes(), np.zeros(len(others.ends) + 1, np.int64)
        mine, theirs, at = self.bounds.tolist(), others.bounds.tolist(), others.by_checksum[1]
        for k in np.flatnonzero(first < last).tolist():
            other = int(at[k])
            text = there[theirs[other] : theirs[other + 1]]
            same = [n for n in number[first[k] : last[k]].tolist() if here[mine[n] : mine[n + 1]] == text]
            out[other] = same[0] if same else 0
        return out

    def equal(self, value: str) -> NDArray[np.bool_]:
        """Return the texts that equal a value, by their numbers, shape (n_texts + 1,)."""
        sought, bounds = _encoded(value), self.bounds
        out = np.diff(bounds) == len(sought)
        out[out] = self._order(sought, bounds[:-1][out], np.full(int(out.sum()), len(sought))) == 0
        return out

    def order(self, value: str) -> NDArray[np.int8]:
        """Return -1 for texts before a value, 0 for equal ones and 1 for those after it, shape (n_texts + 1,)."""
        bounds = self.bounds
        return self._order(_encoded(value), bounds[:-1], np.diff(bounds))

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Starts of the texts by their numbers, and the end of the last, shape (n_texts + 2,)."""
        return np.concatenate([np.zeros(2, np.int64), self.ends])

    def _order(self, sought: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int8]:
        """Compare the texts that start there with a value, eight bytes at once, which are read as one number."""
        padded = np.concatenate([self.letters, np.zeros(_WORD, np.uint8)])
        words = np.ndarray(len(self.letters) + 1, ">u8", padded, strides=(1,))  # that begin at each byte
        out, rows = np.zeros(len(starts), np.int8), np.arange(len(starts))
        for k in range(0, len(sought), _WORD):
            here = np.uint64(int.from_bytes(sought[k : k + _WORD].ljust(_WORD, b"\0")))
            first = np.minimum(starts + k, len(self.letters)) if k else starts
            found = words[first].astype(np.uint64) & _OWN[np.clip(lengths - k, 0, _WORD)]
            out[rows] = (found > here).astype(np.int8) - (found < here)
            same = np.flatnonzero(found == here)
            rows, starts, lengths = rows[same], starts[same], lengths[same]
        out[rows] = np.sign(lengths - len(sought))
        return out

    def check(self) -> bool:
        """Return True if the ends do not fall, and every text is UTF-8."""
        if (np.diff(self.ends, prepend=0) < 0).any() or int(self.ends[-1:].sum()) != len(self.letters):
            return False
        if (self.letters[self.ends[self.ends < len(self.letters)]] & 0xC0 == 0x80).any():  # One ends within a character.
            return False
        decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogatepass")
        try:
            for start in range(0, len(self.letters), _BYTES):
                decoder.decode(self.letters[start : start + _BYTES].tobytes())
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


@dataclass(frozen=True, eq=False)
class TextCells:
    """A column of texts as a condition compares it: pieces of numbers, each with the texts that they are of."""

    pieces: Sequence[tuple[NDArray[np.integer], DistinctTexts]]

    @classmethod
    def of(cls, cells: Iterable[str | None]) -> Self:
        """Return a column in one piece; None is a missing text."""
        number: dict[str, int] = {}
        codes = [0 if cell is None else number.setdefault(cell, len(number) + 1) for cell in cells]
        return cls([(np.array(codes, np.int32), DistinctTexts.of(number))])

    def where(self, holds: Callable[[DistinctTexts], NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Return the rows on which the text is one for which ``holds``, which is asked once for each of those that differ."""
        return np.concatenate([holds(texts)[codes] for codes, texts in self.pieces])
