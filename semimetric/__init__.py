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
from .estimators.approximator import DistanceApproximator
from .estimators.regressor import DistanceRegressor
from .grids import Grid
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
    "NotSupportedError",
    "Semimetric",
    "SemimetricError",
    "SemimetricWarning",
    "StorageError",
    "load",
]
