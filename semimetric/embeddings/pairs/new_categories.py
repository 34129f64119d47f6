"""The distances of a new category, one that was not in the fit: means of those of the categories in the fit.

    w(a, new) = mean of w(a, b) over the other categories b != a        w(new, new) = mean of w(a, a)

Between a new category and a missing value it is the mean over all categories. All new categories share one level, so two
different new categories are at distance 0 from one another.

Such a mean may break the triangle inequality beside a level of missing values or in a joint table. The mean over all
categories b, a among them, keeps it always: it is the expected distance where the new category is one of the fit, drawn at
random, the same one on both sides. So it also keeps every linear inequality that the categories of the fit obey.
"""

from collections.abc import Sequence

import numpy as np

from ..._foundation.types import Floats

__all__ = ["fill_unseen"]


def fill_unseen(table: Floats, kinds: Sequence[str], counts: Sequence[int], *, over_all: bool = False) -> Floats:
    """A copy of the table of a group, in which the weights of new categories are filled in.

    Parameters
    ----------
    table : ndarray of shape (c_1, ..., c_g, c_1, ..., c_g)
    kinds : sequence of str
        The kinds of the g features.
    counts : sequence of int
        The number of knots of every feature; the last knot of a categorical one is for new categories.
    over_all : bool, default False
        Whether the mean for a category is over all categories, itself among them, instead of over the others.
    """
    out = table.copy()
    n = len(kinds)
    for f, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
        known = count - 1
        if kind != "categorical" or known < 2:  # nothing was learned of a feature with a single category
            continue
        t = np.moveaxis(out, (f, f + n), (0, 1))
        same = t[np.arange(known), np.arange(known)]
        left_out, n_averaged = (0.0, known) if over_all else (same, known - 1)
        t[:known, known] = (t[:known, :known].sum(axis=1) - left_out) / n_averaged
        t[known, :known] = (t[:known, :known].sum(axis=0) - left_out) / n_averaged
        t[known, known] = same.mean(axis=0)
        if t.shape[0] > count:  # the level of missing values
            t[known, count:] = t[:known, count:].mean(axis=0)
            t[count:, known] = t[count:, :known].mean(axis=1)
    return out
