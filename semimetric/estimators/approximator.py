"""Approximating an expensive distance that can be called (paper 2, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NotRequired, cast

import numpy as np

from .._foundation.errors import InputError, NotSupportedError, warn
from .._foundation.shared_docstrings import with_shared_parameters
from .._foundation.storable import storable
from .._foundation.types import ArrayLike, Exponents, FeatureChoice, Floats, Integers, KnotCounts, Knots, Pairs, Periods
from .._foundation.validation import check_alpha, check_choice, check_count, check_distances, check_weights
from ..data.feature_groups import Groups
from ..data.identical_items import identities
from ..data.schema import Schema
from ..data.splits import hold_out
from ..distances.callables import Distance, DistanceFunction
from ..distances.links import LinkLike, link_function
from ..distances.semimetric import Semimetric
from ..embeddings.pairs.full_tables import PairEmbedding
from ..learning.assembly import assemble
from ..learning.candidates import Choices
from ..learning.link_choices import refuse_open_links
from ..learning.recipe import Recipe
from ..learning.regression.distance_data import InMemoryDistances
from ..learning.structure import Structure, build_structure
from ..programs.constraints import Constraint
from ..programs.losses import Loss
from ..programs.penalties import Penalties
from ..solvers.base import Solution, Solver, Status
from .called_pairs import CalledPairs
from .judged_items import judge_by_calls
from .object_pairs import ObjectDistances
from .regressor import DistanceRegressor
from .shared_parameters import LEARNER_PARAMETERS, REGRESSION_PARAMETERS
from .vertex_pairs import check_separable, check_triangles, vertex_pairs

__all__ = ["DistanceApproximator"]

_FEWEST_CALLS = 20  # that can be shared out among learning and judging


@storable
@with_shared_parameters(LEARNER_PARAMETERS, REGRESSION_PARAMETERS)
class DistanceApproximator(ObjectDistances, CalledPairs, DistanceRegressor):
    """A fast distance in place of a slow one: draws pairs of X, calls the distance, and regresses (`DistanceRegressor`).

    Or sets the weights at the grid, ``w_ab = distance(v_a, v_b)``, with no learning. With one group of all features the error
    in the range of the grid is then at most L times the diameter of a cell for an L-Lipschitz distance (Pele & Ben-Aliz 2016,
    universality); with more groups that holds for a distance that is a sum over them, and for others there is no bound.

    With ``features=`` the items are objects of any kind, such as strings, graphs or series: the distance is called on the
    objects, and learned over their features. `predict`, `pairwise` and `transform` take objects then, and `encode` gives their
    features, of which ``semimetric_`` is a distance.

    Whatever ends `fit` early, an error of the distance or Ctrl-C, ``pairs_`` and ``distances_`` hold what was evaluated.

    Parameters
    ----------
    distance : callable
        Of two vectors (n_features,) -> number, or of two batches (n, n_features) -> (n,); which of the two is found out.
        Numbers >= 0, or of any sign with ``axioms=None``. Of a table with categories it sees the values themselves, in object
        arrays: text as it is there, None for a missing category, NaN for a missing number. With ``features=`` it takes two
        objects, as they are.
    features : transformer, callable or None, default None
        What makes numbers of objects: `LandmarkFeatures`, `StringFeatures`, `PointCloudFeatures`, `SeriesFeatures`, any
        transformer of scikit-learn, or a function from a sequence of objects to an array (n_objects, n_features). A transformer
        is cloned and fitted to the objects that are not held out. Landmarks without a distance of their own are given this
        one, and no pair that they have called is called again. Pairs with a landmark are learned from where they are drawn, and
        not all of them: in these one feature is the distance itself, as in no other pair. Saved are transformers of this
        package; a function is code, and is left out like the distance: a model that was loaded has neither, until `set_params`
        gives them again.
    n_pairs : int or "auto", default 20000
        Pairs to draw for learning; all pairs if there are no more. "auto" draws in rounds, each of half as many pairs as there
        are by then, until the error on pairs of a fifth of the items, which are kept back until the last fit, falls by less
        than its standard error in two rounds running, or ``max_calls`` is spent. Draws are random: choosing the pairs whose
        intervals are widest made the error larger (``benchmarks/active_pairs.py``).
    max_calls : int, default 20000
        With ``n_pairs="auto"``: the most distances that are evaluated, those to judge by among them; those to landmarks come
        beside. 20 at least.
    near : float, default 0.25
        Share of them drawn among near neighbours, so that small distances are learned too.
    method : {"regress", "vertices"}, default "regress"
        "vertices" needs features of numbers, groups that share none, and no directions; a group's table is the distance
        between points that differ in the group alone, all else at the median of X. It is exact at the vertices for a
        distance that is a sum over the groups, or for one group of all features. The distance must be symmetric if the
        axioms are.
    validation_fraction : float, default 0.1
        Share of the items set aside: pairs of them are never learned from, and give ``error_`` and the intervals of `predict`.
        That takes this share of ``n_pairs`` calls more, and at most as many again for whole rows, of which recall is told. 0
        sets none aside.
    {n_knots}
        With ``method="vertices"``, "auto" is 8.
    {knots}
    {groups}
    {directions}
    {tables}
    {axioms}
    {symmetry}
    {delta}
    {outside}
    {link}
    {loss}
    {relative}
    {penalty}
    {alpha}
    {solver}
    {base_distances}
    {base_exponents}
    {categorical_features}
    {periodic}
    {missing}
    {constraints}
    {prior}
    {n_jobs}
        The threads also call the distance.
    {random_state}
    {effort}
    {verbose}

    Attributes
    ----------
    semimetric_ : Semimetric
    pairs_ : ndarray of shape (n_drawn, 2), int64
        Rows of X, or of ``vertices_``, that were evaluated and learned from.
    distances_ : ndarray of shape (n_drawn,)
    vertices_ : ndarray of shape (n_vertices, n_features)
        With ``method="vertices"``: grid points of all groups.
    error_ : DistanceErrors
        How far distances are off on random pairs of items set aside: relative errors, R², rank correlation, and, where 21 items
        at least are set aside, recall of the 10 nearest neighbours among them; printed, three lines. NaN without them. A
        warning says where the model is no better than one distance for all pairs.
    intervals_ : CalibratedIntervals
        What `predict` makes intervals of, if enough items are set aside.
    error_quantiles_ : dict of float to float
        Quantiles 0.5, 0.9 and 0.99 of the relative error on pairs of items set aside; NaN without them.
    n_error_pairs_ : int
        How many pairs these quantiles are of: those at distances other than 0.
    features_ : transformer or callable
        With ``features=``: as it was fitted.
    n_calls_ : int
        How many distances were evaluated, to learn from and to judge by, and with ``features=`` for landmarks; beside a few
        that tell which form ``distance`` has.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceApproximator
    >>> def slow(x, y):
    ...     return float(np.abs(x - y).sum())
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> model = DistanceApproximator(slow, n_pairs=300, n_knots=3, alpha=1e-6).fit(X)
    >>> bool(model.error_quantiles_[0.5] < 0.01)
    True
    """

    _learns_from_items = True
    pairs_: Integers
    distances_: Floats
    vertices_: Floats

    _fitted = {
        **DistanceRegressor._fitted,
        "pairs_": Integers,
        "distances_": Floats,
        "error_quantiles_": dict[float, float],
        "n_error_pairs_": int,
        "n_calls_": NotRequired[int],
        "vertices_": NotRequired[Floats],
        "features_": NotRequired[Any],
    }

    def __init__(
        self,
        distance: Distance | None = None,
        *,
        features: Any = None,
        n_pairs: int | str = 20_000,
        max_calls: int = 20_000,
        near: float = 0.25,
        method: str = "regress",
        validation_fraction: float = 0.1,
        n_knots: KnotCounts = "auto",
        knots: Knots = "quantile",
        groups: Groups = "singles",
        directions: Any = None,
        tables: str = "full",
        axioms: str | None = "semimetric",
        symmetry: str = "tie",
        delta: float = 1e-6,
        outside: str = "extend",
        link: LinkLike = "identity",
        loss: str | Loss = "squared",
        relative: bool | float = False,
        penalty: Penalties = "auto",
        alpha: float | str = "auto",
        solver: str | Solver = "auto",
        base_distances: Sequence[Callable[..., Any]] = (),
        base_exponents: Exponents = 1.0,
        categorical_features: FeatureChoice = "auto",
        periodic: Periods = None,
        missing: str = "error",
        constraints: Sequence[Constraint] = (),
        prior: Semimetric | None = None,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        effort: str = "default",
        verbose: bool | None = None,
    ) -> None:
        super().__init__(
            n_knots=n_knots, knots=knots, groups=groups, directions=directions, tables=tables, axioms=axioms,
            symmetry=symmetry, delta=delta, outside=outside, link=link, loss=loss, relative=relative,
            penalty=penalty, alpha=alpha, solver=solver, base_distances=base_distances, base_exponents=base_exponents,
            categorical_features=categorical_features, periodic=periodic, missing=missing, constraints=constraints, prior=prior,
            n_jobs=n_jobs, random_state=random_state, effort=effort, verbose=verbose,
        )  # fmt: skip
        self.distance = distance
        self.features = features
        self.n_pairs = n_pairs
        self.max_calls = max_calls
        self.near = near
        self.method = method
        self.validation_fraction = validation_fraction

    def fit(self, X: ArrayLike, y: object = None) -> DistanceApproximator:  # type: ignore[override]  # items take the place of pairs
        """Learn the distance between the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_items, n_features), or frame; with ``features=`` a sequence of objects
        y : ignored

        Raises
        ------
        DistanceCallError
            If the distance fails on a pair: the error names it and carries what was evaluated so far.
        InputError
            If the data or parameters cannot be used; NotSupportedError if they do not go together.
        """
        recipe = self._recipe()
        self._check_parameters()
        for name in ("pairs_", "distances_", "vertices_", "features_", "n_calls_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._forget_errors()
        if self.features is not None:
            return self._fit_objects(recipe, X)
        self._check_no_texts(X)
        items, schema = self._encoded(X, min_items=2)
        if self.method == "vertices" and len(recipe.constraints):
            raise NotSupportedError('method="vertices" learns nothing, so constraints= cannot hold; use method="regress"')
        if self.method == "vertices":
            refuse_open_links(recipe, 'method="vertices" learns nothing')
        with self._own_knots():
            structure = check_separable(build_structure(recipe, items, schema)) if self.method == "vertices" else None
        function = DistanceFunction.detect(self.distance, items, schema=schema)
        self._check_symmetry(recipe, function, items)
        learn, held = hold_out(items, self.validation_fraction, self.random_state)
        if structure is not None:
            self._set_vertices(recipe, items, structure, function)
        else:
            self._regress(recipe, items, learn, schema, function)
        judge_by_calls(self, items, learn, held, function, identities(items).number)
        return self

    def _restore(self, fitted: dict[str, Any]) -> None:
        super()._restore(fitted)
        self._check_parameters()
        if self.distances_.ndim != 1 or self.pairs_.shape != (len(self.distances_), 2):
            raise InputError(f"there are distances of shape {self.distances_.shape} for pairs of shape {self.pairs_.shape}")

    def _check_parameters(self) -> None:
        """Refuse parameters that no evaluation of the distance can follow."""
        check_choice("method", self.method, ("regress", "vertices"))
        self._check_features()
        if isinstance(self.n_pairs, str) and self.n_pairs != "auto":
            raise InputError(f'n_pairs={self.n_pairs!r} must be an integer >= 1, or "auto"')
        if not isinstance(self.n_pairs, str):
            check_count("n_pairs", self.n_pairs)
        check_count("max_calls", self.max_calls, minimum=_FEWEST_CALLS)
        for name in ("near", "validation_fraction"):
            if check_alpha(name, getattr(self, name)) > 1:
                raise InputError(f"{name}={getattr(self, name)!r} must lie between 0 and 1")

    def partial_fit(self, *args: object, **kwargs: object) -> DistanceApproximator:
        """Not for approximators: use `DistanceRegressor.partial_fit` with distances that you evaluate."""
        raise NotSupportedError("an approximator draws its own pairs; use DistanceRegressor.partial_fit with your distances")

    def _check_symmetry(self, recipe: Recipe, function: DistanceFunction, items: Floats) -> None:
        """Refuse a distance that is not symmetric, or warn of it, where the axioms ask for symmetry."""
        if recipe.axioms not in ("semimetric", "metric") or (answers := function.asymmetry(items)) is None:
            return
        message = (
            f"distance= is not symmetric: it gave {answers[0]:g} for a pair and {answers[1]:g} for its reverse, but "
            f'axioms={recipe.axioms!r} has one value for both; give a symmetric distance, or use axioms="premetric"'
        )
        if self.method == "vertices":
            raise NotSupportedError(message)
        warn(f"{message}; the values learned lie between the two")

    def _regress(self, recipe: Recipe, items: Floats, learn: Integers, schema: Schema, function: DistanceFunction) -> None:
        features = self._features(recipe, items[learn], schema)
        self._check_before_calls(recipe, items[learn], schema)
        self.pairs_, self.distances_ = np.empty((0, 2), np.int64), np.empty(0)
        try:
            distances = self._drawn(recipe, items, learn, features, schema, function)
            pairs = Pairs(items, self.pairs_)
            target = check_distances(distances, len(pairs), minimum=-np.inf if recipe.axioms is None else 0.0)
            self._choose_and_learn(recipe, InMemoryDistances(pairs, target, check_weights(None, len(pairs))), schema)
        except BaseException as error:
            given = "X" if self.features is None else "the features of X"
            error.add_note(
                f"The {len(self.distances_)} distances that were evaluated are kept: DistanceRegressor(preprocessor={given}, "
                "...).fit(model.pairs_, model.distances_) learns from them without another call."
            )
            raise

    def _set_vertices(self, recipe: Recipe, items: Floats, structure: Structure, function: DistanceFunction) -> None:
        """Set the weights to the distances at the vertices, and record the distance that they make."""
        pairs = vertex_pairs(cast(PairEmbedding, structure.embedding), np.median(items, axis=0))  # which was checked
        self.vertices_ = pairs.items
        weights = self._evaluated(function, pairs, "vertices")
        weights = link_function(recipe.link).invert(weights)
        delta = recipe.delta * float(weights.mean()) if recipe.axioms is not None else 0.0
        weights = np.maximum(weights, delta) if recipe.axioms is not None else weights
        check_triangles(recipe, structure.embedding, weights)
        self.n_features_in_, self.recipe_ = items.shape[1], recipe
        self.choices_, self.group_choices_, self.link_choices_ = Choices(), Choices(), Choices()
        solution = Solution(weights, 0.0, 0.0, 0, Status.SOLVED, "set at the vertices, nothing learned")
        examples = Pairs(items, np.array([[0, 1]]))
        self._record(assemble(recipe, structure, weights, delta, examples=examples), solution)
