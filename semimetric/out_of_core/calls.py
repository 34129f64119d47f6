"""More data than memory, on one machine: mapped arrays and Parquet files part by part, under a memory limit that is given.

    fit(model, "pairs.parquet", "distance", memory_limit="2 GiB")

The limit is for the memory of parts and of sums over them, besides what the process holds already. The same calls for several
machines, with a Dask client as first argument, are in `semimetric.distributed`; both do the same work in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, StorageError
from .._foundation.types import Floats
from ..data.parts.engine import SerialEngine
from ..data.parts.readers import item_rows, tuple_parts, width_of
from ..data.parts.row_parts import LazyRows, parse_memory
from ..distances.semimetric import Semimetric
from ..estimators.base import LearnedDistance
from ..estimators.part_tasks import ItemTask
from ..neighbors.results import Neighbors
from ..neighbors.sharded.shard_files import Place, read_places
from ..neighbors.sharded.shard_search import nearest
from .fit_labeled import fit_labeled, labeled_parts_of
from .fit_tuples import fit_tuples, task_of
from .pairwise_files import write_pairwise

__all__ = ["fit", "kneighbors", "pairwise", "transform"]

M = TypeVar("M", bound=LearnedDistance)
T = TypeVar("T")


def fit(
    model: M,
    pairs: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    memory_limit: str | int = "1 GiB",
    scratch: str | os.PathLike[str] | None = None,
) -> M:
    """Learn from pairs, triplets, quadruplets or labelled items that need not fit into memory; ``model`` is fitted, returned.

    A first pass finds the range of the items and the sample of them that knots are placed among, the same as ``fit`` takes,
    and checks everything. Least squares then needs one more pass, which adds up second moments. Other losses are learned by
    the solver that ``fit`` takes, or by `FirstOrder` if that is given: every product with the rows, and every sum of second
    moments, takes a pass. `LargeMarginLearner` searches a `ShardedIndex` for targets and impostors.

    Parameters
    ----------
    model : DistanceRegressor, PairLearner, TripletLearner, QuadrupletLearner or LargeMarginLearner
        With numbers for ``n_knots`` and ``alpha``, and ``directions`` (``tables`` too) that are not found by comparing. The
        ``preprocessor`` may be mapped, or the path of a .npy file.
    pairs : array of shape (n, size, n_features), or path; for LargeMarginLearner of shape (n, n_features)
        Such an array, or row numbers (n, size) of the ``preprocessor``: in memory, mapped, or as the path of a .npy file; or
        the path of a Parquet file or a folder of them, with columns ``left.NAME`` and ``right.NAME`` of every feature (of
        triplets ``i``, ``j``, ``l``; of quadruplets ``a``, ``b``, ``c``, ``e``), or ``left`` and ``right`` that hold row
        numbers. Labelled items have a column a feature.
    y : array of shape (n,), path of a .npy file, or name of a column
        As the learner's ``fit`` takes it: None for triplets.
    sample_weight : as y, or None
    memory_limit : str or int
        Bytes, or text such as "2 GiB". Numbers for triplets are needed besides: some 2.5 kB a labelled item of 18 triplets.
    scratch : path-like or None
        Folder for the index of labelled items while they are learned from; the temporary folder of the system by default.
        What a killed process has left there is deleted by the next such call.

    Raises
    ------
    NotSupportedError
        If the model cannot be learned from parts.
    InputError
        If a part cannot be used, naming it, or the limit is too small for the second moments.

    Examples
    --------
    >>> from semimetric import DistanceRegressor
    >>> rng = np.random.default_rng(0)
    >>> pairs = rng.random((500, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = fit(DistanceRegressor(n_knots=3, alpha=1e-6), pairs, y, memory_limit="100 kB")
    >>> bool(model.score(pairs, y) > 0.999)
    True
    """
    limit = parse_memory(memory_limit)
    engine, task = SerialEngine(limit), task_of(model)
    if isinstance(task, ItemTask):
        items, item_table = labeled_parts_of(task, pairs, y, sample_weight, limit)
        return fit_labeled(engine, model, task, items, item_table, y, sample_weight, limit=limit, scratch=scratch)
    spec = task.targets
    parts, table = tuple_parts(pairs, spec.targets(y), sample_weight, model.preprocessor, spec, limit=limit)
    return fit_tuples(engine, model, task, parts, table)


def transform(embedding: Any, X: Any, *, memory_limit: str | int = "1 GiB") -> Iterator[Any]:
    """The results of ``embedding.transform`` for the rows of X, part after part.

    Parameters
    ----------
    embedding : fitted transformer, such as an embedding, or a distance or learner with ``tables="warped"``
    X : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet
    memory_limit : str or int

    Yields
    ------
    ndarray or sparse matrix
        The rows of a part.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, out_of_core
    >>> pairs = np.random.default_rng(0).random((100, 2, 2))
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, tables="warped")
    >>> d = model.fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1)).semimetric_
    >>> X = pairs[:, 0]
    >>> parts = list(out_of_core.transform(d, X, memory_limit="1 MiB"))
    >>> bool((np.vstack(parts) == d.transform(X)).all())
    True
    """
    for rows in item_rows(X, _item_size(width_of(X), parse_memory(memory_limit))):
        yield _call(embedding.transform, rows)


def pairwise(d: Semimetric, X: Any, Y: Any = None, *, to: Any, memory_limit: str | int = "1 GiB") -> Path:
    """Distances of all rows of X to all rows of Y (of X if None), shape (n, m), in a new file: `Semimetric.pairwise`.

    Parameters
    ----------
    d : Semimetric
    X, Y : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet
    to : path-like
        NAME.zarr, one array; or NAME.parquet, a folder of files, a part of the rows each. It is complete or not there at all.
    memory_limit : str or int

    Raises
    ------
    InputError
        If rows of a part cannot be used, naming it, or ``to`` exists already.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, out_of_core
    >>> pairs = np.random.default_rng(0).random((100, 2, 2))
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, tables="warped")
    >>> d = model.fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1)).semimetric_
    >>> X = pairs[:, 0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = out_of_core.pairwise(d, X, to=Path(folder) / "all.zarr")
    ...     print(path.name)
    all.zarr
    """
    size = max(int((parse_memory(memory_limit) / 2 / 8) ** 0.5), 1)
    sides = [None if side is None else [(r.name, r) for r in item_rows(side, size, even=False)] for side in (X, Y)]
    return write_pairwise(SerialEngine(), d, sides[0] or [], sides[1], to)


def kneighbors(
    folder: Any,
    X: Any,
    n_neighbors: int = 5,
    *,
    algorithm: str | None = None,
    n_candidates: int | None = None,
    memory_limit: str | int = "1 GiB",
    key: bytes | None = None,
) -> tuple[Floats, NDArray[Any]]:
    """Distances and ids (n, k) of the nearest items of a saved index, sharded or not, for many queries.

    Parameters
    ----------
    folder : path-like
        What `NeighborIndex.save` or `ShardedIndex.build` wrote; its items are mapped.
    X : array of shape (n, n_features), mapped or not, or path of a .npy file or of Parquet
    n_neighbors : int
    algorithm, n_candidates : as in `NeighborIndex.kneighbors`
    memory_limit : str or int
        For the queries; the answers are held in memory besides.
    key : bytes or None
        The key that the folder was signed with, if it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor, NeighborIndex, out_of_core
    >>> pairs = np.random.default_rng(0).random((100, 2, 2))
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, tables="warped")
    >>> d = model.fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1)).semimetric_
    >>> X = pairs[:, 0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     NeighborIndex(d).fit(X).save(Path(folder) / "index")
    ...     distances, ids = out_of_core.kneighbors(Path(folder) / "index", X[:2], n_neighbors=1)
    >>> ids.ravel()
    array([0, 1])
    """
    parts = item_rows(X, _item_size(width_of(X), parse_memory(memory_limit)))

    def search(places: list[Place]) -> list[Neighbors]:
        ask = partial(nearest, SerialEngine(), places, k=n_neighbors, algorithm=algorithm, n_candidates=n_candidates)
        return [_call(lambda queries: ask(X=queries), rows) for rows in parts]

    found = read_places(folder, search, key=key)
    return np.concatenate([f.distances for f in found]), np.concatenate([f.ids for f in found])


def _call(function: Callable[[Any], T], rows: LazyRows) -> T:
    """The result of ``function`` for the rows of a part; an error names the part."""
    try:
        return function(rows.read())
    except StorageError:
        raise
    except ValueError as error:
        raise InputError(f"{rows.name}: {error}") from error


def _item_size(n_features: int, limit: int) -> int:
    """The number of items in a part: each takes several copies of its vector, and some 1,000 bytes in a search."""
    return max(limit // (100 * n_features + 1000), 1)
