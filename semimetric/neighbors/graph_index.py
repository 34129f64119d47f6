"""The part of an index that builds a graph, along which approximate search is fastest where there are many items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from sklearn.utils.validation import check_is_fitted

from .._foundation.progress import progress_bar
from .graph_building import build_graph, check_walkable
from .neighbor_graph import GRAPH_FROM
from .query_tables import QueryView
from .segment import Segment

__all__ = ["GraphIndex"]


class GraphIndex:
    """The part of `NeighborIndex` that builds the graph of ``algorithm="graph"``."""

    segments_: list[Segment]
    n_jobs: int | None
    random_state: int | None
    verbose: bool
    _view: QueryView

    def build_graph(self) -> Self:
        """Build the graph that ``algorithm="graph"`` walks along; `fit` does so where that is the algorithm of the index.

        Every item gets edges to at most 32 others: of its 32 nearest, as the approximate search finds them, those that no
        nearer one occludes (Malkov & Yashunin 2020; Subramanya et al. 2019, with a factor 1.1), and edges back; then those
        items that a walk does not find get edges from where it ended. A walk reads values from tables of 128 levels of each
        feature, and the ``n_candidates`` nearest items, which it keeps, are refined by exact distances. Up to 8,192 items are
        scanned instead, and so are more of them where ``where=`` leaves less than half.

        Items that are added later are scanned until there are more than 8,192 of them, which then get a graph of their own.
        With `with_semimetric` the edges stay those of the earlier distance: build the graph again if the recall is too low. It
        takes 137 bytes an item, and 1.07 for each feature. The graph is saved with the index. A call that is interrupted
        leaves the index as it was.

        Returns
        -------
        NeighborIndex
            The index itself.

        Raises
        ------
        NotSupportedError
            If the distance has joint groups or base distances, or no feature with a table.

        Examples
        --------
        >>> import numpy as np, semimetric as sm
        >>> X = np.random.default_rng(0).random((10_000, 2))
        >>> index = sm.NeighborIndex("l1").fit(X).build_graph()
        >>> index.kneighbors(X[:2], n_neighbors=1, algorithm="graph", return_distance=False).ravel()
        array([0, 1])
        """
        check_is_fitted(self)
        check_walkable(self._view)
        self.segments_ = self._with_graphs([segment.with_graph(None) for segment in self.segments_])
        return self

    def _has_graph(self) -> bool:
        return any(segment.graph is not None for segment in self.segments_)

    def _with_graphs(self, segments: Sequence[Segment]) -> list[Segment]:
        """The segments, of which the large ones that have no graph get one."""
        without = [s.graph is None and len(s) > GRAPH_FROM for s in segments]
        total = 2 * sum(len(s) for s, lacks in zip(segments, without, strict=True) if lacks)
        out = list(segments)
        with progress_bar(total, "graph", verbose=self.verbose) as bar:
            for k, segment in enumerate(segments):
                if without[k]:
                    graph = build_graph(segment, n_jobs=self.n_jobs, seed=self.random_state, done=bar.update)
                    out[k] = segment.with_graph(graph)
        return out
