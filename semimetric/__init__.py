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
from .estimators.classifier import SemimetricClassifier, SemimetricRegressor
from .estimators.large_margin import LargeMarginLearner
from .estimators.pair_learner import PairLearner
from .estimators.quadruplet_learner import QuadrupletLearner
from .estimators.regressor import DistanceRegressor
from .estimators.triplet_learner import TripletLearner
from .grids import Grid
from .neighbors.index import NeighborIndex
from .neighbors.transformer import SemimetricNeighborsTransformer
from .persistence import load
from .programs import (
    Absolute,
    AtLeast,
    AtMost,
    Bounded,
    Concave,
    Hinge,
    Huber,
    Lasso,
    Linear,
    Monotone,
    Ridge,
    Roughness,
    Shift,
    Squared,
    SquaredHinge,
    TranslationInvariant,
)
from .repairs import metric_repair
from .schema import Schema
from .solvers import CuttingPlane, FirstOrder, Gram, InteriorPoint, Newton, Reference, Splitting

__version__ = package_version()

__all__ = [
    "Absolute",
    "AtLeast",
    "AtMost",
    "Axioms",
    "Bounded",
    "Concave",
    "ConvergenceWarning",
    "CuttingPlane",
    "DistanceApproximator",
    "DistanceCallError",
    "DistanceRegressor",
    "EvenDirections",
    "FirstOrder",
    "Gram",
    "Grid",
    "Hinge",
    "HistogramFeatures",
    "Huber",
    "InputError",
    "InteriorPoint",
    "LargeMarginLearner",
    "Lasso",
    "Linear",
    "MissingExtraError",
    "Monotone",
    "NeighborIndex",
    "Newton",
    "NotSupportedError",
    "PairEmbedding",
    "PairLearner",
    "QuadrupletLearner",
    "Reference",
    "Ridge",
    "Roughness",
    "Schema",
    "Semimetric",
    "SemimetricClassifier",
    "SemimetricError",
    "SemimetricNeighborsTransformer",
    "SemimetricRegressor",
    "SemimetricWarning",
    "Shift",
    "Splitting",
    "Squared",
    "SquaredHinge",
    "StorageError",
    "TranslationInvariant",
    "TripletLearner",
    "load",
    "metric_repair",
]
