"""The same learning and search on more data than memory, on one machine, or on many by a Dask engine.

It stands on `_foundation`, `data` and `distances`.
"""

from .calls import build_index, fit, kneighbors, kneighbors_graph, pairwise, radius_neighbors, rebalance, transform
from .dask import connect

__all__ = [
    "build_index",
    "connect",
    "fit",
    "kneighbors",
    "kneighbors_graph",
    "pairwise",
    "radius_neighbors",
    "rebalance",
    "transform",
]
