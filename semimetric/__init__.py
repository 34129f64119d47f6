"""semimetric: learn any distance, with guarantees, by convex programs."""

from ._foundation.errors import (
    ClusterError,
    ConvergenceWarning,
    DistanceCallError,
    InputError,
    MissingExtraError,
    NotSupportedError,
    SemimetricError,
    SemimetricWarning,
    StorageError,
)
from ._foundation.storage import package_version
from .data.feature_groups import AutoGroups, JointGroups
from .data.grid import Grid
from .data.schema import Schema
from .distances.axioms import Axioms
from .distances.semimetric import Semimetric
from .embeddings.directions.histograms import HistogramFeatures
from .embeddings.directions.linear_directions import EvenDirections
from .embeddings.pairs.full_tables import PairEmbedding
from .embeddings.vectors.conic import ConicEmbedding
from .embeddings.vectors.interpolated import IDEmbedding
from .embeddings.vectors.orthogonal import FourierEmbedding, HermiteEmbedding
from .embeddings.vectors.piecewise import PL1Embedding, PL2Embedding
from .embeddings.vectors.splines import BSplineEmbedding
from .estimators.approximator import DistanceApproximator
from .estimators.large_margin_learner import LargeMarginLearner
from .estimators.neighbor_votes import SemimetricClassifier, SemimetricRegressor
from .estimators.pair_learner import PairLearner
from .estimators.quadruplet_learner import QuadrupletLearner
from .estimators.regressor import DistanceRegressor
from .estimators.triplet_learner import TripletLearner
from .learning.metric_repair import metric_repair
from .linear_models.classifier import EmbeddedLinearClassifier
from .linear_models.pieces.boundary_points import BoundaryPoints
from .linear_models.pieces.dplm import DPLMClassifier
from .linear_models.pieces.support_point_classifier import SupportPointClassifier
from .linear_models.regressor import EmbeddedLinearRegressor
from .neighbors.index import NeighborIndex
from .neighbors.sharded.sharded_index import ShardedIndex
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
from .solvers import CuttingPlane, FirstOrder, Gram, InteriorPoint, Newton, Reference, Splitting

__version__ = package_version()
gower = Semimetric.gower

__all__ = [
    "Absolute",
    "AtLeast",
    "AtMost",
    "AutoGroups",
    "Axioms",
    "BSplineEmbedding",
    "BoundaryPoints",
    "Bounded",
    "ClusterError",
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
    "gower",
    "load",
    "metric_repair",
]
