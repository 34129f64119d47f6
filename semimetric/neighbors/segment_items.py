"""The items of a segment under a distance: located, with their codes, and what scans and refinements are made of them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._foundation.types import Integers
from .._kernels.search import SearchedItems
from .cells import CellLayout, Cells, Filter
from .faiss_scan import Scan
from .inverted_lists import Lists, list_count
from .item_codes import ItemCodes
from .joint_scan import JointCodes, JointScan, has_boxes
from .neighbor_graph import GraphWalk, NeighborGraph
from .placed_refinement import PlacedRefinement
from .places import located_items
from .query_tables import ItemArrays, QueryView
from .refinement import Refinement

__all__ = ["SegmentItems"]

_NO_RANK = np.empty(0, np.int64)


@dataclass(eq=False)
class SegmentItems:
    """Items under a distance, with their codes.

    Parameters
    ----------
    view : QueryView
    ids : ndarray of shape (n,), int64 or str
    points : ItemArrays
    cells : Cells
    codes : ItemCodes
    alive : ndarray of shape (n,), bool
        Items that have not been removed.
    lists : Lists or None
        How the items are divided for the approximate search.
    graph : NeighborGraph or None
        The edges between items that walks of queries follow; it stays under another distance.
    """

    view: QueryView
    ids: NDArray[Any]
    points: ItemArrays
    cells: Cells
    codes: ItemCodes
    alive: NDArray[np.bool_]
    lists: Lists | None = None
    graph: NeighborGraph | None = None

    @classmethod
    def build(
        cls,
        view: QueryView,
        layout: CellLayout,
        ids: NDArray[Any],
        X: NDArray[Any],
        *,
        n_lists: int | str,
        n_jobs: int | None,
        seed: int | None,
        storage: str = "float64",
    ) -> Self:
        """Locate, encode and divide the items X of shape (n, n_features), whose ids are ``ids`` (n,)."""
        points = located_items(view, X, storage, n_jobs=n_jobs)
        cells, codes = Cells.of(layout, view, points)
        n = list_count(len(ids), view) if n_lists == "auto" else int(n_lists)
        divided = n > 1 and view.n_tables > 0
        lists = Lists.fit(view, layout, points, n, n_jobs=n_jobs, seed=seed) if divided else None
        held = ItemCodes(codes, layout.n_columns, None if lists is None else lists.member)
        return cls(view, ids, points, cells, held, np.ones(len(ids), dtype=bool), lists)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self)} items, of which {self.n_alive} are there"

    def with_alive(self, alive: NDArray[np.bool_]) -> Self:
        """The same items, of which ``alive`` (n,) are not removed; the scan is shared."""
        return self._shared(replace(self, alive=alive))

    def with_graph(self, graph: NeighborGraph | None) -> Self:
        """The same items with a graph, or without one; the scan is shared."""
        return self._shared(replace(self, graph=graph))

    def under(self, view: QueryView) -> Self:
        """The same items and codes under another distance of the same cells."""
        same = np.array_equal(view.features, self.view.features)
        points = self.points if same else located_items(view, self.points.raw, self.storage)
        return self._shared(replace(self, view=view, points=points))

    def _shared(self, other: Self) -> Self:
        """``other`` with what depends on codes and ids alone, as far as it has been computed here."""
        for name in ("_coarse", "_probe", "_joint_codes", "rank"):
            if name in vars(self):
                vars(other)[name] = vars(self)[name]
        return other

    @property
    def storage(self) -> str:
        """How the places of the items are held."""
        return "float64" if self.points.places is None else "uint16"

    @cached_property
    def n_alive(self) -> int:
        """Number of items that have not been removed."""
        return int(self.alive.sum())

    @cached_property
    def filter(self) -> Filter:
        """The cells under the distance, which bound the sums of items from below."""
        return Filter(self.cells, self.view)

    @property
    def scan(self) -> Scan:
        """The codes of all items as FAISS holds them, divided into the inverted lists."""
        return self.codes.scan

    @cached_property
    def _coarse(self) -> Scan | None:
        """The codes of the centroids of the lists; None where there is one list."""
        return None if self.lists is None else Scan(self.lists.codes, self.cells.layout.n_columns)

    @cached_property
    def _walk(self) -> GraphWalk | None:
        """The graph under the distance; None where there is no graph."""
        return None if self.graph is None else GraphWalk(self.view, self.graph)

    @property
    def scans(self) -> list[Scan]:
        """The scans that queries have made so far, of all items and of few."""
        made = vars(self)
        probe = [made["_probe"][0]] if "_probe" in made else []
        return [scan for scan in (self.codes.made, made.get("_coarse"), *probe) if scan is not None]

    @cached_property
    def _joint_codes(self) -> JointCodes:
        """The codes that bound joint groups."""
        return JointCodes.of(self.view, self.points, self.cells, self.codes.packed)

    @cached_property
    def _joint_scan(self) -> JointScan | None:
        """The scan that bounds joint groups; None where the distance has none, and `scan` bounds all parts."""
        return JointScan(self.view, self.cells, self._joint_codes) if has_boxes(self.view) else None

    @cached_property
    def rank(self) -> Integers:
        """The place of every id in their order, shape (n,); empty where ids increase from row to row."""
        if (self.ids[1:] > self.ids[:-1]).all():
            return _NO_RANK
        rank = np.empty(len(self), np.int64)
        rank[np.argsort(self.ids, kind="stable")] = np.arange(len(self))
        return rank

    @cached_property
    def _refinement(self) -> Refinement | PlacedRefinement:
        if self.points.places is not None:
            return PlacedRefinement(self.view, self.points, self.rank)
        return Refinement(self.view, self.points, SearchedItems(self.points.positions, self.rank, self.view.least))
