"""Searches within groups: only items with the key of the query answer it, see `groups`.

No group has an index of its own. Items are sorted by key once for the columns that are asked for, and then each group is
searched in the way that costs least. Of few items all are refined, for queries of many groups at once. Of many items, or of
fewer that many queries of a call ask for, the codes are scanned: those of all items behind a mask where the group is a large
part of them or few ask, else those of the group alone, which are copied for the call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.names import did_you_mean
from ..._foundation.progress import progress_bar
from ..._foundation.tables import read_table, without_columns
from ..._foundation.threads import blocks, map_blocks
from ..._foundation.types import Floats, Integers
from ...data.columns import column_of
from ...data.payload import PayloadColumn, as_column
from ...data.schema import Schema
from .groups import KeyGroups, Keys
from .items import ItemColumns, ItemRows, Neighbors, SegmentedItems, merged, no_neighbors
from .segment import SearchRequest

_FEW = 2_048  # Of groups of up to this number of items, all are refined;
_OFTEN, _FEW_ASKED_OFTEN = 64, 512  # of up to this number where a call has so many queries of the group.
_LARGE = 0.25  # From this part of the items on, a group is scanned behind a mask of all;
_MANY = 16  # a smaller one by a copy of its codes for so many queries of a call. For fewer
_MASKED = 0.04  # it is scanned behind a mask from this part of the items on; else all of its items are refined.
_LISTED = 1_500  # For so many queries of a call a copy is divided into lists, which then take less time than its codes.
_ROWS = 1 << 22  # So many row numbers of large groups are refined together.
_UNSCANNED = ("brute", "merge")
_MOST = 4  # A segment holds the order of its rows for so many choices of columns.


def names_in(by: Any) -> tuple[str, ...]:
    """Return the names of the columns of ``by``: a name, several of them, or a dict."""
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, Mapping | list | tuple) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"by={by!r:.80}: the name of a column of the items, a list of names, or a dict of columns with a value for each "
            'query is required: by="shop"'
        )
    if len(set(names)) < len(names):
        raise InputError(f"by={by!r:.80} names a column twice; name each once")
    return names


def names_of(by: Any, columns: ItemColumns) -> tuple[str, ...]:
    """Return the names of the columns of ``by``, all of which the items have."""
    names = names_in(by)
    for name in names:
        if name not in columns:
            known = ", ".join(list(columns)[:10]) + (", ..." if len(columns) > 10 else "")
            raise InputError(
                f"by= names {name!r}, which is no column of the items; their columns are {known}, and payload= of fit adds "
                f"others{did_you_mean(name, columns)}"
            )
    return names


def beside_features(X: Any, names: Sequence[str], columns: ItemColumns) -> Any:
    """Return queries without the columns ``names`` that the distance does not read."""
    return without_columns(X, [name for name in names if name not in columns.names])


def read_keys(by: Any, X: Any, encoded: NDArray[Any], columns: ItemColumns) -> Keys:
    """Return the keys of queries, from ``by`` where it is a dict, else from columns of X, whose features are ``encoded``.

    Without X the items themselves are the queries.
    """
    names = names_of(by, columns)
    if X is None:
        if isinstance(by, Mapping):
            raise InputError(f"by= has values of queries, and X=None asks for the items, which have theirs: by={list(names)!r}")
        parts = [[_cells(name, columns, part).take(part.alive) for part in columns.parts] for name in names]
        return Keys(tuple(PayloadColumn.joined(of_column) for of_column in parts))
    given: Mapping[str, Any] = by if isinstance(by, Mapping) else {}
    return Keys(tuple(_key(name, given.get(name), X, encoded, columns) for name in names))


def _key(name: str, values: Any, X: Any, encoded: NDArray[Any], columns: ItemColumns) -> PayloadColumn:
    """Return one column of the keys of queries."""
    if values is None and name in columns.names:
        k = columns.names.index(name)
        return _of_feature(name, columns.schema, k, encoded[:, k])
    column = as_column(column_named(X, name) if values is None else values)
    if column is None:
        raise InputError(
            f"by= names {name!r}, which is no column of X; give X as a frame with it beside the features, or the value of each "
            f"query: by={{{name!r}: values}}"
        )
    n = len(column) if hasattr(column, "__len__") and not isinstance(column, str) else None
    if n != len(encoded):
        what = f"{column!r:.40}" if n is None else f"{n} values"
        raise InputError(f"by= has {what} of {name!r} for {len(encoded)} queries; a value for each query is required")
    if name in columns.names:
        k = columns.names.index(name)
        cells = np.asarray(column) if isinstance(column, list | tuple) else column
        return _of_feature(name, columns.schema, k, columns.schema.features[k].encode(cells, "by="))
    return PayloadColumn.read(column, name, _cells(name, columns, columns.parts[0]), "by=")


def column_named(X: Any, name: str) -> Any:
    """Return a column of a table, of a row by name, or of rows by name; None where there is none of this name."""
    if isinstance(X, Mapping) or (hasattr(X, "iloc") and not hasattr(X, "columns")):
        return [X[name]] if name in X else None
    if isinstance(X, list | tuple) and len(X) and all(isinstance(row, Mapping) for row in X):
        return [row.get(name) for row in X] if any(name in row for row in X) else None
    table = read_table(X)
    names = list(getattr(table, "columns", ()))
    return column_of(table, names.index(name)) if name in names else None


def _cells(name: str, columns: ItemColumns, part: ItemRows) -> PayloadColumn:
    """Return a column of some items."""
    if part.payload is not None and name in part.payload.names:
        return part.payload[name]
    k = columns.names.index(name)
    return _of_feature(name, columns.schema, k, part.raw[:, k])


def _of_feature(name: str, schema: Schema, k: int, codes: NDArray[Any]) -> PayloadColumn:
    """Return an encoded feature; a category that the distance does not know is missing, as it may be another each time."""
    if schema.features[k].kind == "categorical":
        codes = np.where(codes == len(schema.features[k].categories), np.nan, codes)
    return PayloadColumn(name, "number", np.asarray(codes))


def groups_of(
    held: dict[tuple[Hashable, ...], KeyGroups], part: ItemRows, names: Sequence[str], columns: ItemColumns
) -> KeyGroups:
    """Return rows of items by columns of these names; they are sorted at the first call, and ``held`` for the next."""
    key = tuple(columns.names.index(name) if name in columns.names else name for name in names)
    found = held.get(key)
    if found is None:
        found = KeyGroups.of([_cells(name, columns, part) for name in names], part.alive)
        while len(held) >= _MOST:
            held.pop(next(iter(held)), None)
        held[key] = found
    return found


@dataclass(frozen=True, eq=False)
class KeyedItems:
    """The eligible items of segments, grouped once by columns of these names for any queries."""

    items: SegmentedItems
    columns: ItemColumns
    names: tuple[str, ...]
    _groups: Sequence[tuple[KeyGroups, KeyGroups]]  # of each segment: of all its items, and of those that are eligible

    @classmethod
    def of(cls, items: SegmentedItems, names: tuple[str, ...], columns: ItemColumns) -> Self:
        """Group items by columns."""
        every = [groups_of(s.groups, part, names, columns) for s, part in zip(items.segments, columns.parts, strict=True)]
        return cls(items, columns, names, [(g, g.among(mask)) for g, mask in zip(every, items.masks, strict=True)])

    def asked(self, keys: Keys) -> GroupedItems:
        """Return the items for queries with these keys."""
        of_query = np.column_stack([every.find(keys) for every, _ in self._groups])
        return GroupedItems(self.items, [eligible for _, eligible in self._groups], of_query)

    def encode(self, X: Any, by: Any, encode: Callable[[Any], tuple[NDArray[Any], bool]]) -> tuple[NDArray[Any], bool, Keys]:
        """Return queries as ``encode`` reads them, whether they are a single one, and their keys: of X, or of a dict ``by``."""
        if by is not None and names_in(by) != self.names:
            raise InputError(
                f"by={by!r:.80} names other columns than those of this searcher; give values of {list(self.names)}"
            )
        queries, single = encode(beside_features(X, self.names, self.columns))
        return queries, single, read_keys(self.names if by is None else by, X, queries, self.columns)


@dataclass(frozen=True, eq=False)
class GroupedItems:
    """Segments whose eligible items are grouped by key, and queries with a key each."""

    items: SegmentedItems
    groups: Sequence[KeyGroups]  # of each segment
    of_query: Integers  # (n_queries, n_segments), the group of each query in each segment; -1 for none

    @property
    def sizes(self) -> Integers:
        """Number of eligible items with the key of each query, shape (n_queries,)."""
        of_segments = [g.sizes(groups) for g, groups in zip(self.groups, self.of_query.T, strict=True)]
        return np.asarray(np.sum(of_segments, axis=0))

    def nearest(
        self, X: NDArray[Any], search: SearchRequest, *, n_jobs: int | None, verbose: bool | None, linked: bool = True
    ) -> Neighbors:
        """Find the k nearest items of the group of every row of X; infinite distances, and ids -1 or "", fill up.

        Without ``linked`` they are the sums before the link for distances.
        """
        found = no_neighbors(len(X), np.result_type(*(s.ids.dtype for s in self.items.segments)), search.k)
        none: Any = -1 if found.ids.dtype.kind == "i" else ""
        found.ids[:] = none

        def of_few(rows: Integers) -> None:
            _store(found, rows, self._nearest_of_few(X[rows], self.of_query[rows], search))

        def of_many(rows: Integers, size: int, of_group: Integers) -> None:
            items, asked = self._group(of_group, size, len(rows), search)
            asked = asked._replace(k=min(search.k, size))
            _store(found, rows, items.nearest(X[rows], asked, n_jobs=n_jobs, verbose=False, linked=False))

        scanned = self.items.view.simple and search.algorithm not in _UNSCANNED
        self._answer(of_few, of_many, scanned=scanned, n_jobs=n_jobs, verbose=verbose)
        there = np.isfinite(found.distances)
        found.ids[~there] = none
        if linked:
            found.distances[there] = self.items.view.linked(found.distances[there])
        return found

    def within(
        self, X: NDArray[Any], radius: float, *, n_jobs: int | None, verbose: bool | None
    ) -> list[tuple[Floats, NDArray[Any]]]:
        """Find distances and ids of all items of the group of every row of X within ``radius``, nearest first."""
        view = self.items.view
        return [(view.linked(sums), ids) for sums, ids in self.sums_within(X, radius, n_jobs=n_jobs, verbose=verbose)]

    def sums_within(
        self, X: NDArray[Any], radius: float, *, n_jobs: int | None, verbose: bool | None
    ) -> list[tuple[Floats, NDArray[Any]]]:
        """Answer as `within` with the sums before the link for distances, by which answers of several are merged."""
        nothing = np.empty(0), self.items.segments[0].ids[:0]
        found = [nothing] * len(X)

        def of_few(rows: Integers) -> None:
            for row, answer in zip(rows.tolist(), self._within_of_few(X[rows], self.of_query[rows], radius), strict=True):
                found[row] = answer

        def of_many(rows: Integers, size: int, of_group: Integers) -> None:
            items, _ = self._group(of_group, size, len(rows), SearchRequest(1))
            answers = items.sums_within(X[rows], radius, n_jobs=n_jobs, verbose=False)
            for row, answer in zip(rows.tolist(), answers, strict=True):
                found[row] = answer

        self._answer(of_few, of_many, scanned=False, n_jobs=n_jobs, verbose=verbose)
        return found

    def _answer(
        self, of_few: Callable[[Integers], None], of_many: Callable[[Integers, int, Integers], None], *, scanned: bool,
        n_jobs: int | None, verbose: bool | None,
    ) -> None:  # fmt: skip
        """Answer queries of small groups block by block, then those of each large group; others stay as they are.

        With ``scanned``, groups that many ask for count as large already if a scan pays for them.
        """
        sizes = self.sizes
        with progress_bar(len(sizes), "queries", verbose=verbose, unit="query") as bar:
            bar.update(int((sizes == 0).sum()))
            most = min(_FEW_ASKED_OFTEN, _FEW) if scanned else _FEW
            is_few = (sizes > 0) & (sizes <= most)
            large = []
            for rows in _by_group(np.flatnonzero(sizes > most), self.of_query):
                if sizes[rows[0]] <= _FEW and len(rows) < _OFTEN:
                    is_few[rows] = True
                else:
                    large.append(rows)
            few = np.flatnonzero(is_few)
            few = few[np.argsort(sizes[few], kind="stable")]  # KeyGroups of a block are of about one size.

            def answered(part: slice) -> None:
                of_few(few[part])
                bar.update(part.stop - part.start)

            map_blocks(answered, len(few), size=self.items.block_size(len(few), n_jobs), n_jobs=n_jobs)
            n_items = sum(segment.n_alive for segment in self.items.segments)
            for rows in large:
                size = int(sizes[rows[0]])
                if len(rows) < _MANY and size < _MASKED * n_items:
                    for part in blocks(len(rows), max(_ROWS // size, 1)):
                        of_few(rows[part])
                else:
                    of_many(rows, size, self.of_query[rows[0]])
                bar.update(len(rows))

    def _nearest_of_few(self, X: NDArray[Any], of_query: Integers, search: SearchRequest) -> Neighbors:
        """Refine all items of the groups of some queries, for which there is room; distances are sums."""
        view, answers = self.items.view, []
        queries = view.block(view.points(X))
        for segment, groups, own in zip(self.items.segments, self.groups, of_query.T, strict=True):
            rows = groups.rows(own)
            if rows.shape[1]:
                found = segment.among(queries, search, rows)
                answers.append(Neighbors(found.sums, segment.ids[found.rows], found.refined, found.at_once))
        return answers[0] if len(answers) == 1 else merged(answers, search.k)

    def _within_of_few(self, X: NDArray[Any], of_query: Integers, radius: float) -> Iterator[tuple[Floats, NDArray[Any]]]:
        """Find sums and ids of the items of its group within ``radius``, for one query after another."""
        view, limit, segments = self.items.view, self.items.limit(radius), self.items.segments
        queries = view.block(view.points(X))
        for q, own in enumerate(of_query.tolist()):
            rows = [groups.rows_of(group) for groups, group in zip(self.groups, own, strict=True)]
            answers = [s.refinement.within(queries, q, of_segment, limit) for s, of_segment in zip(segments, rows, strict=True)]
            yield self.items.near(answers, radius)

    def _group(
        self, of_group: Integers, size: int, n_queries: int, search: SearchRequest
    ) -> tuple[SegmentedItems, SearchRequest]:
        """Return the items of a large group, and the search among them that costs least for so many queries."""
        share = size / max(sum(s.n_alive for s in self.items.segments), 1)
        copied = share < _LARGE and n_queries >= _MANY and search.algorithm not in _UNSCANNED
        segments, masks = [], []
        for k, (segment, groups) in enumerate(zip(self.items.segments, self.groups, strict=True)):
            rows = groups.rows_of(int(of_group[k]))
            if not len(rows):
                continue
            mask = None
            if copied:
                if k not in self._codes:
                    self._codes[k] = segment.codes.packed
                segment = segment.part(rows, self._codes[k], scans_codes=n_queries < _LISTED)
            elif len(rows) < segment.n_alive:
                mask = np.zeros(len(segment), dtype=bool)
                mask[rows] = True
            segments.append(segment)
            masks.append(mask)
        if copied and search.algorithm == "graph":  # A part has no graph, and is scanned.
            search = search._replace(algorithm="approximate")
        return SegmentedItems(self.items.view, segments, masks), search

    @cached_property
    def _codes(self) -> dict[int, NDArray[np.uint8]]:
        """The codes of segments of which parts have been copied, by their numbers: for this call, since scans unpack them."""
        return {}


def _by_group(rows: Integers, of_query: Integers) -> list[Integers]:
    """Return the rows of queries, group after group, each increasing."""
    if not len(rows):
        return []
    _, number = np.unique(of_query[rows], axis=0, return_inverse=True)
    order = np.argsort(number.ravel(), kind="stable")
    return np.split(rows[order], np.flatnonzero(np.diff(number.ravel()[order])) + 1)


def _store(found: Neighbors, rows: Integers, answer: Neighbors) -> None:
    """Write the answers to the queries ``rows``, which may have fewer neighbours."""
    k = answer.distances.shape[1]
    found.distances[rows, :k], found.ids[rows, :k] = answer.distances, answer.ids
    found.refined[rows], found.at_once[rows] = answer.refined, answer.at_once
