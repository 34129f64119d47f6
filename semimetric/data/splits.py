"""Splits of tuples or items into those to train on and those to validate on, always seeded; equal items stay on one side.

What is held out is to be new. An item given twice, as two rows of a table or as points of two tuples, is one item
(`identical_items`). Distinct items are split, and every row goes where its item goes.
"""

import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors

from .._foundation.arrays import spread
from .._foundation.errors import InputError, TooFewError
from .._foundation.types import Floats, Integers, Tuples
from .identical_items import identities


def sample_pairs(
    items: Floats, n_pairs: int, *, near: float = 0.25, n_neighbors: int = 30, random_state: int | None = None
) -> Integers:
    """Return distinct pairs of different rows, shape (n_pairs, 2), the share ``near`` of near neighbours; all, if no more."""
    n = len(items)
    if n < 2:
        raise InputError("at least two items are required to draw pairs")
    rng = np.random.default_rng(random_state)
    n_all = n * (n - 1) // 2
    found = set[tuple[int, int]]()
    while missing := min(n_pairs, n_all) - len(found):
        n_near = round(near * missing)
        drawn = [_near_pairs(items, n_near, n_neighbors, rng), rng.integers(0, n, (2 * (missing - n_near) + 16, 2))]
        if found and n_all <= 4 * n_pairs:  # random draws seldom hit the last few pairs, so all pairs are offered
            drawn.append(rng.permutation(list(combinations(range(n), 2))))
        for i, j in np.concatenate(drawn).tolist():
            if i != j and len(found) < n_pairs:
                found.add((min(i, j), max(i, j)))
        near /= 2  # all near pairs may have been drawn already
    pairs = np.array(sorted(found), dtype=np.int64).reshape(-1, 2)
    return rng.permuted(rng.permutation(pairs), axis=1)


def _near_pairs(items: Floats, n: int, n_neighbors: int, rng: np.random.Generator) -> Integers:
    """Return ``n`` pairs of a random item and one of its nearest neighbours (standardised), (n, 2); none if all are equal."""
    if not n:
        return np.empty((0, 2), np.int64)
    width = spread(items)
    scaled = items[:, width > 0] / width[width > 0]
    if not scaled.shape[1]:
        return np.empty((0, 2), np.int64)
    k = min(n_neighbors, len(items) - 1)
    neighbours = NearestNeighbors(n_neighbors=k + 1).fit(scaled).kneighbors(return_distance=False, X=scaled)
    left = rng.integers(0, len(items), n)
    return np.column_stack([left, neighbours[left, rng.integers(1, k + 1, n)]]).astype(np.int64)


_FEW_COMPONENTS = 30  # with fewer components, items are held out instead of components
_MOST_DRAWS = 100  # of sides, until there are enough splits
_LEAST = 2  # tuples on either side


def tuple_identities(tuples: Tuples) -> NDArray[np.int64]:
    """Return the number of the item of every member, shape (n_tuples, size), in the order of hashes of the items."""
    used, place = np.unique(tuples.index, return_inverse=True)
    _, number, hashes = identities(tuples.items[used])
    rank = np.empty(len(hashes), np.int64)
    rank[np.argsort(hashes)] = np.arange(len(hashes))
    return rank[number][place.reshape(tuples.index.shape)]


def item_disjoint_splits(
    pairs: Tuples, *, n_splits: int | None, random_state: int | None, held_out: float = 0.3
) -> Iterator[tuple[Integers, Integers]]:
    """Return splits of the rows of ``pairs`` into those to train on and those to validate on, which share no item.

    If the pairs fall into many components that share no item, the share ``held_out`` of these is held out and no pair is
    lost. Otherwise it is a share of the items, and pairs with items of both sides are left out. A draw that leaves fewer
    than two pairs on a side is drawn again, up to a limit that does not depend on ``n_splits``; None gives a split for every
    good draw. `TooFewError` says that fewer than two draws were good.
    """
    identity = tuple_identities(pairs)
    unit = units_of(identity)
    n_items, n_units = len(unit), int(unit.max()) + 1
    rng = np.random.default_rng(random_state)
    n_found, n_splits = 0, _MOST_DRAWS if n_splits is None else n_splits
    for _ in range(max(_MOST_DRAWS, n_splits)):
        is_held_out = np.zeros(n_units, dtype=bool)
        is_held_out[rng.permutation(n_units)[: max(1, round(held_out * n_units))]] = True
        n_held_out = is_held_out[unit][identity].sum(axis=1)  # members of each tuple
        train = np.flatnonzero(n_held_out == 0)
        test = np.flatnonzero(n_held_out == identity.shape[1])
        if min(len(train), len(test)) < _LEAST:
            continue
        yield train, test
        n_found += 1
        if n_found == n_splits:
            return
    if n_found < min(n_splits, 2):
        kind = pairs.name
        raise TooFewError(
            f"{len(pairs)} {kind} over {n_items} different items are too few to hold some out ({n_found} of {_MOST_DRAWS} ways "
            f"to hold out {held_out:.0%} of the items leave {_LEAST} {kind} or more on both sides); give more {kind}, or "
            'numbers instead of "auto"'
        )


