"""What other packages call what this one has: for the message where someone types their name here."""

__all__ = ["NAMES_ELSEWHERE", "name_here"]

NAMES_ELSEWHERE = {
    "LMNN": "LargeMarginLearner",
    "NCA": 'LargeMarginLearner(directions="nca")',
    "LFDA": 'LargeMarginLearner(directions="lda")',
    "MLKR": "SemimetricRegressor",
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


def name_here(name: str) -> str:
    """The sentence that says what serves for a name of metric-learn; empty if it is none of its names."""
    if name not in NAMES_ELSEWHERE:
        return ""
    return f"did you mean {NAMES_ELSEWHERE[name]}? {name} is a name of metric-learn, see docs/coming_from_metric_learn.md"
