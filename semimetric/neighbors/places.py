"""Items of which places on the knots are held in 16 bits, and whose values are read where they lie, for the last candidates.

Positions that are computed again from the values of an item are the same to the bit, so that its exact sum is that of positions
in 64 bits. The sum over the positions of the codes errs by no more than

    sum over e of L_e error_e,       L_e the steepest slope of part e for the query, error_e the largest error of its codes,

so the nearest are among the items whose estimate is at most twice that larger than the k-th smallest.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from .._foundation.threads import map_blocks
from .._foundation.types import Floats
from .._foundation.validation import check_choice
from .._kernels.places import FAR, PlaceCodes, error_bounds, place_codes
from .._kernels.search import Profiles
from ..embeddings.pairs.base import Items
from .query_tables import ItemArrays, QueryView, joined

__all__ = ["STORAGES", "LocatedRows", "CodedPlaces", "located_items", "stays_in_place"]

STORAGES = ("float64", "uint16")
_ROWS = 1 << 14  # The number of items that are located together.
_ROUNDING = 1e-10  # Relative to the largest sums: more than adding up in another order may change.


class LocatedRows:
    """The positions (n, E) of items, located whenever rows of them are read, and never held.

    Parameters
    ----------
    view : QueryView
    raw : ndarray of shape (n, n_features)
        The encoded items, which may lie in a file.
    """

    def __init__(self, view: QueryView, raw: NDArray[Any]) -> None:
        self.view, self.raw = view, raw

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n, E) of the positions."""
        return len(self.raw), len(self.view.features)

    def __getitem__(self, rows: Any) -> Floats:
        return self.view.positions(np.asarray(self.raw[rows], dtype=np.float64))


class CodedPlaces(NamedTuple):
    """The positions of items in 16 bits, as kernels take them."""

    of_items: PlaceCodes

    def slack(self, view: QueryView, profiles: Profiles) -> Floats:
        """By how much the estimates of a block of queries may err, rounding included, shape (B,)."""
        bounds = np.empty(len(profiles.position))
        error_bounds(view.scales, profiles, self.of_items.error, _ROUNDING, bounds)
        return bounds + _ROUNDING * view.size


def located_items(view: QueryView, X: NDArray[Any], storage: str, *, n_jobs: int | None = None) -> ItemArrays:
    """The rows of X (n, n_features), located and held as ``storage`` says.

    With "uint16" they are located block by block, and X itself is kept: it may be an array that is mapped from a file.
    """
    check_choice("storage", storage, STORAGES)
    if storage == "float64":
        return view.points(X, n_jobs=n_jobs)
    codes = np.empty((len(X), len(view.features)), np.uint16)
    scale = _scales(view)

    def locate(rows: slice) -> tuple[Floats, Items | None]:
        block = view.points(np.asarray(X[rows], dtype=np.float64))
        places = PlaceCodes(codes[rows], scale, np.zeros(len(scale)))
        place_codes(block.positions, places)
        return places.error, block.joint

    located = map_blocks(locate, len(X), size=_ROWS, n_jobs=n_jobs)
    error = np.max([np.zeros(len(scale)), *(of_block for of_block, _ in located)], axis=0)
    joint = [items for _, items in located if items is not None]
    positions = cast(Floats, LocatedRows(view, X))
    return ItemArrays(X, positions, joined(joint) if joint else None, CodedPlaces(PlaceCodes(codes, scale, error)))


def _scales(view: QueryView) -> Floats:
    """The positions that one step of the codes stands for, powers of 2: codes reach one range beyond both ends, shape (E,)."""
    return np.exp2(np.ceil(np.log2((view.scales.size + 1.0) / (FAR - 1))))


def stays_in_place(X: Any, storage: str) -> bool:
    """Whether an index keeps the array X without a copy: with "uint16", if nobody can write to it, as to a mapped file."""
    return storage == "uint16" and isinstance(X, np.ndarray) and not X.flags.writeable
