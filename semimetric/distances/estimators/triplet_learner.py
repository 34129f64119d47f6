"""Learning a distance from triplets (docs/mathematics.md, section 3)."""

from __future__ import annotations

from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, Triplets
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
    knots : {"quantile", "uniform", "kmeans"} or sequence of arrays, default "quantile"
        Placement of knots among the distinct items, or the knots themselves: of raw features, then of directions.
    groups : "singles" (default), "pairs", int, "auto", AutoGroups, JointGroups or sequence of tuples of int or str
        Features with a joint table, by number or name; these need ``tables="full"``. An integer k joins every k features (Pele
        & Ben-Aliz 2016, section 4). "auto" adds pairs while the held-out error falls by more than a standard error, see
        `AutoGroups`. A feature in no group counts outside its range only, and positivity is not claimed.
        The error is the fraction of held-out triplets that are missed.
    directions : "auto" (default), "discriminant", "pca", None, array, transformer with ``components_``, or list
        Linear features that join the raw ones, as arrays (n_directions, n_features), `UniformDirections`, `HistogramFeatures`,
        or `PartitionFeatures`. "discriminant" adds up to 10 piecewise-linear directions in which far pairs differ most. "auto"
        adds them unless raw features err less by more than a standard error; never to a single feature or given ``knots``.
    tables : {"warped", "full", "auto"}, default "warped"
        One monotone scale a number: a metric with an exact `transform` into L1; or full tables, which categories, periodic and
        missing values have anyway. "auto" takes full tables if they err less on held-out tuples by more than a standard error.
        It is "warped" with ``axioms="metric"``, and "full" with "quasimetric" or joint groups.
    axioms : {"semimetric", "metric", "quasimetric"}, default "semimetric"
        Guarantees for all points. "metric" adds the triangle inequality, which scales have anyway and full tables keep by rows
        of the program. "quasimetric" is a metric without symmetry, and needs full tables.
    delta : float, default 1e-6
        Lower bound of the weights of raw features, relative to the mean weight of the weighted L1 prior; at 0 positivity is not
        claimed.
    outside : {"extend", "clip"}, default "extend"
        Beyond the range of the training items a feature keeps the slope of the last fifth of the range. With "clip" a value
        there counts as the end, but for a slope of ``delta`` that separates points (Pele & Ben-Aliz 2016, Alg. 1), see
        `Semimetric.outside`. A feature whose training items exceed its given knots is clipped, with a `SemimetricWarning`.
    loss : {"squared_hinge", "hinge"} or Loss, default "squared_hinge"
        The squared hinge is solved by `Newton`, the hinge by `InteriorPoint`: without a penalty it is a linear program.
    penalty : {"auto", "ridge", "ridge-zero", "roughness", "roughness-2", "lasso"}, Penalty, sequence or None, default "auto"
        "ridge" shrinks to the weighted L1 distance that fits best, "ridge-zero" and "lasso" to 0; "roughness" and
        "roughness-2" penalise differences of order 1 and 2. "auto" is a ridge and, for full tables, tensor differences of
        order 1 and differences under a common shift. Entries without data are at the weighted L1 distance, or with
        "ridge-zero" and "lasso" at their lower bound: close to 0.
    alpha : float or "auto", default "auto"
        Strength of a penalty given by name; "auto" chooses on held-out items. With ``penalty="auto"``, 1e-2 leaves little but
        the weighted L1 distance, 1e-3 smooths strongly, and 1e-7 to 1e-5 suit many exact data.
    solver : {"auto", "newton", "interior_point", "first_order", "cutting_plane", "reference"} or Solver, default "auto"
        "auto" chooses by the loss and the number of weights; ``solution_`` names its choice. `Newton` needs a loss that
        curves. `CuttingPlane` handles triangle rows around any solver that takes rows.
    categorical_features : "auto" (default), None, or sequence of int or str
        Features that are categories: a table of every two. "auto" takes the categorical columns of a frame; columns of text
        must be named (see `Schema.fit`). An unseen category is at the mean learned distance between the other category and
        the rest; all unseen ones are one.
    periodic : dict of int or str to float, or None, default None
        Features that wrap around, and their periods: ``{"hour": 24}``.
    missing : {"error", "level"}, default "error"
        Refuse missing values (NaN, None, NA), or give them a level of their own in every feature. If no training
        value is missing, that level is at the weighted L1 distance across half the range.
    constraints : sequence of Monotone, Bounded, TranslationInvariant, Concave, AtLeast, AtMost, default ()
        What else is known of the distance; each class states its guarantee. Tables are held whole.
    prior : Semimetric or None, default None
        A distance to start from, such as ``gower(X)``: penalties draw tables to it, times the number that fits the data best,
        in place of the weighted L1 distance. It is a sum over the same single features; directions start from 0.
        Values are in units of the margin.
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
        Progress bars: None shows them at terminals and in notebooks for work of more than some ten seconds, True always, False
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
        Groups that ``groups="auto"`` compared; printed, a table.
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

    _kind = Triplets

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
