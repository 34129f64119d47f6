"""The same learning and search on more data than memory, on one machine, or on many by a Dask engine.

It stands on `_foundation`, `data` and `distances`.
"""

from .calls import fit, kneighbors, pairwise, transform

__all__ = [
    "fit",
    "kneighbors",
    "pairwise",
    "transform",
]
