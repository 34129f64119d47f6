"""Learning a distance from quadruplets (docs/mathematics.md, section 3)."""

from __future__ import annotations

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, Quadruplets
from ..._foundation.validation import check_judgements
from .comparison_learner import ComparisonLearner


@storable
class QuadrupletLearner(ComparisonLearner):
    """A distance from quadruplets (a, b, c, e) that say: a and b are closer than c and e.

    ``min_w  sum_q s_q loss(1 + d_w(x_a, x_b) - d_w(x_c, x_e)) + penalty(w)`` over weights under the axioms asked for.

    Parameters
    ----------
    n_knots : int, sequence of int or "auto", default "auto"
        Knots a feature: one number for all, or one for each. "auto" chooses on held-out items.
        Settings are compared by the fraction of held-out quadruplets that are missed.
    alpha : float or "auto", default "auto"
        Strength of a penalty given by name; "auto" chooses on held-out items. With ``penalty="auto"``, 1e-2 leaves little but
        the weighted L1 distance, 1e-3 smooths strongly, and 1e-7 to 1e-5 suit many exact data.
    directions : "auto" (default), "discriminant", "pca", None, array, transformer with ``components_``, or list
        Linear features that join the raw ones, as arrays (n_directions, n_features), `UniformDirections`, `HistogramFeatures`,
        or `PartitionFeatures`. "discriminant" adds up to 10 piecewise-linear directions in which far pairs differ most. "auto"
        adds them unless raw features err less by more than a standard error; never to a single feature or given ``knots``.
    tables : {"warped", "full", "auto"} or Tables, default "warped"
        One monotone scale a number: a metric with an exact `transform` into L1; or full tables, which categories, periodic and
        missing values have anyway. "auto" takes full tables if they err less on held-out tuples by more than a standard error.
        It is "warped" with ``axioms="metric"``, and "full" with "quasimetric" or joint groups.
    axioms : {"semimetric", "metric", "quasimetric"}, default "semimetric"
        Guarantees for all points. "metric" adds the triangle inequality, which scales have anyway and full tables keep by rows
        of the program. "quasimetric" is a metric without symmetry, and needs full tables.
    loss : {"squared_hinge", "hinge"} or Loss, default "squared_hinge"
        The squared hinge is solved by `Newton`, the hinge by `InteriorPoint`: without a penalty it is a linear program.
    columns : Columns or None, default None
        Kinds of the features: categories, angles, missing values. None is `Columns()`.
    program : Program or None, default None
        Penalty, constraints, a distance to start from, and solver. None is `Program()`.
    preprocessor : array-like of shape (n_items, n_features), frame, callable or None, default None
        The items that tuples name by row number, or by label (text or times) of the index of a frame. A callable takes the
        distinct names, shape (n_names,), and returns a table with a row for each. Tuples of points are taken too.
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
        Seed of samples, splits and k-means.
    effort : {"fast", "default", "thorough"}, default "default"
        Work for settings on "auto": candidates, folds and rows, see docs/effort.md. ``choices_`` shows the work that was done.
    verbose : bool or None, default None
        Progress bars: None shows them at terminals and in notebooks for work of more than some two seconds, True always, False
        never. Fits that may take minutes say so first.

    Attributes
    ----------
    semimetric_ : Semimetric
        In units of the margin.
    solution_ : Solution
    choices_ : Choices
        Settings that "auto" compared; printed, a table.
    recipe_ : Recipe
    groups_ : tuple of tuples of int
        Groups of features of the distance.
    group_choices_ : Choices
        Groups that ``Tables(groups="auto")`` compared; printed, a table.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import QuadrupletLearner
    >>> quadruplets = np.random.default_rng(0).random((400, 4, 2))
    >>> near, far = (np.abs(quadruplets[:, k] - quadruplets[:, k + 1]) @ [1.0, 5.0] for k in (0, 2))
    >>> model = QuadrupletLearner(n_knots=3, alpha=1e-3, directions=None).fit(quadruplets, np.where(near < far, 1, -1))
    >>> bool(model.score(quadruplets, np.where(near < far, 1, -1)) > 0.9)
    True
    """

    _kind = Quadruplets

    def fit(
        self,
        quadruplets: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> QuadrupletLearner:
        """Learn from quadruplets.

        Parameters
        ----------
        quadruplets : array-like of shape (n_quadruplets, 4, n_features) or (n_quadruplets, 4)
            Points, or with ``preprocessor`` row numbers or labels.
        y : array-like of shape (n_quadruplets,) or None
            -1 where the quadruplet says the opposite; None is +1 everywhere.
        sample_weight : array-like of shape (n_quadruplets,) or None
            Quadruplets of weight 0 are as good as absent.
        weights : array-like of shape (n_quadruplets,) or None
            The same, by the name that metric-learn's LSML has for it.

        Raises
        ------
        InputError
            If the data cannot be used; NotSupportedError if parameters do not go together.
        KeyboardInterrupt
            On Ctrl-C. If the last solver was at work, ``semimetric_`` holds its best weights so far.
        """
        if weights is not None and sample_weight is not None:
            raise InputError("weights= and sample_weight= are two names of the same, and both are given; give one of them")
        sample_weight = weights if sample_weight is None else sample_weight
        self._fit(quadruplets if y is None else self._turned(quadruplets, y), sample_weight)
        return self

    def _turned(self, quadruplets: ArrayLike, y: ArrayLike) -> ArrayLike:
        """Return the quadruplets, with their two pairs exchanged where y is -1."""
        plain = self.only_numbers or self.preprocessor is not None or hasattr(quadruplets, "__array__")
        array = np.array(quadruplets, dtype=None if plain else object)
        signs = check_judgements(y, len(array), both=False)
        if array.ndim >= 2 and array.shape[1] == Quadruplets.size:
            array[signs < 0] = array[signs < 0][:, [2, 3, 0, 1]]
        return array

    def score(self, quadruplets: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the fraction of the quadruplets whose order comes out as they, or ``y``, say."""
        predicted = self.predict(quadruplets)
        signs = np.ones(len(predicted)) if y is None else check_judgements(y, len(predicted), both=False)
        return self._accuracy(predicted == signs, sample_weight)
