"""More data than memory, on one machine: mapped arrays and Parquet files in blocks, under a memory limit that is given.

    fit(model, "pairs.parquet", "distance", memory_limit="2 GiB")

The limit is for what blocks and sums take, besides what the process holds already. For several machines there are the same
calls with a Dask client first, in `semimetric.distributed`; both do the same work in the same order.
"""

from typing import Any

import numpy as np

from ._threads import one_blas_thread
from .block_fitting import check_learns, fit_parts
from .blocks import parse_memory
from .engines import Here
from .estimators.regressor import DistanceRegressor
from .sources import pair_parts

__all__ = ["fit"]


def fit(
    model: DistanceRegressor, pairs: Any, y: Any, sample_weight: Any = None, *, memory_limit: str | int = "1 GiB"
) -> DistanceRegressor:
    """Learn from pairs that need not fit into memory; ``model`` is fitted and returned.

    Two passes for the squared loss: the first finds the range of the items and the sample of them that knots are placed
    among, the same as `DistanceRegressor.fit` takes, and checks everything; the second adds up second moments. Other losses
    are learned by `FirstOrder`, which reads the pairs twice in every iteration.

    Parameters
    ----------
    model : DistanceRegressor
        With numbers for ``n_knots`` and ``alpha``. Its ``preprocessor`` may be mapped, or the path of a .npy file.
    pairs : array of shape (n_pairs, 2, n_features), or path
        Such an array, or row numbers (n_pairs, 2) of the ``preprocessor``: in memory, mapped, or as the path of a .npy file;
        or the path of a Parquet file or a folder of them, with columns ``left.NAME`` and ``right.NAME`` of every feature, or
        ``left`` and ``right`` that hold row numbers.
    y : array of shape (n_pairs,), path of a .npy file, or name of a column
    sample_weight : as y, or None
    memory_limit : str or int
        Bytes, or text such as "2 GiB".

    Raises
    ------
    NotSupportedError
        If the model cannot be learned from blocks.
    InputError
        If a block cannot be used, naming it, or the limit is too small for the second moments.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pairs = rng.random((500, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = fit(DistanceRegressor(n_knots=3, alpha=1e-6), pairs, y, memory_limit="100 kB")
    >>> bool(model.score(pairs, y) > 0.999)
    True
    """
    limit = parse_memory(memory_limit)
    check_learns(model)
    least = 0.0 if model.axioms is not None else -np.inf
    parts, table = pair_parts(pairs, y, sample_weight, model.preprocessor, least, limit=limit)
    with one_blas_thread():
        return fit_parts(Here(), model, parts, table, limit=limit)
