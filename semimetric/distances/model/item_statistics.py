"""Importances of features: their mean shares in distances."""

from __future__ import annotations

from weakref import WeakSet

import numpy as np

from ..._foundation.errors import warn
from ..._foundation.types import Floats, Integers
from .semimetric import Semimetric

MOST_PAIRS = 20_000  # pairs over which shares are averaged


def importances(d: Semimetric, items: Floats, pairs: Integers) -> Floats:
    """Return the mean share of every raw feature in the distances of pairs, (n_features,), adding up to 1, or all 0."""
    pairs = pairs[:: max(len(pairs) // MOST_PAIRS, 1)]
    parts = d.contributions_of_encoded(items[pairs[:, 0]], items[pairs[:, 1]], by="features")
    total = parts.sum(axis=1)
    apart = total > 0
    return (parts[apart] / total[apart, None]).mean(axis=0) if apart.any() else np.zeros(d.n_features)


_WORST = 3  # features that the warning names
_EXPECTED = 0.05  # of new items may lie outside the range of a feature: with n items in the fit, 2 in n + 1 do by chance
_TOLD: WeakSet[Semimetric] = WeakSet()  # distances of which a warning has said so already


def warn_outside_once(d: Semimetric, X: Floats) -> None:
    """Warn once for a distance if a category is new, or over 5 % (by two standard errors) leave the range of a feature."""
    if d in _TOLD:
        return
    expected = _EXPECTED * len(X)
    if d.out_of_range(X).sum(axis=0).max(initial=0) > expected + 2.0 * np.sqrt(expected) or d.schema.unseen(X).any():
        _TOLD.add(d)
        warn_outside(d, X)


_FEWEST = 5  # rows of which none has a known category: fewer may well be new


def warn_unknown_once(d: Semimetric, X: Floats) -> None:
    """Warn once for a distance if some rows have no category of a column that was in the fit, as where its cells changed."""
    if d in _TOLD or len(X) < _FEWEST:
        return
    unseen = d.schema.unseen(X)
    known = ~np.isnan(X)
    for f in np.flatnonzero(unseen.any(axis=0) & (unseen == known).all(axis=0)).tolist():
        _TOLD.add(d)
        feature = d.schema.features[f]
        warn(
            f"no row has a category of {feature.name!r} that was in the fit, such as {feature.categories[0]!r}, so that this "
            "column says nothing: give the same spelling and type as there",
            cause="no known category",
        )
        return


def warn_unmatched(d: Semimetric, X: Floats, items: Floats) -> None:
    """Warn of columns of which half or more of the rows X that are joined have a category that no item has."""
    for f, feature in enumerate(d.schema.features):
        known, there = X[~np.isnan(X[:, f]), f], np.unique(items[~np.isnan(items[:, f]), f])
        n_unknown = int((~np.isin(known, there)).sum())
        if feature.kind == "categorical" and len(there) and 2 * n_unknown >= max(len(known), 1):
            warn(
                f"{n_unknown} of {len(X)} rows of left have a category of {feature.name!r} that right has not. It has "
                f"{feature.labels(there[:1])[0]!r} and others: give the same spelling and type in both tables",
                cause="no known category",
            )


def warn_outside(d: Semimetric, X: Floats, *, source: str = "") -> None:
    """Warn if items lie outside the range of a raw feature or hold new categories, naming the features with most of these."""
    outside = d.out_of_range(X)
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
        "those distances",
        cause=f"items outside{source and f' of {source}'}",
    )
