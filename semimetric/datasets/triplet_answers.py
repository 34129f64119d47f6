"""Simulated answers of an observer who says which of two stimuli looks closer to a third."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._foundation.arrays import as_floats
from .._foundation.errors import InputError
from .._foundation.estimator import ShortFields
from .._foundation.types import ArrayLike, Floats, Integers


@dataclass(frozen=True, eq=False, repr=False)
class TripletAnswers(ShortFields):
    """Stimuli, and an observer's answers about triplets of them.

    Parameters
    ----------
    items : ndarray of shape (n_items, 1)
        Stimuli in [0, 1].
    triplets : ndarray of shape (n_triplets, 3)
        Rows of ``items``: (the third stimulus, the one that was chosen as closer to it, the other one).

    Examples
    --------
    >>> answers = make_triplet_answers(100, n_items=20)
    >>> answers.items.shape, answers.triplets.shape
    ((20, 1), (100, 3))
    """

    items: Floats
    triplets: Integers


def perceived(stimulus: ArrayLike) -> Floats:
    """Return how the observer of `make_triplet_answers` sees stimuli t in [0, 1], on a scale from 0 to 1.

    The scale is half of Fechner's logarithm, log(1 + 9 t) / log 10, plus half of a logistic step at t = 0.7. The logarithm
    separates weak stimuli best, the step two categories of stimuli.

    Parameters
    ----------
    stimulus : array-like
        Numbers in [0, 1], of any shape.

    Returns
    -------
    ndarray of that shape

    Examples
    --------
    >>> seen = perceived([0.0, 0.5, 1.0])
    >>> bool((np.diff(seen) > 0).all())
    True
    """
    t = as_floats(stimulus, "stimulus")
    if not ((t >= 0) & (t <= 1)).all():
        raise InputError(f"stimulus lies between {t.min():g} and {t.max():g}; numbers in [0, 1] are required: scale it")
    step = 1.0 / (1.0 + np.exp(-40.0 * (t - 0.7)))
    return np.log1p(9.0 * t) / np.log(10.0) / 2.0 + step / 2.0


def make_triplet_answers(
    n_triplets: int, *, n_items: int = 200, noise: float = 0.1, random_state: int | None = 0
) -> TripletAnswers:
    """Make answers of an observer, who sees stimuli with noise, to which of two stimuli is closer to a third.

    This is Thurstone's model: whenever the observer looks at a stimulus t, it is seen at ``perceived(t) + noise * z`` with a
    standard normal z. The observer chooses the stimulus that is seen nearer to the third.

    Parameters
    ----------
    n_triplets, n_items : int
    noise : float, default 0.1
        Standard deviation of what is seen, on the scale `perceived`, which goes from 0 to 1.
    random_state : int or None

    Examples
    --------
    >>> made = make_triplet_answers(100, n_items=20)
    >>> made.items.shape, made.triplets.shape
    ((20, 1), (100, 3))
    """
    if n_items < 3 or n_triplets < 1:
        raise InputError(
            f"n_items={n_items!r} and n_triplets={n_triplets!r}: at least three items and one triplet are required"
        )
    rng = np.random.default_rng(random_state)
    items = rng.random((n_items, 1))
    triplets = np.argsort(rng.random((n_triplets, n_items)), axis=1)[:, :3]
    seen = perceived(items[triplets, 0]) + noise * rng.normal(size=triplets.shape)
    second_is_closer = np.abs(seen[:, 0] - seen[:, 1]) > np.abs(seen[:, 0] - seen[:, 2])
    answered = np.where(second_is_closer[:, None], triplets[:, [0, 2, 1]], triplets)
    return TripletAnswers(items, answered)
