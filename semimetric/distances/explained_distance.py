"""Distances that say why they are what they are: by terms, by raw features, and by what would have to change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._foundation.input_arrays import n_axes
from .._foundation.tables import named_rows, row_labels
from .._foundation.types import ArrayLike, Floats, distinct
from .._foundation.validation import check_alpha, check_choice, check_same_length
from ..data.feature import Feature
from ..data.feature_parameters import column_numbers
from ..data.schema import Schema
from ..data.single_rows import single_row
from ..embeddings.directions.leaf_rules import leaf_rules
from ..embeddings.directions.linear_directions import Directions
from ..embeddings.pairs.base import PairMap
from .base_distances import BaseDistance
from .counterfactuals import Counterfactual, find_counterfactual
from .explanations import Explanation
from .feature_parts import feature_parts
from .long_tables import long_frame

__all__ = ["ExplainedDistance"]


class ExplainedDistance:
    """The part of `Semimetric` that explains distances."""

    embedding: PairMap
    weights: Floats
    epsilon: Floats
    feature_names: tuple[str, ...]
    directions: Directions | None
    base_distances: tuple[BaseDistance, ...]
    schema: Schema
    n_features: Any
    columns: Any
    terms: Any
    paired_by_index: Any
    tables: Any
    _both: Any
    _points: Any
    _outside: Any

    @cached_property
    def rules(self) -> dict[str, list[str]]:
        """What an item in each leaf of a tree has, in words such as "age > 40 and pay <= 2.5", by the name of the tree.

        The leaves are in the order of their numbers, as in `tables`. Without trees it is empty.
        """
        if self.directions is None or self.directions.partitions is None:
            return {}
        trees, first = self.directions.partitions, self.n_features + self.directions.n_linear
        return {self.columns[first + t]: leaf_rules(trees, t, self.schema) for t in range(len(trees))}

    def _levels(self, f: int) -> tuple[Any, ...]:
        """The vertices of an embedded feature as a person says them."""
        name = self.columns[f]
        if name in self.rules and f >= self.n_features:
            return (*self.rules[name], "(other)")
        feature = self.schema.features[f] if f < self.n_features else Feature(name)
        return tuple(feature.labels(self.embedding.grid.vertices(f)))

    def _rules_of(self, item: Floats, others: Floats) -> dict[str, tuple[str, list[str]]]:
        """The rules of the leaves of an encoded item and of others, by the names of the terms of single trees."""
        if not self.rules or self.directions is None or self.directions.partitions is None:
            return {}
        own, theirs = (self.directions.partitions.apply(side).astype(np.int64) for side in (item, others))
        first = self.n_features + self.directions.n_linear
        told = {}
        for term, group in zip(self.terms, self.embedding.groups, strict=False):
            if len(group) == 1 and group[0] >= first:
                t, rules = group[0] - first, self.rules[self.columns[group[0]]]
                told[term] = (rules[own[0, t]], [rules[leaf] for leaf in theirs[:, t]])
        return told

    def to_frame(self) -> Any:
        """All tables of the distance as one frame of pandas, a row for each cell: what a term adds between two of its levels.

        What is no table is not in it: base distances, and the slopes outside the range of the fit.

        Returns
        -------
        DataFrame with the columns "feature", "a", "b" and "distance"
            The name of the term, its level in the first vector and in the second (a number, a category, "(other)" or
            "(missing)"; of a joint table a tuple of these), and what the term adds to the sum before the link.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> from semimetric import Semimetric
        >>> Semimetric.l1([[0.0, 1.0], [4.0, 9.0]]).to_frame().query("a < b")
          feature    a    b  distance
        1      x0  0.0  4.0       4.0
        5      x1  1.0  9.0       8.0
        """
        return long_frame(self.tables())

    def contributions(self, x: ArrayLike, y: ArrayLike, *, by: str = "terms") -> Floats:
        """What terms or features add to the sum before the link; their names are `contribution_names(by)`.

        Parameters
        ----------
        x, y : array-like of shape (n_features,) or (n, n_features), dict, or list of dicts
            If one is a single vector and the other has many rows, the vector is compared with each row.
        by : {"terms", "features"}, default "terms"
            The `terms`, or the raw features and the base distances: what directions and joint tables add is then divided among
            the features that make it. Both add up to the same sum; a feature that does not differ adds 0.

        Returns
        -------
        ndarray of shape (n_terms,) or (n, n_terms)

        Examples
        --------
        >>> import semimetric as sm
        >>> X = np.random.default_rng(0).random((200, 3))
        >>> pairs = np.random.default_rng(1).integers(0, 200, (800, 2))
        >>> y = np.abs((X[pairs[:, 0]] - X[pairs[:, 1]]) @ [1.0, 1.0, 0.0])
        >>> model = sm.DistanceRegressor(n_knots=3, alpha=1e-4, directions=[[1.0, 1.0, 0.0]], preprocessor=X)
        >>> d = model.fit(pairs, y).semimetric_
        >>> d.terms
        ('x0', 'x1', 'x2', 'direction0', 'outside range')
        >>> d.contributions([0.2, 0.2, 0.2], [0.6, 0.4, 0.9], by="features").round(1)
        array([0.4, 0.2, 0. ])
        """
        check_choice("by", by, ("terms", "features"))
        x, y = (named_rows(side, self.feature_names, name=name) for side, name in ((x, "x"), (y, "y")))
        one_pair = n_axes(x) == 1 and n_axes(y) == 1
        left, right = check_same_length(*self._both(*map(self.schema.rows, (x, y))), repeat=True)
        out = self.contributions_of_encoded(left, right, by=by)
        return out[0] if one_pair else out

    def contributions_of_encoded(self, left: Floats, right: Floats, *, by: str = "terms") -> Floats:
        """`contributions` of the rows of one encoded matrix and the same rows of another, shape (n, n_terms)."""
        x, y = self._points(left), self._points(right)
        bases = [base.paired(left, right)[:, None] for base in self.base_distances]
        if by == "features":
            return np.hstack([feature_parts(self.embedding, self.weights, self.directions, x, y, self.epsilon), *bases])
        rows = np.arange(len(left))
        parts = self.embedding.contributions(x.items, rows, y.items, rows, self.weights)
        return np.hstack([parts, *bases, self._outside(x, y)[:, None]])

    def contribution_names(self, by: str = "terms") -> tuple[str, ...]:
        """The names of what `contributions` returns: the `terms`, or by "features" these and the base distances."""
        check_choice("by", by, ("terms", "features"))
        return self.terms if by == "terms" else distinct((*self.feature_names, *(base.name for base in self.base_distances)))

    def explain(self, x: ArrayLike, Y: ArrayLike, *, by: str = "features") -> Explanation:
        """What every feature adds to the distances of one item to others, beside the values of both.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict, series of pandas, or table of one row
        Y : array-like of shape (n, n_features), list of dicts, or frame
            The others; a frame of pandas labels them.
        by : {"features", "terms"}, default "features"
            See `contributions`.
        """
        item, label = single_row(x, self.schema)
        rows = self.schema.rows(Y)
        others = self.schema.encode(rows, name="Y")
        return self.explanation(item, others, by=by, label=label, labels=row_labels(rows, len(others)))

    def explanation(
        self, item: Floats, others: Floats, *, by: str = "features", flip: bool = False, **named: Any
    ) -> Explanation:
        """`explain` of an encoded item (1, n_features) and others (k, n_features); with ``flip`` of d(other, item).

        ``named`` are further members of the `Explanation`, such as ``labels``.
        """
        rows = np.arange(len(others))
        distances, parts = self.explanation_parts(np.repeat(item, len(others), axis=0), others, by=by, flip=flip)
        named = {"indices": rows, "targets": None} | named
        rules = self._rules_of(item, others) if by == "terms" else {}
        return Explanation(
            distances=distances, terms=self.contribution_names(by), contributions=parts, by=by, features=self.feature_names,
            item=self.schema.told(item)[0], values=self.schema.told(others), rules=rules, **named,
        )  # fmt: skip

    def explanation_parts(self, left: Floats, right: Floats, *, by: str, flip: bool = False) -> tuple[Floats, Floats]:
        """Distances of encoded items to others, (n,), and what features or terms add, (n, n_terms); reversed with ``flip``."""
        left, right = (right, left) if flip else (left, right)
        rows = np.arange(len(left))
        distances = self.paired_by_index(np.vstack([left, right]), np.column_stack([rows, len(left) + rows]))
        return distances, self.contributions_of_encoded(left, right, by=by)

    def counterfactual(
        self,
        x: ArrayLike,
        y: ArrayLike,
        within: float | None = None,
        *,
        features: int | str | Sequence[int | str] | None = None,
    ) -> Counterfactual:
        """What would have to change in x for its distance to y to be small enough: which features, and to which values.

        Of the changes of one feature within its range in the fit that suffice the least is taken, in units of that range; while
        none suffices, the change that lowers the distance most, and the search goes on. Each change is the best of its kind,
        exactly: distances are affine between breakpoints, at which leaves of trees jump. Where no feature is in a direction or
        a joint table, no fewer changes suffice; elsewhere fewer may.

        Parameters
        ----------
        x, y : array-like of shape (n_features,), dict, series of pandas, or table of one row
        within : float or None
            The distance that is asked for; None is for the single change that lowers it most.
        features : int, str, sequence of these, or None
            The features that may change, by number or name; None is for all.

        Raises
        ------
        NotSupportedError
            If the distance has base distances, or is not continuous.

        Examples
        --------
        >>> from semimetric import Grid, PairEmbedding, Semimetric
        >>> embedding = PairEmbedding(Grid([[0.0, 10.0], [0.0, 10.0]]))
        >>> d = Semimetric(embedding, embedding.prior(np.array([1.0, 2.0])), np.ones(2), ("age", "pay"))
        >>> d.counterfactual([1.0, 8.0], [4.0, 2.0], within=6.0)
        The distance falls from 15 to 6 by 1 of 2 features; asked for: 6
        feature  from   to  distance
        pay         8  3.5         6
        """
        if within is not None:
            check_alpha("within", within)
        (left, _), (right, _) = (single_row(item, self.schema, name) for item, name in ((x, "x"), (y, "y")))
        names = self.feature_names
        chosen = range(len(names)) if features is None else column_numbers(features, names, "features")
        return find_counterfactual(self, left[0], right[0], within, chosen)
