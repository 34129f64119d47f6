"""The wing of vectors: embeddings of one vector, linear machines on them, and boundaries in pieces.

It stands on `_foundation`, `_kernels` and `data`.
Names of `semimetric` itself are not repeated here.
"""

from .._foundation.names import lazy_names

_HOMES = {
    "embeddings.additive_kernels": "min_kernel spline_kernel",
    "embeddings.conic": "conic_kernel",
    "embeddings.separation": "Separation separates",
    "machines.shapes": "Shapes curve surface",
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES, (), {})
