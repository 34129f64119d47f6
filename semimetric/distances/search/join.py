"""`nearest_join`: two tables joined by a distance, as by SQL's ``ORDER BY distance LIMIT k`` for each row of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.optional_imports import optional
from ..._foundation.progress import progress_bar
from ..._foundation.tables import without_columns
from ..._foundation.threads import blocks
from ..._foundation.types import ArrayLike, Floats, Integers, distinct
from ..._foundation.validation import check_choice, check_count, check_n_jobs
from ..model.item_statistics import warn_unmatched
from .grouped import column_named, names_in
from .groups import Keys
from .index import NeighborIndex, searched_distance
from .segment import ALGORITHMS, check_radius
from .sharded import ShardedIndex

_ROWS = 1 << 16  # of left that are answered together


def nearest_join(
    left: Any,
    right: Any = None,
    d: Any = None,
    k: int | None = None,
    *,
    by: str | Sequence[str] | Mapping[str, ArrayLike] | None = None,
    radius: float | None = None,
    how: str = "inner",
    where: ArrayLike | Iterable | None = None,
    explain: str | None = None,
    names: tuple[str, str] = ("left", "right"),
    algorithm: str | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> Any:
    """Join every row of one table with its nearest rows of another: a nearest join, or k nearest by distance.

    Answers are exact and ties go to the earlier row of ``right``, or to the smallest id of an index. SQL writes it as
    ``FROM left, LATERAL (SELECT ... FROM right WHERE shop = left.shop ORDER BY distance LIMIT k)``, and computes every
    distance. Here ``right`` is indexed once, see `NeighborIndex`. Rows of ``left`` are answered in blocks, so that memory is
    needed for the answer and for one block.

    Parameters
    ----------
    left : frame, array-like of shape (n_left, n_features), or sequence of objects under a model of such
        Under ``right=None`` also a `NeighborIndex` or `ShardedIndex`, whose items are joined with one another.
    right : as ``left``, NeighborIndex, ShardedIndex or None, default None
        An index is searched as it is. None, or ``left`` itself, is a self-join, where no row is its own neighbour; other rows
        may be equal to it.
    d : Semimetric, fitted learner, "l1", "gower" or None
        The distance d(left, right). A name makes it of ``right``, without the columns ``by``. None where there is an index,
        which has one (else an InputError is raised).
    k : int or None
        Rows of ``right`` for each row of ``left``, or fewer where there are not as many. None is 1, or all with ``radius``.
    by : str, list of str, dict, or None
        Columns of both tables in which joined rows are equal, as in `pandas.merge_asof`. They count for the distance only if
        it reads them. In an index they are columns of the payload or features. A dict has the values of the rows of
        ``left``. As in SQL, what is missing equals nothing.
    radius : float or None
        The largest distance of joined rows.
    how : {"inner", "left"}, default "inner"
        "inner" leaves out rows of ``left`` without any neighbour. "left" has one row for each, where all else is missing.
    where : str, mask, or list of ids; None
        A condition on the rows of ``right``, as in `NeighborIndex.kneighbors`: on columns that the distance reads or ``by``
        names, or on the payload of an index.
    explain : {"features", "terms"} or None, default None
        Adds what each of them adds to the sum before the link, in a column of its name; see `Semimetric.contributions`.
    names : tuple of two str, default ("left", "right")
        Names of the first two columns.
    algorithm : str or None
        As in `NeighborIndex.kneighbors`; None is that of an index, and else "exact". With ``radius`` and without ``k`` the
        search is exact.
    n_jobs : int or None
        Threads; None is one, or as the index has it, and -1 all.
    verbose : bool or None, default None
        The progress bar, as in `NeighborIndex`.

    Returns
    -------
    DataFrame
        A row for each pair, in the order of ``left`` and then of the rank. Columns are "left" and "right", which are labels of
        the index of a frame of pandas, ids of an index, and else row numbers; "rank" from 1 on; and "distance".
        With ``how="left"`` the dtypes are nullable.

    Raises
    ------
    InputError
        Before any search, if an argument is none of these or a column is not there. A `SemimetricWarning` names a column of
        text or categories of which half of the rows of ``left`` or more have a value that ``right`` has not.

    Examples
    --------
    >>> import pandas as pd, semimetric as sm
    >>> orders = pd.DataFrame({"shop": ["a", "b"], "price": [3.0, 5.0]}, index=["x", "y"])
    >>> stock = pd.DataFrame({"shop": ["a", "b", "a"], "price": [9.0, 4.0, 1.0]})
    >>> sm.nearest_join(orders, stock, "l1", k=2, by="shop")
      left  right  rank  distance
    0    x      2     1       2.0
    1    x      0     2       6.0
    2    y      1     1       1.0
    """
    check_choice("how", how, ("inner", "left"))
    check_n_jobs(n_jobs)
    if algorithm is not None:
        check_choice("algorithm", algorithm, ALGORITHMS)
    if explain is not None:
        check_choice("explain", explain, ("features", "terms"))
    if len(names) != 2 or not all(isinstance(name, str) for name in names) or len({*names, "rank", "distance"}) < 4:
        raise InputError(f"names={names!r:.80}: two different names are required, none of them 'rank' or 'distance'")
    k = check_count("k", k) if k is not None else None if radius is not None else 1
    itself = right is None or right is left
    if isinstance(left, NeighborIndex | ShardedIndex) and not itself:
        raise InputError("left is an index, whose items are joined with one another if right=None; give left as a table")
    index, labels = _indexed(left, left if itself else right, d, by, n_jobs, verbose)
    if radius is not None:
        check_radius(radius, index.segments_[0].view.least)
    if itself:
        queries, keys = index.queries_with_keys(None, by)
        starts, own = labels, index.ids_
    else:
        queries, keys = index.queries_with_keys(left, by)
        if not isinstance(right, ShardedIndex):
            warn_unmatched(index.semimetric_, queries.rows, index.encoded_items_)
        starts, own = _labels(left, len(queries)), None
    asked = _Asked(index, queries.rows, keys, own)
    pairs = asked.pairs(k, radius, {"where": where}, algorithm, verbose=verbose)
    ends = pairs.ids if labels is None else labels.take(pairs.ids)
    starts = optional("pandas").Index(index.ids_) if starts is None else starts
    columns = {names[0]: starts.take(pairs.rows), names[1]: ends, "rank": pairs.ranks, "distance": pairs.distances}
    if explain is not None:
        _, parts = index.explain_encoded(queries.rows, pairs.rows, pairs.ids, by=explain)
        titles = distinct((*columns, *index.semimetric_.contribution_names(explain)))
        columns |= dict(zip(titles[len(columns) :], parts.T, strict=True))
    frame = optional("pandas").DataFrame(columns)
    return frame if how == "inner" else _with_alone(frame, pairs.rows, starts)


def _indexed(left: Any, given: Any, d: Any, by: Any, n_jobs: int | None, verbose: bool | None) -> tuple[NeighborIndex, Any]:
    """Return the index of a table, with the labels of its rows, or one that is given, with None."""
    if isinstance(given, NeighborIndex | ShardedIndex):
        if d is not None:
            raise InputError("d= is given beside an index, which has a distance of its own; leave d out, or give the table")
        index = copy(given) if isinstance(given, NeighborIndex) else given.as_index()
        return index if n_jobs is None else index.set_params(n_jobs=n_jobs), None
    if d is None:
        raise InputError(
            'd=None: a distance is required, a Semimetric, a fitted learner, "l1" or "gower", unless right is an index'
        )
    read = () if isinstance(d, str) else searched_distance(d).schema.names
    beside = {name: column_named(given, name) for name in (() if by is None else names_in(by)) if name not in read}
    for side, columns in (("right", beside), ("left", {} if isinstance(by, Mapping) else beside)):
        absent = [name for name in columns if (columns[name] if side == "right" else column_named(left, name)) is None]
        if absent:
            raise InputError(f"by= names {absent[0]!r}, which is no column of {side}; frames with this column are required")
    index = NeighborIndex(d, n_jobs=n_jobs, verbose=verbose)
    index.fit(without_columns(given, list(beside)), payload=beside or None)
    return index, _labels(given, len(index))


def _labels(table: Any, n: int) -> Any:
    """Return the labels of the rows of a frame of pandas, and row numbers for other tables, as an index of pandas."""
    return table.index.to_flat_index() if hasattr(table, "iloc") else optional("pandas").RangeIndex(n)


@dataclass(frozen=True)
class _Pairs:
    """Joined rows: rows of left, ids of right, ranks and distances, each of shape (n_pairs,)."""

    rows: Integers
    ids: NDArray[Any]
    ranks: Integers
    distances: Floats


@dataclass(frozen=True, eq=False)
class _Asked:
    """Encoded rows that are joined with items of an index, their keys, and, if they are items, their ids."""

    index: NeighborIndex
    rows: NDArray[Any]
    keys: Keys | None
    own: NDArray[Any] | None

    def pairs(
        self, k: int | None, radius: float | None, options: dict[str, Any], algorithm: str | None, *, verbose: bool | None
    ) -> _Pairs:
        """Return the k nearest items of every row, or all, within ``radius`` if there is one."""
        n = self.index.n_samples_fit_ - (self.own is not None)
        found = [_Pairs(np.empty(0, np.int64), self.index.ids_[:0], np.empty(0, np.int64), np.empty(0))]
        with progress_bar(len(self.rows), "rows", verbose=verbose, unit="row") as bar:
            for block in blocks(len(self.rows) if n else 0, _ROWS):
                beside = {
                    "by": None if self.keys is None else self.keys.take(block),
                    "exclude": None if self.own is None else self.own[block],
                }
                rows, asked = self.rows[block], {**options, **beside, "verbose": False}
                if k is None:
                    assert radius is not None
                    pairs = _within(self.index.within_encoded(rows, radius, **asked))
                else:
                    answer = self.index.search_encoded(rows, min(k, n), algorithm=algorithm, **asked)
                    near = np.isfinite(answer.distances)
                    near &= answer.distances <= (np.inf if radius is None else radius)
                    row, column = np.nonzero(near)
                    pairs = _Pairs(row, answer.ids[near], column + 1, answer.distances[near])
                found.append(_Pairs(pairs.rows + block.start, pairs.ids, pairs.ranks, pairs.distances))
                bar.update(len(rows))
        return _Pairs(*(np.concatenate([getattr(part, name) for part in found]) for name in _Pairs.__annotations__))


def _within(found: Sequence[tuple[Floats, NDArray[Any]]]) -> _Pairs:
    sizes = [len(ids) for _, ids in found]
    ranks = np.concatenate([np.arange(1, size + 1) for size in sizes])
    distances, ids = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return _Pairs(np.repeat(np.arange(len(found)), sizes), ids, ranks, distances)


def _with_alone(frame: Any, rows: Integers, starts: Any) -> Any:
    """Add the rows of left that have no neighbour, with missing values beside them, where they belong."""
    pandas = optional("pandas")
    alone = np.setdiff1d(np.arange(len(starts)), rows)
    whole, place = np.concatenate([rows, alone]), np.concatenate([np.arange(len(rows)), np.full(len(alone), -1)])
    order = np.argsort(whole, kind="stable")
    left, right = frame.columns[:2]
    kinds = {name: "Int64" for name in (right, "rank") if pandas.api.types.is_integer_dtype(frame[name].dtype)}
    out = frame.astype(kinds).reindex(place[order]).reset_index(drop=True)
    out[left] = starts.take(whole[order])
    return out
