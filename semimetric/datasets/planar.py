"""Items of two classes in the plane whose boundary is bent, as in the figures of paper 3: a horseshoe, an S, and a zigzag."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.types import Floats, Integers
from .._foundation.validation import check_alpha, check_count

_LEG = 0.9  # width of the legs and of the bar of the M
_ARM = 1.0  # width of the arms and of the bottom of the U
_HEIGHT = 5.0  # of the M
_Box = tuple[tuple[float, float], tuple[float, float]]  # lower left and upper right corner


def make_horseshoe(
    n_positive: int = 500, n_negative: int = 300, *, gap: float = 0.2, random_state: int | None = 0
) -> tuple[Floats, Integers]:
    """Return an M of positive items whose middle leg hangs into a U of negative items, each uniform on its area.

    This is the data set of Gai & Zhang 2010, Fig. 3.

    The letters are ``gap`` apart. Seven straight pieces separate them, two of which, above the arms of the U, lie on one line.
    The paper gives no measures. With those chosen here both letters have nearly the same density. On average over 20 seeds 129
    of 800 items are support points, 101 of them their own, with 93 boundary points. The paper has 127, 99 and 92.

    Parameters
    ----------
    n_positive, n_negative : int
    gap : float, default 0.2
        Distance between the letters, below 1, which is the width of an arm of the U.
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
    rng = np.random.default_rng(random_state)
    m, u = _letters(_check_gap(gap))
    X = np.concatenate([_uniform(rng, m, n_positive), _uniform(rng, u, n_negative)])
    return X, np.repeat([1, 0], [n_positive, n_negative])


def make_s_shape(n_items: int = 600, *, gap: float = 0.15, random_state: int | None = 0) -> tuple[Floats, Integers]:
    """Make items uniform on [-1.5, 1.5] x [-1, 1], of class 1 to the right and 0 to the left of the S x = sin(pi y).

    No item is within gap / 2 of the curve, measured along x.

    Parameters
    ----------
    n_items : int
    gap : float, default 0.15
        Width of the empty band around the curve, measured along x; below 1.
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
    gap = _check_gap(gap)
    rng = np.random.default_rng(random_state)
    height = rng.uniform(-1, 1, n_items)
    position, right = _apart(rng, np.sin(np.pi * height), -1.5, 1.5, gap)
    return np.column_stack([position, height]), right.astype(np.int64)


def make_zigzag(
    n_items: int = 2000, *, n_pieces: int = 9, height: float = 3.0, gap: float = 0.4, random_state: int | None = 0
) -> tuple[Floats, Integers]:
    """Return items of class 1 above and 0 below a zigzag of straight pieces, each 1 wide and ``height`` high.

    The paper separates its second data set by nine pieces (Gai & Zhang 2010, Fig. 4, right), and says no more about it; this
    set has as many. Items are uniform on [0, n_pieces] x [-1, height + 1], and none is within gap / 2 of the zigzag, measured
    along its height.

    Parameters
    ----------
    n_items : int
    n_pieces : int, default 9
    height : float, default 3.0
    gap : float, default 0.4
        Height of the empty band around the zigzag; below 1.
    random_state : int or None

    Returns
    -------
    X : ndarray of shape (n_items, 2)
    y : ndarray of int, 1 or 0

    Examples
    --------
    >>> X, y = make_zigzag(100)
    >>> X.shape, bool(y[X[:, 1] > 3].all())
    ((100, 2), True)
    """
    check_count("n_items", n_items)
    check_count("n_pieces", n_pieces)
    check_alpha("height", height, strict=True)
    gap = _check_gap(gap)
    rng = np.random.default_rng(random_state)
    place = rng.uniform(0, n_pieces, n_items)
    drawn, above = _apart(rng, height * np.abs((place + 1) % 2 - 1), -1, height + 1, gap)
    return np.column_stack([place, drawn]), above.astype(np.int64)


def _apart(rng: np.random.Generator, curve: Floats, low: float, high: float, gap: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Return numbers uniform on [low, high] without the gap around the curve, shape (n_items,), and if they are beyond it."""
    # They are drawn on a line that is shorter by the gap; those beyond the curve are moved on by the gap.
    drawn = rng.uniform(low, high - gap, len(curve))
    beyond = drawn > curve - gap / 2
    return drawn + gap * beyond, beyond


def _check_gap(gap: float) -> float:
    if check_alpha("gap", gap) >= 1.0:
        raise InputError(f"gap={gap!r}: a number below 1 is required, else no room is left; give a smaller one")
    return float(gap)


def _letters(gap: float) -> tuple[list[_Box], list[_Box]]:
    edges = np.cumsum([0.0, _LEG, gap, _ARM, gap, _LEG, gap, _ARM, gap, _LEG]).tolist()
    bar = _HEIGHT - _LEG  # height at which the bar of the M begins
    arms = bar - gap  # height at which the arms of the U end
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
    low, high = np.array(boxes).transpose(1, 0, 2)
    area = (high - low).prod(axis=1)
    box = rng.choice(len(boxes), n, p=area / area.sum())
    return low[box] + rng.random((n, 2)) * (high - low)[box]
