"""Pairs of items that a model has not seen, with their true and their predicted distances.

Their items are divided once more: a part teaches how difficult a pair is (`pair_difficulty`), and the rest calibrates intervals
(`conformal_quantile`). Errors are told of all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._foundation.types import Floats, Integers
from ...distances.semimetric import Semimetric

__all__ = [
    "FEWEST_OTHERS",
    "N_NEIGHBORS",
    "UnseenPairs",
    "divided",
    "landmarks_among",
    "neighbour_recall",
    "novelty_of",
    "whole_rows",
]

_MOST_LANDMARKS = 64  # items learned from that novelty is measured to
_DIFFICULTY_SHARE = 1 / 3  # of the items, or folds, teaches difficulty
N_NEIGHBORS = 10  # of which recall is told
FEWEST_OTHERS = 2 * N_NEIGHBORS  # among fewer, neighbours are found by chance


@dataclass(frozen=True, eq=False)
class UnseenPairs:
    """Pairs of items that the model which predicted them has not seen.

    Parameters
    ----------
    true, predicted : ndarray of shape (n_pairs,)
    novelty : ndarray of shape (n_pairs,)
        How far the items lie from those learned from, see `novelty_of`.
    items : ndarray of shape (n_pairs, 2), int64
        The numbers of the distinct items of each pair.
    teaches, calibrates : ndarray of shape (n_pairs,), bool
        Which pairs teach difficulty, and which calibrate intervals: no item has pairs of both.
    recalls : tuple of float
        The share of the nearest neighbours that is found, for every item whose distances to all others were evaluated.
    """

    true: Floats
    predicted: Floats
    novelty: Floats
    items: Integers
    teaches: Integers
    calibrates: Integers
    recalls: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.true)

    @classmethod
    def joined(cls, parts: Sequence["UnseenPairs"]) -> "UnseenPairs":
        """The pairs of all parts."""
        names = ("true", "predicted", "novelty", "items", "teaches", "calibrates")
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(**arrays, recalls=tuple(r for part in parts for r in part.recalls))


def divided(items: Integers, unit: Integers, random_state: int | None) -> tuple[Integers, Integers]:
    """Which pairs teach difficulty and which calibrate, by a random third and the rest of the units; pairs of both do neither.

    Parameters
    ----------
    items : ndarray of shape (n_pairs, 2)
    unit : ndarray of shape (n_items,)
        The number of the unit of each item: units are divided, with all their items.
    random_state : int or None
    """
    of_pair = unit[items]
    present = np.unique(of_pair)
    order = np.random.default_rng(random_state).permutation(len(present))
    teaching = np.zeros(int(unit.max()) + 1, dtype=bool)
    teaching[present[order[: round(_DIFFICULTY_SHARE * len(present))]]] = True
    n_teaching = teaching[of_pair].sum(axis=1)
    different = items[:, 0] != items[:, 1]
    return (n_teaching == 2) & different, (n_teaching == 0) & different


def landmarks_among(items: Floats, random_state: int | None) -> Floats:
    """A few of the items that were learned from, at random: shape (n_landmarks, n_features).

    Without a seed they are the same each time too, since intervals are calibrated with the landmarks that they are made with.
    """
    rows = np.random.default_rng(0 if random_state is None else random_state).permutation(len(items))[:_MOST_LANDMARKS]
    return items[np.sort(rows)]


def novelty_of(d: Semimetric, items: Floats, index: Integers, landmarks: Floats, *, n_jobs: int | None = None) -> Floats:
    """How far the two items of each pair lie from items learned from: the sum of their learned distances to the nearest one.

    Parameters
    ----------
    d : Semimetric
    items : ndarray of shape (n_items, n_features)
        Encoded.
    index : ndarray of shape (n_pairs, 2)
    landmarks : ndarray of shape (n_landmarks, n_features)
        Encoded.
    n_jobs : int or None
    """
    used, place = np.unique(index, return_inverse=True)
    n, k = len(used), len(landmarks)
    cross = np.stack(np.meshgrid(np.arange(n), n + np.arange(k), indexing="ij"), axis=-1).reshape(-1, 2)
    gaps = d.paired_by_index(np.concatenate([items[used], landmarks]), cross, n_jobs=n_jobs)
    return np.abs(gaps).reshape(n, k).min(axis=1)[place.reshape(index.shape)].sum(axis=1)


def neighbour_recall(true: Floats, predicted: Floats) -> float:
    """The share of the nearest items by predicted distance that are among the nearest by true distance, ties included.

    Parameters
    ----------
    true, predicted : ndarray of shape (n_others,)
        The distances of one item to all others.
    """
    nearest = np.argsort(predicted, kind="stable")[:N_NEIGHBORS]
    return float((true[nearest] <= np.sort(true)[N_NEIGHBORS - 1]).mean())


def whole_rows(items: Integers, true: Floats, predicted: Floats) -> tuple[float, ...]:
    """The recall of every item that was compared with all others, if these are enough; none where no item was.

    Parameters
    ----------
    items : ndarray of shape (n_pairs, 2)
    true, predicted : ndarray of shape (n_pairs,)
    """
    present, place = np.unique(items, return_inverse=True)
    if len(present) - 1 < FEWEST_OTHERS:
        return ()
    place = place.reshape(items.shape)
    start, end = np.concatenate([place, place[:, ::-1]]).T
    rows, first = np.unique(start * len(present) + end, return_index=True)
    start, end, row = start[first], end[first], np.tile(np.arange(len(items)), 2)[first]
    others = start != end
    n_others = np.bincount(start[others], minlength=len(present))
    return tuple(
        neighbour_recall(true[of], predicted[of])
        for item in np.flatnonzero(n_others == len(present) - 1)
        for of in (row[others & (start == item)],)
    )
