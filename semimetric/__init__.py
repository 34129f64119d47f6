"""semimetric: learn any distance, with guarantees, by convex programs."""

from ._errors import (
    ConvergenceWarning,
    DistanceCallError,
    InputError,
    MissingExtraError,
    NotSupportedError,
    SemimetricError,
    SemimetricWarning,
    StorageError,
)
from ._storage import package_version
from .distance import Axioms, Semimetric
from .embeddings.directions import EvenDirections
from .embeddings.histograms import HistogramFeatures
from .estimators.approximator import DistanceApproximator
from .estimators.regressor import DistanceRegressor
from .grids import Grid
from .neighbors.index import NeighborIndex
from .neighbors.transformer import SemimetricNeighborsTransformer
from .persistence import load

__version__ = package_version()

__all__ = [
    "Axioms",
    "ConvergenceWarning",
    "DistanceApproximator",
    "DistanceCallError",
    "DistanceRegressor",
    "EvenDirections",
    "Grid",
    "HistogramFeatures",
    "InputError",
    "MissingExtraError",
    "NeighborIndex",
    "NotSupportedError",
    "Semimetric",
    "SemimetricError",
    "SemimetricNeighborsTransformer",
    "SemimetricWarning",
    "StorageError",
    "load",
]
