"""Learning a distance from triplets (docs/mathematics.md, section 3)."""

from __future__ import annotations

from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, TripletTuples
from .comparison_learner import ComparisonLearner


@storable
class TripletLearner(ComparisonLearner):
    """A distance from triplets (i, j, l) that say: i is closer to j than to l.

    ``min_w  sum_t s_t loss(1 + d_w(x_i, x_j) - d_w(x_i, x_l)) + penalty(w)`` over weights under the axioms asked for: the
    hinge of Weinberger & Saul (2009) on the tables of Pele & Ben-Aliz 2016, section 4. Triplets that contradict one another are
    outvoted; one that repeats an item on both sides says nothing.

    Parameters
    ----------
    n_knots : int, sequence of int or "auto", default "auto"
        Knots a feature: one number for all, or one for each. "auto" chooses on held-out items.
        Settings are compared by the fraction of held-out triplets that are missed.
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
    >>> rng = np.random.default_rng(0)
    >>> triplets = rng.random((400, 3, 2))
    >>> near, far = (np.abs(triplets[:, 0] - triplets[:, k]) @ [1.0, 5.0] for k in (1, 2))
    >>> triplets[near > far] = triplets[near > far][:, [0, 2, 1]]
    >>> model = TripletLearner(n_knots=3, alpha=1e-3, directions=None).fit(triplets)
    >>> bool(model.score(triplets) > 0.9)
    True
    """

    _kind = TripletTuples

    def fit(self, triplets: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> TripletLearner:
        """Learn from triplets.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features) or (n_triplets, 3)
            Points, or with ``preprocessor`` row numbers or labels.
        y : ignored
        sample_weight : array-like of shape (n_triplets,) or None
            Triplets of weight 0 are as good as absent.

        Raises
        ------
        InputError
            If the data cannot be used; NotSupportedError if parameters do not go together.
        KeyboardInterrupt
            On Ctrl-C. If the last solver was at work, ``semimetric_`` holds its best weights so far.
        """
        self._fit(triplets, sample_weight)
        return self

    def score(self, triplets: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the fraction of the triplets whose order comes out as they say."""
        return self._accuracy(self.predict(triplets) > 0, sample_weight)
