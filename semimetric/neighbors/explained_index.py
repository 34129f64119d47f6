"""The part of an index that says why its items are near."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.tables import row_labels
from .._foundation.threads import map_blocks
from .._foundation.types import ArrayLike, distinct
from ..data.single_rows import single_row
from ..distances.explanations import Explanation
from .ids import known_ids
from .query_tables import QueryView

__all__ = ["ExplainedIndex"]

_BLOCK = 8_192  # edges whose parts are computed at once


class ExplainedIndex:
    """The part of `NeighborIndex` that explains neighbours."""

    _view: QueryView
    _answer: Any
    _collection: Any

    def explain(
        self, x: ArrayLike, ids: ArrayLike | None = None, n_neighbors: int = 5, *, by: str = "features", where: Any = None
    ) -> Explanation:
        """Why items are near a query: what every feature adds to their distances, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), series of pandas, or table of one row
        ids : an id, array-like of ids, or None
            The items to explain; None is for the nearest.
        n_neighbors : int, default 5
            How many of the nearest.
        by : {"features", "terms"}, default "features"
            See `Semimetric.contributions`.
        where : str, boolean mask over `ids_`, or ids; None
            Of which items the nearest are, as in `NeighborIndex.kneighbors`; not beside ``ids``.

        Raises
        ------
        InputError
            If an id is not in the index, there are ids and a condition, no item is left to explain, or x is not one item.
        """
        check_is_fitted(self)
        if ids is not None and where is not None:
            raise InputError("ids= names the items to explain, and where= chooses among the nearest; give one of the two")
        if isinstance(x, str):
            raise InputError(f"x={x!r} is no item; for that of an id of the index give index.get_items([{x!r}])")
        d = self._view.semimetric
        query, label = single_row(x, d.schema)
        if ids is None:
            known = self._answer(query, None, n_neighbors, where=where).ids[0]
        else:
            known = known_ids(ids, self.ids_)  # type: ignore[attr-defined]  # a property of NeighborIndex
        if not len(known):
            raise InputError("there is no item to explain; give ids of items, or a condition where= that some items fulfil")
        items = self._collection(None).vectors(known).astype(np.float64)
        return d.explanation(query, items, by=by, flip=self._view.side == "query-last", indices=known, label=label)

    def explain_graph(self, graph: Any, X: ArrayLike | None = None, *, by: str = "features") -> Any:
        """What every feature adds to the distance of every edge of a graph between items, such as one of neighbours.

        It says of a picture or of groups that were made from a graph (UMAP, t-SNE, HDBSCAN, DBSCAN) which features hold them
        together: the mean of a column over the edges of a group is that feature's part.

        Parameters
        ----------
        graph : sparse matrix of shape (n_rows, n_items)
            Every stored entry is an edge, whatever its value: `kneighbors_graph`, ``umap.UMAP().fit(...).graph_``, a minimum
            spanning tree. Columns are the items in the order of `ids_`.
        X : array-like of shape (n_rows, n_features), frame, or None
            The rows of the graph, where they are not the items themselves. Of items an edge to itself is left out.
        by : {"features", "terms"}, default "features"
            See `Semimetric.contributions`.

        Returns
        -------
        DataFrame with a row for each edge, in the order in which the graph stores them
            "from" (an id, or the label or number of a row of X), "to" (an id), "distance", and what each feature adds to the
            sum before the link, in a column of its name.

        Raises
        ------
        InputError
            If the graph is no sparse matrix, or has another shape; MissingExtraError without pandas.

        Examples
        --------
        >>> import semimetric as sm
        >>> index = sm.NeighborIndex("l1").fit([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]])
        >>> index.explain_graph(index.kneighbors_graph(n_neighbors=1))
           from  to  distance   x0   x1
        0     0   1       1.0  1.0  0.0
        1     1   0       1.0  1.0  0.0
        2     2   1       3.0  0.0  3.0
        """
        check_is_fitted(self)
        d, ids = self._view.semimetric, np.asarray(self.ids_)  # type: ignore[attr-defined]  # a property of NeighborIndex
        queries = None if X is None else d.schema.encode(d.schema.rows(X, "X"), name="X")
        rows, columns = _edges(graph, (len(ids) if queries is None else len(queries), len(ids)), itself=queries is not None)
        used, place = np.unique(columns, return_inverse=True)
        items = self._collection(None).vectors(ids[used]).astype(np.float64)
        if queries is None:
            starts, rows_of = np.unique(rows, return_inverse=True)
            queries, labels = self._collection(None).vectors(ids[starts]).astype(np.float64), ids[rows]
        else:
            rows_of, labels = rows, row_labels(X, len(queries))[rows]
        flip = self._view.side == "query-last"
        names = distinct(("from", "to", "distance", *d.contribution_names(by)))

        def explained(block: slice) -> tuple[Any, Any]:
            return d.explanation_parts(queries[rows_of[block]], items[place[block]], by=by, flip=flip)

        n_jobs = getattr(self, "n_jobs", None)
        nothing = np.empty(0), np.empty((0, len(names) - 3))
        found = [nothing, *map_blocks(explained, len(rows), size=_BLOCK, n_jobs=n_jobs)]
        distances, parts = (np.concatenate(blocks) for blocks in zip(*found, strict=True))
        values = {"from": labels, "to": ids[columns], "distance": distances}
        return optional("pandas").DataFrame(values | dict(zip(names[3:], parts.T, strict=True)))


def _edges(graph: Any, shape: tuple[int, int], *, itself: bool) -> tuple[Any, Any]:
    """The rows and the columns of the edges of a graph, as it stores them; without loops unless ``itself``."""
    if not sparse.issparse(graph):
        raise InputError(
            f"graph is a {type(graph).__name__}; a sparse matrix with an entry for each edge is required: give "
            "index.kneighbors_graph(n_neighbors=15), or scipy.sparse.coo_array((values, (rows, columns)), shape) of edges"
        )
    if graph.shape != shape:
        raise InputError(
            f"graph has shape {graph.shape}; {shape} is required, a row for each item (or each row of X) and a column for each "
            "item of the index: give X= if its rows are others, and the index that the graph was made with"
        )
    edges = sparse.coo_array(graph)
    rows, columns = edges.row.astype(np.int64), edges.col.astype(np.int64)
    kept = slice(None) if itself else rows != columns
    return rows[kept], columns[kept]
