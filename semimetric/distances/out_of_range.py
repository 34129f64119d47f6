"""A warning of items that lie outside the range of the fit, where tables say nothing of the distance."""

import numpy as np

from .._foundation.errors import warn
from .._foundation.types import Floats
from .semimetric import Semimetric

__all__ = ["warn_outside"]

_WORST = 3  # features that the warning names


def warn_outside(d: Semimetric, X: Floats, *, source: str = "") -> None:
    """Warn if items lie outside the range of a raw feature or hold new categories, naming the features with most of these.

    Parameters
    ----------
    d : Semimetric
    X : ndarray of shape (n_items, n_features)
        The encoded items.
    source : str
        Where X comes from, for the message.
    """
    outside = d.beyond(X)
    n = int(outside.any(axis=1).sum())
    if not n:
        return
    share = outside.mean(axis=0)
    worst = [int(f) for f in np.argsort(-share, kind="stable")[:_WORST] if share[f]]
    named = ", ".join(f"{d.feature_names[f]} {100 * share[f]:.3g} %" for f in worst)
    more = ", ..." if np.count_nonzero(share) > len(worst) else ""
    categories = d.schema.unseen(X).any()
    other = ", and a category that was not in the fit is at the mean distance of the others" if categories else ""
    warn(
        f"{n} of {len(X)} items{source and f' of {source}'} ({100 * n / len(X):.3g} %) lie outside the range of the fit "
        f"({named}{more}), where the distance goes on at a constant slope{other}: fit on items that span the range, or check "
        "those distances"
    )
