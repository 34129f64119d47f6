"""Which prior of the normals is taken: held-out items choose among priors of several widths, and one piece alone.

A vague prior makes pieces costly, and a narrow one makes planes thick. Which of them helps to classify depends on how much the
classes overlap, and boundary points alone do not tell. So the distinct places of the items are cut into folds. For each fold,
pieces are made of the boundary points of the others under every prior, by merging alone, and judged by the items of the fold.
The candidate with the fewest pieces is taken, unless another is right more often by more than 1.5 standard errors, paired by
item: where classes overlap, pieces win by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from ..._foundation.errors import InputError
from ..._foundation.storable import storable
from ..._foundation.types import Floats, Integers
from .support_pairs import DistinctPlaces

__all__ = ["CANDIDATES", "PriorChoice", "choose_prior"]

CANDIDATES = (np.nan, 1000.0, 30.0, 1.0)  # factors of equation 26; NaN stands for one piece
_MOST_FOLDS = 5
_STANDARD_ERRORS = 1.5  # chosen on other splits of the sets of Table 1 than those that benchmarks report

# What makes the piecewise boundary of places and items under a candidate: its decisions on other items, and its pieces.
Fit = Callable[[DistinctPlaces, Floats, Integers, Floats, float], tuple[Floats, int]]


@storable
@dataclass(frozen=True, eq=False)
class PriorChoice:
    """What held-out items said about candidates for the prior.

    Parameters
    ----------
    w_prior : ndarray of shape (n_candidates,)
        Factors of equation 26; NaN stands for one piece, whatever the prior.
    n_components : ndarray of shape (n_candidates,)
        Mean number of pieces over the folds; NaN where there were too few items for folds.
    accuracy : ndarray of shape (n_candidates,)
        Share of held-out items on the right side; NaN where there were too few items for folds.
    standard_error : ndarray of shape (n_candidates,)
        Standard error of the difference of its accuracy from the highest one, paired by item.
    chosen : int
        The number of the candidate that is taken.
    """

    w_prior: Floats
    n_components: Floats
    accuracy: Floats
    standard_error: Floats
    chosen: int

    @property
    def one_piece(self) -> bool:
        """Whether one piece was chosen."""
        return bool(np.isnan(self.w_prior[self.chosen]))

    def check(self) -> None:
        """Refuse a choice whose arrays do not agree, as a file may say.

        Raises
        ------
        InputError
            If they do not have one entry for each candidate, or none of them is the chosen one.
        """
        n = len(np.ravel(self.w_prior))
        arrays = (self.w_prior, self.n_components, self.accuracy, self.standard_error)
        if any(array.shape != (n,) for array in arrays) or not 0 <= self.chosen < n:
            raise InputError("the choice of the prior has not one entry for each candidate; restore the file")


def choose_prior(places: DistinctPlaces, items: Floats, positive: Integers, fit: Fit, *, random_state: int) -> PriorChoice:
    """Judge the candidates by the items at held-out places.

    Where a class has one place only there is nothing to hold out, and one piece is taken.

    Parameters
    ----------
    places : DistinctPlaces
        Those of the items, with codes 0 and 1.
    items : ndarray of shape (n_items, n_features)
    positive : ndarray of shape (n_items,)
        Whether each item is of the positive class.
    fit : Callable
        It is given the places and items to learn from, their classes, the items to decide on, and a candidate; it returns
        signed distances and the number of pieces.
    random_state : int
        Of the folds.
    """
    w_prior = np.array(CANDIDATES)
    n_folds = min(_MOST_FOLDS, int(np.bincount(places.codes, minlength=2).min()))
    if n_folds < 2:
        unknown = np.full(len(w_prior), np.nan)
        return PriorChoice(w_prior, unknown, unknown, unknown, 0)
    right = np.zeros((len(w_prior), len(items)))
    n_components = np.zeros(len(w_prior))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state).split(places.points, places.codes)
    for learned_places, _ in folds:
        some, rows = _some_places(places, learned_places)
        rest = np.setdiff1d(np.arange(len(items)), rows)
        for c, candidate in enumerate(CANDIDATES):
            decision, n = fit(some, items[rows], positive[rows], items[rest], candidate)
            right[c, rest] = (decision > 0) == positive[rest].astype(bool)
            n_components[c] += n / n_folds
    accuracy = right.mean(axis=1)
    differences = right[accuracy.argmax()] - right
    error = differences.std(axis=1, ddof=1) / np.sqrt(len(items))
    good = np.flatnonzero(accuracy + _STANDARD_ERRORS * error + 1e-12 >= accuracy.max())
    return PriorChoice(w_prior, n_components, accuracy, error, int(good[n_components[good].argmin()]))


def _some_places(places: DistinctPlaces, kept: Integers) -> tuple[DistinctPlaces, Integers]:
    """The places with the numbers ``kept``, sorted, and the rows of the items there, by which they are numbered anew."""
    new_number = np.full(len(places.points), -1)
    new_number[kept] = np.arange(len(kept))
    place = new_number[places.place_of_item]
    rows = np.flatnonzero(place >= 0)
    new_row = np.full(len(place), -1)
    new_row[rows] = np.arange(len(rows))
    return replace(
        places,
        points=places.points[kept],
        codes=places.codes[kept],
        rows=new_row[places.rows[kept]],
        place_of_item=place[rows],
    ), rows
