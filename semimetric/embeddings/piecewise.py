"""Piecewise-linear embeddings of single features and of pairs of features (paper 0, section 3).

    PL1  f(x) = sum_n f_n(x_n)                                f_n linear between the knots of feature n
    PL2  f(x) = sum_n f_n(x_n) + sum_{n,l} f_{n,l}(x_n, x_l)  f_{n,l} linear on the two triangles of every cell of the grid

Example: knots (0, 1, 4) write 2.5 as half of vertex 1 and half of vertex 2.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import check_choice
from .._errors import InputError
from .._kernels.vectors import Axes, write_singles
from .._types import ArrayLike, Floats
from ..grids import Grid
from ..knots import STRATEGIES, knot_counts, place_knots
from ..schema import Schema
from .maps import Chunk, FeatureMap, Term

__all__ = ["PL1Embedding"]

_EXTRAPOLATION = ("clip", "linear", "error")
_MOST_KNOTS = 65_534  # with a level for missing values, as many vertices as a grid can have


class PL1Embedding(FeatureMap):
    """Every feature as its two nearest knots (paper 0, Alg. 1).

    Parameters
    ----------
    n_knots : int or one int a feature, each >= 2
        The most knots of a feature.
    knots : {"kmeans", "quantile", "uniform"} or sequence of array-like
    extrapolation : {"clip", "linear", "error"}
    missing : {"error", "zeros", "indicator"}
    dtype : float64 or float32
    sparse_output : bool
    n_jobs : int or None
    random_state : int or None
    """

    def __init__(
        self,
        n_knots: int | Sequence[int] = 8,
        *,
        knots: str | Sequence[ArrayLike] = "kmeans",
        extrapolation: str = "clip",
        missing: str = "error",
        zero_preserving: bool = False,
        dtype: Any = np.float64,
        sparse_output: bool = True,
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_knots = n_knots
        self.knots = knots
        self.extrapolation = extrapolation
        self.missing = missing
        self.zero_preserving = zero_preserving
        self.dtype = dtype
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, items: Floats | sparse.csr_array, y: ArrayLike | None) -> None:
        check_choice("extrapolation", self.extrapolation, _EXTRAPOLATION)
        if items.shape[0] < 2:
            raise InputError("X has 1 sample; at least 2 are required to place knots: give more rows")
        names = self.feature_names
        if isinstance(self.knots, str):
            check_choice("knots", self.knots, STRATEGIES)
            counts = knot_counts(self.n_knots, items.shape[1], _MOST_KNOTS)
            knots = place_knots(items, Schema.numeric(names), counts, self.knots, self.random_state)
        else:
            knots = [np.asarray(k, np.float64) for k in self.knots]
        self.grid_ = Grid(knots, missing=[self.missing == "indicator"] * len(knots))
        self._lay_out()

    def _lay_out(self) -> None:
        sizes = self.grid_.sizes
        ends = np.cumsum(sizes)
        place = [np.append(np.arange(s), [-1] * (c + 1 - s)) for c, s in zip(self.grid_.counts, sizes, strict=True)]
        self._axes = Axes(self.grid_.flat, self.grid_.starts, np.concatenate(place), sizes, ends - sizes)
        self.n_columns_ = int(ends[-1])
        self.terms_ = tuple(
            Term((f,), int(stop - size), int(stop)) for f, (stop, size) in enumerate(zip(ends, sizes, strict=True))
        )

    @property
    def most_nonzeros(self) -> int:
        return 2 * self.n_features_in_

    def write(self, items: Floats, out: Chunk) -> None:
        write_singles(items, self._axes, self.extrapolation == "linear", out)

    @property
    def names(self) -> list[str]:
        labels = [
            _labels(knots) + ["missing"] * bool(gone) for knots, gone in zip(self.grid_.knots, self.grid_.missing, strict=True)
        ]
        return [f"{name}@{label}" for name, part in zip(self.feature_names, labels, strict=True) for label in part]


def _labels(knots: Floats) -> list[str]:
    """Knots in as few digits, from 3 on, as tell them apart."""
    for digits in range(3, 18):
        labels = [f"{k:.{digits}g}" for k in knots]
        if len(set(labels)) == len(labels):
            break
    return labels
