"""The base of learners from measured distances: the fit of the recipe, errors on pairs not learned from, and intervals."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.progress import announce
from ..._foundation.stored import StoredIfSet
from ..._foundation.threads import one_blas_thread
from ..._foundation.types import ArrayLike, Floats, Pairs
from ..._foundation.validation import check_alpha
from ...data.schema import Names
from ..learning.chosen_fit import decide
from ..learning.errors import DistanceErrors, UnseenPairs, choose_landmarks
from ..learning.intervals import CalibratedIntervals, DistanceIntervals
from ..learning.measured import MeasuredDistances
from ..learning.measured_fit import warn_of_divergence
from ..learning.options import Recipe
from ..learning.search import Choices
from ..learning.settings import recipe_values
from ..learning.structure import check_varied
from ..model.item_statistics import warn_outside_once
from .base import LearnedDistance

SET_ASIDE = "they were set aside before anything was chosen or learned"
_ASIDE = 0.3  # fraction of the items that is advised to be held out
NOTHING_ASIDE = "no items were set aside"


class MeasuredLearner(RegressorMixin, LearnedDistance):
    """A learner from pairs with measured distances."""

    n_jobs: int | None
    random_state: int | None
    verbose: bool | None
    error_: StoredIfSet[DistanceErrors]
    intervals_: StoredIfSet[CalibratedIntervals]
    table_choices_: StoredIfSet[Choices]
    screened_: StoredIfSet[bool]

    def predict(self, pairs: ArrayLike, interval: float | None = None) -> Floats | DistanceIntervals:
        """Return learned distances, and intervals that hold the true ones.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) row numbers or labels with ``preprocessor``
        interval : float or None, default None
            The fraction of pairs of new items whose true distance is to lie in its interval, such as 0.9. By split-conformal
            prediction, the half-width is a quantile, calibrated on held-out pairs, of the error divided by a difficulty. This
            is learned on further such pairs from the predicted distance and from how far the items lie from those learned
            from. The fraction holds on average over pairs like those held out, not for every pair alone; see
            ``distances/learning/intervals.py``.

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
            If ``interval`` is not between 0 and 1, or asks for more than the pairs held out allow.
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
            reason, advice = f"none were held out ({error.note})", f"fit with validation_fraction={_ASIDE}"
            if error.n_pairs:
                given = self.get_params(deep=False)["validation_fraction"]
                reason = f"too few were held out ({error.n_pairs} pairs of {error.n_items} items)"
                more = "give more pairs and items"
                advice = more if isinstance(given, float) and given >= _ASIDE else f"{advice}, or {more}"
            raise NotSupportedError(
                f"interval={level:g} needs pairs of items that were not learned from, and {reason}; {advice}"
            )
        checked = self._known(pairs, Pairs)
        warn_outside_once(self.semimetric_, checked.used)
        predicted = self.semimetric_.paired_by_index(checked.items, checked.index, n_jobs=self.n_jobs)
        return self.intervals_.around(self.semimetric_, checked, predicted, level, n_jobs=self.n_jobs)

    def __str__(self) -> str:
        """Return the parameters, and of a fitted model its errors on items that it has not seen."""
        error = getattr(self, "error_", None)
        return repr(self) if error is None else f"{self!r}\n{error}"

    def check_restored(self) -> None:
        super().check_restored()
        held: CalibratedIntervals | None = getattr(self, "intervals_", None)
        if held is not None and held.landmarks.shape[1] != self.n_features_in_:
            raise InputError(f"landmarks have {held.landmarks.shape[1]} features; {self.n_features_in_} are required")

    def _recipe(self) -> Recipe:
        given = self.parameter_source
        link = "identity" if given.link == "auto" and not self._compares_links else given.link
        values = recipe_values(given.columns, given.tables, given.program)
        if values["tables"] == "auto" and not self._compares_links:
            values["tables"] = "full"
        return Recipe(
            **values, **self._numbers(),
            directions=given.directions, axioms=given.axioms, link=link, loss=given.loss,
            n_jobs=given.n_jobs, random_state=given.random_state, effort=given.effort, verbose=given.verbose,
        ).checked()  # fmt: skip

    @property
    def _compares_links(self) -> bool:
        """True if "auto" links and tables hold pairs out, which they do only where others of the settings are "auto"."""
        return any(self.auto_numbers.values())

    def fit_data(self, recipe: Recipe, data: MeasuredDistances, names: Names) -> None:
        """Choose what is "auto" and learn, as `fit` does after reading.

        For data in parts nothing is "auto", see `recipe_for_parts`.
        """
        check_varied(data.items)
        with one_blas_thread(), self._own_knots():
            found = decide(recipe, data, names, **self.auto_numbers)
            self.recipe_, self.choices_, self.link_choices_, self.group_choices_, self.table_choices_ = found.chosen
            self.recipe_, learned = found.learned(data, names, concave=recipe.link == "concave")
        if data.tuples.in_memory is None:
            self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
            self._note_parts()
        self.n_features_in_, self.screened_ = data.items.shape[1], found.wide is not None and found.wide.has_screened
        self.__dict__.pop("_sums", None)  # of an earlier partial_fit
        self._record(*learned)
        if data.tuples.in_memory is not None:
            warn_of_divergence(self.recipe_, self.semimetric_, data)

    def _note_parts(self) -> None:
        self._forget_errors()
        self.error_ = DistanceErrors(note="pairs that come in parts are all learned from")

    def _forget_errors(self) -> None:
        """Drop the errors and intervals of an earlier fit."""
        for name in ("error_", "intervals_"):
            self.__dict__.pop(name, None)

    def _record_errors(self, unseen: UnseenPairs, learned_from: Floats, note: str) -> None:
        """Record the errors on pairs that were not learned from, and the intervals calibrated on them."""
        self.error_ = DistanceErrors.of(unseen, note)
        landmarks = choose_landmarks(learned_from, self.random_state)
        least = 0.0 if self.parameter_source.axioms is not None else -np.inf
        with one_blas_thread():
            intervals = CalibratedIntervals.of(unseen, landmarks, least)
        if intervals is not None:
            self.intervals_ = intervals
        if self.verbose:
            announce(str(self.error_), verbose=True)
        self.error_.warn_if_useless()
