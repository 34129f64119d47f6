"""Embeddings on knots, which are placed by a fit or from a stream, and the columns of their vertices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target

from ..._foundation.arrays import as_floats, check_one_type
from ..._foundation.errors import InputError
from ..._foundation.stored import Stored
from ..._foundation.types import ArrayLike, Floats, Integers, Knots
from ..._foundation.validation import check_choice
from ..._kernels.vector_rows import Axes
from ...data.grid import Grid
from ...data.knots import STRATEGIES, knot_counts, knots_of_values
from .base import FeatureMap, distinct_labels
from .reservoir import Reservoir

_MOST_KNOTS = 65_000  # of a feature; vertices are numbered by uint16 elsewhere


def check_placement(knots: Knots, n_features: int, shared: bool) -> None:
    """Refuse knots that are neither the name of a strategy nor one array for each feature."""
    if isinstance(knots, str):
        check_choice("knots", knots, (*STRATEGIES, "tree"))
    elif len(knots) != n_features:
        raise InputError(f"knots has {len(knots)} arrays for {n_features} features; one a feature is required")
    elif shared and any(not np.array_equal(np.asarray(k), np.asarray(knots[0])) for k in knots):
        raise InputError("knots differ between features, but shared_knots=True; give the same to all, or shared_knots=False")


def place_vectors(
    knots: Knots, n_knots: int | Sequence[int], sample: Reservoir, y: np.ndarray | None, *, names: Sequence[str], shared: bool
) -> list[Floats]:
    """Return the knots of every feature: at most ``n_knots``, from the minimum to the maximum of its values.

    A feature of which a sparse sample stores no value has none; ``y`` has a label for each row of the sample, for trees.
    """
    if not isinstance(knots, str):
        return [as_floats(k, f"knots[{f}]").ravel() for f, k in enumerate(knots)]
    counts = knot_counts(n_knots, len(names), _MOST_KNOTS)
    columns = list(sample.columns())
    for name, (values, _) in zip(names, columns, strict=True):
        if not len(values) and isinstance(sample.rows, np.ndarray):
            raise InputError(f"feature {name!r} has nothing but missing values in the rows of the fit; drop it")
    if shared:
        if len(set(counts.tolist())) > 1:
            raise InputError(f"n_knots={n_knots!r} differ between features, but shared_knots=True; give one number")
        values, rows = (np.concatenate(parts) for parts in zip(*columns, strict=True))
        columns = [(values, rows)]
    placed = [_place(*column, y, int(c), knots) for column, c in zip(columns, counts, strict=False)]
    return placed * (len(names) if shared else 1)


def _place(values: Floats, rows: Integers, y: np.ndarray | None, n_knots: int, knots: str) -> Floats:
    if not len(values):
        return np.empty(0)
    if y is not None and knots == "tree":
        return _tree_knots(values, rows, y, n_knots)
    return knots_of_values(values, n_knots, knots)


def _tree_knots(values: Floats, rows: Integers, y: np.ndarray, n_knots: int) -> Floats:
    """Return the minimum, the maximum, and the thresholds of a decision tree; values of row -1 have no label."""
    ends = np.array([values.min(), values.max()])
    if n_knots == 2 or ends[0] == ends[1]:
        return np.unique(ends)
    labelled = rows >= 0
    make = DecisionTreeRegressor if type_of_target(y).startswith("continuous") else DecisionTreeClassifier
    tree = make(max_leaf_nodes=n_knots - 1, random_state=0).fit(values[labelled, None], y[rows[labelled]]).tree_
    inner = tree.threshold[tree.feature >= 0]
    return np.unique(np.clip(np.append(inner, ends), *ends))


_SLACK = 16.0  # an entry is at most so many times as large as the number of cells beyond the knots, for splines of any degree


def feature_ranges(items: Floats, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the least and greatest value of every feature, each (n_features,); NaN if all values are missing."""
    low, high = np.fmin.reduce(items, axis=0), np.fmax.reduce(items, axis=0)
    with np.errstate(over="ignore"):
        wide = np.isinf(high - low)
    if wide.any():
        f = int(np.flatnonzero(wide)[0])
        raise InputError(f"feature {names[f]!r} runs from {low[f]:g} to {high[f]:g}, which overflows: give it in larger units")
    return low, high


def check_ranges(low: Floats, high: Floats, n_features: int) -> None:
    """Refuse ``low_`` and ``high_`` of a saved embedding that are no ranges of ``n_features`` features."""
    if not low.shape == high.shape == (n_features,):
        raise InputError(f"low_ and high_ have shapes {low.shape} and {high.shape}; ({n_features},) is required")
    with np.errstate(over="ignore", invalid="ignore"):
        known = np.isfinite(low) & np.isfinite(high) & (low <= high) & np.isfinite(high - low)
    if not (known | (np.isnan(low) & np.isnan(high))).all():
        raise InputError("low_ and high_ are not the ranges of features: low_ <= high_, both finite, or both missing")


