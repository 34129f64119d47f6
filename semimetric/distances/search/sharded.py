"""`ShardedIndex`: a folder of saved indexes that is searched as one.

Shards are searched here in one process, as the segments of one index; `shard_search` asks those of many machines.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError, NotSupportedError, SemimetricError
from ..._foundation.files import read_whole, real_path, write_beside
from ..._foundation.progress import progress_bar
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice, check_count
from ...data.parts.engine import Engine, SerialEngine
from ...data.parts.readers import item_rows
from ...data.parts.row_parts import LazyRows, add_to_digest, array_rows, open_array, parse_memory, slices
from ...data.payload import Payload
from ..model.explanations import Explanation
from ..model.semimetric import Semimetric
from .index import NeighborIndex, searched_distance
from .item_lists import ItemLists
from .items import check_ids, ids_to_remove, new_ids
from .proofs import check_distinct_ids
from .query_tables import ItemArrays, QueryView
from .refinement import STORAGES, LocatedRows
from .scaled_clusters import ScaledClusters
from .shard_files import (
    FILE,
    Shard,
    ShardLocation,
    building,
    built_before,
    distance_digest,
    new_root,
    read_shards,
    record_built,
    resuming,
    save_shard,
    shard_size,
    switch,
)


@dataclass(frozen=True, eq=False)
class ItemPart:
    """The items of one shard, read or still to be read."""

    name: str  # the name of the part in errors
    pieces: tuple[Any, ...]  # arrays, tables or LazyRows: the rows of the items, one after the other
    ids: int | str | tuple[Any, ...] | None  # the number of the first item, the column that holds the ids, or the ids
    n: float = np.nan  # of items, NaN where it is not known before reading
    payload: Payload | None = None  # of the items

    @property
    def of_cluster(self) -> bool:
        """True if these are the items of a cluster, whose order means nothing."""
        return any(isinstance(piece, ChosenRows) for piece in self.pieces)

    def read(self) -> tuple[Any, Any]:
        """Return the items and their ids, or the number of the first item."""
        read = [p.read() if isinstance(p, LazyRows) else p for p in self.pieces]
        if not sum(map(len, read)):
            raise InputError("it is empty; every shard needs at least one item: leave it out, or repartition")
        X = np.concatenate([np.asarray(p) for p in read]) if len(read) > 1 else read[0]
        ids: Any = self.ids
        if isinstance(ids, str):
            if not all(ids in getattr(p, "columns", ()) for p in read):
                raise InputError(f"it has no column {ids!r} for ids; name another, or add it")
            ids = np.concatenate([np.asarray(p[ids]) for p in read])
            X = np.concatenate([np.asarray(p.drop(columns=self.ids), dtype=np.float64) for p in read])
        elif isinstance(ids, tuple):
            ids = np.concatenate([p.read() if isinstance(p, LazyRows) else np.asarray(p) for p in ids])
        return X, ids


def parts_of(rows: Sequence[LazyRows], ids: Any) -> list[ItemPart]:
    """Make a part for each of the rows, with its ids: given, in a column of that name, or numbered from the first row on."""
    starts = np.cumsum([0, *map(len, rows)]).tolist()
    if ids is None or isinstance(ids, str):
        return [ItemPart(r.name, (r,), start if ids is None else ids) for r, start in zip(rows, starts, strict=False)]
    given = check_ids(ids, starts[-1], unique=False)
    return [ItemPart(r.name, (r,), (given[a:b],)) for r, a, b in zip(rows, starts[:-1], starts[1:], strict=True)]


def build_shards(
    engine: Engine,
    folder: str | os.PathLike[str],
    semimetric: Semimetric,
    parts: Sequence[ItemPart] | Callable[[Path], Sequence[ItemPart]],
    *,
    n_jobs: int | None = None,
    key: bytes | None = None,
    storage: str = "float64",
    resume: bool = False,
) -> list[Shard]:
    """Build a shard of every part, check that ids are distinct across them, and make them the index in ``folder``.

    A function makes the parts in the folder of unfinished shards. With ``resume``, shards stay if the call ends early, and
    the next call takes those whose distance, items, ids and payload are the same.
    """
    with new_root(folder) as root, (resuming if resume else building)(root) as built:
        given, saved = list(parts(built) if callable(parts) else parts), []
        with progress_bar(len(given), "shards", verbose=None, unit="shard") as bar:
            for of_part in engine.each(_built_shard, given, str(built), semimetric, n_jobs, storage, resume):
                saved.append(of_part)
                bar.update()
        shards = [shard for shard, _ in saved]
        _check_distinct([part.name for part in given], saved)
        switch(root, distance_digest(semimetric), shards, built, key=key)
    return shards


def _built_shard(
    part: ItemPart, root: str, semimetric: Semimetric, n_jobs: int | None, storage: str, resume: bool
) -> tuple[Shard, NDArray[Any] | None]:
    """Return the saved shard of a part, and its ids if they were given; with ``resume`` that of an earlier call, if it is."""
    try:
        X, ids = part.read()
        numbered = np.arange(ids, ids + len(X)) if isinstance(ids, int) else ids
        digest = _digest_of_shard(semimetric, storage, X, numbered, part.payload) if resume else ""
        if resume and (shard := built_before(root, digest)) is not None:
            return shard, None if isinstance(part.ids, int) else check_ids(numbered, len(X))
        payload, lists = part.payload, _lists_of_rows(semimetric, X) if part.of_cluster else None
        if lists is not None:
            # Items that are searched together, as when all are, share their lists then: measured once, 32,768 of a million
            # items of 32 features took .63 of the time of as many in another order.
            rows = lists.arrays.rows
            X, numbered, payload = X[rows], numbered[rows], None if payload is None else payload.take(rows)
        index = NeighborIndex(semimetric, n_jobs=n_jobs, storage=storage).fit(X, ids=numbered, payload=payload)
        if lists is not None:
            index.segments_[0].with_item_lists(lists.in_order())
    except (SemimetricError, ValueError) as error:
        raise InputError(f"{part.name}: {error}") from error
    shard = save_shard(root, index)
    if resume:
        record_built(root, digest, shard)
    return shard, None if isinstance(part.ids, int) else index.ids_


def _lists_of_rows(semimetric: Semimetric, X: NDArray[Any]) -> ItemLists:
    """Divide rows into lists of near ones; their positions are found block by block, and not kept."""
    view, raw = QueryView(semimetric), semimetric.schema.encode(X)
    return ItemLists.of(view, ItemArrays(raw, cast(Floats, LocatedRows(view, raw)), None))


def _digest_of_shard(semimetric: Semimetric, storage: str, X: Any, ids: NDArray[Any], payload: Payload | None) -> str:
    """Return SHA-256 of all that a shard is made of."""
    total = hashlib.sha256(f"{distance_digest(semimetric)} {storage}".encode())
    add_to_digest(total, X)
    add_to_digest(total, ids)
    if payload is not None:
        for column in payload.columns:
            total.update(f"{column.name} {column.kind} {column.zone}".encode())
        for _, array in payload.arrays():
            add_to_digest(total, array)
    return total.hexdigest()


def _check_distinct(names: Sequence[str], built: Sequence[tuple[Shard, NDArray[Any] | None]]) -> None:
    """Refuse ids that two shards share, or that are integers in one and text in another."""
    every = [ids for _, ids in built if ids is not None]
    if len(every) < len(built):  # Items without ids are numbered on from shard to shard.
        return
    kinds = [shard.kind for shard, _ in built]
    if len(set(kinds)) > 1:
        other = next(k for k, kind in enumerate(kinds) if kind != kinds[0])
        raise InputError(f"ids of {names[0]} and of {names[other]} are of different kinds; integers or strings in all: convert")
    ids = np.concatenate(every)
    order = np.argsort(ids, kind="stable")
    same = np.flatnonzero(ids[order][1:] == ids[order][:-1])
    if len(same):
        owner = np.repeat(np.arange(len(built)), [s.n for s, _ in built])
        a, b = owner[order[same[0]]], owner[order[same[0] + 1]]
        raise InputError(f"id {ids[order[same[0]]]} is in {names[a]} and in {names[b]}; ids must be distinct: give others")


_SAMPLE = 50_000  # The number of items that the clusters are found from.
_ROWS = 1 << 14  # The number of items that are assigned together.


@dataclass(frozen=True, eq=False)
class ChosenRows(LazyRows):
    """Rows of several parts, picked by their numbers, increasing, when they are read."""

    name: str
    parts: Sequence[LazyRows]
    rows: LazyRows

    def __len__(self) -> int:
        return len(self.rows)

    def read(self) -> NDArray[Any]:
        """Return the rows, of which each part gives its own."""
        return picked(self.parts, self.rows.read())


def picked(parts: Sequence[LazyRows], rows: Integers) -> NDArray[Any]:
    """Return the rows of these numbers, increasing, counted from the first part on."""
    starts = np.cumsum([0, *map(len, parts)])
    ends = np.searchsorted(rows, starts)
    own = [rows[a:b] - start for a, b, start in zip(ends[:-1], ends[1:], starts[:-1], strict=True)]
    return np.concatenate([part.view()[of_part] for part, of_part in zip(parts, own, strict=True) if len(of_part)])


def clustered_parts(
    engine: Engine, folder: Path, semimetric: Semimetric, parts: Sequence[LazyRows], ids: Any, *, seed: int = 0
) -> list[ItemPart]:
    """Return at most as many parts of near items as ``parts``, and their ids; the distance needs single tables.

    The rows of the parts, and their ids, are written to ``folder``.
    """
    view, n = QueryView(semimetric), sum(map(len, parts))
    if not view.simple or not view.n_tables or isinstance(ids, str) or not isinstance(parts[0].view(), np.ndarray):
        raise NotSupportedError(
            "partition='kmeans' divides the rows of an array or a .npy file under a sum over single features; use "
            "partition='rows' for tables, and for distances with joint groups or base distances"
        )
    given = None if ids is None else check_ids(ids, n, unique=False)
    rng = np.random.default_rng(seed)
    sample = _positions(view, picked(parts, np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))))
    clusters = ScaledClusters.fit(view, sample, len(parts), rng)
    member = np.concatenate(list(engine.each(_members, list(parts), semimetric, clusters)))
    order = np.argsort(member, kind="stable")
    files = [folder / "rows.npy"] if given is None else [folder / "rows.npy", folder / "ids.npy"]
    for path, values in zip(files, (order, order if given is None else given[order]), strict=False):
        write_beside(path, partial(np.save, arr=values))
    ends, out = np.cumsum(np.append(0, np.bincount(member, minlength=len(clusters.centres)))).tolist(), []
    for c, (start, stop) in enumerate(pairwise(ends)):
        if start < stop:
            name = f"cluster {c}"
            rows, *own = (array_rows(open_array(path)[start:stop], stop - start, name)[0] for path in files)
            out.append(ItemPart(name, (ChosenRows(name, parts, rows),), (own[0] if own else rows,), stop - start))
    return out


def check_partition(partition: str, storage: str) -> None:
    """Refuse unknown ways to divide items, and to hold them."""
    check_choice("partition", partition, ("rows", "kmeans"))
    check_choice("storage", storage, STORAGES)


def with_payload(parts: Sequence[ItemPart], payload: Payload) -> list[ItemPart]:
    """Give each part its rows of a payload of all items, which is in the order of the rows that the parts were made of."""
    start, out = 0, []
    for part in parts:
        n = sum(map(len, part.pieces)) if np.isnan(part.n) else int(part.n)
        own = [piece.rows.read() for piece in part.pieces if isinstance(piece, ChosenRows)] or [np.arange(start, start + n)]
        out.append(replace(part, payload=Payload.joined([payload.take(np.concatenate(own))])))
        start += n
    return out


def _positions(view: QueryView, X: NDArray[Any]) -> Floats:
    raw = np.asarray(view.semimetric.schema.encode(X), dtype=np.float64)
    return view.positions(raw)[:, : view.n_tables]


def _members(part: LazyRows, semimetric: Semimetric, clusters: ScaledClusters) -> NDArray[Any]:
    """Return the cluster of each row of a part, of a small integer type."""
    view, rows, out = QueryView(semimetric), part.view(), np.empty(len(part), np.min_scalar_type(len(clusters.centres)))
    for start in range(0, len(part), _ROWS):
        positions = _positions(view, np.asarray(rows[start : start + _ROWS]))
        out[start : start + len(positions)] = clusters.member(positions)
    return out


class ShardedIndex:
    """Nearest neighbours among the items of many saved indexes under one `Semimetric`; answers are those of one index.

    Parameters
    ----------
    folder : path-like
        What `build` wrote; `semimetric.load` opens it too.
    base_distances : sequence of callables
        Those that the distance was fitted with.
    mmap : bool, default True
        Map the items into memory, so that they need not fit.
    n_jobs : int or None
        Threads of queries.
    key : bytes or None
        The key with which the folder was signed when it was built, if it was; changes are signed with it too.

    Raises
    ------
    StorageError
        If a shard is missing, foreign, altered, or from another distance; the message names it. If the folder was not signed
        with the key.

    Attributes
    ----------
    shards : tuple of Shard
        Names, digests and numbers of items.
    semimetric : Semimetric
    n_samples_fit_ : int
    ids_ : ndarray
        Shard after shard.

    Examples
    --------
    >>> import tempfile
    >>> from semimetric import Semimetric
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = ShardedIndex.build(folder, Semimetric.l1(X), X, n_shards=3)
    ...     index.kneighbors(X[:2], n_neighbors=1)[1].ravel()
    array([0, 1])
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        base_distances: Sequence[Any] = (),
        mmap: bool = True,
        n_jobs: int | None = None,
        key: bytes | None = None,
    ) -> None:
        self.folder, self._key = real_path(folder), key
        self._open_options = (tuple(base_distances), mmap)
        self.n_jobs = n_jobs
        self._open()

    def _open(self) -> None:
        read_whole(self.folder / FILE, self._read)

    def _read(self) -> None:
        self._distance, shards = read_shards(self.folder, key=self._key)
        self.shards = tuple(shards)
        self._joined: NeighborIndex = joined(self.locations).set_params(n_jobs=self.n_jobs)

    @property
    def locations(self) -> list[ShardLocation]:
        """The locations of the shards, in their order."""
        return [ShardLocation(str(self.folder), shard, self._distance, *self._open_options) for shard in self.shards]

    @classmethod
    def build(
        cls,
        folder: str | os.PathLike[str],
        semimetric: Semimetric,
        X: Any,
        *,
        ids: ArrayLike | str | None = None,
        n_shards: int | None = None,
        memory_limit: str | int = "1 GiB",
        base_distances: Sequence[Any] = (),
        n_jobs: int | None = None,
        key: bytes | None = None,
        storage: str = "float64",
        partition: str = "rows",
        payload: Any = None,
    ) -> Self:
        """Index the rows of X, shard after shard; items need not fit into memory.

        Parameters
        ----------
        folder : path-like
            New, or a sharded index, which stays whole until the new one is.
        semimetric : Semimetric, or fitted learner
        X : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet
        ids : array-like of shape (n,), name of a column of Parquet, or None
            Distinct 64-bit integers or strings (else an InputError is raised); row numbers by default.
        n_shards : int or None
            None makes as few as ``memory_limit`` allows.
        memory_limit : str or int
        base_distances : as in the class
        n_jobs : int or None
        key : bytes or None
            Sign the folder, so that it opens with this key only: at least 16 bytes.
        storage : {"float64", "uint16"}, default "float64"
            As in `NeighborIndex`, of every shard.
        partition : {"rows", "kmeans"}, default "rows"
            Divide items into rows that follow one another, or into clusters of k-means on scales that the tables rise evenly
            on, of an array or a .npy file under a distance of single features. Exact queries pass over shards whose
            items all lie too far away, which clusters let them. Shards are then as large as their clusters, and fewer where a
            cluster is empty.
        payload : frame or dict of columns, with n rows, or None
            As in `NeighborIndex.fit`; it is held in memory while shards are built.
        """
        semimetric = searched_distance(semimetric)
        size = shard_size(semimetric.n_features, parse_memory(memory_limit))
        rows = item_rows(X, size)
        n = sum(map(len, rows))
        if n_shards is not None:
            rows = item_rows(X, max(-(-n // check_count("n_shards", n_shards)), 1))
        check_partition(partition, storage)
        beside = None if payload is None else Payload.read(payload, n, semimetric.feature_names)
        engine = SerialEngine()

        def parts(built: Path) -> Sequence[ItemPart]:
            own = parts_of(rows, ids) if partition == "rows" else clustered_parts(engine, built, semimetric, rows, ids)
            return own if beside is None else with_payload(own, beside)

        build_shards(engine, folder, semimetric, parts, n_jobs=n_jobs, key=key, storage=storage)
        return cls(folder, base_distances=base_distances, n_jobs=n_jobs, key=key)

    @property
    def semimetric(self) -> Semimetric:
        """The distance of all shards."""
        return self._joined.semimetric

    def as_index(self) -> NeighborIndex:
        """Return the items of all shards, as they are now, as one index, without a copy of them."""
        return copy(self._joined)

    @property
    def n_samples_fit_(self) -> int:
        """Number of items in all shards."""
        return self._joined.n_samples_fit_

    @property
    def n_features_in_(self) -> int:
        """Number of features of the items."""
        return self._joined.n_features_in_

    @property
    def ids_(self) -> NDArray[Any]:
        """Ids of the items, shard after shard."""
        return self._joined.ids_

    def __len__(self) -> int:
        return len(self._joined)

    def __contains__(self, id: object) -> bool:
        return id in self._joined

    def get_items(self, ids: ArrayLike) -> NDArray[Any]:
        """Return the items of these ids, as they were given; see `NeighborIndex.get_items`."""
        return self._joined.get_items(ids)

    def kneighbors(self, X: ArrayLike | None = None, n_neighbors: int = 5, return_distance: bool = True, **options: Any) -> Any:
        """Find the nearest items of every query among all shards; see `NeighborIndex.kneighbors`."""
        return self._joined.kneighbors(X, n_neighbors, return_distance, **options)

    def radius_neighbors(
        self, X: ArrayLike | None = None, radius: float = 1.0, return_distance: bool = True, **options: Any
    ) -> Any:
        """Find all items of all shards within ``radius`` of every query; see `NeighborIndex.radius_neighbors`."""
        return self._joined.radius_neighbors(X, radius, return_distance, **options)

    def kneighbors_graph(
        self, X: ArrayLike | None = None, n_neighbors: int = 5, mode: str = "connectivity", **options: Any
    ) -> Any:
        """Return `kneighbors` as a sparse matrix, see `NeighborIndex.kneighbors_graph`; columns are in the order of `ids_`."""
        return self._joined.kneighbors_graph(X, n_neighbors, mode, **options)

    def explain(self, x: ArrayLike, ids: ArrayLike | None = None, n_neighbors: int = 5, **options: Any) -> Explanation:
        """Explain why items of any shard are near a query; see `NeighborIndex.explain`."""
        return self._joined.explain(x, ids, n_neighbors, **options)

    @property
    def payload_(self) -> Payload | None:
        """The payload of the items, shard after shard; None if there is none."""
        return self._joined.payload_

    def get_payload(self, ids: ArrayLike) -> Any:
        """Return the payload of these ids as a frame of pandas; see `NeighborIndex.get_payload`."""
        return self._joined.get_payload(ids)

    def add(self, X: Any, ids: ArrayLike | None = None, *, payload: Any = None) -> Self:
        """Add the rows of X to the smallest shard; see `NeighborIndex.add`."""
        given = new_ids(ids, len(X), self.ids_)
        smallest = min(range(len(self.shards)), key=lambda k: self.shards[k].n)
        return self._changed({smallest: self._copy(smallest).add(X, given, payload=payload)})

    def remove(self, ids: ArrayLike) -> Self:
        """Remove items by id; if one is not in the index, it is an error and nothing is removed."""
        removed, changed = ids_to_remove(ids, self.ids_), {}
        for k, location in enumerate(self.locations):
            in_shard = removed[np.isin(removed, location.open().ids_)]
            if len(in_shard):
                changed[k] = self._copy(k).remove(in_shard)
        return self._changed(changed)

    def rebalance(self, n_shards: int | None = None, *, engine: Engine | None = None) -> Self:
        """Divide the items evenly among ``n_shards`` new shards (as many as there are by default), then switch to these."""
        n = check_count("n_shards", len(self.shards) if n_shards is None else n_shards)
        locations = self.locations
        counts = [location.shard.n for location in locations]
        starts = np.concatenate([[0], np.cumsum(counts)])
        tasks = []
        for s in slices(int(starts[-1]), -(-int(starts[-1]) // n)):
            lows, highs = np.maximum(s.start - starts[:-1], 0), np.minimum(s.stop - starts[:-1], counts)
            tasks.append([(p, int(a), int(b)) for p, a, b in zip(locations, lows, highs, strict=True) if a < b])
        return self._switched(lambda built: list((engine or SerialEngine()).each(_divided_shard, tasks, str(built))))

    def _copy(self, k: int) -> NeighborIndex:
        """Copy shard k, so that it can be changed: the opened one stays as it is saved."""
        index = self.locations[k].open()
        copy = index.with_semimetric(index.semimetric)
        copy.segments_ = list(index.segments_)
        return copy

    def _changed(self, indexes: dict[int, NeighborIndex]) -> Self:
        """Save what was changed beside the old shards, and switch; a shard without items is left out, if another has some."""

        def saved(built: Path) -> list[Shard]:
            new = list(self.shards)
            for k, index in indexes.items():
                new[k] = save_shard(built, index, self.folder / self.shards[k].name)
            return [s for s in new if s.n] or new[:1]

        return self._switched(saved)

    def _switched(self, save: Callable[[Path], list[Shard]]) -> Self:
        """Let the shards that ``save`` makes, new ones in a folder, be the index; the object is then what the folder names."""
        try:
            with building(self.folder) as built:
                switch(self.folder, self._distance, save(built), built, key=self._key)
            self._open()
        except BaseException:  # Ctrl-C, too, which may come while the new shards are opened
            self._open()
            raise
        return self


def joined(locations: Sequence[ShardLocation], semimetric: Semimetric | None = None) -> NeighborIndex:
    """Join all shards to one index, under another distance of the same cells if one is given; codes are read once a process."""
    opened = [location.open() for location in locations]
    index = opened[0].with_semimetric(opened[0].semimetric if semimetric is None else semimetric)
    segments = [segment for shard in opened for segment in shard.segments_]
    check_distinct_ids(segments)
    if semimetric is not None:
        # The scan is made while the segment is that of the opened shard, so that the next distance shares it.
        _ = [segment.codes.scan for segment in segments if segment.searchable]
        segments = [segment.under(index.segments_[0].view) for segment in segments]
    index.segments_ = segments
    return index


def _divided_shard(task: list[tuple[ShardLocation, int, int]], root: str) -> Shard:
    """Save a shard of rows of old ones: the task names the old shards, and the first row and the last of each, plus one."""
    indexes = [location.open() for location, _, _ in task]
    X = np.concatenate([index.encoded_items_[a:b] for index, (_, a, b) in zip(indexes, task, strict=True)])
    ids = np.concatenate([index.ids_[a:b] for index, (_, a, b) in zip(indexes, task, strict=True)])
    first = indexes[0]
    beside = [
        index.payload_.take(np.arange(a, b))
        for index, (_, a, b) in zip(indexes, task, strict=True)
        if index.payload_ is not None
    ]
    payload = Payload.joined(beside) if beside else None
    new = type(first)(**first.get_params(deep=False)).fit(X, ids=ids, payload=payload)
    return save_shard(root, new)
