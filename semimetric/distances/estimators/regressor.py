"""Learning a distance from pairs with measured distances (paper 2, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NotRequired, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError, NotSupportedError, TooFewError, warn
from ..._foundation.progress import announce
from ..._foundation.shared_docstrings import with_shared_parameters
from ..._foundation.stored import storable
from ..._foundation.threads import one_blas_thread
from ..._foundation.types import ArrayLike, Exponents, FeatureChoice, Floats, KnotCounts, Knots, Pairs, Periods
from ..._foundation.validation import check_alpha, check_distances, check_weights
from ...data.feature_groups import Groups
from ...data.identical_items import distinct_items
from ...data.parts.tuples import TargetSpec
from ...data.schema import Names, Schema
from ..learning.concave_link import fit_concave_link
from ..learning.errors import DistanceErrors, UnseenPairs, cross_fitted, landmarks_among, score_pairs, set_aside
from ..learning.groups import choose_groups, without_joint
from ..learning.intervals import CalibratedIntervals, DistanceIntervals
from ..learning.measured import DistanceData, InMemoryDistances, MomentSums, check_streams
from ..learning.measured_fit import HeldOutDistances, choose_link, choose_numbers, learn
from ..learning.options import Recipe, refuse_open_links
from ..learning.screening import fit_screened
from ..learning.search import Choices, n_losses
from ..learning.structure import build_structure, check_varied
from ..model.item_statistics import warn_outside_once
from ..model.links import LinkLike
from ..model.semimetric import Semimetric
from ..programs.constraints import Constraint
from ..programs.losses import Loss, resolve_loss
from ..programs.penalties import Penalties
from ..solvers.base import Solution, Solver
from .base import LearnedDistance
from .part_tasks import TupleTask, check_solved_by_sums, refuse_choices
from .shared_parameters import LEARNER_PARAMETERS, REGRESSION_PARAMETERS

_CROSS_FITTED = "of five models, each learned without a fold of the items that it is judged on"
SET_ASIDE = "they were set aside before anything was chosen or learned"
_ENOUGH_FITS = 100  # that have compared settings: five more cost little then
_SCREENED = "features were screened on all pairs, so that no fold is unseen; validation_fraction=0.1 sets items aside before"
NOTHING_ASIDE = "no items were set aside"


class MeasuredErrors(LearnedDistance):
    """The part of a learner of measured distances that knows its errors.

    Attributes
    ----------
    error_ : DistanceErrors
        On pairs of items that were not learned from.
    intervals_ : CalibratedIntervals
        What `predict` makes intervals of; it is there if enough pairs could be held out.
    """

    error_: DistanceErrors
    validation_fraction: Any

    _fitted = {
        **LearnedDistance._fitted,
        "error_": NotRequired[DistanceErrors],
        "intervals_": NotRequired[CalibratedIntervals],
    }

    def __str__(self) -> str:
        """What ``print`` shows: the parameters, and of a fitted model its errors on items that it has not seen."""
        held = getattr(self, "error_", None)
        return repr(self) if held is None else f"{self!r}\n{held}"

    def predict(self, pairs: ArrayLike, interval: float | None = None) -> Floats | DistanceIntervals:
        """Learned distances, and intervals that hold the true ones.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) row numbers or labels with ``preprocessor``
        interval : float or None, default None
            The share of pairs of new items whose true distance is to lie in its interval, such as 0.9, by split-conformal
            prediction: the half-width is a quantile, calibrated on pairs of items that were not learned from, of the error
            divided by a difficulty, which is learned on further such pairs from the predicted distance and from how far the
            items lie from those learned from. It holds on average over pairs like those that were held out, not for every
            pair alone; ``learning/regression/conformal_quantile.py`` says what is proved, and what is measured.

        Returns
        -------
        predicted : ndarray of shape (n_pairs,)
            The same as `pair_distance`.
        lower, upper : ndarray of shape (n_pairs,)
            With ``interval``, and then as a tuple of three, as scikit-learn's ``predict(X, return_std=True)`` returns one; no
            lower end is below 0, unless ``axioms=None``.

        Raises
        ------
        InputError
            If ``interval`` is not between 0 and 1, or asks for more than the pairs held out can tell.
        NotSupportedError
            If too few pairs were held out for any interval.
        """
        if interval is None:
            return self.pair_distance(pairs)
        level = check_alpha("interval", interval, strict=True)
        if level >= 1:
            raise InputError(f"interval={interval!r} must lie between 0 and 1, such as 0.9")
        check_is_fitted(self, "semimetric_")
        if not hasattr(self, "intervals_"):
            error: DistanceErrors = getattr(self, "error_", DistanceErrors(note=NOTHING_ASIDE))
            reason = f"{error.n_pairs} pairs of {error.n_items} items" if error.n_pairs else error.note
            raise NotSupportedError(
                f"interval={level:g} needs pairs of items that were not learned from, and too few were held out ({reason}); "
                "fit with validation_fraction=0.3, or give more pairs and items"
            )
        checked, n_jobs = self._known(pairs, Pairs), getattr(self, "n_jobs", None)
        warn_outside_once(self.semimetric_, checked.used)
        predicted = self.semimetric_.paired_by_index(checked.items, checked.index, n_jobs=n_jobs)
        return self.intervals_.around(self.semimetric_, checked, predicted, level, n_jobs=n_jobs)

    def _restore(self, fitted: dict[str, Any]) -> None:
        super()._restore(fitted)
        held: CalibratedIntervals | None = getattr(self, "intervals_", None)
        if held is not None and held.landmarks.shape[1] != self.n_features_in_:
            raise InputError(f"landmarks have {held.landmarks.shape[1]} features; {self.n_features_in_} are required")

    def _note_parts(self) -> None:
        """Say that pairs learned in parts leave none to judge by."""
        self._forget_errors()
        self.error_ = DistanceErrors(note="pairs that come in parts are all learned from")

    def _forget_errors(self) -> None:
        """Drop what is known of the errors of an earlier fit."""
        for name in ("error_", "intervals_"):
            self.__dict__.pop(name, None)

    def _judge(self, unseen: UnseenPairs, learned_from: Floats, note: str) -> None:
        """Record the errors on pairs that were not learned from, and what makes intervals of them."""
        self.error_ = DistanceErrors.of(unseen, note)
        landmarks = landmarks_among(learned_from, self.random_state)  # type: ignore[attr-defined]
        least = 0.0 if self.axioms is not None else -np.inf  # type: ignore[attr-defined]
        with one_blas_thread():
            intervals = CalibratedIntervals.of(unseen, landmarks, least)
        if intervals is not None:
            self.intervals_ = intervals
        if self.verbose:  # type: ignore[attr-defined]
            announce(str(self.error_), verbose=True)
        self.error_.warn_if_useless()

    def _judge_by_folds(self, recipe: Recipe, data: InMemoryDistances, names: Names, *, screened: bool) -> None:
        """Learn again without each fold of the items, where settings were compared: it then costs little.

        Features that were ``screened`` on all pairs have seen every fold, and screening them anew in each costs five fits.
        """
        if screened:
            self.error_ = DistanceErrors(note=_SCREENED)
            return
        if (n := n_losses((*self.choices_, *self.group_choices_, *self.link_choices_))) < _ENOUGH_FITS:
            compared = f"only {n} fits compared settings" if n else "settings were given, so that nothing was compared"
            note = f"{compared}, and folds of items would cost five more fits; validation_fraction=0.3 sets items aside"
            self.error_ = DistanceErrors(note=note)
            return
        try:
            with one_blas_thread():
                unseen = cross_fitted(recipe, data, names)
        except InputError as error:
            self.error_ = DistanceErrors(note=str(error))
            return
        self._judge(unseen, data.items, _CROSS_FITTED)

    def _split(self, recipe: Recipe, data: InMemoryDistances) -> tuple[InMemoryDistances, InMemoryDistances | None]:
        """The pairs to learn from, and those set aside if ``validation_fraction`` is a number and enough pairs are left."""
        self._forget_errors()
        share = self.validation_fraction
        if isinstance(share, str) or share == 0:
            self.error_ = DistanceErrors(note=NOTHING_ASIDE)
            return data, None
        try:
            return set_aside(data, share, recipe)
        except TooFewError as error:
            warn(f"{error}; all pairs are learned from, and error_ is not known")
            self.error_ = DistanceErrors(note=str(error))
            return data, None

    def _judge_aside(self, recipe: Recipe, data: InMemoryDistances, held: InMemoryDistances) -> None:
        """Judge the model by the pairs that were set aside."""
        landmarks = landmarks_among(data.items, recipe.random_state)
        self._judge(score_pairs(self.semimetric_, held, landmarks, recipe), data.items, SET_ASIDE)

    def _check_fraction(self) -> None:
        """Refuse a share of items that is none."""
        share = self.validation_fraction
        if isinstance(share, str):
            if share != "auto":
                raise InputError(f'validation_fraction={share!r} must be a number between 0 and 1, or "auto"')
        elif check_alpha("validation_fraction", share) > 1:
            raise InputError(f"validation_fraction={share!r} must lie between 0 and 1")


@storable
@with_shared_parameters(LEARNER_PARAMETERS, REGRESSION_PARAMETERS)
class DistanceRegressor(RegressorMixin, MeasuredErrors):
    """Regression of distances: tables over features that predict the distance of a pair, under the axioms asked for.

    ``min_w  sum_i s_i loss(d_w(x_i, y_i) - target_i) + penalty(w)``  over weights that make d_w a semimetric, with
    ``d_w(x, y) = sum_S w_S · ID([x_S, y_S])`` (Pele & Ben-Aliz 2016, sections 3 and 4). Targets are divided by their mean
    first.

    Parameters
    ----------
    {n_knots}
        With both this and ``alpha`` on "auto" a fit costs about 100 times one with numbers. More than 600 numbers, directions
        included, are screened first, by a weighted L1 distance of few of them; see "Wide distances" in docs/effort.md.
    {knots}
    {groups}
        The error is the loss. Each step costs two fits and a few milliseconds a candidate pair, five times over: for four
        splits and for everything.
    {directions}
    {tables}
    {axioms}
    {symmetry}
    {delta}
    {outside}
        The same holds where a later block of `partial_fit` lies beyond the knots of the first.
    {link}
    {loss}
    {relative}
    {penalty}
    {alpha}
        Strengths are compared by least squares, whatever the loss.
    {solver}
    {base_distances}
    {base_exponents}
    {categorical_features}
    {periodic}
    {missing}
    {constraints}
    {prior}
    {preprocessor}
    validation_fraction : "auto" (default) or float
        Where ``error_`` is from. A number sets that share of the items aside (or of the components of pairs that share no item)
        before anything is chosen, and never learns from them; pairs of items of both sides are left out. "auto" learns from all
        pairs, and once more without each of five folds of the items, in which errors are counted: knots, directions and weights
        are then made without them, and only what is chosen by comparing, and a concave link, saw all. It does so where
        numbers were compared, of which it costs a small part, and no features were screened. 0 does neither.
    {n_jobs}
    {random_state}
    {effort}
    {verbose}

    Attributes
    ----------
    semimetric_ : Semimetric
    error_ : DistanceErrors
        How far distances are off on pairs of items that were not learned from: relative errors, R², rank correlation, and
        recall of neighbours; printed, three lines. Those of the model itself if a share of the items was set aside, and else
        those of models like it, each learned from four folds of five; the model, which learned from all, is as good or better.
        A warning says where it is no better than one distance for all pairs. NaN, with the reason, where nothing is held out.
    intervals_ : CalibratedIntervals
        What `predict` makes intervals of, if enough pairs were held out.
    solution_ : Solution
    choices_ : Choices
        What "auto" compared; printed, a table. Taken is the simplest within one standard error of the best: the fewest
        knots, then the strongest penalty.
    recipe_ : Recipe
        Every parameter as it was used.
    groups_ : tuple of tuples of int
        Groups of features of the distance.
    group_choices_ : Choices
        What ``groups="auto"`` compared, step by step; printed, a table.
    link_choices_ : Choices
        What ``link="power"``, ``link="concave"`` and ``base_exponents="auto"`` compared; printed, a table. Taken is the least
        loss.
    n_features_in_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pairs = rng.random((300, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-6).fit(pairs, y)
    >>> bool(model.score(pairs, y) > 0.999)
    True
    """

    def __init__(
        self,
        *,
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
        preprocessor: Any = None,
        validation_fraction: float | str = "auto",
        n_jobs: int | None = None,
        random_state: int | None = 0,
        effort: str = "default",
        verbose: bool | None = None,
    ) -> None:
        self.n_knots = n_knots
        self.knots = knots
        self.groups = groups
        self.directions = directions
        self.tables = tables
        self.axioms = axioms
        self.symmetry = symmetry
        self.delta = delta
        self.outside = outside
        self.link = link
        self.loss = loss
        self.relative = relative
        self.penalty = penalty
        self.alpha = alpha
        self.solver = solver
        self.base_distances = base_distances
        self.base_exponents = base_exponents
        self.categorical_features = categorical_features
        self.periodic = periodic
        self.missing = missing
        self.constraints = constraints
        self.prior = prior
        self.preprocessor = preprocessor
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.effort = effort
        self.verbose = verbose

    def fit(self, pairs: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> DistanceRegressor:
        """Learn from pairs and their distances; what was learned before, by `partial_fit` too, is forgotten.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) row numbers or labels with ``preprocessor``
        y : array-like of shape (n_pairs,)
            Distances, >= 0 (any sign with ``axioms=None``).
        sample_weight : array-like of shape (n_pairs,) or None
            Pairs of weight 0 are as good as absent.

        Raises
        ------
        InputError
            If the data cannot be used; NotSupportedError if parameters do not go together.
        KeyboardInterrupt
            On Ctrl-C. If the last solver was at work, ``semimetric_`` and ``solution_`` hold its best weights so far.
        """
        recipe = self._recipe()
        self._check_fraction()
        rows, items = self._given(pairs, Pairs)
        schema = self._schema_of_tuples(rows, Pairs, items)
        checked, target, weight = self._checked(rows, items, y, sample_weight, schema=schema)
        names = self._names(rows if items is None else items, checked.items.shape[1])
        data, held = self._split(recipe, InMemoryDistances(checked, target, weight))
        screened = self._choose_and_learn(recipe, data, schema or names)
        if held is not None:
            self._judge_aside(self.recipe_, data, held)
        elif self.validation_fraction == "auto":
            self._judge_by_folds(self.recipe_, data, schema or names, screened=screened)
        return self

    def _choose_and_learn(self, recipe: Recipe, data: InMemoryDistances, names: Names) -> bool:
        """Choose what is "auto", and learn from pairs in memory; whether the features were screened on all of them."""
        check_varied(data.items)
        with one_blas_thread(), self._own_knots():
            knots, alpha = isinstance(self.n_knots, str), isinstance(self.alpha, str)
            wide = fit_screened(recipe, data, names, alpha=alpha) if knots else None
            if wide is not None:
                self.recipe_, self.choices_ = wide.recipe, wide.choices
                self.group_choices_, self.link_choices_ = Choices(), Choices()
                self._keep(data, wide.semimetric, wide.solution)
                return True
            singles, self.link_choices_ = choose_link(without_joint(recipe), data, names, knots=knots, alpha=alpha)
            singles, self.choices_ = choose_numbers(singles, data, names, knots=knots, alpha=alpha)
            held_out = HeldOutDistances(data, names)
            self.recipe_, self.group_choices_ = choose_groups(recipe.groups, singles, held_out, knots=knots)
            if recipe.link == "concave":
                self.recipe_, learned = fit_concave_link(self.recipe_, data, names)
            else:
                learned = learn(self.recipe_, data, names)
        self._keep(data, *learned)
        return False

    def _keep(self, data: DistanceData, semimetric: Semimetric, solution: Solution) -> None:
        """Record what was learned."""
        self.n_features_in_ = data.items.shape[1]
        self.__dict__.pop("_sums", None)  # of an earlier partial_fit
        self._record(semimetric, solution)

    def part_task(self) -> TupleTask:
        """The recipe and the pairs to learn from in parts, see `LearnedDistance`."""
        refuse_choices(self, ())
        recipe = self._recipe()
        refuse_open_links(recipe, "parts cannot be held out")
        check_solved_by_sums(recipe, resolve_loss(recipe.loss))
        return TupleTask(recipe, TargetSpec(least=0.0 if self.axioms is not None else -np.inf))

    def learn_from_parts(self, task: TupleTask, data: DistanceData, names: Names) -> Self:
        """Learn from pairs in parts; nothing is left to choose."""
        learned = learn(task.recipe, data, names)
        self.recipe_, self.choices_, self.group_choices_, self.link_choices_ = task.recipe, Choices(), Choices(), Choices()
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self._note_parts()
        self._keep(data, *learned)
        return self

    def partial_fit(self, pairs: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> DistanceRegressor:
        """Add a block of pairs to what earlier blocks taught.

        Any order of blocks gives the same as one `fit` on all pairs, to rounding, with the knots and directions that the
        first block fixes; give ``knots=`` to be independent of it. Parameters that act when the weights are solved for
        may change between blocks (alpha, penalty, delta, outside). A block counts once its weights are learned: one that
        raises, or is interrupted, is as if it had not been given.

        Parameters
        ----------
        pairs, y, sample_weight
            As in `fit`.

        Raises
        ------
        NotSupportedError
            If second moments are not enough (squared loss, identity link, numbers for ``n_knots`` and ``alpha``), or the
            model was learned by `fit`, which keeps none.
        InputError
            If the block cannot be used, other parameters changed, or the pairs need more than 8,000 weights.
        """
        recipe = self._recipe()
        if self.chooses_numbers:
            raise NotSupportedError('partial_fit cannot hold pairs out; give numbers for n_knots= and alpha=, not "auto"')
        check_streams(recipe)
        if hasattr(self, "semimetric_") and not hasattr(self, "_sums"):
            raise NotSupportedError(
                "this model was learned by fit, which keeps no second moments to add to; call partial_fit from the first "
                "block on, on a fresh model (sklearn.base.clone)"
            )
        self._sums: MomentSums | None = getattr(self, "_sums", None)  # kept if this part is interrupted
        before = self._sums
        known = self.semimetric_.feature_names if before is not None else ()
        rows, items = self._given(pairs, Pairs)
        schema = self._schema_of_tuples(rows, Pairs, items) if before is None else self.semimetric_.schema
        checked, target, weight = self._checked(rows, items, y, sample_weight, normalise=False, names=known, schema=schema)
        if before is not None and checked.items.shape[1] != self.n_features_in_:
            raise InputError(f"this block has {checked.items.shape[1]} features, the first had {self.n_features_in_}")
        with one_blas_thread():
            if before is None:
                names = self._names(rows if items is None else items, checked.items.shape[1])
                structure = build_structure(recipe, distinct_items(checked.used), schema or names)
                sums = MomentSums.begin(recipe, structure, checked, target, weight)
            else:
                sums = before.add(recipe, checked, target, weight)
            learned = sums.solve(recipe)
        self.n_features_in_, self.recipe_ = checked.items.shape[1], recipe
        self.choices_, self.group_choices_, self.link_choices_ = Choices(), Choices(), Choices()
        self._note_parts()
        self._record(*learned)
        self._sums = sums
        return self

    def _recipe(self) -> Recipe:
        names = [name for name in Recipe.__dataclass_fields__ if name not in ("n_knots", "alpha")]
        return Recipe(**{name: getattr(self, name) for name in names}, **self._numbers()).checked()

    def _checked(
        self,
        pairs: ArrayLike,
        items: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        *,
        normalise: bool = True,
        names: Sequence[str] = (),
        schema: Schema | None = None,
    ) -> tuple[Pairs, Floats, Floats]:
        if y is None:
            raise InputError("requires y to be passed, but the target y is None; give one distance a pair")
        checked = self._tuples(pairs, Pairs, items, names=names, schema=schema)
        target = check_distances(y, len(checked), minimum=0.0 if self.axioms is not None else -np.inf)
        weight = check_weights(sample_weight, len(checked))
        if normalise and (len(target) < 2 or np.ptp(target[weight > 0]) == 0):
            raise InputError(
                f"{len(target)} pairs with distances that are all equal ({target[0]:g}) hold nothing to learn; give at "
                "least two pairs at different distances"
            )
        raw = np.ones(len(checked)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        used = weight > 0  # a pair of weight 0 is as good as absent: its items place no knot, and no split holds it
        return checked.take(used), target[used], (weight if normalise else raw)[used]
