"""Items of two classes in the plane whose boundary bends, as in the pictures of paper 3: a horseshoe and an S."""

from __future__ import annotations

import numpy as np

from .._foundation.errors import InputError
from .._foundation.types import Floats, Integers
from .._foundation.validation import check_alpha, check_count

__all__ = ["make_horseshoe", "make_s_shape"]

_LEG, _ARM, _HEIGHT = 0.9, 1.0, 5.0
_Box = tuple[tuple[float, float], tuple[float, float]]


def make_horseshoe(
    n_positive: int = 500, n_negative: int = 300, *, gap: float = 0.2, random_state: int | None = 0
) -> tuple[Floats, Integers]:
    """An M of positive items whose middle leg hangs into a U of negative ones, each uniform on its area (paper 3, Fig. 3).

    The letters are ``gap`` apart; seven straight pieces separate them, two of which, above the arms of the U, lie on one line.
    The paper gives no measures. With these the density of both is alike, and, as means over 20 seeds, 129 of 800 items are
    support points, 101 of themselves, with 93 boundary points; the paper has 127, 99 and 92.

    Parameters
    ----------
    n_positive, n_negative : int
    gap : float, default 0.2
        Of an arm of the U, which is 1 wide; below 1.
    random_state : int or None

    Returns
    -------
    X : ndarray of shape (n_positive + n_negative, 2)
    y : ndarray of int, 1 or 0

    Examples
    --------
    >>> X, y = make_horseshoe(50, 30)
    >>> X.shape, int(y.sum())
    ((80, 2), 50)
    """
    check_count("n_positive", n_positive)
    check_count("n_negative", n_negative)
    rng, (m, u) = np.random.default_rng(random_state), _letters(_below(gap, 1.0))
    X = np.concatenate([_uniform(rng, m, n_positive), _uniform(rng, u, n_negative)])
    return X, np.repeat([1, 0], [n_positive, n_negative])


def make_s_shape(n_items: int = 600, *, gap: float = 0.15, random_state: int | None = 0) -> tuple[Floats, Integers]:
    """Items uniform on [-1.5, 1.5] x [-1, 1], to the right (1) or left (0) of the S  x = sin(pi y), none within gap / 2 of it.

    Parameters
    ----------
    n_items : int
    gap : float, default 0.15
        Width of the empty band, measured along x; below 1.
    random_state : int or None

    Returns
    -------
    X : ndarray of shape (n_items, 2)
    y : ndarray of int, 1 or 0

    Examples
    --------
    >>> X, y = make_s_shape(100)
    >>> bool((np.abs(X[:, 0] - np.sin(np.pi * X[:, 1])) > 0.07).all())
    True
    """
    check_count("n_items", n_items)
    half, rng = _below(gap, 1.0) / 2, np.random.default_rng(random_state)
    height = rng.uniform(-1, 1, n_items)
    # what is left of the row is 3 - gap long: a position on it, moved on by the gap behind the curve
    curve, along = np.sin(np.pi * height), rng.uniform(-1.5, 1.5 - 2 * half, n_items)
    right = along > curve - half
    return np.column_stack([along + 2 * half * right, height]), right.astype(np.int64)


def _below(gap: float, limit: float) -> float:
    if check_alpha("gap", gap) >= limit:
        raise InputError(f"gap={gap!r}: a number below {limit:g} is required, else no room is left; give a smaller one")
    return float(gap)


def _letters(gap: float) -> tuple[list[_Box], list[_Box]]:
    """Boxes that make up the M and the U: lower left and upper right corners."""
    edges = np.cumsum([0.0, _LEG, gap, _ARM, gap, _LEG, gap, _ARM, gap, _LEG]).tolist()
    bar, arms = _HEIGHT - _LEG, _HEIGHT - _LEG - gap
    m = [
        ((edges[0], 0.0), (edges[1], bar)),
        ((edges[4], _ARM + gap), (edges[5], bar)),
        ((edges[8], 0.0), (edges[9], bar)),
        ((edges[0], bar), (edges[9], _HEIGHT)),
    ]
    u = [
        ((edges[2], 0.0), (edges[7], _ARM)),
        ((edges[2], _ARM), (edges[3], arms)),
        ((edges[6], _ARM), (edges[7], arms)),
    ]
    return m, u


def _uniform(rng: np.random.Generator, boxes: list[_Box], n: int) -> Floats:
    """Items uniform on disjoint boxes."""
    low, high = np.array(boxes).transpose(1, 0, 2)
    area = (high - low).prod(axis=1)
    box = rng.choice(len(boxes), n, p=area / area.sum())
    return low[box] + rng.random((n, 2)) * (high - low)[box]
