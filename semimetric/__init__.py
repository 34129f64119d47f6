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
from .neighbors.sharded import ShardedIndex
from .neighbors.transformer import SemimetricNeighborsTransformer
from .persistence import load
from .programs import Absolute, Hinge, Huber, Lasso, Linear, Ridge, Roughness, Shift, Squared, SquaredHinge
from .schema import Schema
from .solvers import FirstOrder, Gram, InteriorPoint, Newton, Reference

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
    "Hinge",
    "Huber",
    "InputError",
    "InteriorPoint",
    "LargeMarginLearner",
    "Lasso",
    "Linear",
    "MissingExtraError",
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
    "ShardedIndex",
    "Shift",
    "Squared",
    "SquaredHinge",
    "StorageError",
    "TripletLearner",
    "load",
]
