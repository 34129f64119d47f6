"""Bounds of the edit distance of strings: by how often letters, and sequences of letters, occur in both."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ..._foundation.errors import InputError
from ..._foundation.types import Floats
from ..._foundation.validation import check_count
from ...data.object_lists import listed_objects
from .bounds import Bounds, Coordinates

_LETTERS = 64  # counters of letters; several letters may share one, which lowers bounds and breaks none
_END = "\0"  # stands before and behind every string where sequences of letters are counted


class EditBounds(Bounds):
    """Bounds of the edit distance of strings, the fewest letters to insert, delete or exchange (Levenshtein 1966).

    Every edit adds one letter at most, and takes one away at most. So at least as many edits are needed as there are letters
    that one string has more often than the other. Every edit changes at most q of the sequences of q letters in either string
    (Ukkonen 1992), so that at least ``|G(x) - G(y)|_1 / (2 q)`` edits are needed. G counts the sequences of a string with q - 1
    ends before and behind it. The upper bound is the longer length.

    No distance is called. The bounds hold for edits that cost 1 each, and for no other distance of strings. With exchanges of
    neighbours as one edit they would be too high.

    Parameters
    ----------
    q : int, default 2
        How many letters the sequences have.
    n_counters : int, default 256
        Counters of sequences. Several sequences may share one, which lowers bounds and breaks none; each item takes 8 bytes a
        counter.

    Attributes
    ----------
    n_features_in_ : int
        The number of counters of an item.

    Examples
    --------
    >>> from semimetric import EditBounds
    >>> bounds = EditBounds().fit(["kitten", "mitten", "written"])
    >>> bounds.lower("kitten").tolist()
    [0.0, 1.0, 2.0]
    >>> bounds.bounds("kitten", "sitting")
    (3.0, 7.0)
    """

    def __init__(self, *, q: int = 2, n_counters: int = 256) -> None:
        self.q = q
        self.n_counters = n_counters

    def fit(self, X: Any, y: Any = None) -> EditBounds:
        """Count letters and sequences of the strings X; y is ignored. An InputError refuses what is no list of strings."""
        check_count("q", self.q)
        check_count("n_counters", self.n_counters)
        self.items_ = self._placed(listed_objects(X), "X")
        self.n_features_in_ = _LETTERS + self.n_counters
        return self

    def _placed(self, objects: list[Any], name: str) -> Coordinates:
        letters, grams = np.zeros((len(objects), _LETTERS)), np.zeros((len(objects), self.n_counters))
        for row, text in enumerate(objects):
            if not isinstance(text, str):
                raise InputError(
                    f"object {row} of {name} is of type {type(text).__name__}; edits are bounded between strings alone: give "
                    "strings, or other bounds"
                )
            np.add.at(letters[row], [ord(letter) % _LETTERS for letter in text], 1.0)
            padded = _END * (self.q - 1) + text + _END * (self.q - 1)
            counters = [_counter(padded[k : k + self.q], self.n_counters) for k in range(len(padded) - self.q + 1)]
            np.add.at(grams[row], counters, 1.0)
        return Coordinates(letters, grams, np.array([float(len(text)) for text in objects]))

    def lower_at(self, query: Coordinates, items: Coordinates) -> Floats:
        lengths = np.abs(items.masses - query.masses)
        more = (cdist(query.values, items.values, "cityblock")[0] + lengths) / 2  # of the letters of the one that has more left
        changed = np.ceil(cdist(query.histograms, items.histograms, "cityblock")[0] / (2 * self.q))
        found: Floats = np.maximum(more, changed)
        return found

    def upper_at(self, query: Coordinates, items: Coordinates) -> Floats:
        return np.maximum(query.masses, items.masses)


def _counter(letters: str, n: int) -> int:
    """Return the number of the counter of a sequence of letters, the same in every process."""
    code = 0
    for letter in letters:
        code = code * 31 + ord(letter)
    return code % n
