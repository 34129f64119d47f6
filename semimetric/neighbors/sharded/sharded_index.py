"""`ShardedIndex`: a folder of saved indexes that is searched as one.

Every shard certifies its own nearest, so the nearest of their answers are those of all items: what is exact stays exact.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..._foundation.storage import read_whole
from ..._foundation.types import ArrayLike
from ..._foundation.validation import check_choice, check_count
from ...data.parts.engine import Engine, SerialEngine
from ...data.parts.readers import item_rows
from ...data.parts.row_parts import parse_memory, slices
from ...distances.explanations import Explanation
from ...distances.semimetric import Semimetric
from ..ids import ids_to_remove, new_ids
from ..index import NeighborIndex
from ..places import STORAGES
from ..proofs import check_distinct_ids
from ..searched_distance import searched_distance
from .clustered_parts import clustered_parts
from .shard_building import build_shards, parts_of
from .shard_files import (
    FILE,
    Place,
    Shard,
    building,
    read_shards,
    save_shard,
    shard_size,
    switch,
)

__all__ = ["ShardedIndex", "joined"]


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
    >>> from semimetric import DistanceRegressor
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> pairs = np.random.default_rng(1).integers(0, 100, (500, 2))
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=X)
    >>> d = model.fit(pairs, np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1)).semimetric_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = ShardedIndex.build(folder, d, X, n_shards=3)
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
        self.folder, self._key = Path(folder).resolve(), key
        self._open_options = (tuple(base_distances), mmap)
        self.n_jobs = n_jobs
        self._open()

    def _open(self) -> None:
        """Open the shards that the folder names now."""
        read_whole(self.folder / FILE, self._read)

    def _read(self) -> None:
        self._distance, shards = read_shards(self.folder, key=self._key)
        self.shards = tuple(shards)
        self._joined: NeighborIndex = joined(self.places).set_params(n_jobs=self.n_jobs)

    @property
    def places(self) -> list[Place]:
        """Where the shards are, in their order."""
        return [Place(str(self.folder), shard, self._distance, *self._open_options) for shard in self.shards]

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
    ) -> Self:
        """Index the rows of X, shard after shard; items need not fit into memory.

        Parameters
        ----------
        folder : path-like
            New, or a sharded index, which stays whole until the new one is.
        semimetric : Semimetric, or fitted learner
        X : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet
        ids : array-like of shape (n,), name of a column of Parquet, or None
            Distinct 64-bit integers or strings; row numbers by default.
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
            How items are divided: rows that follow one another, or clusters of k-means on scales that the tables rise evenly
            on, of an array or a .npy file under a distance of single features. Exact queries pass over shards whose
            items all lie too far away, which clusters let them. Shards are then as large as their clusters, and fewer where a
            cluster is empty.

        Raises
        ------
        InputError
            If items of a part cannot be used, or ids repeat, within a shard or across shards.
        """
        semimetric = searched_distance(semimetric)
        size = shard_size(semimetric.n_features, parse_memory(memory_limit))
        rows = item_rows(X, size)
        n = sum(map(len, rows))
        if n_shards is not None:
            rows = item_rows(X, max(-(-n // check_count("n_shards", n_shards)), 1))
        check_choice("partition", partition, ("rows", "kmeans"))
        check_choice("storage", storage, STORAGES)
        parts = parts_of(rows, ids) if partition == "rows" else clustered_parts(semimetric, rows, ids)
        build_shards(SerialEngine(), folder, semimetric, parts, n_jobs=n_jobs, key=key, storage=storage)
        return cls(folder, base_distances=base_distances, n_jobs=n_jobs, key=key)

    @property
    def semimetric(self) -> Semimetric:
        """The distance of all shards."""
        return self._joined.semimetric

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
        """The items of these ids, as they were given; see `NeighborIndex.get_items`."""
        return self._joined.get_items(ids)

    def kneighbors(self, X: ArrayLike | None = None, n_neighbors: int = 5, return_distance: bool = True, **options: Any) -> Any:
        """The nearest items of every query among all shards; see `NeighborIndex.kneighbors`."""
        return self._joined.kneighbors(X, n_neighbors, return_distance, **options)

    def radius_neighbors(
        self, X: ArrayLike | None = None, radius: float = 1.0, return_distance: bool = True, **options: Any
    ) -> Any:
        """All items of all shards within ``radius`` of every query; see `NeighborIndex.radius_neighbors`."""
        return self._joined.radius_neighbors(X, radius, return_distance, **options)

    def kneighbors_graph(
        self, X: ArrayLike | None = None, n_neighbors: int = 5, mode: str = "connectivity", **options: Any
    ) -> Any:
        """`kneighbors` as a sparse matrix, see `NeighborIndex.kneighbors_graph`; columns are in the order of `ids_`."""
        return self._joined.kneighbors_graph(X, n_neighbors, mode, **options)

    def explain(self, x: ArrayLike, ids: ArrayLike | None = None, n_neighbors: int = 5, **options: Any) -> Explanation:
        """Why items of any shard are near a query; see `NeighborIndex.explain`."""
        return self._joined.explain(x, ids, n_neighbors, **options)

    def add(self, X: ArrayLike, ids: ArrayLike | None = None) -> Self:
        """Add the rows of X to the smallest shard; see `NeighborIndex.add`."""
        given = new_ids(ids, len(X), self.ids_)  # type: ignore[arg-type]  # ArrayLike allows a scalar, which has no length
        smallest = min(range(len(self.shards)), key=lambda k: self.shards[k].n)
        return self._changed({smallest: self._copy(smallest).add(X, given)})

    def remove(self, ids: ArrayLike) -> Self:
        """Remove items by id; if one is not in the index, it is an error and nothing is removed."""
        removed, changed = ids_to_remove(ids, self.ids_), {}
        for k, place in enumerate(self.places):
            in_shard = removed[np.isin(removed, place.open().ids_)]
            if len(in_shard):
                changed[k] = self._copy(k).remove(in_shard)
        return self._changed(changed)

    def rebalance(self, n_shards: int | None = None, *, engine: Engine | None = None) -> Self:
        """Divide the items evenly among ``n_shards`` new shards (as many as there are by default), then switch to these."""
        n = check_count("n_shards", len(self.shards) if n_shards is None else n_shards)
        places = self.places
        counts = [place.shard.n for place in places]
        starts = np.concatenate([[0], np.cumsum(counts)])
        tasks = []
        for s in slices(int(starts[-1]), -(-int(starts[-1]) // n)):
            lows, highs = np.maximum(s.start - starts[:-1], 0), np.minimum(s.stop - starts[:-1], counts)
            tasks.append([(p, int(a), int(b)) for p, a, b in zip(places, lows, highs, strict=True) if a < b])
        return self._switched(lambda built: list((engine or SerialEngine()).each(_divided_shard, tasks, str(built))))

    def _copy(self, k: int) -> NeighborIndex:
        """A copy of shard k that can be changed: the opened one stays as it is saved."""
        index = self.places[k].open()
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


def joined(places: Sequence[Place], semimetric: Semimetric | None = None) -> NeighborIndex:
    """All shards as one index, under another distance of the same cells if one is given; codes are read once a process."""
    opened = [place.open() for place in places]
    index = opened[0].with_semimetric(opened[0].semimetric if semimetric is None else semimetric)
    segments = [segment for shard in opened for segment in shard.segments_]
    check_distinct_ids(segments)
    if semimetric is not None:
        # The scan is made while the segment is that of the opened shard, so that the next distance shares it.
        _ = [segment.scan for segment in segments if segment.searchable]
        segments = [segment.under(index._view) for segment in segments]
    index.segments_ = segments
    return index


def _divided_shard(task: list[tuple[Place, int, int]], root: str) -> Shard:
    """A new shard of rows of old ones: the task names the old shards, and the first row and the row after the last of each."""
    indexes = [place.open() for place, _, _ in task]
    X = np.concatenate([index._queries(None)[a:b] for index, (_, a, b) in zip(indexes, task, strict=True)])
    ids = np.concatenate([index.ids_[a:b] for index, (_, a, b) in zip(indexes, task, strict=True)])
    first = indexes[0]
    new = type(first)(**first.get_params(deep=False)).fit(X, ids=ids)
    return save_shard(root, new)
