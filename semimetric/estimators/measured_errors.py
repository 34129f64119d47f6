"""What learners of measured distances tell of their errors: `error_`, and intervals around what they predict."""

from __future__ import annotations

from typing import Any, NotRequired

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError, NotSupportedError, TooFewError, warn
from .._foundation.progress import announce
from .._foundation.threads import one_blas_thread
from .._foundation.types import ArrayLike, Floats, Pairs
from .._foundation.validation import check_alpha
from ..data.schema import Names
from ..distances.out_of_range import warn_outside_once
from ..learning.held_out import n_losses
from ..learning.recipe import Recipe
from ..learning.regression.calibrated_intervals import CalibratedIntervals, DistanceIntervals
from ..learning.regression.cross_fitting import cross_fitted, judged, set_aside
from ..learning.regression.distance_data import InMemoryDistances
from ..learning.regression.unseen_pairs import UnseenPairs, landmarks_among
from .base import LearnedDistance
from .distance_errors import DistanceErrors

__all__ = ["NOTHING_ASIDE", "SET_ASIDE", "MeasuredErrors"]

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
        self._judge(judged(self.semimetric_, held, landmarks, recipe), data.items, SET_ASIDE)

    def _check_fraction(self) -> None:
        """Refuse a share of items that is none."""
        share = self.validation_fraction
        if isinstance(share, str):
            if share != "auto":
                raise InputError(f'validation_fraction={share!r} must be a number between 0 and 1, or "auto"')
        elif check_alpha("validation_fraction", share) > 1:
            raise InputError(f"validation_fraction={share!r} must lie between 0 and 1")
