"""Strings as counts of their q-grams, and of their symbols in every part of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError, ObjectError
from ..._foundation.stored import Stored, storable
from ..._foundation.types import Floats, distinct
from ..._foundation.validation import check_count
from ...data.object_lists import Objects, as_objects
from .objects import ObjectFeatures

_MOST = 10_000  # symbols in a row, or parts of a string
_FEW_SYMBOLS = 8  # different ones, of which three in a row, and more parts, distinguish strings better

Symbols = list[Any]
Gram = tuple[Any, ...]


@storable
class StringFeatures(ObjectFeatures):
    """Length, q-gram profiles, and where symbols stand, of strings or of other sequences of symbols, such as lists of words.

    - length: the number of symbols.
    - q-grams: how often every q symbols in a row occur, q - 1 ends being added on either side. One insertion, deletion or
      exchange changes at most q of them into others, so ``|G_q(x) - G_q(y)|_1 / (2 q) <= edit distance(x, y)`` (Ukkonen 1992).
      Grams that are not among the most frequent of the fit are counted together, which only lowers the left side.
    - places: how many of every symbol lie in each part of the string, from its first to its last. A symbol between the middles
      of two parts counts for both, by how near they are. So a place moves little when a symbol is added elsewhere. No
      bound holds for these; they distinguish strings with the same letters in another order.

    Parameters
    ----------
    q : sequence of int, or "auto" (default)
        The lengths of the grams, each at most 10,000; empty leaves them out. "auto" is (1, 2), and (1, 2, 3) where the strings
        of the fit have at most 8 different symbols, as DNA has: so few say little one by one.
    max_grams : int, default 200
        The most frequent grams of every length that have a column of their own.
    n_places : int or "auto" (default)
        The number of parts of a string, at most 10,000; 0 leaves the places out. Those of the ``max_grams`` most frequent
        symbols are counted. "auto" is 5, and 8 where there are at most 8 different symbols.

    Attributes
    ----------
    q_ : tuple of int
        The lengths of the grams.
    n_places_ : int
        The number of parts.
    grams_ : list of list
        The grams of every length, as tuples in which None stands for an end.
    symbols_ : list
        The symbols whose places are counted.

    Examples
    --------
    >>> from semimetric import StringFeatures
    >>> model = StringFeatures(q=(1,), n_places=0).fit(["bone", "stone"])
    >>> model.get_feature_names_out().tolist()
    ['length', "'o'", "'n'", "'e'", "'b'", "'s'", "'t'", 'other 1-grams']
    >>> model.transform(["nose"]).tolist()
    [[4.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]]
    """

    q_: Stored[tuple[int, ...]]
    n_places_: Stored[int]
    grams_: Stored[list[Any]]
    symbols_: Stored[list[Any]]

    def __init__(self, q: Sequence[int] | str = "auto", *, max_grams: int = 200, n_places: int | str = "auto") -> None:
        self.q = q
        self.max_grams = max_grams
        self.n_places = n_places

    def fit(self, X: Objects, y: object = None) -> StringFeatures:
        """Find the most frequent grams and symbols of a sequence of sequences of symbols, the first of equally frequent ones.

        Objects without an order, such as sets, are refused with an `InputError`; y is ignored.
        """
        self._check_parameters()
        strings = _strings(X)
        few = len({symbol for s in strings for symbol in s}) <= _FEW_SYMBOLS
        self.q_ = tuple(self.q) if not isinstance(self.q, str) else (1, 2, 3) if few else (1, 2)
        self.n_places_ = self.n_places if not isinstance(self.n_places, str) else 8 if few else 5
        self.grams_ = [self._frequent(gram for s in strings for gram in _grams(s, q)) for q in self.q_]
        self.symbols_ = self._frequent(symbol for s in strings for symbol in s) if self.n_places_ else []
        return self

    def transform(self, X: Objects) -> Floats:
        """Return the features, shape (n_objects, n_features_out).

        Parameters
        ----------
        X : sequence of str, or of sequences of symbols
        """
        check_is_fitted(self, "grams_")
        strings = _strings(X)
        counts = [self._counts(strings, q, known) for q, known in zip(self.q_, self.grams_, strict=True)]
        places = self._places(strings)
        return np.hstack([np.array([[len(s)] for s in strings], dtype=np.float64), *counts, places])

    def _frequent(self, entries: Iterator[Hashable]) -> list[Any]:
        return [entry for entry, _ in Counter(entries).most_common(self.max_grams)]

    def _counts(self, strings: list[Symbols], q: int, known: list[Gram]) -> Floats:
        """Count each of the known grams, and all others together, shape (n_strings, n_known + 1)."""
        column = {gram: k for k, gram in enumerate(known)}
        out = np.zeros((len(strings), len(known) + 1))
        for row, s in zip(out, strings, strict=True):
            for gram, n in Counter(_grams(s, q)).items():
                row[column.get(gram, -1)] += n
        return out

    def _places(self, strings: list[Symbols]) -> Floats:
        """Count each symbol in each part, shape (n_strings, n_symbols * n_places)."""
        out = np.zeros((len(strings), len(self.symbols_), self.n_places_))
        column = {symbol: k for k, symbol in enumerate(self.symbols_)}
        for table, s in zip(out, strings, strict=True):
            for i, symbol in enumerate(s):
                k = column.get(symbol)
                if k is None:
                    continue
                place = min(max((i + 0.5) / len(s) * self.n_places_ - 0.5, 0.0), self.n_places_ - 1.0)
                part = min(int(place), self.n_places_ - 2) if self.n_places_ > 1 else 0
                table[k, part] += 1.0 - (place - part)
                if self.n_places_ > 1:
                    table[k, part + 1] += place - part
        return out.reshape(len(strings), len(self.symbols_) * self.n_places_)

    @property
    def _names_out(self) -> list[str]:
        names = ["length"]
        for q, known in zip(self.q_, self.grams_, strict=True):
            names += [" ".join("end" if part is None else repr(part) for part in gram) for gram in known]
            names.append(f"other {q}-grams")
        names += [f"{symbol!r} in part {k + 1} of {self.n_places_}" for symbol in self.symbols_ for k in range(self.n_places_)]
        return list(distinct(names))

    def check_restored(self) -> None:
        self._check_parameters()
        check_lengths(self.q_)
        check_count("n_places_", self.n_places_, minimum=0, most=_MOST)
        tuples = all(
            isinstance(gram, tuple) and len(gram) == q for q, known in zip(self.q_, self.grams_, strict=False) for gram in known
        )
        if len(self.grams_) != len(self.q_) or not all(isinstance(known, list) for known in self.grams_) or not tuples:
            raise InputError(f"there are grams of {len(self.grams_)} lengths; {len(self.q_)} are required, each of tuples")
        try:
            hash((tuple(self.symbols_), *(tuple(known) for known in self.grams_)))
        except TypeError:
            raise InputError("a symbol cannot be hashed, so that it cannot be looked up; restore the file") from None

    def _check_parameters(self) -> None:
        if not (isinstance(self.q, str) and self.q == "auto"):
            check_lengths(self.q)
        check_count("max_grams", self.max_grams)
        if not (isinstance(self.n_places, str) and self.n_places == "auto"):
            check_count("n_places", self.n_places, minimum=0, most=_MOST)


def check_lengths(q: Any) -> None:
    """Refuse what is no sequence of lengths of grams."""
    if isinstance(q, str) or not hasattr(q, "__len__"):
        raise InputError(f'q={q!r} must be a sequence of integers >= 1, such as (1, 2), or "auto"')
    for length in q:
        check_count("each of q", length, most=_MOST)


def _grams(symbols: Symbols, q: int) -> Iterator[Gram]:
    padded = [None] * (q - 1) + symbols + [None] * (q - 1)
    return zip(*(padded[k:] for k in range(q)), strict=False)


def _strings(X: Objects) -> list[Symbols]:
    objects = as_objects(X)
    found = []
    for k in range(len(objects)):
        value = objects[k]
        try:
            if isinstance(value, (Mapping, Set)):
                raise TypeError("no order")
            symbols = list(value)
            hash(tuple(symbols))
        except TypeError:
            raise ObjectError(
                k,
                f"is of type {type(value).__name__}; a string, or a sequence of symbols that can be hashed, is required: leave "
                "missing ones out",
            ) from None
        found.append(symbols)
    return found
