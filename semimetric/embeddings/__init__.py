"""How a vector, or a pair of vectors, becomes a sparse row, and which linear features are appended to the raw ones.

It stands on `_foundation`, `_kernels` and `data`.
"""

from .directions.even_directions import EvenDirections
from .directions.histograms import HistogramFeatures
from .directions.partition_features import PartitionFeatures
from .directions.partitions import Partitions
from .pairs.full_tables import PairEmbedding
from .vectors.additive_kernels import min_kernel, spline_kernel
from .vectors.conic import ConicEmbedding, conic_kernel
from .vectors.homogeneous_kernels import AdditiveChi2Embedding
from .vectors.interpolated import IDEmbedding
from .vectors.orthogonal import FourierEmbedding, HermiteEmbedding
from .vectors.piecewise import PL1Embedding, PL2Embedding
from .vectors.separation import Separation, separates
from .vectors.splines import BSplineEmbedding

__all__ = [
    "AdditiveChi2Embedding",
    "BSplineEmbedding",
    "ConicEmbedding",
    "EvenDirections",
    "FourierEmbedding",
    "HermiteEmbedding",
    "HistogramFeatures",
    "IDEmbedding",
    "PL1Embedding",
    "PL2Embedding",
    "PairEmbedding",
    "PartitionFeatures",
    "Partitions",
    "Separation",
    "conic_kernel",
    "min_kernel",
    "separates",
    "spline_kernel",
]
