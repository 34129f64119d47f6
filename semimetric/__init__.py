"""semimetric: learn any distance, with guarantees, by convex programs.

Names are imported from the modules that define them when they are first used, so that the command line answers at once.
"""

from typing import TYPE_CHECKING

from ._foundation.lazy_names import lazy_names
from ._foundation.names_elsewhere import NAMES_ELSEWHERE
from ._foundation.package_version import package_version

if TYPE_CHECKING:
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
    from .bounds.bounded_distance import BoundedDistance
    from .bounds.earth_movers_distance import EarthMoversDistance
    from .bounds.edits import EditBounds
    from .bounds.landmarks import LandmarkBounds
    from .bounds.transport import TransportBounds
    from .clustering.clusterer import SemimetricClusterer
    from .data.feature_groups import AutoGroups, JointGroups
    from .data.grid import Grid
    from .data.schema import Schema
    from .distances.axioms import Axioms
    from .distances.links import ConcaveLink, PowerLink
    from .distances.semimetric import Semimetric, gower
    from .embeddings.directions.even_directions import EvenDirections
    from .embeddings.directions.histograms import HistogramFeatures
    from .embeddings.directions.partition_features import PartitionFeatures
    from .embeddings.directions.partitions import Partitions
    from .embeddings.pairs.full_tables import PairEmbedding
    from .embeddings.vectors.conic import ConicEmbedding
    from .embeddings.vectors.homogeneous_kernels import AdditiveChi2Embedding
    from .embeddings.vectors.interpolated import IDEmbedding
    from .embeddings.vectors.orthogonal import FourierEmbedding, HermiteEmbedding
    from .embeddings.vectors.piecewise import PL1Embedding, PL2Embedding
    from .embeddings.vectors.splines import BSplineEmbedding
    from .estimators.approximator import DistanceApproximator
    from .estimators.kernel_regression_learner import KernelRegressionLearner
    from .estimators.large_margin_learner import LargeMarginLearner
    from .estimators.neighbor_regressor import SemimetricRegressor
    from .estimators.neighbor_votes import SemimetricClassifier
    from .estimators.pair_learner import PairLearner
    from .estimators.quadruplet_learner import QuadrupletLearner
    from .estimators.regressor import DistanceRegressor
    from .estimators.triplet_learner import TripletLearner
    from .learning.metric_repair import metric_repair
    from .learning.regression.calibrated_distance import calibrate_distance
    from .linear_models.classifier import EmbeddedLinearClassifier
    from .linear_models.pieces.boundary_points import BoundaryPoints
    from .linear_models.pieces.dplm import DPLMClassifier
    from .linear_models.pieces.hyperplane_mixture import HyperplaneMixture
    from .linear_models.pieces.support_point_classifier import SupportPointClassifier
    from .linear_models.regressor import EmbeddedLinearRegressor
    from .neighbors.filter_refine_index import FilterRefineIndex
    from .neighbors.imputer import SemimetricImputer
    from .neighbors.index import NeighborIndex
    from .neighbors.outlier_detector import SemimetricOutlierDetector
    from .neighbors.sharded.sharded_index import ShardedIndex
    from .neighbors.transformer import SemimetricNeighborsTransformer
    from .objects.landmarks import LandmarkFeatures
    from .objects.point_clouds import PointCloudFeatures
    from .objects.series import SeriesFeatures
    from .objects.strings import StringFeatures
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
    from .reports.build import report
    from .reports.report import Report
    from .solvers import CuttingPlane, FirstOrder, Gram, InteriorPoint, Newton, Reference, Splitting

__version__ = package_version()

__all__ = [
    "Absolute",
    "AdditiveChi2Embedding",
    "AtLeast",
    "AtMost",
    "AutoGroups",
    "Axioms",
    "BSplineEmbedding",
    "BoundaryPoints",
    "Bounded",
    "BoundedDistance",
    "ClusterError",
    "Concave",
    "ConcaveLink",
    "ConicEmbedding",
    "ConvergenceWarning",
    "CuttingPlane",
    "DPLMClassifier",
    "DistanceApproximator",
    "DistanceCallError",
    "DistanceRegressor",
    "EarthMoversDistance",
    "EditBounds",
    "EmbeddedLinearClassifier",
    "EmbeddedLinearRegressor",
    "EvenDirections",
    "FilterRefineIndex",
    "FirstOrder",
    "FourierEmbedding",
    "Gram",
    "Grid",
    "HermiteEmbedding",
    "Hinge",
    "HistogramFeatures",
    "Huber",
    "HyperplaneMixture",
    "IDEmbedding",
    "InputError",
    "InteriorPoint",
    "JointGroups",
    "KernelRegressionLearner",
    "LandmarkBounds",
    "LandmarkFeatures",
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
    "PartitionFeatures",
    "Partitions",
    "PointCloudFeatures",
    "PowerLink",
    "QuadrupletLearner",
    "Reference",
    "Report",
    "Ridge",
    "Roughness",
    "Schema",
    "Semimetric",
    "SemimetricClassifier",
    "SemimetricClusterer",
    "SemimetricError",
    "SemimetricImputer",
    "SemimetricNeighborsTransformer",
    "SemimetricOutlierDetector",
    "SemimetricRegressor",
    "SemimetricWarning",
    "SeriesFeatures",
    "ShardedIndex",
    "Shift",
    "Splitting",
    "Squared",
    "SquaredHinge",
    "StorageError",
    "StringFeatures",
    "SupportPointClassifier",
    "TranslationInvariant",
    "TransportBounds",
    "TripletLearner",
    "calibrate_distance",
    "gower",
    "load",
    "metric_repair",
    "report",
]

