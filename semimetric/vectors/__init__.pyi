from .embeddings.additive_kernels import min_kernel as min_kernel
from .embeddings.additive_kernels import spline_kernel as spline_kernel
from .embeddings.conic import conic_kernel as conic_kernel
from .embeddings.separation import Separation as Separation
from .embeddings.separation import separates as separates
from .machines.shapes import Shapes as Shapes
from .machines.shapes import curve as curve
from .machines.shapes import surface as surface

__all__ = [
    "Separation",
    "Shapes",
    "conic_kernel",
    "curve",
    "min_kernel",
    "separates",
    "spline_kernel",
    "surface",
]
