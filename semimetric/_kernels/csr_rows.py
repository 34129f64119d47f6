"""Rows of embedded vectors as kernels read and write them.

The classes that kernels take all stand in this room, and are never renamed: the compiler's caches name them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Chunk(NamedTuple):
    """Buffers for rows in CSR format, with room for as many entries as `FeatureMap.nonzeros_at_most` says.

    Row r has the columns ``indices[indptr[r]:indptr[r + 1]]``, and its values are at the same places of ``data``.
    """

    indptr: NDArray[np.int64]  # (n_rows + 1,)
    indices: np.ndarray  # int32 or int64
    data: np.ndarray  # float32 or float64


class DifferenceOperator(NamedTuple):
    """The map of written rows psi to phi = D_order^{-T} psi, within each block of columns ``starts[b]:starts[b + 1]``.

    D_1 are the first differences of paper 1, and D_2 the second.
    """

    order: int
    starts: NDArray[np.int64]


class BlockMaps(NamedTuple):
    """Matrices by which blocks of columns are multiplied: ``sources[b]:sources[b + 1]`` become ``targets[b]:targets[b + 1]``.

    That of block b begins at ``first[b]`` of ``tables``, row by row; blocks may share one.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    first: NDArray[np.int64]
    tables: NDArray[np.float64]
