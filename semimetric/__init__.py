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
from .axioms import Axioms
from .distance import Semimetric
from .embeddings.directions import EvenDirections
from .embeddings.histograms import HistogramFeatures
from .embeddings.pairs import PairEmbedding
from .estimators.approximator import DistanceApproximator
from .estimators.regressor import DistanceRegressor
from .grids import Grid
from .neighbors.index import NeighborIndex
from .neighbors.transformer import SemimetricNeighborsTransformer
from .persistence import load
from .programs import Absolute, Huber, Lasso, Ridge, Roughness, Shift, Squared
from .schema import Schema
from .solvers import FirstOrder, Gram, InteriorPoint, Reference

__version__ = package_version()

__all__ = [
    "Absolute",
    "Axioms",
    "ConvergenceWarning",
    "DistanceApproximator",
    "DistanceCallError",
    "DistanceRegressor",
    "EvenDirections",
    "FirstOrder",
    "Gram",
    "Grid",
    "HistogramFeatures",
    "Huber",
    "InputError",
    "InteriorPoint",
    "Lasso",
    "MissingExtraError",
    "NeighborIndex",
    "NotSupportedError",
    "PairEmbedding",
    "Reference",
    "Ridge",
    "Roughness",
    "Schema",
    "Semimetric",
    "SemimetricError",
    "SemimetricNeighborsTransformer",
    "SemimetricWarning",
    "Shift",
    "Squared",
    "StorageError",
    "load",
]