_HOMES = {
    "_foundation.errors": (
        "ClusterError ConvergenceWarning DistanceCallError InputError MissingExtraError NotSupportedError "
        "SemimetricError SemimetricWarning StorageError"
    ),
    "clustering.clusterer": "SemimetricClusterer",
    "bounds.bounded_distance": "BoundedDistance",
    "bounds.earth_movers_distance": "EarthMoversDistance",
    "bounds.edits": "EditBounds",
    "bounds.landmarks": "LandmarkBounds",
    "bounds.transport": "TransportBounds",
    "data.feature_groups": "AutoGroups JointGroups",
    "data.grid": "Grid",
    "data.schema": "Schema",
    "distances.axioms": "Axioms",
    "distances.links": "ConcaveLink PowerLink",
    "distances.semimetric": "Semimetric gower",
    "embeddings.directions.even_directions": "EvenDirections",
    "embeddings.directions.histograms": "HistogramFeatures",
    "embeddings.directions.partition_features": "PartitionFeatures",
    "embeddings.directions.partitions": "Partitions",
    "embeddings.pairs.full_tables": "PairEmbedding",
    "embeddings.vectors.conic": "ConicEmbedding",
    "embeddings.vectors.homogeneous_kernels": "AdditiveChi2Embedding",
    "embeddings.vectors.interpolated": "IDEmbedding",
    "embeddings.vectors.orthogonal": "FourierEmbedding HermiteEmbedding",
    "embeddings.vectors.piecewise": "PL1Embedding PL2Embedding",
    "embeddings.vectors.splines": "BSplineEmbedding",
    "estimators.approximator": "DistanceApproximator",
    "estimators.kernel_regression_learner": "KernelRegressionLearner",
    "estimators.large_margin_learner": "LargeMarginLearner",
    "estimators.neighbor_regressor": "SemimetricRegressor",
    "estimators.neighbor_votes": "SemimetricClassifier",
    "estimators.pair_learner": "PairLearner",
    "estimators.quadruplet_learner": "QuadrupletLearner",
    "estimators.regressor": "DistanceRegressor",
    "estimators.triplet_learner": "TripletLearner",
    "learning.metric_repair": "metric_repair",
    "learning.regression.calibrated_distance": "calibrate_distance",
    "linear_models.classifier": "EmbeddedLinearClassifier",
    "linear_models.pieces.boundary_points": "BoundaryPoints",
    "linear_models.pieces.dplm": "DPLMClassifier",
    "linear_models.pieces.hyperplane_mixture": "HyperplaneMixture",
    "linear_models.pieces.support_point_classifier": "SupportPointClassifier",
    "linear_models.regressor": "EmbeddedLinearRegressor",
    "neighbors.filter_refine_index": "FilterRefineIndex",
    "neighbors.imputer": "SemimetricImputer",
    "neighbors.index": "NeighborIndex",
    "neighbors.outlier_detector": "SemimetricOutlierDetector",
    "neighbors.sharded.sharded_index": "ShardedIndex",
    "neighbors.transformer": "SemimetricNeighborsTransformer",
    "objects.landmarks": "LandmarkFeatures",
    "objects.point_clouds": "PointCloudFeatures",
    "objects.series": "SeriesFeatures",
    "objects.strings": "StringFeatures",
    "persistence": "load",
    "programs": (
        "Absolute AtLeast AtMost Bounded Concave Hinge Huber Lasso Linear Monotone Ridge Roughness Shift Squared "
        "SquaredHinge TranslationInvariant"
    ),
    "reports.build": "report",
    "reports.report": "Report",
    "solvers": "CuttingPlane FirstOrder Gram InteriorPoint Newton Reference Splitting",
}
_ROOMS = (
    "datasets",
    "distributed",
    "embeddings",
    "linear_models",
    "out_of_core",
    "persistence",
    "plotting",
    "programs",
    "solvers",
)
if not TYPE_CHECKING:  # where it is, the imports above say where each name is defined; the table says the same when running
    __getattr__, __dir__ = lazy_names(__name__, _HOMES, _ROOMS, NAMES_ELSEWHERE)