def check_reach(items: Floats | sparse.csr_array, knots: Sequence[Floats], names: Sequence[str], dtype: DTypeLike) -> None:
    """Refuse values so far from the outer knots that ``extrapolation="linear"`` overflows in ``dtype``."""
    if not items.shape[0]:
        return
    least = _extreme(items, "min")
    most = _extreme(items, "max")
    for f, k in enumerate(knots):
        if len(k) < 2 or not (least[f] < k[0] or most[f] > k[-1]):
            continue
        with np.errstate(over="ignore"):
            cells = max((k[0] - least[f]) / (k[1] - k[0]), (most[f] - k[-1]) / (k[-1] - k[-2]))
        if cells > np.finfo(dtype).max / _SLACK:
            value = least[f] if least[f] < k[0] and k[0] - least[f] >= most[f] - k[-1] else most[f]
            raise InputError(
                f"feature {names[f]!r} has the value {value:g}, too far from its knots, {k[0]:g} to {k[-1]:g}, for "
                f"extrapolation='linear' in {np.dtype(dtype)}: use 'clip', or drop those rows"
            )


def _extreme(items: Floats | sparse.csr_array, name: str) -> Floats:
    """Return the least ("min") or the greatest ("max") value of every feature, ignoring NaN: shape (n_features,)."""
    if isinstance(items, np.ndarray):
        return getattr(np, f"f{name}").reduce(items, axis=0)
    return np.asarray(getattr(items, f"nan{name}")(axis=0).toarray()).ravel()


def _can_stream(embedding: Any) -> bool:
    """Return True if the embedding has `partial_fit`; an AttributeError says why it has not."""
    if embedding.supervised:
        raise AttributeError("what y chooses cannot come from a stream; use fit, or give knots and pairs as lists")
    return True


