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
from .classifiers.boundary import BoundaryPoints
from .classifiers.dplm import DPLMClassifier
from .classifiers.support import SupportPointClassifier
from .distance import Semimetric
from .embeddings.conic import ConicEmbedding
from .embeddings.directions import EvenDirections
from .embeddings.groups import AutoGroups, JointGroups
from .embeddings.histograms import HistogramFeatures
from .embeddings.orthogonal import FourierEmbedding, HermiteEmbedding
from .embeddings.pairs import PairEmbedding
from .embeddings.piecewise import PL1Embedding, PL2Embedding
from .embeddings.simplices import IDEmbedding
from .embeddings.splines import BSplineEmbedding
from .estimators.approximator import DistanceApproximator
from .estimators.classifier import SemimetricClassifier, SemimetricRegressor
from .estimators.embedded_classifier import EmbeddedLinearClassifier
from .estimators.embedded_regressor import EmbeddedLinearRegressor
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
    "AutoGroups",
    "Axioms",
    "BSplineEmbedding",
    "BoundaryPoints",
    "Bounded",
    "Concave",
    "ConicEmbedding",
    "ConvergenceWarning",
    "CuttingPlane",
    "DPLMClassifier",
    "DistanceApproximator",
    "DistanceCallError",
    "DistanceRegressor",
    "EmbeddedLinearClassifier",
    "EmbeddedLinearRegressor",
    "EvenDirections",
    "FirstOrder",
    "FourierEmbedding",
    "Gram",
    "Grid",
    "HermiteEmbedding",
    "Hinge",
    "HistogramFeatures",
    "Huber",
    "IDEmbedding",
    "InputError",
    "InteriorPoint",
    "JointGroups",
    "LargeMarginLearner",
    "Lasso",
    "Linear",
    "MissingExtraError",
    "Monotone",
    "NeighborIndex",
    "Newton",
    "NotSupportedError",
    "PL1Embedding",
    "PL2Embedding",
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
    "Splitting",
    "Squared",
    "SquaredHinge",
    "StorageError",
    "SupportPointClassifier",
    "TranslationInvariant",
    "TripletLearner",
    "load",
    "metric_repair",
]
