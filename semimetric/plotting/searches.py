"""Pictures of searches: how far the nearest items are, and what exactness costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.types import Floats
from ..distances.search.filter_refine import CertifiedNeighbors
from ..distances.search.items import Neighbors
from ..distances.search.tuning import CONFIDENCE, Tuning
from .axes import BLUE, GREY, INK, ORANGE, axes_of, check_drawn, hide_frame, set_title, show_whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_QUERIES = 8  # with a line of their own
_WIDE = 10.0  # a ratio of times from which their axis is logarithmic
_BAND = (0.05, 0.95)  # quantiles over the queries


def plot_neighbors(found: Neighbors | CertifiedNeighbors, ax: Axes | None = None) -> Axes:
    """Draw the distances of the items that were found by their ranks, a line for each query.

    Distances of more than eight queries are their median, and a band with nine tenths of them. Of an index that bounds an
    expensive distance, items whose rank is not proved are hollow.

    Parameters
    ----------
    found : Neighbors or CertifiedNeighbors
        What ``index.search(X)`` or ``FilterRefineIndex.search`` returns.
    ax : matplotlib Axes or None

    Raises
    ------
    InputError
        If there are no queries, or no items.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import NeighborIndex
    >>> found = NeighborIndex("l1").fit([[0.0], [1.0], [3.0]]).search([[0.2]], 3)
    >>> plot_neighbors(found, Figure().subplots()).lines[0].get_ydata().round(1)
    array([0.2, 0.8, 2.8])
    """
    check_drawn(found, (Neighbors, CertifiedNeighbors), "found", "index.search(X)")
    n, k = found.distances.shape
    if not n or not k:
        raise InputError(
            f"there are {n} queries with {k} items each, so that there is nothing to draw; search for one at least"
        )
    axes = axes_of(ax)
    distances = np.where(np.isfinite(found.distances), found.distances, np.nan)
    ranks = np.arange(1, k + 1)
    if n <= _MOST_QUERIES:
        proved = found.certified if isinstance(found, CertifiedNeighbors) else np.ones((n, k), dtype=np.bool_)
        for query in range(n):
            (line,) = axes.plot(ranks, distances[query], "o-", ms=4, lw=1.2, color=f"C{query}", label=f"query {query}")
            if (open_ranks := ~proved[query]).any():
                axes.plot(ranks[open_ranks], distances[query][open_ranks], "o", ms=4, mfc="white", mec=line.get_color())
        if n > 1:
            axes.legend(fontsize=8, frameon=False)
    else:
        _draw_band(axes, ranks, distances)
    show_whole_numbers(axes, ranks)
    hollow = ""
    if isinstance(found, CertifiedNeighbors) and not found.certified.all():
        hollow = f", {int((~found.certified).sum()):,} of {found.certified.size:,} not proved"
    axes.set(xlabel="rank", ylabel="distance", title=f"The nearest items{hollow}")
    axes.set_ylim(bottom=min(0.0, float(np.nanmin(distances))) if np.isfinite(distances).any() else 0.0)
    return hide_frame(axes)


def _draw_band(axes: Any, ranks: Any, distances: Floats) -> None:
    low, middle, high = np.nanquantile(distances, [_BAND[0], 0.5, _BAND[1]], axis=0)
    axes.fill_between(ranks, low, high, color=GREY, alpha=0.4, lw=0, label="nine tenths of them")
    axes.plot(ranks, middle, "o-", ms=4, color=BLUE, label=f"median of {len(distances):,} queries")
    axes.legend(fontsize=8, frameon=False)


def plot_tuning(tuning: Tuning, ax: Axes | None = None) -> Axes:
    """Draw recall against time for each search that was tried, and a line at the recall that was asked for.

    A ring is the search that was taken, with its recall on the queries that chose nothing. The line below it ends at the recall
    that it surpasses with a confidence of 95 %.

    Parameters
    ----------
    tuning : Tuning
        What ``index.tune(X, recall=0.95)`` returns.
    ax : matplotlib Axes or None

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import NeighborIndex
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> tuning = NeighborIndex("l1").fit(X).tune(X[:60], recall=0.9, n_neighbors=3)
    >>> plot_tuning(tuning, Figure().subplots()).get_ylabel()
    'recall'
    """
    check_drawn(tuning, Tuning, "tuning", "index.tune(X)")
    axes = axes_of(ax)
    algorithms = dict.fromkeys(way.algorithm for way in tuning.tried)
    for k, algorithm in enumerate(algorithms):
        tried = sorted((way.microseconds, way.recall) for way in tuning.tried if way.algorithm == algorithm)
        axes.plot(*zip(*tried, strict=True), "o", ms=5, alpha=0.7, color=f"C{k}", label=algorithm)
    taken = tuning.chosen
    axes.axhline(tuning.asked, color=ORANGE, lw=1.2, label=f"asked for: {tuning.asked:g}")
    mean, bound = tuning.recall.mean, tuning.lower_bound
    axes.plot([taken.microseconds] * 2, [min(bound, mean), mean], color=INK, lw=1.0)
    axes.plot(taken.microseconds, mean, "o", ms=10, mfc="none", mec=INK, label="taken, on other queries")
    times = np.array([way.microseconds for way in tuning.tried])
    axes.set(xlabel="microseconds of the processor for a query", ylabel="recall", ylim=(None, 1.02))
    axes.set_xscale("log" if times.max() > _WIDE * max(times.min(), 1e-9) else "linear")
    sure = (
        "which is exact" if bound >= 1 else f"whose mean recall is above {bound:.3f} with {100 * CONFIDENCE:.0f} % confidence"
    )
    set_title(axes, f"The {taken.algorithm} search is taken, {sure}")
    axes.legend(fontsize=8, frameon=False)
    return hide_frame(axes)
