"""The classes of metric-learn, and which of ours learns from the same data: for those who type their names here."""

__all__ = ["NAMES_ELSEWHERE"]

NAMES_ELSEWHERE = {
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
