"""The exact search of one query in three compiled calls, between which items are scanned (docs/mathematics.md, section 4).

For one query every array that is made in Python costs more than what is computed in it. So a query is located, tabulated and
rounded in one call, what is typically near is refined and gives the limit of the scan in a second, and what the scan names is
refined in a third.
"""

from typing import NamedTuple

import numpy as np

from .jit import held, kernel
from .locate import PositionFeatures, ValueRanges, positions_of
from .search import (
    BestItems,
    Candidates,
    NamedItems,
    Profiles,
    Scales,
    SearchedItems,
    cell_means,
    cell_minima,
    nearest,
    nearest_of_named,
    tabulate,
)
from .whole_tables import magnitudes, rises, round_down


class ScannedItems(NamedTuple):
    """All that an exact query reads beside the scan: values and features of positions, scales, cells, and items to refine.

    Column m of the codes has cells of feature ``entry[m]``, with ``low`` and ``high`` (M, 16) and ``typical`` (M, 16, T).
    ``size`` and ``slack`` are what rounding errors are relative to, ``rounding`` that of a whole number, ``least_limit`` the
    least integer for a limit.
    """

    ranges: ValueRanges
    features: PositionFeatures
    scales: Scales
    entry: np.ndarray
    low: np.ndarray
    high: np.ndarray
    typical: np.ndarray
    items: SearchedItems
    size: float
    slack: float
    rounding: float
    least_limit: float


class OneQuery(NamedTuple):
    """One query as kernels fill it: its profiles, a table of whole numbers (1, M, 16), and what these mean, (1,) each.

    sum / ``step`` + ``base`` is a bound, up to the ``slack``; the sums to name are at most ``limit``, or it is NaN where no
    scan names items.
    """

    profiles: Profiles
    table: np.ndarray
    step: np.ndarray
    base: np.ndarray
    slack: np.ndarray
    limit: np.ndarray


@kernel
def _rises(table):
    base, span, top = np.empty(1), np.empty(1), np.empty(1)
    rises(table, base, span, top)
    return base[0], span[0], top[0]


@held
def typical_table(x, scanned, query):
    """Fill the profiles of a query x (1, F), and its table of what is typical of each cell, rounded down.

    The limit is NaN where its values are refused or the table is constant.
    """
    query.limit[0], scales, profiles = np.nan, scanned.scales, query.profiles
    positions_of(x, scanned.ranges, scanned.features, profiles.position)
    if np.isnan(profiles.position[0, 0]):
        return
    tabulate(scales, profiles)
    table = np.empty((1, *scanned.low.shape))
    cell_means(scales, profiles, scanned.entry, scanned.typical, table)
    for m in range(table.shape[1]):
        for c in range(table.shape[2]):
            if scanned.low[m, c] > scanned.high[m, c]:
                table[0, m, c] = np.inf
    query.base[0], span, _ = _rises(table)
    query.step[0] = (255.0 + 2 * scanned.rounding) / span
    if query.step[0] < np.inf:
        round_down(table, query.step, scanned.rounding, query.table)
        query.limit[0] = np.inf


@held
def limiting_table(scanned, rows, tiny, query, best):
    """Fill ``best`` with the k nearest among ``rows``, and ``query`` with the table and the limit of a scan for nearer ones.

    ``tiny`` (2,) are the least room for a limit relative to the span of the table, and the least span. The limit is NaN where
    it may be no integer of the scan, or all items may be within.
    """
    scales, profiles, nothing = scanned.scales, query.profiles, np.empty(0)
    query.limit[0], best.sums[:], best.rows[:] = np.nan, np.inf, -1
    nearest(scales, profiles, 0, scanned.items, Candidates(rows, nothing, nothing), 0.0, best)
    if best.rows[-1] < 0:
        return
    table = np.empty((1, *scanned.low.shape))
    cell_minima(scales, profiles, scanned.entry, scanned.low, scanned.high, table)
    magnitudes(table, query.slack)
    query.slack[0] = scanned.slack * (query.slack[0] + scanned.size)
    query.base[0], span, top = _rises(table)
    room = max(best.sums[-1] + query.slack[0] - query.base[0], tiny[0] * span)
    steep = 255.0 * room / span
    if not (steep < np.inf and room < top and min(room, span) > tiny[1]):
        return
    limit = max(scanned.least_limit, steep * (1.0 + tiny[0]))
    query.step[0] = max(limit / room, (255.0 + 2 * scanned.rounding) / span)
    round_down(table, query.step, scanned.rounding, query.table)
    most = 0.0
    for m in range(table.shape[1]):
        most += query.table[0, m].max()
    if np.floor(limit) < most:
        query.limit[0] = limit


@kernel
def nearest_of_scanned(scanned, query, rows, below, best):
    """Keep in ``best`` the k nearest of what it holds and of the items that a scan named, with their negative sums (R,)."""
    bounds, which = query.base[0] - below / query.step[0], np.zeros(1, np.int64)
    of_block = BestItems(best.sums.reshape(1, -1), best.rows.reshape(1, -1), best.refined)
    named = NamedItems(which, np.array([0, rows.shape[0]]), rows, bounds)
    nearest_of_named(scanned.scales, query.profiles, scanned.items, named, query.slack, of_block)