class KnotMap(FeatureMap):
    """An embedding whose features have knots; `_lay_out` makes its columns from ``grid_``.

    Attributes
    ----------
    grid_ : Grid
        The knots of every feature, ``grid_.knots``, and whether it has a level for missing values.
    reservoir_ : Reservoir
        The sample of rows from which knots are placed; only after `partial_fit`.
    """

    n_knots: int | Sequence[int]
    knots: Knots
    extrapolation: str = "clip"
    shared_knots: bool = False
    random_state: int | None = 0
    _extrapolations: tuple[str, ...] = ("clip", "linear", "error")
    grid_: Stored[Grid]
    reservoir_: Reservoir

    def _check_parameters(self) -> None:
        check_choice("extrapolation", self.extrapolation, self._extrapolations)
        check_placement(self.knots, self.n_features_in_, self.shared_knots)

    def _check(self, y: ArrayLike | None) -> None:
        self._check_parameters()
        if self.supervised and y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: knots='tree' and "
                "pairs='best' choose by labels or numbers"
            )

    @abstractmethod
    def _lay_out(self, items: Floats | sparse.csr_array, y: np.ndarray | None) -> None:
        """Set ``n_columns_`` and what `write` needs; ``items`` and ``y`` are those of the fit, or of the reservoir."""

    def check_restored(self) -> None:
        super().check_restored()
        self._check_parameters()
        n, missing = self.n_features_in_, self.missing == "indicator"
        if self.grid_.n_features != n or {*self.grid_.kinds} != {"numeric"} or {*self.grid_.missing} != {missing}:
            raise InputError(
                f"the grid has {self.grid_.n_features} features, or others than the {n} required; restore the file"
            )
        if self.zero_preserving and not all((k == 0).any() for k in self.grid_.knots):
            raise InputError("zero_preserving=True, but a feature has no knot at 0, where its functions are to be nothing")

    @property
    def supervised(self) -> bool:
        """True if the fit needs y."""
        return isinstance(self.knots, str) and self.knots == "tree"

    def _fit(self, items: Floats | sparse.csr_array, y: ArrayLike | None) -> None:
        self._check(y)
        self.__dict__.pop("reservoir_", None)
        labels = None if y is None or not self.supervised else self._labels(y, items.shape[0])
        items = self._without_zeros(items)
        self._place(Reservoir(self.random_state).add(items), items, labels)

    @available_if(_can_stream)
    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Place the knots from all rows seen so far: from a seeded sample of at most 100,000, and the minima and maxima of all.

        Blocks of rows give exactly the embedding that `fit` gives on all rows at once, for an int ``random_state``. The knots
        move, so a model of the columns has to be learned anew. After `fit`, which keeps no rows, a new stream begins. Knots of
        a tree and the best pairs are chosen by y and cannot come from a stream, so there is no `partial_fit` then.

        Raises
        ------
        InputError
            If a parameter or the data cannot be used, as in `fit`.
        """
        self._check_output()
        first = not hasattr(self, "reservoir_")
        items = FeatureMap.encode(self, X, reset=first)
        self._check(y)
        reservoir = Reservoir(self.random_state) if first else self.reservoir_
        self._place(reservoir.add(self._without_zeros(items)), reservoir.rows, None)
        self.reservoir_ = reservoir
        return self

    def _place(self, sample: Reservoir, items: Floats | sparse.csr_array, y: np.ndarray | None) -> None:
        if sample.seen < 2:
            raise InputError("X has 1 sample; at least 2 are required to place knots: give more rows")
        chosen = None if y is None else y[sample.number]
        names = self.feature_names
        knots = place_vectors(self.knots, self.n_knots, sample, chosen, names=names, shared=self.shared_knots)
        if self.zero_preserving:
            knots = [np.union1d(k, [0.0]) for k in (knots if isinstance(self.knots, str) else Grid(knots).knots)]
        self.grid_ = Grid(knots, missing=[self.missing == "indicator"] * len(knots))
        self._lay_out(items, y)

    def _without_zeros(self, items: Floats | sparse.csr_array) -> Floats | sparse.csr_array:
        """Return the items as knots are placed from them: if zeros add nothing, a sparse matrix without explicit zeros."""
        if not self.zero_preserving:
            return items
        packed = sparse.csr_array(items, copy=True)
        packed.sum_duplicates()
        packed.eliminate_zeros()
        return packed

    def _labels(self, y: ArrayLike, n: int) -> np.ndarray:
        labels = np.asarray(y)
        if labels.shape != (n,):
            raise InputError(f"y has shape {labels.shape} for {n} rows; one label or number a row is required")
        check_one_type(labels)
        return labels

    def encode(self, X: ArrayLike, *, reset: bool = False) -> Floats | sparse.csr_array:
        """Return the valid table X as float64.

        Values outside the knots are refused if ``extrapolation="error"``, or if they are so far away that "linear" overflows.
        """
        items = super().encode(X, reset=reset)
        if self.extrapolation == "error" and not reset:
            self._refuse_outside(items)
        if self.extrapolation == "linear" and not reset:
            check_reach(items, self.grid_.knots, self.feature_names, self.dtype)
        return items

    def _refuse_outside(self, items: Floats | sparse.csr_array) -> None:
        low, high = self.grid_.low, self.grid_.high
        if isinstance(items, np.ndarray):
            values, feature = items, np.broadcast_to(np.arange(items.shape[1]), items.shape)
        else:
            values, feature = items.data, items.indices
        outside = (values < low[feature]) | (values > high[feature])
        if outside.any():
            value, f = values[outside][0], feature[outside][0]
            raise InputError(
                f"feature {self.feature_names[f]!r} has the value {value:g}; values from {low[f]:g} to {high[f]:g}, the outer "
                "knots, are required with extrapolation='error': use 'clip' or 'linear', or drop those rows"
            )

    def _axes(self) -> Axes:
        """Return the knots and columns of every feature, as kernels take them; the columns of features follow one another."""
        grid = self.grid_
        zeros = [np.searchsorted(k, 0.0) if self.zero_preserving else -1 for k in grid.knots]
        zero_knot = np.array(zeros, dtype=np.int64)  # the knot of each feature that has no column; -1 if all have
        width = grid.sizes - (zero_knot >= 0)
        level = np.where(grid.missing, width - 1, -1)
        return Axes(grid.flat, grid.starts, zero_knot, level, width, np.cumsum(width) - width)

    def _vertex_labels(self) -> list[list[str]]:
        labels = []
        for name, knots, missing in zip(self.feature_names, self.grid_.knots, self.grid_.missing, strict=True):
            named = zip(distinct_labels(knots), knots, strict=True)
            texts = [text for text, k in named if k != 0 or not self.zero_preserving]
            labels.append([f"{name}@{text}" for text in texts + ["missing"] * missing])
        return labels

    def _active(self, items: Floats | sparse.csr_array) -> Integers:
        """Return the number of features of every row that may have entries, shape (n_items,)."""
        if not self.zero_preserving:
            return np.full(items.shape[0], items.shape[1])
        return np.count_nonzero(items, axis=1) if isinstance(items, np.ndarray) else np.diff(items.indptr).astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.supervised
        return tags
