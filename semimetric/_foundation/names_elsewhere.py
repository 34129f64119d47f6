"""Names of other packages, and which of ours does the same or takes its place: for those who type them here."""

__all__ = ["NAMES_ELSEWHERE"]

_METRIC_LEARN = {
    "LMNN": "LargeMarginLearner",
    "NCA": 'LargeMarginLearner(directions="nca")',
    "LFDA": 'LargeMarginLearner(directions="lda")',
    "MLKR": "KernelRegressionLearner",
    "ITML": "PairLearner",
    "MMC": "PairLearner",
    "SDML": "PairLearner",
    "RCA": "PairLearner",
    "SCML": "TripletLearner",
    "LSML": "QuadrupletLearner",
} | dict.fromkeys(
    ("ITML_Supervised", "MMC_Supervised", "SDML_Supervised", "RCA_Supervised", "SCML_Supervised", "LSML_Supervised"),
    "LargeMarginLearner",
)

_SCIKIT_LEARN = {
    "KNeighborsClassifier": "SemimetricClassifier",
    "RadiusNeighborsClassifier": "SemimetricClassifier",
    "KNeighborsRegressor": "SemimetricRegressor",
    "RadiusNeighborsRegressor": "SemimetricRegressor",
    "KNeighborsTransformer": "SemimetricNeighborsTransformer",
    "RadiusNeighborsTransformer": "SemimetricNeighborsTransformer",
    "NearestNeighbors": "NeighborIndex",
    "BallTree": "NeighborIndex",
    "KDTree": "NeighborIndex",
    "NeighborhoodComponentsAnalysis": 'LargeMarginLearner(directions="nca")',
    "LocalOutlierFactor": "SemimetricOutlierDetector",
    "KNNImputer": "SemimetricImputer",
    "SplineTransformer": "BSplineEmbedding",
    "PolynomialFeatures": "PL2Embedding",
}

_FAISS = dict.fromkeys(
    ("IndexFlat", "IndexFlatL2", "IndexIDMap", "IndexIDMap2", "IndexIVFFlat", "IndexIVFPQ", "IndexPQ", "IndexScalarQuantizer"),
    "NeighborIndex",
) | {"IndexRefine": "FilterRefineIndex", "IndexRefineFlat": "FilterRefineIndex", "IndexShards": "ShardedIndex"}

_OTHERS = {
    "NNDescent": "NeighborIndex",  # pynndescent
    "emd2": "EarthMoversDistance",  # POT
    "KMedoids": "SemimetricClusterer",
    "ExplainableBoostingClassifier": "EmbeddedLinearClassifier",  # InterpretML
    "ExplainableBoostingRegressor": "EmbeddedLinearRegressor",
    "APLRClassifier": "EmbeddedLinearClassifier",
    "APLRRegressor": "EmbeddedLinearRegressor",
}

NAMES_ELSEWHERE = _METRIC_LEARN | _SCIKIT_LEARN | _FAISS | _OTHERS
"""Of names of other packages, the name here, with parameters where it takes some to be alike."""
