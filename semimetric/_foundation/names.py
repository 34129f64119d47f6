"""A package whose names are imported from the modules that define them once they are used (PEP 562).

So ``import semimetric`` loads none of the large packages that estimators and indexes stand on.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import SequenceMatcher, get_close_matches
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from os.path import commonprefix
from threading import RLock
from typing import Any

_MOST_COMPARED = 5000  # names that are compared letter by letter
_ONE_AT_A_TIME = RLock()  # threads that import modules of one another deadlock, of which Python makes an error of one of them


def lazy_names(
    package: str, homes: Mapping[str, str], rooms: Iterable[str], instead: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package, from the names that each module in ``homes`` defines.

    ``rooms`` are modules that are attributes; ``instead`` maps names of other packages to ours in error messages.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    public = sorted([*home_of, *rooms])

    def get(name: str) -> Any:
        if name not in public:
            raise AttributeError(_message(package, name, public, instead))
        with _ONE_AT_A_TIME:
            module = import_module(f"{package}.{home_of.get(name, name)}")
        value = getattr(module, name) if name in home_of else module
        setattr(sys.modules[package], name, value)  # so that the next use is not asked here
        return value

    def listed() -> list[str]:
        return sorted({*public, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return sorted(home_of), get, listed


def _message(package: str, name: str, public: list[str], instead: Mapping[str, str]) -> str:
    if name in instead:
        return f"module {package!r} has no attribute {name!r}: did you mean {instead[name]}?"
    similar = get_close_matches(name, public, n=3)
    hint = f"; did you mean {' or '.join(similar)}?" if similar else ""
    return f"module {package!r} has no attribute {name!r}{hint}"


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return ``"; did you mean 'a1' or 'a2'?"`` with up to three known names that are spelt alike; else ""."""
    if not isinstance(name, str):
        return ""
    wanted = name.casefold()
    spelt = {text.casefold(): text for text in known if isinstance(text, str)}
    if len(spelt) > _MOST_COMPARED:
        of_its_kind = (text for text in spelt if text[:1] == wanted[:1] and abs(len(text) - len(wanted)) <= 1)
        spelt = {text: spelt[text] for text in sorted(of_its_kind, key=lambda text: -_begin(text, wanted))[:_MOST_COMPARED]}
    alike = get_close_matches(wanted, spelt, n=30)
    if not alike:
        return ""
    best = SequenceMatcher(None, wanted, alike[0]).ratio()
    near = [text for text in alike if SequenceMatcher(None, wanted, text).ratio() > best - 0.05]
    *first, last = [repr(str(spelt[text])) for text in sorted(near, key=lambda text: (-_begin(text, wanted), text))[:3]]
    return f"; did you mean {', '.join(first)}{' or ' if first else ''}{last}?"


def _begin(text: str, wanted: str) -> int:
    return len(commonprefix([text, wanted]))


_METRIC_LEARN = {
    "LMNN": "LargeMarginLearner",
    "NCA": 'LargeMarginLearner(directions="nca")',
    "LFDA": 'LargeMarginLearner(directions="lda")',
    "MLKR": "KernelRidgeLearner",
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


def package_version() -> str:
    """Return the version of the installed package, or "0+unknown" if it is not installed."""
    try:
        return version("semimetric")
    except PackageNotFoundError:
        return "0+unknown"


RENAMED = {
    "EvenDirections": "UniformDirections",
    "WarpingBounds": "ElasticBounds",
    "distributed": "out_of_core, whose calls take client=",
    "embeddings": "vectors",
    "linear_models": "vectors",
    "programs": "distances",
    "solvers": "distances",
}  # earlier names of ours

INSTEAD = NAMES_ELSEWHERE | RENAMED
