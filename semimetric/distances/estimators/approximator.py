"""Approximating an expensive distance that can be called (paper 2, section 4).

Objects of any kind are learned over features: `EncodedObjects` makes them, and calls the distance on the objects themselves.

With ``n_pairs="auto"`` pairs are drawn in rounds (`draw_in_rounds`). A part of the items, the stopping set, is set aside until
the last fit: after each round, pairs of it give the error of a model of all other pairs. A round adds half as many pairs as
there are. The rounds end where the mean error of two rounds running fell by less than the standard error of the fall, or where
the budget is spent. The last model learns from every pair that was evaluated; the items of `error_` play no part.

Pairs share items, so the standard error is that of a U-statistic of degree 2: twice that of the mean over items of what their
pairs fell by (Hoeffding 1948).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import (
    DistanceCallError,
    InputError,
    NotSupportedError,
    ObjectError,
    SemimetricError,
    SemimetricWarning,
    silent,
    warn,
)
from ..._foundation.estimator import SavedEstimator
from ..._foundation.iteration import Status
from ..._foundation.progress import announce
from ..._foundation.stored import Stored, StoredIfSet, storable
from ..._foundation.text import seconds_text
from ..._foundation.threads import one_blas_thread
from ..._foundation.types import ArrayLike, Floats, Integers, Pairs, distinct
from ..._foundation.validation import check_alpha, check_choice, check_count, check_distances, check_items, check_weights
from ...data.calls import Distance, UserDistance, counted_calls
from ...data.columns import are_histograms
from ...data.identical_items import identities
from ...data.object_lists import Objects, as_objects, hold_out_objects, object_numbers, object_pairs
from ...data.schema import Feature, Schema
from ...data.splits import hold_out, sample_pairs
from ..features.fitted_directions import fit_directions
from ..features.landmarks import LandmarkFeatures
from ..features.objects import ObjectFeatures
from ..learning.assembly import assemble
from ..learning.chosen_fit import decide
from ..learning.errors import (
    FEWEST_OTHERS,
    DistanceErrors,
    UnseenPairs,
    choose_landmarks,
    divided,
    neighbour_recall,
    quantiles_of,
    relative_errors,
)
from ..learning.groups import without_joint
from ..learning.measured import MeasuredDistances
from ..learning.measured_fit import check_width, named_divergence, second_if_it_gains_clearly
from ..learning.options import Recipe, refuse_open_links
from ..learning.power_sum import NEARLY_EXACT
from ..learning.screening import is_screened
from ..learning.search import Choices
from ..learning.settings import MOVED
from ..learning.structure import Structure, build_structure, check_varied
from ..model.links import link_function
from ..model.semimetric import Semimetric
from ..pairs.base import PairMap
from ..pairs.full_tables import PairEmbedding
from ..pairs.triangle_inequality import Triangles
from ..pairs.vertices import WHOLE_TABLE
from ..solvers.base import Solution
from .base import T
from .measured_learner import NOTHING_ASIDE, SET_ASIDE, MeasuredLearner
from .regressor import DistanceRegressor

_OF_THE_LEARNER = ("n_knots", "alpha", "directions", "tables", "axioms", "link", "loss", "columns", "program")
_FEWEST_CALLS = 20  # that can be divided among learning and evaluating
_MOST_VERTICES = 5_000_000
_LEVELS = (0.5, 0.9, 0.99)  # of the quantiles of errors

_STOPPING = 0.2  # of the items, and of the budget, is the stopping set
_MOST_STOPPING = 1_000  # pairs
_FIRST = 500  # pairs of the first round
_NOT_ZERO = 1e-6  # of the distances of other items: what is larger between an item and itself is no rounding
_FEWEST_OF_A_ROW = 3  # numbers, of which a mean or a length says something
_SEARCHED = 64  # items that are compared with one another, as in a search
_CHEAP = 3.0  # times the seconds of a learned distance: a distance that takes no longer is called as fast
_GROWTH = 1.5
_PATIENCE = 2  # rounds without gain


def _has_features(model: DistanceApproximator) -> bool:
    if model.features is None:
        raise NotSupportedError("encode is for models with features=; without them the items are features already")
    return True


@storable
class DistanceApproximator(MeasuredLearner):
    """A fast distance in place of a slow one, learned by a `DistanceRegressor` from calls on pairs of X.

    Or it sets the weights at the grid, ``w_ab = distance(v_a, v_b)``, with no learning. With one group of all features the
    error in the range of the grid is then at most L times the diameter of a cell, for an L-Lipschitz distance (Pele &
    Ben-Aliz 2016, universality). With more groups that holds for a distance that is a sum over them; for others there is no
    bound.

    With ``features=`` the items are objects of any kind, such as strings, graphs or series: the distance is called on the
    objects, and learned over their features. `predict`, `pairwise` and `transform` take objects then, and `encode` gives
    their features, of which ``semimetric_`` is a distance.

    Whatever ends `fit` early, an error of the distance or Ctrl-C, ``pairs_`` and ``distances_`` hold what was evaluated. `fit`
    measures what a pair costs. At a terminal, or with ``verbose=True``, it says so where the learned distance is no faster.

    Parameters
    ----------
    distance : callable
        A function of two vectors (n_features,) that returns a number, or of two batches (n, n_features) that returns (n,);
        the form is found out. Numbers are >= 0, or of any sign with ``axioms=None``. Rows of a table of more than numbers are
        object arrays, without the columns that were left out: numbers as floats, NaN where one is missing, text as it is,
        times as `datetime`, truth values as such, and None for what else is missing. With ``features=`` it takes two objects.
    learner : DistanceRegressor or None, default None
        How to learn from the distances that were called. None is a default one; ``learner__alpha`` and so on reach its
        parameters. Its ``preprocessor`` must be None, and its ``validation_fraction`` plays no part. With
        ``method="vertices"``, ``n_knots="auto"`` is 8.
    features : transformer, callable or None, default None
        `LandmarkFeatures`, `StringFeatures`, `PointCloudFeatures`, `SeriesFeatures`, another transformer, or a function from
        a sequence of objects to an array (n_objects, n_features). A transformer is cloned and fitted to the objects that are
        not held out. Landmarks without a distance are given this one; no pair is called twice. Transformers of this package
        are saved; functions are not, nor is the distance: give a loaded model both again by `set_params`.
    n_pairs : int or "auto", default 20000
        Pairs to draw for learning; all pairs if there are no more. "auto" draws in rounds, each of half as many pairs as
        there are, until the error on pairs of a fifth of the items falls by less than its standard error in two rounds
        running, or ``max_calls`` is spent. Choosing the pairs with the widest intervals made the error larger
        (``benchmarks/active_pairs.py``).
    max_calls : int, default 20000
        With ``n_pairs="auto"``: the most distances that are evaluated, those for errors included and those to landmarks not.
        20 at least.
    near : float, default 0.25
        Fraction of the pairs that is drawn among near neighbors, so that small distances are learned too. Larger fractions
        find more neighbors under some distances, and fewer of clustered items (``benchmarks/near_pairs.py``).
    method : {"regress", "vertices"}, default "regress"
        "vertices" needs features of numbers, groups that share none, and no directions; a group's table is the distance
        between points that differ in the group alone, all else at the median of X. It is exact at the vertices for a
        distance that is a sum over the groups, or for one group of all features. The distance must be symmetric if the
        axioms are.
    validation_fraction : float, default 0.1
        Fraction of the items set aside: pairs of them are never learned from, and give ``error_`` and the intervals of
        `predict`. It takes this fraction of ``n_pairs`` calls more, and at most as many again for recall. 0 sets none aside.
    n_jobs : int or None, default None
        Threads that call the distance, and of a learner that has none of its own: None is one, -1 all.
    random_state : int or None, default 0
        Seed of pairs and splits; the learner has its own.
    effort : {"fast", "default", "thorough"} or None, default None
        The effort of the learner; None leaves it as it is.
    verbose : bool or None, default None
        Progress bars: None shows them at terminals and in notebooks for work of more than some two seconds, True always, False
        never. Fits that may take minutes say so first.

    Attributes
    ----------
    semimetric_ : Semimetric
    pairs_ : ndarray of shape (n_drawn, 2), int64
        Rows of X, or of ``vertices_``, that were evaluated and learned from.
    distances_ : ndarray of shape (n_drawn,)
    vertices_ : ndarray of shape (n_vertices, n_features)
        With ``method="vertices"``: grid points of all groups.
    error_ : DistanceErrors
        Errors on random pairs of items set aside: relative errors, R², rank correlation, and, where 21 items
        at least are set aside, recall of the 10 nearest neighbours among them; printed, three lines. NaN without them. A
        warning says if the model is no better than one distance for all pairs.
    intervals_ : CalibratedIntervals
        What `predict` makes intervals of, if enough items are set aside.
    error_quantiles_ : dict of float to float
        Quantiles 0.5, 0.9 and 0.99 of the relative error on pairs of items set aside; NaN without them.
    n_error_pairs_ : int
        How many pairs these quantiles are of: those at distances other than 0.
    features_ : transformer or callable
        With ``features=``: as it was fitted.
    n_calls_ : int
        Distances that were evaluated, to learn from and for errors, and with ``features=`` for landmarks; a few that find
        the form of ``distance`` come beside.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceApproximator, DistanceRegressor, LandmarkFeatures, NeighborIndex
    >>> def slow(x, y):
    ...     return float(np.abs(x - y).sum())
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> model = DistanceApproximator(slow, DistanceRegressor(n_knots=3, alpha=1e-6), n_pairs=300).fit(X)
    >>> bool(model.error_quantiles_[0.5] < 0.01)
    True

    Words, whose distance is the number of letters that only one of them has:

    >>> words = ["".join(word) for word in np.random.default_rng(0).choice(list("abcdefgh"), (80, 4))]
    >>> model = DistanceApproximator(
    ...     lambda x, y: len(set(x) ^ set(y)),
    ...     DistanceRegressor(n_knots=3, alpha=1e-3),
    ...     features=LandmarkFeatures(n_landmarks=8),
    ... ).fit(words)
    >>> near, far = model.predict([("abcd", "abce"), ("abcd", "efgh")])
    >>> bool(near < far)
    True
    >>> NeighborIndex(model).fit(words).kneighbors(["abcd"], 2)[1].shape
    (1, 2)
    """

    _learns_from_items = True
    preprocessor = None  # fit takes the items themselves
    _moved = {name: f"learner__{MOVED.get(name, name)}" for name in (*MOVED, *_OF_THE_LEARNER)}
    pairs_: Stored[Integers]
    distances_: Stored[Floats]
    error_quantiles_: Stored[dict[float, float]]
    n_error_pairs_: Stored[int]
    n_calls_: StoredIfSet[int]
    vertices_: StoredIfSet[Floats]
    features_: StoredIfSet[TransformerMixin | Callable[[Objects], ArrayLike]]

    def __init__(
        self,
        distance: Distance | None = None,
        learner: DistanceRegressor | None = None,
        *,
        features: Any = None,
        n_pairs: int | str = 20_000,
        max_calls: int = 20_000,
        near: float = 0.25,
        method: str = "regress",
        validation_fraction: float = 0.1,
        n_jobs: int | None = None,
        random_state: int | None = 0,
        effort: str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.distance = distance
        self.learner = learner
        self.features = features
        self.n_pairs = n_pairs
        self.max_calls = max_calls
        self.near = near
        self.method = method
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.effort = effort
        self.verbose = verbose

    def _nested(self) -> dict[str, Callable[[Any], BaseEstimator | None]]:
        return {"learner": lambda value: DistanceRegressor() if value is None else None}

    @property
    def parameter_source(self) -> DistanceRegressor:
        if self.learner is None:
            return DistanceRegressor()
        if not isinstance(self.learner, DistanceRegressor):
            raise InputError(
                f"learner={self.learner!r:.60} must be a DistanceRegressor, or None: it learns from the distances called"
            )
        return self.learner

    @property
    def _compares_links(self) -> bool:
        return self.method != "vertices" and super()._compares_links

    def _recipe(self) -> Recipe:
        recipe = super()._recipe()
        own = {"n_jobs": recipe.n_jobs, "verbose": recipe.verbose}
        given: dict[str, Any] = {name: getattr(self, name) if value is None else value for name, value in own.items()}
        return replace(recipe, **given, effort=recipe.effort if self.effort is None else self.effort).checked()

    def fit(self, X: ArrayLike, y: object = None) -> DistanceApproximator:
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
        _refuse_texts(X)
        items, schema = self.read_items(X, min_items=2)
        if self.method == "vertices" and len(recipe.constraints):
            raise NotSupportedError('method="vertices" learns nothing, so constraints= cannot hold; use method="regress"')
        if self.method == "vertices":
            refuse_open_links(recipe, 'method="vertices" learns nothing')
        with self._own_knots():
            structure = check_separable(build_structure(recipe, items, schema)) if self.method == "vertices" else None
        function = UserDistance.of_vectors(self.distance, items, schema=schema)
        self._check_answers(recipe, function, items)
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the largest, which are as they are
            _warn_of_unprepared(function, items)
        learn, held = hold_out(items, self.validation_fraction, self.random_state)
        if structure is not None:
            self._set_vertices(recipe, items, structure, function)
        else:
            self._regress(recipe, items, learn, schema, function)
        self._evaluate(items, learn, held, identities(items).number, function)
        if structure is None:
            self._warn_of_bins(items)
        return self

    def _warn_of_bins(self, items: Floats) -> None:
        """Ask for the places of bins where rows are histograms that neither a layout of bins nor anything else explains."""
        known = self.parameter_source.directions is not None or self.table_choices_.rule is second_if_it_gains_clearly
        if self.error_.median > NEARLY_EXACT and not known and are_histograms(items):
            if named_divergence(self.recipe_, self.semimetric_, self._data(items, self.distances_)):
                return  # of which the fit has warned
            warn(
                f"the rows of X are numbers >= 0 of one sum, as histograms are, and the learned distance errs by "
                f"{100 * self.error_.median:.2g} % (median). If their bins lie at places, give "
                "DistanceRegressor(directions=HistogramFeatures(places)) as learner="
            )

    def _data(self, items: Floats, distances: Floats) -> MeasuredDistances:
        """Return the pairs that were called, with their distances."""
        return MeasuredDistances.of_arrays(Pairs(items, self.pairs_), distances, check_weights(None, len(distances)))

    def _fit_objects(self, recipe: Recipe, X: Any) -> Self:
        """Learn the distance of objects over their features."""
        for name in ("semimetric_", "solution_", "feature_names_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        objects = EncodedObjects(self.features, self.distance, X, self.validation_fraction, self.random_state)
        self.features_ = objects.features
        # counts that are the same for all objects of the fit are no columns that a person made, and none that one could mend
        no_news = ("constant features", "fewer knots") if isinstance(self.features, ObjectFeatures) else ()
        with counted_calls() as count, silent(*no_news):
            try:
                objects.read()
                self._check_answers(recipe, objects.function, objects.items)
                self._regress(recipe, objects.items, objects.learn, objects.schema, objects.function)
                self._evaluate(objects.items, objects.learn, objects.held, objects.number, objects.function)
            finally:
                self.n_calls_ = count.n
        return self

    def check_restored(self) -> None:
        super().check_restored()
        self._check_parameters()
        n = len(self.stored_array("distances_", None))
        self.stored_array("pairs_", n, 2, least=0)

    def stored_parameters(self) -> dict[str, Any]:
        """Return all but code: distance and function of a loaded model are None, until `set_params` gives them again."""
        code = ("distance",) if self.features is None or hasattr(self.features, "transform") else ("distance", "features")
        return {name: value for name, value in super().stored_parameters().items() if name not in code}

    def as_stored(self) -> dict[str, Any]:
        stored = super().as_stored()
        if self.features is None or not hasattr(self.features, "transform"):
            stored.pop("features_", None)
        else:
            check_stored_features(self.features_, self.distance)
        return stored

    def _check_parameters(self) -> None:
        """Refuse parameters that no evaluation of the distance can follow."""
        if self.parameter_source.preprocessor is not None:
            raise InputError("learner= has preprocessor=, but fit takes the items themselves; give X to fit alone")
        check_choice("method", self.method, ("regress", "vertices"))
        if self.features is not None:
            check_features(self.features)
            if self.method == "vertices" or not self.only_numbers:
                raise NotSupportedError(
                    'features= are numbers, all of them there, and objects have no grid; use method="regress", and leave '
                    "columns= out"
                )
        if isinstance(self.n_pairs, str) and self.n_pairs != "auto":
            raise InputError(f'n_pairs={self.n_pairs!r} must be an integer >= 1, or "auto"')
        if not isinstance(self.n_pairs, str):
            check_count("n_pairs", self.n_pairs)
        check_count("max_calls", self.max_calls, minimum=_FEWEST_CALLS)
        for name in ("near", "validation_fraction"):
            if check_alpha(name, getattr(self, name)) > 1:
                raise InputError(f"{name}={getattr(self, name)!r} must lie between 0 and 1")

    def partial_fit(self, *args: object, **kwargs: object) -> DistanceApproximator:
        """Refuse: use `DistanceRegressor.partial_fit` with distances that you evaluate."""
        raise NotSupportedError("an approximator draws its own pairs; use DistanceRegressor.partial_fit with your distances")

    @available_if(_has_features)
    def encode(self, X: Objects) -> Floats:
        """Return the features of objects, shape (n_objects, n_features), of which ``semimetric_`` is a distance.

        ``NeighborIndex(model).fit(objects)`` encodes items and queries itself. With landmarks the distance is called once for
        every object and landmark.

        Parameters
        ----------
        X : sequence of objects
        """
        check_is_fitted(self, "semimetric_")
        features = getattr(self, "features_", self.features)  # of a file, which holds no code, what was given again
        for part in landmark_parts(features):
            if part.distance is None:
                part.set_params(distance=self.distance)
        return feature_rows(features, as_objects(X), self.n_features_in_)

    def pairwise(self, X: Objects | ArrayLike, Y: Objects | ArrayLike | None = None) -> Floats:
        """Return the learned distances of all items of X to all items of Y, or of X, shape (n_X, n_Y).

        Parameters
        ----------
        X, Y : sequence of objects; without ``features=`` array-like of shape (n_items, n_features)
        """
        check_is_fitted(self, "semimetric_")
        return self.semimetric_.pairwise(self._points(X), None if Y is None else self._points(Y))

    def _points(self, X: Any) -> Any:
        return super()._points(X) if self.features is None else self.encode(X)

    def _known(self, tuples: ArrayLike, kind: type[T]) -> T:
        """Return tuples for the fitted model; the features of each object of pairs are computed once."""
        if self.features is None:
            return super()._known(tuples, kind)
        objects, index = object_pairs(tuples)
        return kind(self.encode(objects), index)

    def _check_answers(self, recipe: Recipe, function: UserDistance, items: Floats) -> None:
        """Warn of a distance that is noisy, not symmetric, or not 0 of an item to itself, where the axioms ask for it."""
        if recipe.axioms is None or (answers := function.first_answers(items)) is None:
            return
        apart = ~np.isclose(answers.there, answers.back, rtol=1e-6, equal_nan=True)
        k = int(np.argmax(apart))
        there, back, again = answers.there[k], answers.back[k], answers.again[k]
        noisy, message = not np.isclose(there, again, rtol=1e-6, equal_nan=True), ""
        if noisy:
            message = (
                f"distance= is noisy: it gave {there:g} for a pair, and {again:g} for the same pair again. The errors that are "
                "measured have this noise too"
            )
        elif apart.any() and recipe.axioms in ("semimetric", "metric"):
            message = (
                f"distance= is not symmetric: it gave {there:g} for a pair and {back:g} for its reverse, but "
                f'axioms={recipe.axioms!r} has one value for both; give a symmetric distance, or use axioms="premetric"'
            )
        if message and self.method == "vertices":
            raise NotSupportedError(message)
        if message:
            warn(f"{message}; the values learned lie between the two")
        if (answers.own > _NOT_ZERO * np.abs(answers.there).max()).any():
            warn(
                f"distance= of an item to itself is {answers.own.max():g}, and the learned distance is 0 there, as "
                f"axioms={recipe.axioms!r} has it; subtract it, or use axioms=None"
            )

    def _regress(self, recipe: Recipe, items: Floats, learn: Integers, schema: Schema, function: UserDistance) -> None:
        features = _drawing_features(recipe, items[learn], schema)
        self._check_before_calls(recipe, items[learn], schema)
        self.pairs_, self.distances_ = np.empty((0, 2), np.int64), np.empty(0)
        try:
            distances = self._draw_pairs(recipe, items, learn, features, schema, function)
            target = check_distances(distances, len(self.pairs_), minimum=-np.inf if recipe.axioms is None else 0.0)
            self.fit_data(recipe, self._data(items, target), schema)
        except BaseException as error:
            given = "X" if self.features is None else "the features of X"
            error.add_note(
                f"The {len(self.distances_)} distances that were evaluated are kept: DistanceRegressor(preprocessor={given}, "
                "...).fit(model.pairs_, model.distances_) learns from them without another call."
            )
            raise

    def _check_before_calls(self, recipe: Recipe, items: Floats, schema: Schema) -> None:
        """Refuse what cannot be learned whatever the distances are."""
        check_varied(items)
        auto = self.auto_numbers
        if auto["knots"]:
            recipe = replace(recipe, n_knots=2)
        if recipe.tables == "auto":
            recipe = replace(recipe, tables="full")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SemimetricWarning)  # the fit warns of ties and constants
            structure = build_structure(without_joint(recipe), items, schema)
        if any(auto.values()) and not (auto["knots"] and is_screened(recipe, structure)):
            check_width(recipe, structure)

    def _draw_pairs(
        self, recipe: Recipe, items: Floats, learn: Integers, features: Floats, schema: Schema, function: UserDistance
    ) -> Floats:
        """Evaluate the distances of as many pairs as were asked for, or of rounds of pairs until more do not help."""
        if not isinstance(self.n_pairs, str):
            index = sample_pairs(features, self.n_pairs, near=self.near, random_state=self.random_state)
            return self._evaluate_pairs(function, Pairs(items, learn[index]))

        def evaluate(rows: Integers) -> Floats:
            return self._evaluate_pairs(function, Pairs(items, learn[rows]), more=True)

        budget = int((self.max_calls - 4) / (1 + 2 * self.validation_fraction))  # rows for recall take as many as pairs
        draw_in_rounds(recipe, items[learn], features, schema, evaluate, budget, self.near, self.auto_numbers)
        return self.distances_

    def _evaluate_pairs(self, function: UserDistance, pairs: Pairs, kind: str = "", *, more: bool = False) -> Floats:
        """Return the distances of pairs, and record them even if an error ends this early; ``more`` keeps earlier ones."""
        done, nonnegative = [np.empty(0)], self.parameter_source.axioms is not None
        before = (self.distances_, self.pairs_) if more else (np.empty(0), np.empty((0, 2), np.int64))
        try:
            for block in function.stream(pairs, n_jobs=self.n_jobs, verbose=self.verbose, nonnegative=nonnegative, kind=kind):
                done.append(block)
        finally:
            found = np.concatenate(done)
            self.distances_ = np.concatenate([before[0], found])
            self.pairs_ = np.concatenate([before[1], pairs.index[: len(found)]])
        return found

    def _set_vertices(self, recipe: Recipe, items: Floats, structure: Structure, function: UserDistance) -> None:
        """Set the weights to the distances at the vertices, and record the distance that they make."""
        pairs = vertex_pairs(cast(PairEmbedding, structure.embedding), np.median(items, axis=0))  # which was checked
        self.vertices_ = pairs.items
        weights = self._evaluate_pairs(function, pairs, "vertices")
        weights = link_function(recipe.link).invert(weights)
        delta = recipe.delta * float(weights.mean()) if recipe.axioms is not None else 0.0
        weights = np.maximum(weights, delta) if recipe.axioms is not None else weights
        check_triangles(recipe, structure.embedding, weights)
        self.n_features_in_, self.recipe_ = items.shape[1], recipe
        self.choices_ = self.group_choices_ = self.link_choices_ = self.table_choices_ = Choices()
        self.screened_ = False
        solution = Solution(weights, 0.0, 0.0, 0, Status.SOLVED, "set at the vertices, nothing learned")
        examples = Pairs(items, np.array([[0, 1]]))
        d = assemble(recipe, structure, weights, delta, examples=examples)
        self._record(d, solution, "its weights are the distances at the vertices, and no program was solved")

    def _evaluate(self, items: Floats, learn: Integers, held: Integers, number: Integers, function: UserDistance) -> None:
        """Call the distance on pairs of the items that were set aside; record errors, intervals and the number of calls.

        ``learn`` and ``held`` are rows of the items; ``number``, shape (n_items,), is that of each among the distinct ones.
        Different objects may have the same features, so that features do not give their numbers.
        """
        unseen, n_calls = self._unseen(items, learn, held, number, function) if len(held) else (None, 0)
        self.n_calls_ = len(self.distances_) + n_calls
        relative = np.empty(0) if unseen is None else relative_errors(unseen.true, unseen.predicted)
        self.n_error_pairs_, self.error_quantiles_ = len(relative), quantiles_of(relative, _LEVELS)
        if unseen is None:
            self.error_ = DistanceErrors(note=NOTHING_ASIDE)
        else:
            self._record_errors(unseen, items[learn], SET_ASIDE)

    def _unseen(
        self, items: Floats, learn: Integers, held: Integers, number: Integers, function: UserDistance
    ) -> tuple[UnseenPairs, int]:
        """Return random pairs of the items set aside, and the number of calls for them.

        If these are not all pairs and the items are enough, a few items are compared with all others besides, for the recall
        of neighbors, in at most as many calls again.
        """
        d, seed = self.semimetric_, self.random_state
        n_pairs = len(self.distances_) if isinstance(self.n_pairs, str) else self.n_pairs
        n_pairs = max(2, round(self.validation_fraction * n_pairs))
        nonnegative = self.parameter_source.axioms is not None

        def called(pairs: Pairs) -> Floats:
            return function.evaluate(pairs, n_jobs=self.n_jobs, verbose=self.verbose, nonnegative=nonnegative)

        held = held[np.unique(number[held], return_index=True)[1]]  # each item once
        pairs = Pairs(items, held[sample_pairs(items[held], n_pairs, near=0.0, random_state=seed)])
        identity = number[pairs.index]
        sides = divided(identity, np.arange(int(number.max()) + 1), seed)
        landmarks = choose_landmarks(items[learn], seed)
        before = function.calls.seconds
        truth = called(pairs)
        seconds = function.calls.seconds - before
        unseen = UnseenPairs.predicted_by(d, pairs, truth, identity, landmarks, sides, self.n_jobs)
        self._say_if_cheap(pairs, seconds / len(pairs))
        n_others = len(held) - 1
        if n_others < FEWEST_OTHERS or len(pairs) == len(held) * n_others // 2:
            return unseen, len(pairs)
        queries = np.random.default_rng(seed).permutation(held)[: n_pairs // n_others]
        if not len(queries):
            return replace(unseen, recalls=()), len(pairs)
        rows = np.array([(q, other) for q in queries for other in held if other != q])
        found = called(Pairs(items, rows)).reshape(-1, n_others)
        learned = d.paired_by_index(items, rows, n_jobs=self.n_jobs).reshape(-1, n_others)
        recalls = tuple(neighbour_recall(*row) for row in zip(found, learned, strict=True))
        return replace(unseen, recalls=recalls), len(pairs) + len(rows)

    def _say_if_cheap(self, pairs: Pairs, seconds: float) -> None:
        """Say that a distance of so many seconds a pair is not worth replacing, where the learned one takes about as long."""
        some = pairs.items[np.unique(pairs.index)[:_SEARCHED]]
        self.semimetric_.pairwise(some[:2], n_jobs=self.n_jobs)  # which may compile
        started = perf_counter()
        self.semimetric_.pairwise(some, n_jobs=self.n_jobs)  # as a search does: each item is located once
        learned = (perf_counter() - started) / len(some) ** 2
        if seconds < _CHEAP * learned:
            beside = "" if self.features is None else ", once the features of the objects are made"
            announce(
                f"The distance takes {seconds_text(seconds)} a pair, and the learned one {seconds_text(learned)}{beside}: it "
                "is not worth replacing for its speed. Call it for all items",
                verbose=self.verbose,
            )


def _warn_of_unprepared(function: UserDistance, items: Floats) -> None:
    """Warn of rows whose means or lengths the distance does not see, as a correlation and an angle do not."""
    if (
        function.schema is not None
        or items.shape[1] < _FEWEST_OF_A_ROW
        or ((items == items.min()) | (items == items.max())).all()
    ):
        return
    step, unseen, preparation = float(np.ptp(items)) or 1.0, [], []
    if np.ptp(items.mean(axis=1)) > _NOT_ZERO * step and function.unchanged_by(items, lambda rows: rows + step):
        unseen.append("have a number added")
        preparation.append("subtract its mean")
        items = items - items.mean(axis=1, keepdims=True)
    there = items[items.any(axis=1)]
    lengths = (np.linalg.norm(there, order, axis=1) for order in (1, 2))
    if all(np.ptp(found) > _NOT_ZERO * found.max() for found in lengths) and function.unchanged_by(
        items, lambda rows: rows / 2.0
    ):
        unseen.append("are multiplied by one")
        preparation.append("divide by its length, or by its sum where numbers are shares")
    if unseen:
        warn(
            f"distance= stays the same where all numbers of an item {' or '.join(unseen)}. A sum over columns cannot know "
            f"that. Prepare each row before fit: {', and '.join(preparation)}. Its distances stay the same, and may "
            "be learned better",
            cause="rows that are not prepared",
        )


def _drawing_features(recipe: Recipe, items: Floats, schema: Schema) -> Floats:
    """Return features by which near neighbors are drawn, (n_items, n_features): with linear directions, if any."""
    if not schema.plain:
        return schema.coordinates(items)
    directions = fit_directions(recipe.directions, items, names=schema.names, random_state=recipe.random_state)
    return items if directions is None else directions.append(items)[:, : items.shape[1] + directions.n_linear]


def draw_in_rounds(
    recipe: Recipe, items: Floats, features: Floats, schema: Schema, evaluate: Callable[[Integers], Floats],
    budget: int, near: float, auto: dict[str, bool],
) -> None:  # fmt: skip
    """Evaluate at most ``budget`` distances of pairs of row numbers, in rounds until more do not help.

    A fraction ``near`` of the pairs is drawn among near neighbors by ``features``. Settings of the model of a round are
    compared as with ``effort="fast"``.
    """
    rest, stopping = hold_out(items, _STOPPING, recipe.random_state)
    n_stopping = min(int(_STOPPING * budget), _MOST_STOPPING) if len(stopping) else 0
    order = rest[sample_pairs(features[rest], budget - n_stopping, near=near, random_state=recipe.random_state)]
    if n_stopping < 2 or len(order) <= _FIRST:
        evaluate(order)
        return
    pairs = stopping[sample_pairs(features[stopping], n_stopping, near=0.0, random_state=recipe.random_state)]
    truth, y = evaluate(pairs), evaluate(order[:_FIRST])
    quick = replace(without_joint(recipe), effort="fast", verbose=False)
    errors, without_gain = None, 0
    while len(y) < len(order) and without_gain < _PATIENCE:
        if y.any():  # of nothing but zeros no distance can be learned
            data = MeasuredDistances.of_arrays(Pairs(items, order[: len(y)]), y, np.full(len(y), 1 / len(y)))
            now = np.abs(_learn_quickly(quick, data, schema, auto).paired_by_index(items, pairs) - truth)
            without_gain = without_gain + 1 if errors is not None and not errors_fell(errors - now, pairs) else 0
            errors = now
        if without_gain < _PATIENCE:
            y = np.concatenate([y, evaluate(order[len(y) : int(_GROWTH * len(y))])])


def _learn_quickly(recipe: Recipe, data: MeasuredDistances, schema: Schema, auto: dict[str, bool]) -> Semimetric:
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the last fit warns of ties and constants
        _, learned = decide(recipe, data, schema, **auto).learned(data, schema)
    learned.solution.raise_if_interrupted()
    return learned.semimetric


def errors_fell(falls: Floats, index: Integers) -> bool:
    """Return True if the mean fall of the errors of pairs exceeds its standard error; ``index`` is (n_pairs, 2)."""
    position = np.unique(index, return_inverse=True)[1].reshape(index.shape)
    counts = np.bincount(position.ravel())
    of_item = np.bincount(position.ravel(), np.repeat(falls, 2)) / counts
    return bool(falls.mean() > 2.0 * of_item.std(ddof=1) / np.sqrt(len(counts)))


def check_separable(structure: Structure) -> Structure:
    """Return the structure, or raise if its tables cannot be set one by one, before any call of the distance."""
    embedding = structure.embedding
    features = [f for g in embedding.groups for f in g]
    if not structure.schema.plain:
        raise NotSupportedError(
            'method="vertices" needs features of numbers that are always there; use method="regress" for categories, periodic '
            "features and missing values"
        )
    if structure.directions is not None or structure.bases or not isinstance(embedding, PairEmbedding):
        raise NotSupportedError('method="vertices" needs full tables on raw features: no directions, no base distances')
    if len(set(features)) < len(features):
        raise NotSupportedError('method="vertices" needs groups that share no feature; use method="regress"')
    large = [v for v in embedding.vertices if not v.fits]
    if large:
        raise InputError(
            f"the table of group {large[0].group} has {large[0].n_points}² vertices; at most {WHOLE_TABLE} can be held: "
            "use fewer knots or smaller groups"
        )
    if sum(len(v.keys) for v in embedding.vertices) > _MOST_VERTICES:
        raise InputError(f"more than {_MOST_VERTICES} vertices would have to be evaluated; use fewer knots or smaller groups")
    return structure


def check_triangles(recipe: Recipe, embedding: PairMap, weights: Floats) -> None:
    """Refuse values at the vertices that break the triangle inequality if the recipe asks for it."""
    if not recipe.asks_triangle:
        return
    worst = [d for d in Triangles.of(embedding).worst(weights) if not d.holds]
    if worst:
        raise InputError(
            f"distance= breaks the triangle inequality by {max(d.excess for d in worst):g} at the vertices, but "
            f'axioms={recipe.axioms!r} asks for it; use method="regress", or metric_repair on a model with axioms="semimetric"'
        )


def vertex_pairs(embedding: PairEmbedding, centre: Floats) -> Pairs:
    """Return the columns as pairs of grid points, group after group; features of other groups are those of ``centre``."""
    items, index = [np.empty((0, len(centre)))], [np.empty((0, 2), np.int64)]
    start = 0
    for v in embedding.vertices:
        points = np.tile(centre, (v.n_points, 1))
        for f, values in zip(v.group, v.coordinates(embedding.grid, np.arange(v.n_points)), strict=True):
            points[:, f] = values
        items.append(points)
        index.append(start + np.column_stack(np.divmod(v.keys, v.n_points)))
        start += v.n_points
    return Pairs(np.concatenate(items), np.concatenate(index))


def _refuse_texts(X: Any) -> None:
    """Refuse texts without a transformer that makes numbers of them."""
    sequence = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim > 0)
    if sequence and len(X) and isinstance(X[0], str):
        raise InputError(
            f"X holds texts, such as {X[0]!r:.40}, and features= is None; give features=StringFeatures() or "
            "LandmarkFeatures(), which learn a distance of texts, or a table of numbers"
        )


def check_features(features: Any) -> None:
    """Refuse what is neither a transformer nor a function."""
    if isinstance(features, type) or not (hasattr(features, "transform") or callable(features)):
        raise InputError(
            f"features={features!r:.60} must be a transformer, such as LandmarkFeatures(), or a function of a sequence of "
            "objects that returns their features, shape (n_objects, n_features)"
        )


def landmark_parts(features: Any) -> list[LandmarkFeatures]:
    """Return the landmarks among features: themselves, or the steps of a pipeline or union."""
    parts = [features, *(features.get_params(deep=True).values() if hasattr(features, "get_params") else ())]
    return [part for part in parts if isinstance(part, LandmarkFeatures)]


def feature_rows(features: Any, objects: Objects, n_features: int | None = None, *, fit: bool = False) -> Floats:
    """Return the features of objects by a transformer or function, shape (n_objects, n_features)."""
    if not hasattr(features, "transform"):
        found = _called(features, objects)
    elif fit and hasattr(features, "fit_transform"):
        found = features.fit_transform(objects)
    else:
        found = (features.fit(objects) if fit else features).transform(objects)
    found = found.toarray() if hasattr(found, "toarray") else found
    rows = check_items(found, name="features of the objects", n_features=n_features)
    if len(rows) != len(objects):
        raise InputError(f"features= returned {len(rows)} rows for {len(objects)} objects; one row an object is required")
    return rows


def _called(features: Callable[[Objects], Any], objects: Objects) -> Any:
    """Return the features of all objects by one call of a function."""
    one_call = (
        "a function is called once with the list of all objects, and returns a row of features for each, such as "
        "features=lambda objects: [[len(x)] for x in objects]"
    )
    try:
        found = features(objects)
        shape = found.shape if hasattr(found, "shape") else np.shape(found)
    except SemimetricError:
        raise
    except Exception as error:  # a user's function may raise anything
        raise InputError(f"features= failed on {len(objects)} objects ({type(error).__name__}: {error}); {one_call}") from error
    if len(shape) != 2 or shape[0] != len(objects):
        raise InputError(f"features= returned the shape {shape} for {len(objects)} objects; {one_call}")
    return found


def _names_of(features: Any, n_features: int) -> tuple[str, ...]:
    try:
        names = [str(name) for name in features.get_feature_names_out()]
    except (AttributeError, TypeError, ValueError):  # those of a function, or of a step that asks for names of its input
        names = []
    return distinct(names) if len(names) == n_features else tuple(f"feature{k}" for k in range(n_features))


class EncodedObjects:
    """Objects to learn a distance of: their features, those held out, and the distance to be called."""

    features: TransformerMixin | Callable[[Objects], ArrayLike]  # as it was fitted
    items: Floats  # (n_objects, n_features)
    schema: Schema
    learn: Integers  # positions of the objects to learn from
    held: Integers  # positions of those held out
    number: Integers  # (n_objects,): that of each object among the distinct ones
    function: UserDistance  # it calls no pair again that landmarks have called

    def __init__(self, features: Any, distance: Distance | None, X: Any, fraction: float, random_state: int | None) -> None:
        if not callable(distance):
            raise InputError(f"distance={distance!r} must be callable: a function of two objects that returns their distance")
        self._objects = as_objects(X, min_objects=2)
        self.learn, self.held = hold_out_objects(self._objects, fraction, random_state)
        self.number = object_numbers(self._objects)
        self.features = clone(features) if hasattr(features, "transform") else features
        for part in landmark_parts(self.features):
            if part.distance is None:
                part.set_params(distance=distance)
        first = self.features if isinstance(self.features, LandmarkFeatures) else None
        same = first is not None and first.distance is distance
        self._landmarks = first if same else None
        options: dict[str, Any] = {} if first is None else {"backend": first.backend, "cache": first.cache if same else None}
        self.function = UserDistance(distance, objects=self._objects, known=self._known if same else None, **options)

    def read(self) -> None:
        """Fit the features to the objects that are not held out, and compute those of all."""
        with self._positions_in_X(self.learn, self.learn):
            rows = feature_rows(self.features, self._taken(self.learn), fit=True)
        self.items = np.empty((len(self._objects), rows.shape[1]))
        self.items[self.learn] = rows
        if len(self.held):
            parts = landmark_parts(self.features)
            landmarks = self.learn[parts[0].landmark_indices_] if len(parts) == 1 else self.learn
            with self._positions_in_X(self.held, landmarks):
                self.items[self.held] = feature_rows(self.features, self._taken(self.held), rows.shape[1])
        names = _names_of(self.features, rows.shape[1])
        self.schema = Schema(tuple(Feature(name, encoded=True) for name in names))

    @contextmanager
    def _positions_in_X(self, left: Integers, right: Integers) -> Iterator[None]:
        """Let an error of an object or of the distance, which names positions among some objects, name those of X."""
        try:
            yield
        except ObjectError as error:
            raise error.at(int(left[error.position])) from error.__cause__
        except DistanceCallError as error:
            if len(landmark_parts(self.features)) != 1:
                raise
            pair = int(left[error.pair[0]]), int(right[error.pair[1]])
            pairs = np.column_stack([left[error.pairs[:, 0]], right[error.pairs[:, 1]]])
            message = f"{error.args[0]}. In X these two are the objects {pair[0]} and {pair[1]}"
            raise DistanceCallError(message, pair, pairs, error.distances) from error.__cause__

    def _taken(self, positions: Integers) -> Objects:
        return self._objects if len(positions) == len(self._objects) else [self._objects[i] for i in positions.tolist()]

    def _known(self, index: Integers) -> Floats:
        """Return the distances of pairs that landmarks have called, NaN for others."""
        position = np.full(len(self._objects), -1)
        position[self.learn] = np.arange(len(self.learn))
        at = position[index]
        values, rows = np.full(len(index), np.nan), np.flatnonzero((at >= 0).all(axis=1))
        if self._landmarks is not None:
            values[rows] = self._landmarks.known_distances(at[rows])
        return values


def check_stored_features(features: Any, distance: Distance | None) -> None:
    """Refuse fitted features that a file does not hold whole: foreign ones, or landmarks under another distance."""
    foreign = not isinstance(features, SavedEstimator)
    if foreign or any(part.distance is not distance for part in landmark_parts(features)):
        what = (
            f"is a {type(features).__name__}, of which no file holds what it fitted" if foreign else "has a distance of its own"
        )
        raise NotSupportedError(
            f"the model cannot be saved: features= {what}. Features of this package are saved, with landmarks under the "
            "distance of the model; save semimetric_.save(path), which is of the features, and pickle the transformer"
        )
