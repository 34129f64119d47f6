"""Inverted lists: items are divided so that an approximate query visits few of them.

Centroids are k-means on scales on which the tables of the distance rise evenly, so that differences there are like the
distance; a query ranks them by their codes, in its own tables, as it ranks items. Any division is correct, a poor one is
only slow. Exact search visits all lists: bounds of whole lists were measured to leave out 1 % of clustered items.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.threads import short_blocks
from .._foundation.types import Integers
from .cells import CellLayout, Warp, packed_codes
from .faiss_scan import kmeans
from .query_tables import ItemArrays, QueryView

__all__ = ["Lists", "list_count"]

_FROM = 200_000  # From this number of items on, lists pay.
_POINTS = 48  # The number of items in the sample for each centroid.
_ROWS = 1 << 14  # The number of items whose positions are scaled together.


def list_count(n: int, view: QueryView) -> int:
    """The number of lists for n items: about sqrt(n), or 1 where lists do not pay, or no part stands on a single feature."""
    return 1 if n < _FROM or not view.n_tables else round(n**0.5)


class Lists(NamedTuple):
    """The list of every item (n,), and the codes of the centroids, packed as those of the items."""

    member: Integers
    codes: NDArray[np.uint8]

    def check(self, layout: CellLayout) -> None:
        """Refuse items in lists that are not there, lists without items, and codes of another layout."""
        n, n_bytes = len(self.codes), (layout.n_columns + 1) // 2
        if not n or not n_bytes or self.codes.shape[1:] != (n_bytes,):
            raise InputError(f"the lists have codes of shape {self.codes.shape}; (n_lists, {n_bytes}) is required, both > 0")
        if self.member.min(initial=0) < 0 or self.member.max(initial=0) >= n:
            raise InputError(
                f"items are in the lists {self.member.min()} to {self.member.max()}, but there are {n}; 0 to "
                f"{n - 1} are required"
            )
        if not np.bincount(self.member, minlength=n).all():
            raise InputError("a list has no items; lists without items are left out")

    @classmethod
    def fit(
        cls, view: QueryView, layout: CellLayout, items: ItemArrays, n_lists: int, *, n_jobs: int | None, seed: int | None
    ) -> "Lists":
        """Divide ``items`` into about ``n_lists`` lists by k-means on scales that the tables rise evenly on."""
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(len(items), min(len(items), _POINTS * n_lists), replace=False))
        sample = items.positions[rows]
        warps = [Warp.of(view, sample[:, e], e, rng) for e in range(view.n_tables)]
        scaled, unit = np.empty((len(items), len(warps)), np.float32), max(warp.scale[-1] for warp in warps)
        for part in short_blocks(len(items), _ROWS):
            positions = items.positions[part]
            for e, warp in enumerate(warps):
                scaled[part, e] = np.interp(positions[:, e], warp.knots, warp.scale / unit)
        centroids, member = kmeans(scaled, rows, n_lists, n_jobs=n_jobs, seed=int(rng.integers(2**31)))
        positions = np.zeros((len(centroids), items.positions.shape[1]))
        for e, warp in enumerate(warps):
            positions[:, e] = np.interp(centroids[:, e], warp.scale / unit, warp.knots)
        return cls(member.astype(np.min_scalar_type(len(centroids) - 1)), packed_codes(layout, positions))
