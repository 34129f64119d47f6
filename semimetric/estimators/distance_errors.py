"""How far learned distances are off, on pairs of items that were not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import r2_score

from .._foundation.errors import InputError, warn
from .._foundation.printed_tables import html_table
from .._foundation.storable import storable
from .._foundation.types import Floats
from ..learning.regression.unseen_pairs import N_NEIGHBORS, UnseenPairs

__all__ = ["DistanceErrors", "quantiles_of", "relative_errors"]

_FEW_PAIRS = 20  # fewer cannot judge a model
_EXPLAINED = 0.1  # of the variance: less is next to nothing
_CLOSE = 0.05  # a relative error that is good enough where distances hardly differ
_FEW_QUERIES = 10  # whose mean recall is off by .1 easily
_LEAST = 1e-6  # a relative error below which printed digits are those of rounding
_NAN = float("nan")


def relative_errors(true: Floats, predicted: Floats) -> Floats:
    """Errors divided by the true distances, of the pairs whose true distance is not 0."""
    there = true != 0
    return np.abs(predicted[there] - true[there]) / np.abs(true[there])


@storable
@dataclass(frozen=True)
class DistanceErrors:
    """How far predicted distances are off on pairs of items that were not learned from; every pair counts once.

    Figures that the pairs cannot tell are NaN, and ``note`` says why where all of them are.

    Parameters
    ----------
    median, mean, quantile_90 : float
        The median, the mean and the 90 % quantile of ``|predicted - true| / true``, of pairs with true distances other than 0.
    r2 : float
        1 - the sum of squared errors / that of the deviations of the true distances from their mean: at most 1.
    rank_correlation : float
        Spearman's, of true and predicted distances.
    recall : float
        The share of an item's 10 nearest others by predicted distance that are among its 10 nearest by true distance: the mean
        over items whose distances to all others, 20 at least, were evaluated.
    n_pairs, n_items : int
        Of how many pairs, and of how many items.
    n_queries : int
        Of how many items ``recall`` is the mean.
    note : str
        Whose errors these are, or why there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 2))
    >>> i, j = np.triu_indices(60, 1)
    >>> y = np.abs(X[i] - X[j]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(preprocessor=X, n_knots=3, alpha=1e-6, validation_fraction=0.3)
    >>> error = model.fit(np.column_stack([i, j]), y).error_
    >>> bool(error.median < 0.01), error.n_pairs, error.n_items
    (True, 153, 18)
    """

    median: float = _NAN
    mean: float = _NAN
    quantile_90: float = _NAN
    r2: float = _NAN
    rank_correlation: float = _NAN
    recall: float = _NAN
    n_pairs: int = 0
    n_items: int = 0
    n_queries: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        counts = self.n_pairs, self.n_items, self.n_queries
        if min(counts) < 0:
            raise InputError(f"counts of pairs, items and queries are {counts}; none can be below 0: restore the file")

    @classmethod
    def of(cls, unseen: UnseenPairs, note: str) -> DistanceErrors:
        """The errors of pairs that were judged."""
        true, predicted = unseen.true, unseen.predicted
        relative, varied = relative_errors(true, predicted), len(true) > 1 and np.ptp(true) > 0
        median, mean, high = _NAN, _NAN, _NAN
        if len(relative):
            median, mean, high = np.median(relative), relative.mean(), np.quantile(relative, 0.9)
        ranked = varied and np.ptp(predicted) > 0
        return cls(
            median=float(median),
            mean=float(mean),
            quantile_90=float(high),
            r2=float(r2_score(true, predicted)) if varied else _NAN,
            rank_correlation=float(spearmanr(true, predicted).statistic) if ranked else _NAN,
            recall=float(np.mean(unseen.recalls)) if unseen.recalls else _NAN,
            n_pairs=len(unseen),
            n_items=len(np.unique(unseen.items)),
            n_queries=len(unseen.recalls),
            note=note,
        )

    def __str__(self) -> str:
        if not self.n_pairs:
            return f"Errors are not known: {self.note}"
        lines = [
            f"Errors on {_counted(self.n_pairs, 'pair')} of {_counted(self.n_items, 'item')}: {self.note}",
            f"  relative error {_percent(self.median)} (median), {_percent(self.mean)} (mean), "
            f"{_percent(self.quantile_90)} (90 % of the pairs are below)",
            f"  R² {_figure(self.r2, 3)}, rank correlation {_figure(self.rank_correlation, 3)}",
        ]
        if self.n_queries:
            lines.append(f"  recall of the {N_NEIGHBORS} nearest neighbours {_figure(self.recall, 2)} ({self._recall_of})")
        return "\n".join(lines)

    @property
    def _recall_of(self) -> str:
        """Whose neighbours the recall is of, in words."""
        few = ": a rough figure" if self.n_queries < _FEW_QUERIES else ""
        return f"{_counted(self.n_queries, 'item')}, each compared with all others held out{few}"

    def _repr_html_(self) -> str:
        if not self.n_pairs:
            return html_table([("figure", "value")], title=str(self))
        rows = [
            ("relative error, median", _percent(self.median)),
            ("relative error, mean", _percent(self.mean)),
            ("relative error, 90 % quantile", _percent(self.quantile_90)),
            ("R²", _figure(self.r2, 3)),
            ("rank correlation", _figure(self.rank_correlation, 3)),
        ]
        if self.n_queries:
            rows.append((f"recall of the {N_NEIGHBORS} nearest, {self._recall_of}", _figure(self.recall, 2)))
        title, *_ = str(self).split("\n")
        return html_table([("figure", "value"), *rows], title=title)

    def __eq__(self, other: object) -> bool:
        """Whether all figures are the same; NaN is the same as NaN."""
        if not isinstance(other, DistanceErrors):
            return NotImplemented
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return all(a == b or (a != a and b != b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((self.n_pairs, self.n_items, self.n_queries, self.note))

    def warn_if_useless(self) -> None:
        """Warn of a model that explains next to nothing of how distances differ, unless they hardly differ."""
        if self.n_pairs < _FEW_PAIRS or not self.r2 < _EXPLAINED or not self.median > _CLOSE:
            return
        warn(
            f"on {self.n_pairs} pairs of items that were set aside the model explains {100 * max(self.r2, 0.0):.2g} % of the "
            f"variance of the distances, and its median relative error is {100 * self.median:.3g} %: it is hardly better than "
            "one distance for all pairs. Give more items or pairs, directions= or groups= that the distance depends on, or "
            "other features of the items"
        )


def quantiles_of(relative: Floats, levels: Sequence[float]) -> dict[float, float]:
    """Quantiles of relative errors by their levels; NaN of no pair."""
    found = np.quantile(relative, levels).tolist() if len(relative) else [_NAN] * len(levels)
    return dict(zip(levels, found, strict=True))


def _percent(share: float) -> str:
    if np.isnan(share):
        return "not known"
    return f"below {100 * _LEAST:g} %" if 0 < share < _LEAST else f"{100 * share:.3g} %"


def _figure(value: float, n_digits: int) -> str:
    """A figure, or that the pairs cannot tell it."""
    return "not known" if np.isnan(value) else f"{value:.{n_digits}f}"


def _counted(n: int, what: str) -> str:
    """A number of things in words."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
