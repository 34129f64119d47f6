"""Learning a distance from pairs with measured distances (paper 2, section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._foundation.arrays import as_floats
from ..._foundation.errors import InputError, NotSupportedError, TooFewError, warn
from ..._foundation.stored import storable
from ..._foundation.threads import one_blas_thread
from ..._foundation.types import ArrayLike, Floats, KnotCounts, Pairs
from ..._foundation.validation import check_alpha, check_distances, check_weights
from ...data.identical_items import distinct_items
from ...data.parts.tuples import TargetSpec
from ...data.schema import Names
from ..learning.errors import DistanceErrors, choose_landmarks, cross_fitted, score_pairs, set_aside
from ..learning.measured import MeasuredDistances, MomentSums, check_streams
from ..learning.options import Recipe
from ..learning.search import Choices, n_losses
from ..learning.settings import Columns, Program, Tables
from ..learning.structure import build_structure
from ..model.links import LinkLike
from ..programs.losses import Loss
from .measured_learner import NOTHING_ASIDE, SET_ASIDE, MeasuredLearner
from .part_tasks import check_choices, check_recipe

_CROSS_FITTED = "of five models, each learned without a fold of the items that it is evaluated on"
_ENOUGH_FITS = 100  # that have compared settings: five more cost little then
_SCREENED = "features were screened on all pairs, so that no fold is unseen; validation_fraction=0.1 sets items aside before"


@storable
class DistanceRegressor(MeasuredLearner):
    """Regression of distances: tables over features that predict the distance of a pair, under the axioms asked for.

    ``min_w  sum_i s_i loss(d_w(x_i, y_i) - target_i) + penalty(w)``  over weights that make d_w a semimetric, with
    ``d_w(x, y) = sum_S w_S · ID([x_S, y_S])`` (Pele & Ben-Aliz 2016, sections 3 and 4). Targets are divided by their mean
    first.

    Parameters
    ----------
    n_knots : int, sequence of int or "auto", default "auto"
        Number of knots of each feature: one number for all features, or one for each. "auto" chooses on held-out items.
        With this and ``alpha`` on "auto" a fit costs about 100 times one with numbers. If there are more than 600 numeric
        features, directions included, a weighted L1 distance selects some first (with directions and ``tables="warped"`` of
        more than 150); see "Wide distances" in docs/effort.md.
    alpha : float or "auto", default "auto"
        Strength of a penalty given by name; "auto" chooses on held-out items. With ``penalty="auto"``, 1e-2 leaves little but
        the weighted L1 distance, 1e-3 smooths strongly, and 1e-7 to 1e-5 suit many exact data.
        Strengths are compared by least squares, whatever the loss.
    directions : None (default), "pca", array of shape (n_directions, n_features), transformer with ``components_``, or list
        Features that join the raw ones: `UniformDirections`, `HistogramFeatures`, `PartitionFeatures` or other leaves of fitted
        trees, any linear scikit-learn map, or a list of these.
    tables : {"auto", "full", "shared", "warped"} or Tables, default "auto"
        A full table for each feature; one full table that all features share; or one monotone scale a feature: fewer weights,
        a metric, and an exact `transform` into L1. "auto" compares the first two by relative errors of held-out distances, and
        takes the shared one if it has a tenth less. It compares them for two or more features that are all numbers, where
        ``n_knots`` or ``alpha`` is "auto". It is "full" with ``axioms`` "metric", "quasimetric" or None, with directions, joint
        groups, constraints, a prior or base distances, with given knots, one number of knots a feature, the symmetry "swap",
        and ``link="concave"``. A shared table has factors, and maybe directions, where the distances are nearly Euclid's of
        columns in any units, Minkowski's, or a Mahalanobis distance. More than 600 features, which would be screened, share
        one if its error is below 2 %.
        Where ``n_knots`` is "auto" and the error above 2 %, more is compared. Rows >= 0 of one sum, to 1 %, may be histograms,
        if ``axioms`` is "semimetric" or "metric". Sums over their bins have scales, by `HistogramFeatures` of 4 to 1,024 bins
        in their order on a line, a circle (up to 64), the rows of an image or a cube, if few such sums, or their root, have a
        quarter less error. Else joint tables are tried: of two or three features those of all pairs, of up to 20 (with
        ``effort="fast"`` none) those that are found as with ``Tables(groups="auto")``, in less room. They are taken if the
        relative error, plus the fraction of two near pairs in the wrong order, falls by a tenth.
        `Tables` says besides which features have a joint table, where knots are, and what counts outside of them.
    axioms : {"semimetric", "metric", "quasimetric", "premetric", None}, default "semimetric"
        Guarantees for all points. "metric" adds the triangle inequality: by rows of the program for full tables, by
        construction for scales. "quasimetric" and "premetric" are a metric and a semimetric without symmetry. None guarantees
        nothing and allows negative targets. The last three do not go with ``tables="warped"``.
    link : {"auto", "identity", "sqrt", "power", "concave"}, float, PowerLink or ConcaveLink, default "auto"
        Function of the learned sum. "auto" compares the sum itself, its square root, and powers between, by relative errors of
        held-out distances. The sum itself is taken unless a power has a tenth less. This is for full or shared tables, where
        ``n_knots`` or ``alpha`` is "auto". Elsewhere, without axioms, beside ``prior=``, and where more than 600 features with
        directions are screened, or more than 400 are kept, "auto" is "identity".
        With "sqrt" the tables learn the squared distance. A number p is ``sum ** p``, and
        "power" chooses p from 1, 0.9, ..., 0.5 on held-out pairs; below 1 large differences count less, and a metric stays
        one. Residuals are expanded to first order at their targets, so that the program is convex. "concave" goes on from
        "power": it learns an increasing concave function and the sum in turn, while held-out pairs gain more than one
        standard error and longer ones do not lose, and takes no ``constraints``.
    loss : {"squared", "absolute", "huber"} or Loss, default "squared"
        Cost of a pair's residual. Losses other than the squared one count large residuals less.
    columns : Columns or None, default None
        Kinds of the features: categories, angles, missing values. None is `Columns()`.
    program : Program or None, default None
        Penalty, constraints, a distance to start from, and solver. None is `Program()`.
    preprocessor : array-like of shape (n_items, n_features), frame, callable or None, default None
        The items that tuples name by row number, or by label (text or times) of the index of a frame. A callable takes the
        distinct names, shape (n_names,), and returns a table with a row for each. Tuples of points are taken too.
    validation_fraction : "auto" (default) or float
        Source of ``error_``. A number sets this fraction of the items aside (or of the components of pairs that share no
        item), and never learns from them; pairs of items of both sides are left out. "auto" learns from all pairs. If 100
        fits or more compared settings, and no features were screened, it learns five times more, each time without a fold
        of the items, and counts the errors in that fold. The chosen settings, and a concave link, have seen all folds.
        0 does neither.
    effort : {"fast", "default", "thorough"}, default "default"
        Work for settings on "auto": candidates, folds and rows, see docs/effort.md. ``choices_`` shows the work that was done.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
        Seed of samples, splits and k-means.
    verbose : bool or None, default None
        Progress bars: None shows them at terminals and in notebooks for work of more than some two seconds, True always, False
        never. Fits that may take minutes say so first.

    Attributes
    ----------
    semimetric_ : Semimetric
    error_ : DistanceErrors
        Errors on pairs of items that were not learned from: relative errors, R², rank correlation, and recall of neighbors;
        printed, three lines. If items were set aside, these are errors of the model itself. Otherwise they are errors of
        models that were learned from four folds of five; expect no more of the model, which learned from all folds. A
        warning says if the model is no better than one distance for all pairs. NaN, with the reason, if nothing is held out.
    intervals_ : CalibratedIntervals
        The intervals of `predict`, if enough pairs were held out.
    solution_ : Solution
    choices_ : Choices
        Settings that "auto" compared; printed, a table. It takes the simplest within one standard error of the best: the
        fewest knots, then the strongest penalty.
    recipe_ : Recipe
        Every parameter as it was used. ``recipe_.factors`` are those of a shared table; printed, how they were found.
    groups_ : tuple of tuples of int
        Groups of features of the distance.
    group_choices_ : Choices
        Groups that ``Tables(groups="auto")`` compared, step by step, or ``tables="auto"``; printed, a table.
    table_choices_ : Choices
        Tables that ``tables="auto"`` compared, by the relative errors of held-out distances, or sums over bins that it took;
        printed, a table.
    link_choices_ : Choices
        Candidates of ``link="auto"``, ``link="power"``, ``link="concave"`` and ``Tables(base_exponents="auto")``; printed,
        a table.
    screened_ : bool
        True if features were so many that they were screened, and few of them learned from.
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
        alpha: float | str = "auto",
        directions: Any = None,
        tables: str | Tables = "auto",
        axioms: str | None = "semimetric",
        link: LinkLike = "auto",
        loss: str | Loss = "squared",
        columns: Columns | None = None,
        program: Program | None = None,
        preprocessor: Any = None,
        validation_fraction: float | str = "auto",
        effort: str = "default",
        n_jobs: int | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.n_knots = n_knots
        self.alpha = alpha
        self.directions = directions
        self.tables = tables
        self.axioms = axioms
        self.link = link
        self.loss = loss
        self.columns = columns
        self.program = program
        self.preprocessor = preprocessor
        self.validation_fraction = validation_fraction
        self.effort = effort
        self.n_jobs = n_jobs
        self.random_state = random_state
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
        _refuse_no_targets(y)
        checked, names = self._read(pairs, Pairs)
        target, weight = self._targets(y, sample_weight, len(checked))
        used = weight > 0  # a pair of weight 0 is as good as absent: its items place no knot, and no split holds it
        if np.ptp(target[used]) == 0:
            pairs_used = f"{used.sum()} pairs" if used.all() else f"{used.sum()} of {len(used)} pairs have a weight > 0; these"
            raise InputError(
                f"{pairs_used} with distances that are all equal ({target[used][0]:g}) hold nothing to learn; give at least "
                "two pairs at different distances"
            )
        _warn_of_asymmetry(recipe, checked.take(used), target[used])
        data, held = self._split(recipe, MeasuredDistances.of_arrays(checked.take(used), target[used], weight[used]))
        self.fit_data(recipe, data, names)
        if held is not None:
            landmarks = choose_landmarks(data.items, self.recipe_.random_state)
            self._record_errors(score_pairs(self.semimetric_, held, landmarks, self.recipe_), data.items, SET_ASIDE)
        elif self.validation_fraction == "auto":
            self._cross_fit(self.recipe_, data, names)
        return self

    @property
    def tuple_spec(self) -> TargetSpec:
        """The tuples to learn from: pairs, and the least distance allowed."""
        return TargetSpec(least=0.0 if self.axioms is not None else -np.inf)

    def recipe_for_parts(self) -> Recipe:
        check_choices(self)
        return check_recipe(self._recipe())

    def partial_fit(self, pairs: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> DistanceRegressor:
        """Add a block of pairs to what earlier blocks taught.

        Any order of blocks gives the same as one `fit` on all pairs, to rounding, with the knots and directions that the
        first block fixes; give `Tables` knots to be independent of it. Parameters that act when the weights are solved for
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
        if any(self.auto_numbers.values()):
            raise NotSupportedError('partial_fit cannot hold pairs out; give numbers for n_knots= and alpha=, not "auto"')
        check_streams(recipe)
        if hasattr(self, "semimetric_") and not hasattr(self, "_sums"):
            raise NotSupportedError(
                "this model was learned by fit, which keeps no second moments to add to; call partial_fit from the first "
                "block on, on a fresh model (sklearn.base.clone)"
            )
        self._sums: MomentSums | None = getattr(self, "_sums", None)  # kept if this part is interrupted
        before = self._sums
        _refuse_no_targets(y)
        checked, names = self._read(pairs, Pairs) if before is None else (self._known(pairs, Pairs), ())
        target, weight = self._targets(y, sample_weight, len(checked))
        used = weight > 0
        weight = np.ones(len(used)) if sample_weight is None else as_floats(sample_weight, "sample_weight")
        block = checked.take(used), target[used], weight[used]
        with one_blas_thread():
            if before is None:
                structure = build_structure(recipe, distinct_items(block[0].used), names)
                sums = MomentSums.begin(recipe, structure, *block)
            else:
                sums = before.add(recipe, *block)
            learned = sums.solve(recipe)
        self.n_features_in_, self.recipe_ = checked.items.shape[1], recipe
        self.choices_ = self.group_choices_ = self.link_choices_ = self.table_choices_ = Choices()
        self.screened_ = False
        self._note_parts()
        self._record(*learned)
        self._sums = sums
        return self

    def _targets(self, y: ArrayLike, sample_weight: ArrayLike | None, n_pairs: int) -> tuple[Floats, Floats]:
        """Return the distances of pairs and their weights, which sum to 1; both of shape (n_pairs,)."""
        least = 0.0 if self.axioms is not None else -np.inf
        return check_distances(y, n_pairs, minimum=least), check_weights(sample_weight, n_pairs)

    def _cross_fit(self, recipe: Recipe, data: MeasuredDistances, names: Names) -> None:
        """Learn again without each fold of the items, if settings were compared: it then costs little.

        Features that were screened on all pairs have seen every fold, and screening them anew in each costs five fits.
        """
        if self.screened_:
            self.error_ = DistanceErrors(note=_SCREENED)
            return
        if (n := n_losses((*self.choices_, *self.group_choices_, *self.link_choices_))) < _ENOUGH_FITS:
            few = f"only {n} fits compared settings" if n else "settings were given, so that nothing was compared"
            note = f"{few}, and folds of items would cost five more fits; validation_fraction=0.3 sets items aside"
            self.error_ = DistanceErrors(note=note)
            return
        try:
            with one_blas_thread():
                unseen = cross_fitted(recipe, data, names)
        except InputError as error:
            self.error_ = DistanceErrors(note=str(error))
            return
        self._record_errors(unseen, data.items, _CROSS_FITTED)

    def _split(self, recipe: Recipe, data: MeasuredDistances) -> tuple[MeasuredDistances, MeasuredDistances | None]:
        """Return the pairs to learn from, and those set aside, or None with "auto", 0 or too few pairs."""
        self._forget_errors()
        fraction = self.validation_fraction
        if isinstance(fraction, str) or fraction == 0:
            self.error_ = DistanceErrors(note=NOTHING_ASIDE)
            return data, None
        try:
            return set_aside(data, fraction, recipe)
        except TooFewError as error:
            warn(f"{error}; all pairs are learned from, and error_ is not known")
            self.error_ = DistanceErrors(note=str(error))
            return data, None

    def _check_fraction(self) -> None:
        fraction = self.validation_fraction
        if isinstance(fraction, str):
            if fraction != "auto":
                raise InputError(f'validation_fraction={fraction!r} must be a number between 0 and 1, or "auto"')
        elif check_alpha("validation_fraction", fraction) > 1:
            raise InputError(f"validation_fraction={fraction!r} must lie between 0 and 1")


_UNEVEN = 0.05  # the median difference of both distances of a pair, relative to their mean, from which it is warned of


def _warn_of_asymmetry(recipe: Recipe, pairs: Pairs, y: Floats) -> None:
    """Warn where half of the pairs or more are given in both orders, and have other distances in one than in the other."""
    if recipe.axioms not in ("semimetric", "metric"):
        return
    low, high = pairs.index.min(axis=1), pairs.index.max(axis=1)
    forth = pairs.left < pairs.right
    keys = low * len(pairs.items) + high
    both, there, back = np.intersect1d(keys[forth], keys[~forth], return_indices=True)
    one, other = y[forth][there], y[~forth][back]
    means = (np.abs(one) + np.abs(other)) / 2
    gaps = np.abs(one - other) / np.where(means > 0, means, 1.0)
    if 4 * len(both) >= len(pairs) and np.median(gaps) > _UNEVEN:
        k = int(np.argmax(gaps))
        warn(
            f"{len(both)} pairs are given in both orders, with distances such as {one[k]:g} and {other[k]:g}, but "
            f"axioms={recipe.axioms!r} has one value for both, which lies between them; if these are no errors of "
            'measurement, use axioms="premetric"',
            cause="distances that differ by the order",
        )


def _refuse_no_targets(y: object) -> None:
    if y is None:
        raise InputError("requires y to be passed, but the target y is None; give one distance a pair")
