"""Approximating an expensive distance that can be called (paper 2, section 4)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NotRequired, Self, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import DistanceCallError, InputError, NotSupportedError, SemimetricWarning, silent, warn
from ..._foundation.estimator import SavedEstimator
from ..._foundation.iteration import Status
from ..._foundation.shared_docstrings import with_shared_parameters
from ..._foundation.stored import storable
from ..._foundation.threads import one_blas_thread
from ..._foundation.types import (
    ArrayLike,
    Exponents,
    FeatureChoice,
    Floats,
    Integers,
    KnotCounts,
    Knots,
    Pairs,
    Periods,
    distinct,
)
from ..._foundation.validation import check_alpha, check_choice, check_count, check_distances, check_items, check_weights
from ...data.calls import Distance, DistanceFunction, ObjectDistance, counted_calls
from ...data.feature_groups import Groups
from ...data.identical_items import identities
from ...data.object_lists import Objects, as_objects, hold_out_objects, object_numbers, object_pairs
from ...data.pair_sampling import sample_pairs
from ...data.schema import Schema
from ...data.splits import hold_out
from ..features.fitted_directions import fit_directions
from ..features.landmarks import LandmarkFeatures
from ..features.objects import ObjectFeatures
from ..learning.assembly import assemble
from ..learning.errors import (
    FEWEST_OTHERS,
    DistanceErrors,
    UnseenPairs,
    divided,
    landmarks_among,
    neighbour_recall,
    novelty_of,
    quantiles_of,
    relative_errors,
    whole_rows,
)
from ..learning.groups import without_joint
from ..learning.measured import InMemoryDistances
from ..learning.measured_fit import check_width, choose_link, choose_numbers
from ..learning.measured_fit import learn as learn_distance
from ..learning.options import Recipe, refuse_open_links
from ..learning.screening import is_wide, learn_wide
from ..learning.search import Choices
from ..learning.structure import Structure, build_structure, check_varied
from ..model.links import LinkLike, link_function
from ..model.semimetric import Semimetric
from ..pairs.base import PairMap
from ..pairs.full_tables import PairEmbedding
from ..pairs.triangle_inequality import Triangles
from ..pairs.vertices import WHOLE_TABLE
from ..programs.constraints import Constraint
from ..programs.losses import Loss
from ..programs.penalties import Penalties
from ..solvers.base import Solution, Solver
from .base import LearnedDistance, T
from .regressor import NOTHING_ASIDE, SET_ASIDE, DistanceRegressor
from .shared_parameters import LEARNER_PARAMETERS, REGRESSION_PARAMETERS

_NAME = "features of the objects"


def check_features(features: Any) -> None:
    """Refuse what is neither a transformer nor a function."""
    if isinstance(features, type) or not (hasattr(features, "transform") or callable(features)):
        raise InputError(
            f"features={features!r:.60} must be a transformer, such as LandmarkFeatures(), or a function of a sequence of "
            "objects that returns their features, shape (n_objects, n_features)"
        )


def landmark_parts(features: Any) -> list[LandmarkFeatures]:
    """The landmarks among features: themselves, or the steps of a pipeline or union."""
    parts = [features, *(features.get_params(deep=True).values() if hasattr(features, "get_params") else ())]
    return [part for part in parts if isinstance(part, LandmarkFeatures)]


def feature_rows(features: Any, objects: Objects, n_features: int | None = None, *, fit: bool = False) -> Floats:
    """The features of objects by a transformer or function, shape (n_objects, n_features)."""
    if not hasattr(features, "transform"):
        found = features(objects)
    elif fit and hasattr(features, "fit_transform"):
        found = features.fit_transform(objects)
    else:
        found = (features.fit(objects) if fit else features).transform(objects)
    rows = check_items(found.toarray() if hasattr(found, "toarray") else found, name=_NAME, n_features=n_features)
    if len(rows) != len(objects):
        raise InputError(f"features= returned {len(rows)} rows for {len(objects)} objects; one row an object is required")
    return rows


def _names(features: Any, n_features: int) -> tuple[str, ...]:
    """The names that the features say they have, or their numbers."""
    try:
        names = [str(name) for name in features.get_feature_names_out()]
    except (AttributeError, TypeError, ValueError):  # those of a function, or of a step that asks for names of its input
        names = []
    return distinct(names) if len(names) == n_features else tuple(f"feature{k}" for k in range(n_features))


class EncodedObjects:
    """Objects to learn a distance of: their features, those held out, and the distance to be called.

    Parameters
    ----------
    features : transformer or callable
        A transformer is cloned and fitted to the objects that are not held out.
    distance : callable
    X : sequence of objects
    share : float
        That of distinct objects to hold out.
    random_state : int or None

    Attributes
    ----------
    features : transformer or callable
        As it was fitted.
    items : ndarray of shape (n_objects, n_features)
    schema : Schema
    learn, held : ndarray of int64
        Positions of the objects to learn from, and of those held out.
    number : ndarray of shape (n_objects,), int64
        That of each object among the distinct ones, of which some may have the same features.
    function : ObjectDistance
        It calls no pair again that landmarks have called.
    """

    def __init__(self, features: Any, distance: Distance | None, X: Any, share: float, random_state: int | None) -> None:
        if not callable(distance):
            raise InputError(f"distance={distance!r} must be callable: a function of two objects that returns their distance")
        self._objects = as_objects(X, min_objects=2)
        self.learn, self.held = hold_out_objects(self._objects, share, random_state)
        self.number = object_numbers(self._objects)
        self.features = clone(features) if hasattr(features, "transform") else features
        for part in landmark_parts(self.features):
            if part.distance is None:
                part.set_params(distance=distance)
        first = self.features if isinstance(self.features, LandmarkFeatures) else None
        same = first is not None and first.distance is distance
        self._landmarks = first if same else None
        options: dict[str, Any] = {} if first is None else {"backend": first.backend, "cache": first.cache if same else None}
        self.function = ObjectDistance(distance, self._objects, known=self._known if same else None, **options)

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
        self.schema = Schema.numeric(_names(self.features, rows.shape[1]))

    @contextmanager
    def _positions_in_X(self, left: Integers, right: Integers) -> Iterator[None]:
        """Let an error of the distance, which names positions among some objects, name those of X."""
        try:
            yield
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
        """The distances of pairs that landmarks have called, NaN of others."""
        place = np.full(len(self._objects), -1)
        place[self.learn] = np.arange(len(self.learn))
        at = place[index]
        values, rows = np.full(len(index), np.nan), np.flatnonzero((at >= 0).all(axis=1))
        if self._landmarks is not None:
            values[rows] = self._landmarks.known_distances(at[rows])
        return values


def check_stored_features(features: Any, distance: Distance | None) -> None:
    """Refuse to save fitted features that a file does not hold whole.

    Raises
    ------
    NotSupportedError
        If it is no transformer of this package that saves what it has fitted, or has landmarks under another distance.
    """
    foreign = not isinstance(features, SavedEstimator)
    if foreign or any(part.distance is not distance for part in landmark_parts(features)):
        what = (
            f"is a {type(features).__name__}, of which no file holds what it fitted" if foreign else "has a distance of its own"
        )
        raise NotSupportedError(
            f"the model cannot be saved: features= {what}. Features of this package are saved, with landmarks under the "
            "distance of the model; save semimetric_.save(path), which is of the features, and pickle the transformer"
        )


_SHARE = 0.2  # of the items, and of the budget, tells when to stop
_MOST_TELLING = 1_000  # pairs
_FIRST = 500  # pairs of the first round
_GROWTH = 1.5
_PATIENCE = 2  # rounds without a fall


def draw_in_rounds(
    recipe: Recipe, items: Floats, features: Floats, schema: Schema, evaluate: Callable[[Integers], Floats],
    budget: int, near: float, auto: dict[str, bool],
) -> None:  # fmt: skip
    """Evaluate distances in rounds until more do not help.

    Parameters
    ----------
    recipe : Recipe
        How a round learns; its settings are compared as with ``effort="fast"``.
    items : ndarray of shape (n_items, n_features)
        To learn from.
    features : ndarray of shape (n_items, n)
        By which near neighbours are drawn.
    schema : Schema
    evaluate : callable
        Of pairs of row numbers, shape (n, 2): their distances.
    budget : int
        The most pairs.
    near : float
        The share of pairs drawn among near neighbours.
    auto : dict
        Whether ``knots`` and ``alpha`` are compared.
    """
    rest, telling = hold_out(items, _SHARE, recipe.random_state)
    n_telling = min(int(_SHARE * budget), _MOST_TELLING) if len(telling) else 0
    order = rest[sample_pairs(features[rest], budget - n_telling, near=near, random_state=recipe.random_state)]
    if n_telling < 2 or len(order) <= _FIRST:
        evaluate(order)
        return
    told = telling[sample_pairs(features[telling], n_telling, near=0.0, random_state=recipe.random_state)]
    truth, y = evaluate(told), evaluate(order[:_FIRST])
    quick = replace(without_joint(recipe), effort="fast", verbose=False)
    off, calm = None, 0
    while len(y) < len(order) and calm < _PATIENCE:
        if y.any():  # of nothing but zeros no distance can be learned
            data = InMemoryDistances(Pairs(items, order[: len(y)]), y, np.full(len(y), 1 / len(y)))
            now = np.abs(_quickly(quick, data, schema, auto).paired_by_index(items, told) - truth)
            calm = calm + 1 if off is not None and not _fell(off - now, told) else 0
            off = now
        if calm < _PATIENCE:
            y = np.concatenate([y, evaluate(order[len(y) : int(_GROWTH * len(y))])])


def _quickly(recipe: Recipe, data: InMemoryDistances, schema: Schema, auto: dict[str, bool]) -> Semimetric:
    """The distance that the pairs so far teach."""
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the last fit warns of ties and constants
        wide = learn_wide(recipe, data, schema, alpha=auto["alpha"]) if auto["knots"] else None
        if wide is None:
            chosen, _ = choose_link(recipe, data, schema, **auto)
            chosen, _ = choose_numbers(chosen, data, schema, **auto)
            d, solution = learn_distance(chosen, data, schema)
        else:
            d, solution = wide.semimetric, wide.solution
    solution.raise_if_interrupted()
    return d


def _fell(less: Floats, index: Integers) -> bool:
    """Whether errors fell by more than the standard error of their mean fall.

    Parameters
    ----------
    less : ndarray of shape (n_pairs,)
        By how much the error of each pair fell.
    index : ndarray of shape (n_pairs, 2)
        The items of each pair.
    """
    place = np.unique(index, return_inverse=True)[1].reshape(index.shape)
    counts = np.bincount(place.ravel())
    of_item = np.bincount(place.ravel(), np.repeat(less, 2)) / counts
    return bool(less.mean() > 2.0 * of_item.std(ddof=1) / np.sqrt(len(counts)))


_MOST_VERTICES = 5_000_000


def check_separable(structure: Structure) -> Structure:
    """The structure, if its tables can be set one by one; this is checked before any call of the distance."""
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
    """Refuse values at the vertices that break the triangle inequality, where the recipe asks for it."""
    if not recipe.asks_triangle:
        return
    worst = [d for d in Triangles.of(embedding).worst(weights) if not d.holds]
    if worst:
        raise InputError(
            f"distance= breaks the triangle inequality by {max(d.excess for d in worst):g} at the vertices, but "
            f'axioms={recipe.axioms!r} asks for it; use method="regress", or metric_repair on a model with axioms="semimetric"'
        )


def vertex_pairs(embedding: PairEmbedding, centre: Floats) -> Pairs:
    """The columns as pairs of grid points, group after group; the features of other groups are those of ``centre``."""
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


_LEVELS = (0.5, 0.9, 0.99)  # of the quantiles of errors


def judge_by_calls(
    model: Any, items: Floats, learn: Integers, held: Integers, function: DistanceFunction | ObjectDistance, number: Integers
) -> None:
    """Judge an approximator by calls on pairs of the items that were set aside, and record its errors and its calls.

    Parameters
    ----------
    model : DistanceApproximator
        Fitted.
    items : ndarray of shape (n_items, n_features)
    learn, held : ndarray of int64
        The rows of the items that were learned from, and of those set aside.
    function : DistanceFunction or ObjectDistance
    number : ndarray of shape (n_items,), int64
        That of each item among the distinct ones. Of objects these are not told by features, which different ones may share.
    """
    n_learned = len(model.distances_) if isinstance(model.n_pairs, str) else model.n_pairs
    n_pairs = max(2, round(model.validation_fraction * n_learned))
    options = {"n_jobs": model.n_jobs, "verbose": model.verbose, "nonnegative": model.axioms is not None}
    unseen, n_calls = judged_items(
        model.semimetric_, items, learn, held, number, function, n_pairs, model.random_state, options
    )
    model.n_calls_ = len(model.distances_) + n_calls
    relative = np.empty(0) if unseen is None else relative_errors(unseen.true, unseen.predicted)
    model.n_error_pairs_, model.error_quantiles_ = len(relative), quantiles_of(relative, _LEVELS)
    if unseen is None:
        model.error_ = DistanceErrors(note=NOTHING_ASIDE)
    else:
        model._judge(unseen, items[learn], SET_ASIDE)


def judged_items(
    d: Semimetric, items: Floats, learn: Integers, held: Integers, number: Integers,
    function: DistanceFunction | ObjectDistance, n_pairs: int, random_state: int | None, options: dict[str, Any],
) -> tuple[UnseenPairs | None, int]:  # fmt: skip
    """Random pairs of the items set aside, judged, and how many calls that took; None and 0 of no items.

    Where the pairs are not all that there are, and the items enough, a few items are compared with all others besides, in as
    many calls again at most: recall of neighbours is told of these.

    Parameters
    ----------
    d : Semimetric
        The approximation.
    items : ndarray of shape (n_items, n_features)
    learn, held : ndarray of int64
        The rows of the items that were learned from, and of those set aside.
    number : ndarray of shape (n_items,), int64
        That of each item among the distinct ones.
    function : DistanceFunction or ObjectDistance
    n_pairs : int
        The most pairs to judge by.
    random_state : int or None
    options : dict
        Of `DistanceFunction.evaluate`.
    """
    if not len(held):
        return None, 0
    held = held[np.unique(number[held], return_index=True)[1]]  # each item once
    index = held[sample_pairs(items[held], n_pairs, near=0.0, random_state=random_state)]
    true = function.evaluate(Pairs(items, index), **options)
    predicted = d.paired_by_index(items, index, n_jobs=options["n_jobs"])
    novelty = novelty_of(d, items, index, landmarks_among(items[learn], random_state), n_jobs=options["n_jobs"])
    teaches, calibrates = divided(number[index], np.arange(int(number.max()) + 1), random_state)
    unseen = UnseenPairs(true, predicted, novelty, number[index], teaches, calibrates)
    n_others = len(held) - 1
    if n_others < FEWEST_OTHERS or len(index) == len(held) * n_others // 2:
        return replace(unseen, recalls=whole_rows(number[index], true, predicted)), len(index)
    queries = np.random.default_rng(random_state).permutation(held)[: n_pairs // n_others]
    if not len(queries):
        return unseen, len(index)
    rows = np.array([(q, other) for q in queries for other in held if other != q])
    found = function.evaluate(Pairs(items, rows), **options).reshape(-1, n_others)
    learned = d.paired_by_index(items, rows, n_jobs=options["n_jobs"]).reshape(-1, n_others)
    recalls = tuple(neighbour_recall(*row) for row in zip(found, learned, strict=True))
    return replace(unseen, recalls=recalls), len(index) + len(rows)


class CalledPairs(LearnedDistance):
    """The part of an approximator that draws pairs and calls the distance.

    Attributes
    ----------
    pairs_ : ndarray of shape (n_drawn, 2), int64
        Rows of the items, whatever ends a fit early.
    distances_ : ndarray of shape (n_drawn,)
        What the distance gave for them.
    """

    n_pairs: int | str
    max_calls: int
    near: float
    validation_fraction: Any
    pairs_: Integers
    distances_: Floats

    def _drawn(
        self, recipe: Recipe, items: Floats, learn: Integers, features: Floats, schema: Schema, function: DistanceFunction
    ) -> Floats:
        """The distances of pairs of items to learn from: as many as were asked for, or in rounds until more do not help."""
        if not isinstance(self.n_pairs, str):
            index = sample_pairs(features, self.n_pairs, near=self.near, random_state=self.random_state)
            return self._evaluated(function, Pairs(items, learn[index]), "items")

        def evaluate(rows: Integers) -> Floats:
            return self._evaluated(function, Pairs(items, learn[rows]), "items", more=True)

        budget = int((self.max_calls - 4) / (1 + 2 * self.validation_fraction))  # rows to judge by take as many as pairs
        auto = {name: isinstance(getattr(self, key), str) for name, key in (("knots", "n_knots"), ("alpha", "alpha"))}
        draw_in_rounds(recipe, items[learn], features, schema, evaluate, budget, self.near, auto)
        return self.distances_

    def _check_before_calls(self, recipe: Recipe, items: Floats, schema: Schema) -> None:
        """Refuse what cannot be learned whatever the distances are."""
        check_varied(items)
        if isinstance(self.n_knots, str) and isinstance(recipe.knots, str):
            recipe = replace(recipe, n_knots=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SemimetricWarning)  # the fit warns of ties and constants
            structure = build_structure(without_joint(recipe), items, schema)
        if self.chooses_numbers and not (isinstance(self.n_knots, str) and is_wide(recipe, structure)):
            check_width(recipe, structure)

    def _evaluated(self, function: DistanceFunction, pairs: Pairs, kind: str, *, more: bool = False) -> Floats:
        """Distances of the pairs; what was evaluated is kept even if it ends early, behind what was before if there is more."""
        done, nonnegative = [np.empty(0)], self.axioms is not None
        before = (self.distances_, self.pairs_) if more else (np.empty(0), np.empty((0, 2), np.int64))
        try:
            for block in function.stream(pairs, n_jobs=self.n_jobs, verbose=self.verbose, nonnegative=nonnegative, kind=kind):
                done.append(block)
        finally:
            found = np.concatenate(done)
            self.distances_ = np.concatenate([before[0], found])
            self.pairs_ = np.concatenate([before[1], pairs.index[: len(found)]])
        return found

    def _features(self, recipe: Recipe, items: Floats, schema: Schema) -> Floats:
        """The features by which near neighbours are drawn, shape (n_items, n_features): with linear directions, if any."""
        if not schema.plain:
            return schema.coordinates(items)
        directions = fit_directions(recipe.directions, items, names=schema.names, random_state=recipe.random_state)
        return items if directions is None else directions.append(items)[:, : items.shape[1] + directions.n_linear]


def _has_features(learner: ObjectDistances) -> bool:
    if learner.features is None:
        raise NotSupportedError("encode is for models with features=; without them the items are features already")
    return True


class ObjectDistances(LearnedDistance):
    """A learner that may have ``features=``, a transformer or function from objects to the features of its distance.

    Attributes
    ----------
    features_ : transformer or callable
        As it was fitted.
    n_calls_ : int
        How often `fit` called the distance, for landmarks too.

    Examples
    --------
    Words, whose distance is the number of letters that only one of them has:

    >>> import numpy as np
    >>> from semimetric import DistanceApproximator, LandmarkFeatures, NeighborIndex
    >>> words = ["".join(word) for word in np.random.default_rng(0).choice(list("abcdefgh"), (80, 4))]
    >>> model = DistanceApproximator(
    ...     lambda x, y: len(set(x) ^ set(y)), features=LandmarkFeatures(n_landmarks=8), n_knots=3, alpha=1e-3
    ... ).fit(words)
    >>> near, far = model.predict([("abcd", "abce"), ("abcd", "efgh")])
    >>> bool(near < far)
    True
    >>> index = NeighborIndex(model.semimetric_).fit(model.encode(words))
    >>> index.kneighbors(model.encode(["abcd"]), 2)[1].shape
    (1, 2)
    """

    features: Any
    distance: Any
    method: str
    validation_fraction: float
    random_state: int | None
    features_: Any
    n_calls_: int

    def _check_features(self) -> None:
        """Refuse features that no objects can be given as, and parameters that do not go with features."""
        if self.features is None:
            return
        check_features(self.features)
        if self.method == "vertices" or not self.only_numbers:
            raise NotSupportedError(
                'features= are numbers, all of them there, and objects have no grid; use method="regress", and leave '
                "categorical_features=, periodic= and missing= out"
            )

    def _check_no_texts(self, X: Any) -> None:
        """Refuse texts where nothing says what numbers to make of them."""
        sequence = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim > 0)
        if sequence and len(X) and isinstance(X[0], str):
            raise InputError(
                f"X holds texts, such as {X[0]!r:.40}, and features= is None; give features=StringFeatures() or "
                "LandmarkFeatures(), which learn a distance of texts, or a table of numbers"
            )

    def _fit_objects(self, recipe: Any, X: Any) -> Self:
        """Learn the distance of objects over their features."""
        for name in ("semimetric_", "solution_", "feature_names_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        objects = EncodedObjects(self.features, self.distance, X, self.validation_fraction, self.random_state)
        self.features_ = objects.features
        # counts that no object of the fit tells apart are no columns that a person made, and none that one could mend
        no_news = ("constant features", "fewer knots") if isinstance(self.features, ObjectFeatures) else ()
        with counted_calls() as count, silent(*no_news):
            try:
                objects.read()
                self._check_symmetry(recipe, objects.function, objects.items)
                self._regress(recipe, objects.items, objects.learn, objects.schema, objects.function)
                judge_by_calls(self, objects.items, objects.learn, objects.held, objects.function, objects.number)
            finally:
                self.n_calls_ = count.n
        return self

    def _stored_parameters(self) -> dict[str, Any]:
        """All but code: distance and function of a loaded model are None, until `set_params` gives them again."""
        code = ("distance",) if self.features is None or hasattr(self.features, "transform") else ("distance", "features")
        return {name: value for name, value in super()._stored_parameters().items() if name not in code}

    def _stored(self) -> dict[str, Any]:
        held = super()._stored()
        if self.features is None or not hasattr(self.features, "transform"):
            held.pop("features_", None)
        else:
            check_stored_features(self.features_, self.distance)
        return held

    @available_if(_has_features)
    def encode(self, X: Objects) -> Floats:
        """The features of objects, shape (n_objects, n_features): what ``semimetric_`` is a distance of.

        So ``NeighborIndex(model.semimetric_).fit(model.encode(objects))`` finds neighbours of ``model.encode(others)``. With
        landmarks it calls the distance once for every object and landmark.

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
        """Learned distances of all items of X to all items of Y, or of X, shape (n_X, n_Y).

        Parameters
        ----------
        X, Y : sequence of objects; without ``features=`` array-like of shape (n_items, n_features)
        """
        check_is_fitted(self, "semimetric_")
        return self.semimetric_.pairwise(self._points(X), None if Y is None else self._points(Y))

    def _points(self, X: Any) -> Any:
        return super()._points(X) if self.features is None else self.encode(X)

    def _known(self, tuples: ArrayLike, kind: type[T]) -> T:
        """Tuples for the fitted model; of pairs of objects the features of each object are computed once."""
        if self.features is None:
            return super()._known(tuples, kind)
        objects, index = object_pairs(tuples)
        return kind(self.encode(objects), index)


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
