"""semimetric: learn any distance, with guarantees, by convex programs.

Names are imported from the modules that define them when they are first used, so that the command line answers at once.
`__init__.pyi` says the same to type checkers; `tools/write_stubs.py` writes it.
"""

from ._foundation.names import INSTEAD, lazy_names, package_version

__version__ = package_version()

_HOMES = {
    "_foundation.errors": (
        "ClusterError ConvergenceWarning DistanceCallError InputError MissingExtraError NotSupportedError "
        "SemimetricError SemimetricWarning StorageError"
    ),
    "data.feature_groups": "AutoGroups JointGroups",
    "data.grid": "Grid",
    "data.schema": "Schema",
    "distances.estimators.approximator": "DistanceApproximator",
    "distances.estimators.classifier": "SemimetricClassifier",
    "distances.estimators.clusterer": "SemimetricClusterer",
    "distances.estimators.imputer": "SemimetricImputer",
    "distances.estimators.kernel_ridge_learner": "KernelRidgeLearner",
    "distances.estimators.large_margin_learner": "LargeMarginLearner",
    "distances.estimators.neighbor_regressor": "SemimetricRegressor",
    "distances.estimators.outlier_detector": "SemimetricOutlierDetector",
    "distances.estimators.pair_learner": "PairLearner",
    "distances.estimators.quadruplet_learner": "QuadrupletLearner",
    "distances.estimators.regressor": "DistanceRegressor",
    "distances.estimators.transformer": "SemimetricNeighborsTransformer",
    "distances.estimators.triplet_learner": "TripletLearner",
    "distances.features.uniform_directions": "UniformDirections",
    "distances.features.histograms": "HistogramFeatures",
    "distances.features.landmarks": "LandmarkFeatures",
    "distances.features.partition_features": "PartitionFeatures",
    "distances.features.partitions": "Partitions",
    "distances.features.point_clouds": "PointCloudFeatures",
    "distances.features.series": "SeriesFeatures",
    "distances.features.strings": "StringFeatures",
    "distances.learning.concave_link": "calibrate_distance",
    "distances.learning.metric_repair": "metric_repair",
    "distances.learning.settings": "Columns Program Tables Triplets",
    "distances.model.axioms": "Axioms",
    "distances.model.links": "ConcaveLink PowerLink",
    "distances.model.semimetric": "Semimetric gower",
    "distances.pairs.full_tables": "PairEmbedding",
    "distances.programs.constraints": "AtLeast AtMost Bounded Concave Monotone TranslationInvariant",
    "distances.programs.losses": "Absolute Hinge Huber Squared SquaredHinge",
    "distances.programs.penalties": "Lasso Linear Ridge Roughness Shift",
    "distances.search.bounds": "BoundedDistance",
    "distances.search.edits": "EditBounds",
    "distances.search.filter_refine": "FilterRefineIndex",
    "distances.search.index": "NeighborIndex",
    "distances.search.join": "nearest_join",
    "distances.search.landmarks": "LandmarkBounds",
    "distances.search.sharded": "ShardedIndex",
    "distances.search.transport": "EarthMoversDistance TransportBounds",
    "distances.search.point_clouds": "PointCloudBounds PointCloudDistance",
    "distances.search.warping": "DynamicTimeWarping ElasticBounds ElasticDistance",
    "distances.solvers.cutting_plane": "CuttingPlane",
    "distances.solvers.first_order": "FirstOrder",
    "distances.solvers.gram": "Gram",
    "distances.solvers.interior_point": "InteriorPoint",
    "distances.solvers.newton": "Newton",
    "distances.solvers.reference": "Reference",
    "distances.solvers.splitting": "Splitting",
    "exports.sql": "SqlDistance",
    "persistence": "load",
    "reports.build": "report",
    "reports.report": "Report",
    "vectors.embeddings.conic": "ConicEmbedding",
    "vectors.embeddings.homogeneous_kernels": "AdditiveChi2Embedding",
    "vectors.embeddings.interpolated": "IDEmbedding",
    "vectors.embeddings.orthogonal": "FourierEmbedding HermiteEmbedding",
    "vectors.embeddings.piecewise": "PL1Embedding PL2Embedding",
    "vectors.embeddings.splines": "BSplineEmbedding",
    "vectors.machines.classifier": "EmbeddedLinearClassifier",
    "vectors.machines.regressor": "EmbeddedLinearRegressor",
    "vectors.pieces.boundary_points": "BoundaryPoints",
    "vectors.pieces.dplm": "DPLMClassifier",
    "vectors.pieces.gibbs_chains": "GibbsChains",
    "vectors.pieces.hyperplane_mixture": "HyperplaneMixture",
    "vectors.pieces.support_point_classifier": "SupportPointClassifier",
}
_ROOMS = ("datasets", "distances", "out_of_core", "persistence", "plotting", "vectors")
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES, _ROOMS, INSTEAD)
