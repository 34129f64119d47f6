"""How far is looked for what is "auto": what ``effort=`` means, which docs/effort.md shows as one table.

The loss on items held out tells neighbouring settings apart only by chance, so that looking further gains little: on 32 splits
of 17 small labelled tables, five folds chose no worse than ten (errors differed by -0.0009 +- 0.0015, in 2 choices). "fast" is
for a first look, "thorough" for a last one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from .._foundation.storable import storable

__all__ = [
    "BESIDE",
    "COMPARISONS",
    "DISTANCES",
    "EFFORTS",
    "LABELS",
    "WIDE_DISTANCES",
    "Judged",
    "Limits",
    "distance_limits",
    "wide",
]

EFFORTS = ("fast", "default", "thorough")


@dataclass(frozen=True)
class Limits:
    """What a kind of learning compares at one effort, and by how much.

    Parameters
    ----------
    n_knots : mapping of str to tuple of int
        Numbers of knots, in the order in which they are preferred, by the kind of columns.
    alphas : mapping of str to tuple of float
        Strengths of the penalty, in the same way.
    n_folds : int
    n_rows : int
        The most items, pairs or tuples that the folds divide; of more a sample is drawn.
    n_columns : mapping of str to int
        The most weights of a candidate, by the kind of tables; wider ones are not compared.
    n_repeats : int, default 1
        How often small tables of labelled items are divided into folds.
    n_passes : int, default 1
        The most passes of a candidate for labelled items.
    """

    n_knots: Mapping[str, tuple[int, ...]]
    alphas: Mapping[str, tuple[float, ...]]
    n_folds: int
    n_rows: int
    n_columns: Mapping[str, int]
    n_repeats: int = 1
    n_passes: int = 1


BESIDE = "full beside warped"


def _same(value: tuple[float, ...], beside: tuple[float, ...] | None = None) -> Mapping[str, tuple[float, ...]]:
    """The same strengths for both kinds of tables, and others for full ones that are compared beside scales."""
    return MappingProxyType({"full": value, "warped": value} | ({} if beside is None else {BESIDE: beside}))


# Of labelled items the columns are scales ("warped"), tables of numbers that may be missing or are periodic ("tables"), either
# of them with combined directions, and full tables. The first number of knots is as good or better on most tables (measured).
_LABEL_COLUMNS = MappingProxyType({"warped": 1_600, "full": 600})
LABELS = {
    "fast": Limits(
        {"warped": (16,), "tables": (8,), "combined": (6,), "combined tables": (3,), "full": ()},
        {"warped": (1e-2,), "tables": (1e-1, 1e-2)},
        n_folds=3, n_rows=500, n_columns=_LABEL_COLUMNS,
    ),
    "default": Limits(
        {"warped": (16, 6), "tables": (8, 5), "combined": (6,), "combined tables": (3,), "full": (5,)},
        {"warped": (1e-2, 1e-3), "tables": (1e-1, 1e-2, 1e-3)},
        n_folds=5, n_rows=1_000, n_columns=_LABEL_COLUMNS, n_passes=2,
    ),
    "thorough": Limits(
        {"warped": (16, 6, 10, 4), "tables": (8, 5, 12, 3), "combined": (6, 10), "combined tables": (5, 3), "full": (5, 8)},
        {"warped": (1e-1, 1e-2, 1e-3, 1e-4), "tables": (1e-1, 1e-2, 1e-3, 1e-4)},
        n_folds=5, n_rows=3_000, n_columns={"warped": 3_000, "full": 1_600}, n_repeats=3, n_passes=3,
    ),
}  # fmt: skip

# Of triplets, quadruplets and judged pairs each fold draws its own sample, on either side. With tables="auto" full tables are
# compared beside scales, at fewer settings, because each takes longer.
_COMPARISON_ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
COMPARISONS = {
    "fast": Limits(
        {"full": (3, 6), "warped": (2, 8), BESIDE: (6,)},
        _same((1e-4, 1e-3, 1e-2), (1e-4,)),
        n_folds=2, n_rows=2_000, n_columns={"full": 1_500, "warped": 1_500},
    ),
    "default": Limits(
        {"full": (3, 4, 6, 8), "warped": (2, 4, 8, 16), BESIDE: (6, 10)},
        _same(_COMPARISON_ALPHAS, (1e-5, 1e-4, 1e-3)),
        n_folds=4, n_rows=4_000, n_columns={"full": 1_500, "warped": 1_500},
    ),
    "thorough": Limits(
        {"full": (2, 3, 4, 6, 8, 12), "warped": (2, 3, 4, 6, 8, 12, 16, 24), BESIDE: (4, 6, 10, 16)},
        _same((1e-6, *_COMPARISON_ALPHAS, 1.0), (1e-6, 1e-5, 1e-4, 1e-3)),
        n_folds=8, n_rows=16_000, n_columns={"full": 3_000, "warped": 3_000},
    ),
}  # fmt: skip

_DISTANCE_ALPHAS = (1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2, 1e-1)
DISTANCES = {
    "fast": Limits(
        {"full": (3, 6), "warped": (2, 6)},
        _same((1e-6, 1e-5, 1e-4, 1e-3, 1e-2)),
        n_folds=2, n_rows=5_000, n_columns={"full": 3_000, "warped": 3_000},
    ),
    "default": Limits(
        {"full": (3, 4, 6, 8, 12, 16), "warped": (2, 3, 4, 6, 8, 12)},
        _same(_DISTANCE_ALPHAS),
        n_folds=4, n_rows=20_000, n_columns={"full": 3_000, "warped": 3_000},
    ),
    "thorough": Limits(
        {"full": (3, 4, 6, 8, 12, 16, 24), "warped": (2, 3, 4, 6, 8, 12, 16, 24)},
        _same((*_DISTANCE_ALPHAS, 1.0)),
        n_folds=8, n_rows=100_000, n_columns={"full": 6_000, "warped": 6_000},
    ),
}  # fmt: skip

# Of more than 600 numbers the few hundred that are kept have scales. Fits are large, and little is compared.
WIDE_DISTANCES = {
    "fast": Limits({"warped": (2,)}, _same((1e-5,)), n_folds=2, n_rows=5_000, n_columns={"warped": 3_000}),
    "default": Limits({"warped": (2,)}, _same((1e-6, 1e-5, 1e-4)), n_folds=2, n_rows=20_000, n_columns={"warped": 3_000}),
    "thorough": Limits(
        {"warped": (2, 4, 6)}, _same((1e-7, 1e-6, 1e-5, 1e-4, 1e-3)), n_folds=4, n_rows=100_000, n_columns={"warped": 6_000}
    ),
}


def wide(effort: str) -> str:
    """The effort of a problem whose features were screened, for `distance_limits`."""
    return f"wide {effort}"


def distance_limits(effort: str) -> Limits:
    """What is compared of measured distances at an effort, or at the `wide` form of one."""
    return DISTANCES[effort] if effort in DISTANCES else WIDE_DISTANCES[effort.removeprefix(wide(""))]


@storable
class Judged(NamedTuple):
    """On what candidates were judged, and what it would cost to look further.

    Attributes
    ----------
    rows : str
        What the rows are: "items", "pairs", "triplets" or "quadruplets".
    n_rows : int
        How many rows the folds divide.
    n_all : int
        How many were given.
    n_fits : int
        How many models were fitted for the comparison.
    n_thorough : int
        How many ``effort="thorough"`` would fit.
    """

    rows: str
    n_rows: int
    n_all: int
    n_fits: int
    n_thorough: int

    @property
    def sample(self) -> str:
        """The rows in words."""
        of_all = f"{self.n_all:,} {self.rows}"
        return of_all if self.n_rows >= self.n_all else f"a sample of {self.n_rows:,} of {of_all}"

    @property
    def cost(self) -> str:
        """The fits in words."""
        if self.n_thorough <= self.n_fits:
            return f"{self.n_fits} fits"
        return f'{self.n_fits} fits; effort="thorough" makes {self.n_thorough}'
