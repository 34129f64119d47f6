"""Learning a distance from quadruplets (docs/mathematics.md, section 3)."""

from __future__ import annotations

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.shared_docstrings import with_shared_parameters
from ..._foundation.stored import storable
from ..._foundation.types import ArrayLike, Quadruplets
from ..._foundation.validation import check_judgements
from .comparison_learner import ComparisonLearner
from .shared_parameters import COMPARISON_PARAMETERS, LEARNER_PARAMETERS


@storable
@with_shared_parameters(LEARNER_PARAMETERS, COMPARISON_PARAMETERS)
class QuadrupletLearner(ComparisonLearner):
    """A distance from quadruplets (a, b, c, e) that say: a and b are closer than c and e.

    ``min_w  sum_q s_q loss(1 + d_w(x_a, x_b) - d_w(x_c, x_e)) + penalty(w)`` over weights under the axioms asked for.

    Parameters
    ----------
    {n_knots}
        Settings are compared by the share of held-out quadruplets that are missed.
    {knots}
    {groups}
        The error is the share of held-out quadruplets that are missed.
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
        """The quadruplets, the two pairs of which are exchanged where y is -1."""
        plain = self.only_numbers or self.preprocessor is not None or hasattr(quadruplets, "__array__")
        array = np.array(quadruplets, dtype=None if plain else object)
        signs = check_judgements(y, len(array), both=False)
        if array.ndim >= 2 and array.shape[1] == Quadruplets.size:
            array[signs < 0] = array[signs < 0][:, [2, 3, 0, 1]]
        return array

    def score(self, quadruplets: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Share of the quadruplets whose order comes out as they, or ``y``, say."""
        predicted = self.predict(quadruplets)
        signs = np.ones(len(predicted)) if y is None else check_judgements(y, len(predicted), both=False)
        return self._accuracy(predicted == signs, sample_weight)
