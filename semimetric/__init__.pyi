from . import datasets as datasets
from . import distances as distances
from . import out_of_core as out_of_core
from . import persistence as persistence
from . import plotting as plotting
from . import vectors as vectors
from ._foundation.errors import ClusterError as ClusterError
from ._foundation.errors import ConvergenceWarning as ConvergenceWarning
from ._foundation.errors import DistanceCallError as DistanceCallError
from ._foundation.errors import InputError as InputError
from ._foundation.errors import MissingExtraError as MissingExtraError
from ._foundation.errors import NotSupportedError as NotSupportedError
from ._foundation.errors import SemimetricError as SemimetricError
from ._foundation.errors import SemimetricWarning as SemimetricWarning
from ._foundation.errors import StorageError as StorageError
from .data.feature_groups import AutoGroups as AutoGroups
from .data.feature_groups import JointGroups as JointGroups
from .data.grid import Grid as Grid
from .data.schema import Schema as Schema
from .distances.estimators.approximator import DistanceApproximator as DistanceApproximator
from .distances.estimators.classifier import SemimetricClassifier as SemimetricClassifier
from .distances.estimators.clusterer import SemimetricClusterer as SemimetricClusterer
from .distances.estimators.imputer import SemimetricImputer as SemimetricImputer
from .distances.estimators.kernel_ridge_learner import KernelRidgeLearner as KernelRidgeLearner
from .distances.estimators.large_margin_learner import LargeMarginLearner as LargeMarginLearner
from .distances.estimators.neighbor_regressor import SemimetricRegressor as SemimetricRegressor
from .distances.estimators.outlier_detector import SemimetricOutlierDetector as SemimetricOutlierDetector
from .distances.estimators.pair_learner import PairLearner as PairLearner
from .distances.estimators.quadruplet_learner import QuadrupletLearner as QuadrupletLearner
from .distances.estimators.regressor import DistanceRegressor as DistanceRegressor
from .distances.estimators.transformer import SemimetricNeighborsTransformer as SemimetricNeighborsTransformer
from .distances.estimators.triplet_learner import TripletLearner as TripletLearner
from .distances.features.histograms import HistogramFeatures as HistogramFeatures
from .distances.features.landmarks import LandmarkFeatures as LandmarkFeatures
from .distances.features.partition_features import PartitionFeatures as PartitionFeatures
from .distances.features.partitions import Partitions as Partitions
from .distances.features.point_clouds import PointCloudFeatures as PointCloudFeatures
from .distances.features.series import SeriesFeatures as SeriesFeatures
from .distances.features.strings import StringFeatures as StringFeatures
from .distances.features.uniform_directions import UniformDirections as UniformDirections
from .distances.learning.concave_link import calibrate_distance as calibrate_distance
from .distances.learning.metric_repair import metric_repair as metric_repair
from .distances.learning.settings import Columns as Columns
from .distances.learning.settings import Program as Program
from .distances.learning.settings import Tables as Tables
from .distances.learning.settings import Triplets as Triplets
from .distances.model.axioms import Axioms as Axioms
from .distances.model.links import ConcaveLink as ConcaveLink
from .distances.model.links import PowerLink as PowerLink
from .distances.model.semimetric import Semimetric as Semimetric
from .distances.model.semimetric import gower as gower
from .distances.pairs.full_tables import PairEmbedding as PairEmbedding
from .distances.programs.constraints import AtLeast as AtLeast
from .distances.programs.constraints import AtMost as AtMost
from .distances.programs.constraints import Bounded as Bounded
from .distances.programs.constraints import Concave as Concave
from .distances.programs.constraints import Monotone as Monotone
from .distances.programs.constraints import TranslationInvariant as TranslationInvariant
from .distances.programs.losses import Absolute as Absolute
from .distances.programs.losses import Hinge as Hinge
from .distances.programs.losses import Huber as Huber
from .distances.programs.losses import Squared as Squared
from .distances.programs.losses import SquaredHinge as SquaredHinge
from .distances.programs.penalties import Lasso as Lasso
from .distances.programs.penalties import Linear as Linear
from .distances.programs.penalties import Ridge as Ridge
from .distances.programs.penalties import Roughness as Roughness
from .distances.programs.penalties import Shift as Shift
from .distances.search.bounds import BoundedDistance as BoundedDistance
from .distances.search.edits import EditBounds as EditBounds
from .distances.search.filter_refine import FilterRefineIndex as FilterRefineIndex
from .distances.search.index import NeighborIndex as NeighborIndex
from .distances.search.join import nearest_join as nearest_join
from .distances.search.landmarks import LandmarkBounds as LandmarkBounds
from .distances.search.point_clouds import PointCloudBounds as PointCloudBounds
from .distances.search.point_clouds import PointCloudDistance as PointCloudDistance
from .distances.search.sharded import ShardedIndex as ShardedIndex
from .distances.search.transport import EarthMoversDistance as EarthMoversDistance
from .distances.search.transport import TransportBounds as TransportBounds
from .distances.search.warping import DynamicTimeWarping as DynamicTimeWarping
from .distances.search.warping import ElasticBounds as ElasticBounds
from .distances.search.warping import ElasticDistance as ElasticDistance
from .distances.solvers.cutting_plane import CuttingPlane as CuttingPlane
from .distances.solvers.first_order import FirstOrder as FirstOrder
from .distances.solvers.gram import Gram as Gram
from .distances.solvers.interior_point import InteriorPoint as InteriorPoint
from .distances.solvers.newton import Newton as Newton
from .distances.solvers.reference import Reference as Reference
from .distances.solvers.splitting import Splitting as Splitting
from .exports.sql import SqlDistance as SqlDistance
from .persistence import load as load
from .reports.build import report as report
from .reports.report import Report as Report
from .vectors.embeddings.conic import ConicEmbedding as ConicEmbedding
from .vectors.embeddings.homogeneous_kernels import AdditiveChi2Embedding as AdditiveChi2Embedding
from .vectors.embeddings.interpolated import IDEmbedding as IDEmbedding
from .vectors.embeddings.orthogonal import FourierEmbedding as FourierEmbedding
from .vectors.embeddings.orthogonal import HermiteEmbedding as HermiteEmbedding
from .vectors.embeddings.piecewise import PL1Embedding as PL1Embedding
from .vectors.embeddings.piecewise import PL2Embedding as PL2Embedding
from .vectors.embeddings.splines import BSplineEmbedding as BSplineEmbedding
from .vectors.machines.classifier import EmbeddedLinearClassifier as EmbeddedLinearClassifier
from .vectors.machines.regressor import EmbeddedLinearRegressor as EmbeddedLinearRegressor
from .vectors.pieces.boundary_points import BoundaryPoints as BoundaryPoints
from .vectors.pieces.dplm import DPLMClassifier as DPLMClassifier
from .vectors.pieces.gibbs_chains import GibbsChains as GibbsChains
from .vectors.pieces.hyperplane_mixture import HyperplaneMixture as HyperplaneMixture
from .vectors.pieces.support_point_classifier import SupportPointClassifier as SupportPointClassifier

__version__: str

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
    "Columns",
    "Concave",
    "ConcaveLink",
    "ConicEmbedding",
    "ConvergenceWarning",
    "CuttingPlane",
    "DPLMClassifier",
    "DistanceApproximator",
    "DistanceCallError",
    "DistanceRegressor",
    "DynamicTimeWarping",
    "EarthMoversDistance",
    "EditBounds",
    "ElasticBounds",
    "ElasticDistance",
    "EmbeddedLinearClassifier",
    "EmbeddedLinearRegressor",
    "FilterRefineIndex",
    "FirstOrder",
    "FourierEmbedding",
    "GibbsChains",
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
    "KernelRidgeLearner",
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
    "PointCloudBounds",
    "PointCloudDistance",
    "PointCloudFeatures",
    "PowerLink",
    "Program",
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
    "SqlDistance",
    "Squared",
    "SquaredHinge",
    "StorageError",
    "StringFeatures",
    "SupportPointClassifier",
    "Tables",
    "TranslationInvariant",
    "TransportBounds",
    "TripletLearner",
    "Triplets",
    "UniformDirections",
    "calibrate_distance",
    "gower",
    "load",
    "metric_repair",
    "nearest_join",
    "report",
]
