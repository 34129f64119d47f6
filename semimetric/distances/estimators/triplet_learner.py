"""Learning a distance from triplets (docs/mathematics.md, section 3)."""

from __future__ import annotations

from ..._foundation.shared_docstrings import with_shared_parameters
from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, Triplets
from .comparison_learner import ComparisonLearner
from .shared_parameters import COMPARISON_PARAMETERS, LEARNER_PARAMETERS


@storable
@with_shared_parameters(LEARNER_PARAMETERS, COMPARISON_PARAMETERS)
class TripletLearner(ComparisonLearner):
    """A distance from triplets (i, j, l) that say: i is closer to j than to l.

    ``min_w  sum_t s_t loss(1 + d_w(x_i, x_j) - d_w(x_i, x_l)) + penalty(w)`` over weights under the axioms asked for: the
    hinge of Weinberger & Saul (2009) on the tables of Pele & Ben-Aliz 2016, section 4. Triplets that contradict one another are
    outvoted; one that repeats an item on both sides says nothing.

    Parameters
    ----------
    {n_knots}
        Settings are compared by the share of held-out triplets that are missed.
    {knots}
    {groups}
        The error is the share of held-out triplets that are missed.
    {directions}
    {tables}
    {axioms}
    {delta}
    {outside}
    {loss}
    {penalty}
    {alpha}
    {solver}
    {categorical_features}
    {periodic}
    {missing}
    {constraints}
    {prior}
        Values are in units of the margin.
    {preprocessor}
    {n_jobs}
    {random_state}
    {effort}
    {verbose}

    Attributes
    ----------
    semimetric_ : Semimetric
        In units of the margin.
    solution_ : Solution
    choices_ : Choices
        What "auto" compared; printed, a table.
    recipe_ : Recipe
    groups_ : tuple of tuples of int
        Groups of features of the distance.
    group_choices_ : Choices
        What ``groups="auto"`` compared; printed, a table.
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
        """Share of the triplets whose order comes out as they say."""
        return self._accuracy(self.predict(triplets) > 0, sample_weight)
