"""Distances of a category that was not in the fit: the mean of what was learned for the others.

    w(a, new) = mean of w(a, b) over the other categories b != a        w(new, new) = mean of w(a, a)

and, between such a category and a missing value, the mean over all categories. Two different categories that were not in the
fit are one level, so they are at distance 0 from one another.
"""

from collections.abc import Sequence

import numpy as np

from ..._foundation.types import Floats

__all__ = ["fill_unseen"]


def fill_unseen(table: Floats, kinds: Sequence[str], counts: Sequence[int]) -> Floats:
    """The table of a group (c_1, ..., c_g, c_1, ..., c_g) with the level of other categories filled in.

    Parameters
    ----------
    table : ndarray
    kinds : sequence of str
        Of the g features.
    counts : sequence of int
        Knots of every feature; the last of a categorical one is the level.
    """
    out, n = table.copy(), len(kinds)
    for f, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
        known = count - 1
        if kind != "categorical" or known < 2:  # beside a single category nothing was learned
            continue
        t = np.moveaxis(out, (f, f + n), (0, 1))
        same = t[np.arange(known), np.arange(known)]
        t[:known, known] = (t[:known, :known].sum(axis=1) - same) / (known - 1)
        t[known, :known] = (t[:known, :known].sum(axis=0) - same) / (known - 1)
        t[known, known] = same.mean(axis=0)
        if t.shape[0] > count:  # the level of missing values
            t[known, count:], t[count:, known] = t[:known, count:].mean(axis=0), t[count:, :known].mean(axis=1)
    return out
