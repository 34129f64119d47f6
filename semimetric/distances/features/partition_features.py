"""The transformer that grows trees with scikit-learn and gives the numbers of their leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import check_feature_names, input_errors, validated
from ..._foundation.errors import InputError
from ..._foundation.estimator import ShortRepr
from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, Floats
from ..._foundation.validation import check_choice, check_count, check_weights
from ...data.schema import Feature, Schema
from .forests import partitions_of
from .leaf_rules import leaf_rules
from .partitions import MOST_LEAVES, OUTERMOST, Partitions

_MISSING = -1.0  # where a missing value stands
_MOST_DIGITS = 17  # decimal digits that distinguish any two floats


@dataclass(frozen=True)
class TreeScales:
    """A scale from 0 to 1 for every feature, on which trees are grown; missing values stand below it, at -1.

    So trees do not depend on units, and scikit-learn's 32 bits distinguish values that are close to one another and far from 0.
    """

    values: tuple[Floats, ...]  # the different values of every feature, increasing
    misses: NDArray[np.bool_]  # (n_features,), True if some item lacks the feature

    @classmethod
    def of(cls, items: Floats) -> TreeScales:
        """Return the scales for items of shape (n_items, n_features)."""
        missing = np.isnan(items)
        values = tuple(np.unique(column[~gone]) for column, gone in zip(items.T, missing.T, strict=True))
        return cls(values, np.asarray(missing.any(axis=0)))

    def _placed(self, feature: int, numbers: Floats) -> Floats:
        """Return numbers of a feature on its scale; halves do not overflow."""
        known = self.values[feature]
        low, high = (known[0] / 2, known[-1] / 2) if len(known) else (0.0, 0.0)
        return (numbers / 2 - low) / (high - low) if high > low else np.zeros(len(numbers))

    def positions(self, items: Floats) -> Floats:
        """Return the items on the scales, -1 where a value is missing: the shape of ``items``."""
        columns = [self._placed(f, column) for f, column in enumerate(items.T)]
        return np.where(np.isnan(items), _MISSING, np.column_stack(columns))

    def unplace(self, trees: Partitions) -> Partitions:
        """Return trees over these scales as trees over the items, which part the items alike.

        Thresholds are the shortest decimal numbers that do. Where a feature is missing for some item, missing values go where
        -1 goes on the scale. A node that parts them from all other values has an outermost threshold.
        """
        threshold, missing_left = trees.threshold.copy(), trees.missing_left.copy()
        for f, values in enumerate(self.values):
            nodes = np.flatnonzero(trees.feature == f)
            if self.misses[f]:
                missing_left[nodes] = threshold[nodes] >= _MISSING
            counts = np.searchsorted(self._placed(f, values), threshold[nodes], side="right").tolist()
            for node, count in zip(nodes.tolist(), counts, strict=True):
                threshold[node] = _threshold(values, count, float(threshold[node]))
        return replace(trees, threshold=threshold, missing_left=missing_left)


def _threshold(values: Floats, count: int, place: float) -> float:
    """Return the shortest decimal at or above ``count`` of the values, near ``positions``, and below the others."""
    if count == 0 or count == len(values):
        return OUTERMOST if count else -OUTERMOST
    low, high = float(values[count - 1]), float(values[count])
    near = 2 * (float(values[0]) / 2 + place * (float(values[-1]) / 2 - float(values[0]) / 2))
    for digits in range(1, _MOST_DIGITS + 1):
        rounded = float(f"{near:.{digits}g}")
        if low <= rounded < high:
            return rounded
    return low


_KINDS = ("extra-trees", "random-forest", "boosting", "random")
_FORESTS = {
    "extra-trees": (ExtraTreesClassifier, ExtraTreesRegressor),
    "random-forest": (RandomForestClassifier, RandomForestRegressor),
    "boosting": (GradientBoostingClassifier, GradientBoostingRegressor),
}


@storable
class PartitionFeatures(ShortRepr, TransformerMixin, BaseEstimator):
    """Leaves of trees as features: each tree parts the items into at most 16 leaves, which are numbered from the left.

    Given as ``directions=`` of a learner, each tree becomes a categorical feature of the distance. The trees add d(x, y) =
    sum_t w_t [leaf_t(x) != leaf_t(y)] to the tables of features, with one weight w_t >= 0 a tree. Trees combine features, and
    see every feature by its order alone. By default two items are near where extremely randomised trees (Geurts, Ernst &
    Wehenkel 2006) do not part them. `LargeMarginLearner` grows trees to its classes; other learners take trees that are fitted
    (their ``partitions_`` survive a clone), or "random" ones. See docs/mathematics.md, section 10.1.

    Missing values are grouped at a node as if they were less than all others. If none of the training items lacks a feature,
    its missing values go to the larger child. Thresholds are the shortest decimal numbers that part the training items as the
    trees do.

    Parameters
    ----------
    estimator : {"extra-trees", "random-forest", "boosting", "random"} or estimator, default "extra-trees"
        Extremely randomised trees, a random forest, or the trees of gradient boosting, which need y: classes, or a target of
        another type ("continuous" in scikit-learn's words). "random" grows totally random trees without y (Moosmann, Triggs &
        Jurie 2006). A tree or forest of scikit-learn is cloned, and fitted as its own parameters say.
    n_trees : int, default 100
        The number of trees; boosting grows them in turns, one for each of three or more classes.
    max_leaf_nodes : int, default 16
        The most leaves of a tree, 2 to 1,000. With up to 16 a leaf is a code of 4 bits, which an index scans as it is.
    leaf_tables : {"tied", "full"}, default "tied"
        The table that a learner gives each tree: one weight, or a table between its leaves.
    random_state : int, RandomState instance or None, default None
    n_jobs : int or None, default None
        The number of threads that grow trees.

    Attributes
    ----------
    partitions_ : Partitions
        The trees.
    missing_ : ndarray of bool of shape (n_features_in_,)
        True if some training item lacks the feature.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only of a frame whose columns have names.

    Raises
    ------
    InputError
        If a parameter is out of range, trees that need y get none, or trees have more than 1,000 leaves.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [7.0, 5.0], [8.0, 5.0]])
    >>> trees = PartitionFeatures("random-forest", n_trees=3, random_state=0).fit(X, [0, 0, 1, 1])
    >>> trees.transform(X)
    array([[0., 0., 0.],
           [0., 0., 0.],
           [1., 1., 1.],
           [1., 1., 1.]])
    """

    partitions_: Partitions
    missing_: NDArray[np.bool_]

    def __init__(
        self,
        estimator: Any = "extra-trees",
        *,
        n_trees: int = 100,
        max_leaf_nodes: int = 16,
        leaf_tables: str = "tied",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_trees = n_trees
        self.max_leaf_nodes = max_leaf_nodes
        self.leaf_tables = leaf_tables
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def needs_targets(self) -> bool:
        """True if the trees are grown to a target y."""
        return not isinstance(self.estimator, str) or self.estimator != "random"

    def fit(self, X: ArrayLike, y: Any = None) -> PartitionFeatures:
        """Grow the trees of X (n_items, n_features), NaN is missing, to classes or numbers y, unless they are "random"."""
        return self.fit_weighted(X, y)

    def fit_weighted(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> PartitionFeatures:
        """Grow the trees as `fit`, of items that have weights (n_items,) where a tree divides them; None is 1.

        The draws of a tree see rows, so repeated items may give other trees than weights.
        """
        self._check_parameters()
        if self.needs_targets and y is None:
            raise InputError(
                f"PartitionFeatures({self.estimator!r}) requires y to be passed, but the target y is None; give the classes or "
                'values of the items, or use estimator="random"'
            )
        items = validated(self, X, may_miss=True, dtype=np.float64, order="C")
        with input_errors():
            targets = _targets(y, len(items)) if self.needs_targets else None
            self.partitions_ = self._grown(items, targets, sample_weight)
        return self

    def grown(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None, *, random_state: Any = None
    ) -> PartitionFeatures:
        """Return a copy that is fitted as by `fit_weighted`, by its own seed or, where it has none, by ``random_state``."""
        seed = random_state if self.random_state is None else self.random_state
        return clone(self).set_params(random_state=seed).fit_weighted(X, y, sample_weight)

    def transform(self, X: ArrayLike) -> Floats:
        """Return the numbers of the leaves of the items, shape (n_items, n_trees), float64."""
        check_is_fitted(self, "partitions_")
        return self.partitions_.apply(validated(self, X, may_miss=True, reset=False, dtype=np.float64, order="C"))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the trees: tree0, tree1, ..."""
        check_is_fitted(self, "partitions_")
        check_feature_names(self, input_features)
        return np.array([f"tree{t}" for t in range(len(self.partitions_))], dtype=object)

    def rules(self, tree: int) -> list[str]:
        """Return every leaf of a tree in words, by the names of the features, such as "age > 40 and pay <= 2.5".

        Returns
        -------
        list of str, of length n_leaves
        """
        check_is_fitted(self, "partitions_")
        default = [f"x{k}" for k in range(self.n_features_in_)]
        named = zip(getattr(self, "feature_names_in_", default), self.missing_, strict=True)
        schema = Schema(tuple(Feature(str(name), missing=bool(missing)) for name, missing in named))
        return leaf_rules(self.partitions_, tree, schema)

    def _check_parameters(self) -> None:
        if isinstance(self.estimator, str):
            check_choice("estimator", self.estimator, _KINDS)
        elif not (hasattr(self.estimator, "fit") and hasattr(self.estimator, "get_params")):
            raise InputError(f"estimator={self.estimator!r} is no estimator; use one of scikit-learn's forests, or {_KINDS}")
        check_choice("leaf_tables", self.leaf_tables, ("tied", "full"))
        check_count("n_trees", self.n_trees)
        if check_count("max_leaf_nodes", self.max_leaf_nodes, minimum=2) > MOST_LEAVES:
            raise InputError(f"max_leaf_nodes={self.max_leaf_nodes}; 2 to {MOST_LEAVES} are required")

    def _grown(self, items: Floats, y: Any, sample_weight: ArrayLike | None) -> Partitions:
        scales = TreeScales.of(items)
        forest = self._forest(y)
        targets = check_random_state(self.random_state).uniform(size=len(items)) if y is None else y
        weighted = {} if sample_weight is None else {"sample_weight": check_weights(sample_weight, len(items))}
        found = scales.unplace(
            partitions_of(forest.fit(scales.positions(items), targets, **weighted), tied=self.leaf_tables == "tied")
        )
        self.missing_ = scales.misses
        return found.select(range(self.n_trees)) if len(found) > self.n_trees and isinstance(self.estimator, str) else found

    def _forest(self, y: Any) -> Any:
        if not isinstance(self.estimator, str):
            return clone(self.estimator)
        options = {"max_leaf_nodes": int(self.max_leaf_nodes), "random_state": self.random_state}
        if y is None:
            return ExtraTreesRegressor(int(self.n_trees), max_features=1, n_jobs=self.n_jobs, **options)
        classifier, regressor = _FORESTS[self.estimator]
        kind = classifier if type_of_target(y) in ("binary", "multiclass") else regressor
        if self.estimator != "boosting":
            return kind(int(self.n_trees), n_jobs=self.n_jobs, **options)
        n_classes = len(np.unique(y)) if kind is classifier else 1
        turns = -(-int(self.n_trees) // (n_classes if n_classes > 2 else 1))
        return kind(n_estimators=turns, max_depth=None, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self.needs_targets
        return tags


def _targets(y: Any, n_items: int) -> NDArray[Any]:
    targets = column_or_1d(y, warn=True)
    check_consistent_length(targets, np.empty(n_items))
    if targets.dtype.kind == "f" and not np.isfinite(targets).all():
        raise InputError("y holds NaN or infinity; finite values are required: leave those items out")
    return targets