def units_of(identity: Integers) -> Integers:
    """Return the number of the unit held out with each item, (n_items,): its component where there are many, else itself."""
    n_items = int(identity.max()) + 1
    edges = np.concatenate([identity[:, [0, k]] for k in range(1, identity.shape[1])])
    graph = sparse.coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(n_items, n_items))
    n_components, component = connected_components(graph, directed=False)
    return component.astype(np.int64) if n_components >= _FEW_COMPONENTS else np.arange(n_items)


def leaves_enough(labels: NDArray[Any], n_classes: int = 2) -> bool:
    """Return True if items have at least ``n_classes`` classes, and one class has two items."""
    counts = np.unique(labels, return_counts=True)[1]
    return len(counts) >= n_classes and int(counts.max()) > 1


def hold_out(rows: Floats, fraction: float, random_state: int | None) -> tuple[Integers, Integers]:
    """Return sorted numbers of rows to learn from, and of rows held out: none where fewer than two would be on a side."""
    number = identities(rows).number
    n = int(number.max()) + 1
    order = np.random.default_rng(random_state).permutation(n)
    n_held = int(fraction * n)
    held = np.zeros(n, dtype=bool)
    held[order[: n_held if n_held >= 2 and n - n_held >= 2 else 0]] = True
    return np.flatnonzero(~held[number]), np.flatnonzero(held[number])


class ItemClasses:
    """The classes of distinct items, so that a fraction of each class can be held out.

    ``number`` (n_rows,) is the item in each row, by first occurrence; ``labels`` (n_items,) are the classes that most rows of
    an item have, of equally many the first.
    """

    def __init__(self, rows: Floats | sparse.csr_array, labels: NDArray[Any]) -> None:
        first, self.number, _ = identities(rows)
        self.labels = labels[first]
        if len(first) < len(labels):
            classes, codes = np.unique(labels, return_inverse=True)
            votes = sparse.coo_array((np.ones(len(codes)), (self.number, codes)), shape=(len(first), len(classes)))
            self.labels = classes[votes.tocsr().argmax(axis=1)]

    @property
    def members(self) -> list[Integers]:
        """The numbers of the items of each class, classes in order."""
        return [np.flatnonzero(self.labels == name) for name in np.unique(self.labels)]

    @property
    def most_folds(self) -> int:
        """The most folds that hold out something each: the number of items of the largest class."""
        return max(map(len, self.members))

    def folds(self, n_folds: int, random_state: int) -> list[tuple[Integers, Integers]]:
        """Return row numbers to train on and to test on, of ``n_folds`` folds with equal fractions of every class."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            split = list(StratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(self.labels, self.labels))
        return [self._sides(held) for _, held in split]

    def split(self, fraction: float, random_state: int) -> tuple[Integers, Integers]:
        """Return row numbers to learn from and to test with: a fraction of the items of every class."""
        rng = np.random.default_rng(random_state)
        return self._sides(np.concatenate([rng.permutation(m)[: int(fraction * len(m) + 0.5)] for m in self.members]))

    def _sides(self, held_items: Integers) -> tuple[Integers, Integers]:
        held = np.zeros(len(self.labels), dtype=bool)
        held[held_items] = True
        return np.flatnonzero(~held[self.number]), np.flatnonzero(held[self.number])
