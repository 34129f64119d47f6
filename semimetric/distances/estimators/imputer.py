"""Missing values of a table, filled in by the rows that are nearest under a distance that copes with missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError
from ..._foundation.progress import progress_bar
from ..._foundation.stored import storable
from ..._foundation.tables import read_table
from ..._foundation.threads import short_blocks
from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_choice, check_count, check_n_jobs
from ...data.columns import has_gaps
from ...data.rows import filled_table
from ...data.schema import Feature
from ...data.times import SCALE
from ..model.semimetric import Semimetric
from ..search.index import NeighborIndex, searched_distance
from ..search.votes import VoteRule
from .indexed import NearestFittedItems

_BLOCK = 10_000  # rows that are filled at once
_AMONG = 8  # times n_neighbors, at least 32: so many neighbours are searched first, for all missing values of a row at once
_LEAST = 32


@storable
class SemimetricImputer(OneToOneFeatureMixin, TransformerMixin, NearestFittedItems):
    """Missing values from the nearest rows: means of numbers, the most frequent category, the mean direction of angles.

    For a missing value of feature f in a row x, the donors are the ``n_neighbors`` fitted rows that are nearest to x among
    those whose f is known, with votes v_i = d_1 / d_i, or 1 by ``weights="uniform"``. What is filled in is

        number, time   sum_i v_i f_i / sum_i v_i
        angle          the angle of sum_i v_i exp(2 pi i f_i / period)
        category       the one with the most votes; of several with as many, that of the nearest donor

    `sklearn.impute.KNNImputer` does it for numbers under the Euclidean distance of what both rows know. Here the distance is
    any: Gower's of mixed columns by default, where a missing number is as far from every other as two numbers are on average,
    or one that was learned from labels or measured distances. Neighbours are exact, by an index.

    Parameters
    ----------
    semimetric : Semimetric, fitted estimator with ``semimetric_``, or "gower", default "gower"
        The distance, with a level for missing values (``Columns(missing="level")``) in every feature that has some. "gower" is
        ``Semimetric.gower(X, missing="constant")``; say more of the columns by giving that with its parameters.
    n_neighbors : int, default 5
        Donors of a value; all of them where there are fewer.
    weights : {"uniform", "distance"}, default "distance"
        Donors count alike, or by 1 / distance, and those at distance 0 then alone; the latter erred less on every table of
        ``benchmarks/imputation.py`` on which the default was chosen.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.

    Attributes
    ----------
    index_ : NeighborIndex
        The fitted rows.
    semimetric_ : Semimetric
    n_features_in_, n_samples_fit_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import SemimetricImputer
    >>> X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [2.2, np.nan]])
    >>> SemimetricImputer(n_neighbors=1).fit_transform(X)[3]
    array([ 2.2, 20. ])
    """

    def __init__(
        self,
        semimetric: Semimetric | str = "gower",
        *,
        n_neighbors: int = 5,
        weights: str = "distance",
        n_jobs: int | None = None,
    ) -> None:
        self.semimetric = semimetric
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: Any = None) -> SemimetricImputer:
        """Index the rows of X, from which values are taken.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_items, n_features)
            Missing are NaN, None and what a frame has for them. Every column needs a known value.
        y : ignored

        Raises
        ------
        InputError
            If the data or a parameter cannot be used.
        """
        self._check()
        given = self.semimetric
        d = Semimetric.gower(X, missing="constant") if given == "gower" else searched_distance(given, X)
        table = read_table(X)
        if lacking := [name for name in d.schema.dropped if name in table.columns and has_gaps(table[name])]:
            raise InputError(
                f"the columns {', '.join(lacking)} of X are left out, and have missing values, which nothing can fill in: drop "
                "them, or name them in gower(X, categorical_features=[...])"
            )
        self._set_index(NeighborIndex(d, n_jobs=self.n_jobs).fit(X))
        self._check_donors()
        return self

    def _check(self) -> None:
        """Refuse parameters that cannot be used."""
        check_count("n_neighbors", self.n_neighbors)
        check_choice("weights", self.weights, ("uniform", "distance"))
        check_n_jobs(self.n_jobs)
        if isinstance(self.semimetric, str):
            check_choice("semimetric", self.semimetric, ("gower",))

    def _check_donors(self) -> None:
        """Record which values of the fitted rows are known, and refuse columns of which none is."""
        schema, items = self.semimetric_.schema, self._items_of(np.arange(self.n_samples_fit_))
        self._known = ~(np.isnan(items) | schema.unseen(items))
        if not (some := self._known.any(axis=0)).all():
            name = schema.names[int(some.argmin())]
            raise InputError(f"column {name!r} of X has no known value, so that there is none to fill in; drop it")

    def transform(self, X: ArrayLike) -> Any:
        """Return the rows of X with their missing values filled in.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_features), or frame
            Numbers as float64; with categories or times, objects. Of a frame, one of the same library, with the names, the
            index and the dtypes of X, but for whole numbers and truth values that were missing: such a column becomes one of
            floating-point numbers.

        Raises
        ------
        InputError
            If X has other columns, a feature has missing values without a level for them, or a time is missing of which the
            distance knows the hour, or the day of the week or year, alone.
        """
        check_is_fitted(self, "index_")
        schema = self.semimetric_.schema
        queries = self.index_.encode(X)
        missing = np.isnan(queries)
        for k in np.flatnonzero(missing.any(axis=0)):
            feature = schema.features[k]
            if feature.time not in ("", SCALE):
                raise InputError(
                    f"column {feature.name!r} of X lacks times, of which the {feature.time} alone is compared, so that no "
                    "whole time can be filled in; drop the column, or compare it on a scale"
                )
        rows = np.flatnonzero(missing.any(axis=1))
        filled = queries[rows].astype(np.float64)
        with progress_bar(len(rows), "rows filled in", verbose=None, unit="row") as bar:
            for block in short_blocks(len(rows), _BLOCK):
                self._fill(queries[rows[block]], filled[block])
                bar.update(len(rows[block]))
        return filled_table(X, schema, missing, rows, filled)

    def _fill(self, queries: NDArray[Any], filled: Floats) -> None:
        """Fill in the missing values of encoded rows, each of which misses some."""
        n_first = min(max(_AMONG * self.n_neighbors, _LEAST), self.n_samples_fit_)
        distances, donors = self.index_.search_encoded(queries, n_first)[:2]
        for k in np.flatnonzero(np.isnan(queries).any(axis=0)):
            lacking = np.flatnonzero(np.isnan(queries[:, k]))
            n_donors = min(self.n_neighbors, int(self._known[:, k].sum()))
            knows = self._known[donors[lacking], k]
            first = np.argsort(~knows, axis=1, kind="stable")[:, :n_donors]  # the nearest that know, in their order
            near = np.take_along_axis(distances[lacking], first, axis=1)
            rows = np.take_along_axis(donors[lacking], first, axis=1)
            few = knows.sum(axis=1) < n_donors
            if few.any():
                found = self.index_.search_encoded(queries[lacking[few]], n_donors, where=self._known[:, k])
                near[few], rows[few] = found[:2]
            votes = VoteRule(n_donors, self.weights).votes(near)
            values = self._items_of(rows.ravel())[:, k].reshape(rows.shape).astype(np.float64)
            filled[lacking, k] = _typical(self.semimetric_.schema.features[k], values, votes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = isinstance(self.semimetric, str)
        return tags

    def check_restored(self) -> None:
        super().check_restored()
        self._check_donors()


def _typical(feature: Feature, values: Floats, votes: Floats) -> Floats:
    """Return the value that donors give: ``values`` and ``votes`` have shape (n, n_donors), nearest first; the result (n,)."""
    if feature.kind == "categorical" or feature.truth:
        return _most_votes(values, votes)
    if feature.kind == "numeric":
        # Numbers are taken as differences from the first, so that donors that agree give just their number.
        mean: Floats = values[:, 0] + (votes * (values - values[:, :1])).sum(axis=1) / votes.sum(axis=1)
        return np.clip(mean, values.min(axis=1), values.max(axis=1))
    turn = 2 * np.pi / feature.period
    total = (votes * np.exp(1j * turn * values)).sum(axis=1)
    opposite = np.abs(total) <= 1e-9 * votes.sum(axis=1)  # no direction is more frequent than that of the nearest
    return np.where(opposite, values[:, 0], np.mod(np.angle(total) / turn, feature.period))


def _most_votes(codes: Floats, votes: Floats) -> Floats:
    """Return in every row the code with the most votes; of several with as many, that of the nearest."""
    total = ((codes[:, :, None] == codes[:, None, :]) * votes[:, None, :]).sum(axis=2)
    best = (total >= total.max(axis=1, keepdims=True) * (1 - 1e-12)).argmax(axis=1)
    return np.take_along_axis(codes, best[:, None], axis=1)[:, 0]
