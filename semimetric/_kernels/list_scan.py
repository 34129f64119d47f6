"""Search in lists of near items: lists are dropped by bounds of their boxes, and items by sums of 8-bit codes in SIMD.

Items lie in lists of at most 256, which a tree of medians cuts (Bentley 1975). Every feature is cut into bins, and a list spans
the bins from its least to its greatest. For a query the least value in every bin is known, so the least over the span of a list
bounds what the feature adds to the sum of its items; two overlapping spans of 2^k bins cover any span (Bender & Farach-Colton
2000). Four bins are a cell, and the cells of the items of a list choose entries of 8-bit tables, rounded down, whose sums
bound those of the items, as do the sums over bins. The sums of the items that are left are computed exactly.
"""

from typing import NamedTuple

import numpy as np

from .jit import kernel
from .locate import rise
from .places import PlaceCodes, _estimate, _keep_smallest
from .search import BestItems, SearchedItems, _insert, _value, cell_of
from .simd import LANES, scan_64

MOST_IN_LIST = 4 * LANES  # items
BINS = 64  # of a feature
GROUP = 16  # Consecutive lists whose spans are joined.
QUERIES = 64  # The number of queries that are taken from list to list together.
_SPANS = 7  # Spans of 1, 2, 4, ... 64 bins.
_ROUNDING = 1e-10  # Relative to the largest sums: what rounding, and another order of adding, may change.
_TOP = 254.0  # The integer that stands for the limit; sums are cut off at 255.
_RENEWED = 0.97  # Tables of integers are made anew when the limit has fallen below this part of it.
_GREATEST, _LEAST, _STEP = np.float32(3.4e38), np.float32(1.2e-38), np.float32(2.0**-23)  # Of normal numbers of 32 bits.
_MOST = float(_GREATEST)
_ROOM = 1e300  # More than the bounds of any item add up to.
_SAMPLED, _POWERS = 256, 8  # The number of items whose spread gives the direction of a cut, and of steps that find it.


class ListArrays(NamedTuple):
    """Items in lists: what a scan reads.

    ``rows`` are those of the items in the order of the lists (n,), ``starts`` the first place of each list (L + 1,), and
    ``blocks`` its first block of 64 items (L + 1,). The bins of the items are flat, (n_blocks, E, 64). The middles are the
    median bins of lists (L, E), and of groups of 16 lists. The spans of lists (L, E, 2), and of groups, are numbers of two
    entries of the minima of a feature, (7, 64) flat, which together cover the items.
    """

    rows: np.ndarray
    starts: np.ndarray
    blocks: np.ndarray
    bins: np.ndarray
    middles: np.ndarray
    group_middles: np.ndarray
    spans: np.ndarray
    of_groups: np.ndarray


class BinRanges(NamedTuple):
    """The range of positions in each bin (E, 64), empty where low > high, and where its ends lie on the scales.

    ``order`` (E, 64) are the low ends, those of empty bins filled up by the next so that they increase. The cell, fraction and
    rise outside the range are those of both ends, (E, 2 * 64), low ones first.
    """

    low: np.ndarray
    high: np.ndarray
    order: np.ndarray
    cell: np.ndarray
    fraction: np.ndarray
    rise: np.ndarray


class Cuts(NamedTuple):
    """Rows that are cut into lists: rows (n,), their keys (n,), and the starts of lists (L + 1,).

    The first ``left[0]`` of the parts (128, 4) are still to be cut: the first row and the end of each, its first list and the
    end of its lists.
    """

    rows: np.ndarray
    keys: np.ndarray
    starts: np.ndarray
    parts: np.ndarray
    left: np.ndarray


class SearchedLists(NamedTuple):
    """Items in lists that are searched: their positions, or codes of these, and the mask ``keep`` (n,), empty for all."""

    items: SearchedItems
    places: PlaceCodes
    lists: ListArrays
    keep: np.ndarray


class BinTables(NamedTuple):
    """Least values of queries: over bins, above the least of a feature (B, E, 64), and over cells (B, 16 E).

    ``rest`` (B, E + 1) are sums of the least values of the features from each on, and ``slack`` (B,) what rounding may change.
    """

    above: np.ndarray
    cells: np.ndarray
    rest: np.ndarray
    slack: np.ndarray


class ListCandidates(NamedTuple):
    """Rows of a list and their sums of bins, (256,), of which the first ``found[0]`` are there."""

    rows: np.ndarray
    sums: np.ndarray
    found: np.ndarray


class SumLimits(NamedTuple):
    """Limits of the sums of each query (B,), what estimates of sums may err by (B,), and the size of the tables.

    Bounds may err by what rounding changes in sums of that size. They are held in 32 bits, times ``unit``, a power of 2 that
    brings the size near 1.
    """

    sums: np.ndarray
    room: np.ndarray
    size: float
    unit: float


@kernel
def _direction(bins, values, sample):
    """Return about the direction (E,) in which a sample of items varies most; zeros if it does not vary.

    It is found by the power method from the feature of the greatest variance.
    """
    n, n_parts = sample.shape[0], bins.shape[1]
    X, widest, best = np.empty((n, n_parts)), 0, 0.0
    for e in range(n_parts):
        for r in range(n):
            X[r, e] = values[e, bins[sample[r], e]]
        X[:, e] -= X[:, e].mean()
        spread = (X[:, e] * X[:, e]).sum()
        if spread > best:
            widest, best = e, spread
    direction = np.zeros(n_parts)
    if best > 0.0:
        direction[widest] = 1.0
        X /= np.sqrt(best)
        of_rows = np.empty(n)
        for _ in range(_POWERS):
            for r in range(n):
                of_rows[r] = (X[r] * direction).sum()
            for e in range(n_parts):
                direction[e] = (X[:, e] * of_rows).sum()
            direction /= np.sqrt((direction * direction).sum())
    return direction


@kernel
def _kth(keys, k):
    """Return the k-th smallest key, from 0 on (Hoare 1961)."""
    own, low, high = keys.copy(), 0, keys.shape[0] - 1
    while low < high:
        middle = own[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while own[i] < middle:
                i += 1
            while own[j] > middle:
                j -= 1
            if i <= j:
                own[i], own[j] = own[j], own[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return own[k]


@kernel
def _cut(bins, rows, keys, first):
    """Reorder bins (n, E) and rows (n,) such that those of the ``first`` smallest keys come first."""
    n = rows.shape[0]
    middle = _kth(keys, first)
    equal = first - (keys < middle).sum()  # So many of those with the middle key belong to the first.
    kept_bins, kept_rows, at, kept = np.empty_like(bins), np.empty_like(rows), 0, 0
    for r in range(n):
        before = keys[r] < middle
        if keys[r] == middle and equal > 0:
            before = True
            equal -= 1
        if before:
            if at < r:
                bins[at], rows[at] = bins[r], rows[r]
            at += 1
        else:
            kept_bins[kept], kept_rows[kept] = bins[r], rows[r]
            kept += 1
    bins[at:], rows[at:] = kept_bins[:kept], kept_rows[:kept]


@kernel
def cut_lists(bins, values, cuts, least, budget):
    """Order rows of items and their bins (n, E) such that near ones are consecutive, and fill the starts of their lists.

    It ends after about ``budget`` rows; nothing is left then, or a next call goes on. Bins stand for the values (E, 64). Each
    cut halves the lists in the direction in which a sample of their items varies most (Sproull 1991); inside a list rows are
    ordered on, down to ``least`` of them.
    """
    n_features, products = bins.shape[1], np.empty((bins.shape[1], BINS), np.float32)
    while cuts.left[0] and budget > 0:
        cuts.left[0] -= 1
        depth = cuts.left[0]
        a, z, u, v = cuts.parts[depth]
        if v - u == 1:
            cuts.starts[u] = a
        if v - u <= 1 and z - a <= least:
            continue
        budget -= z - a
        half = (v - u) // 2
        middle = a + (z - a) // 2 if v - u <= 1 else a + (z - a) * half // (v - u)
        direction = _direction(bins, values, np.arange(a, z, max((z - a) // _SAMPLED, 1)))
        if direction.any():
            for e in range(n_features):
                for c in range(BINS):
                    products[e, c] = direction[e] * values[e, c]
            for r in range(a, z):
                total = np.float32(0.0)
                for e in range(n_features):
                    total += products[e, bins[r, e]]
                cuts.keys[r] = total
            _cut(bins[a:z], cuts.rows[a:z], cuts.keys[a:z], middle - a)
        if v - u <= 1:  # Both are parts of a list, which are only ordered on.
            cuts.parts[depth], cuts.parts[depth + 1] = (middle, z, u, u), (a, middle, u, u)
        else:
            cuts.parts[depth], cuts.parts[depth + 1] = (middle, z, u + half, v), (a, middle, u, u + half)
        cuts.left[0] += 2


@kernel
def _span(low, high):
    """Return the numbers of the two entries of minima (7, 64), flat, that cover the bins from ``low`` to ``high``."""
    k = 0
    while (2 << k) <= high - low + 1:
        k += 1
    return k * BINS + low, k * BINS + high - (1 << k) + 1


@kernel
def fill_spans(first, last, out):
    """Fill the spans (R, E, 2) that cover the bins from ``first`` to ``last``, (R, E)."""
    for r in range(first.shape[0]):
        for e in range(first.shape[1]):
            out[r, e, 0], out[r, e, 1] = _span(np.int64(first[r, e]), np.int64(last[r, e]))


@kernel
def fill_lists(bins, lists):
    """Fill the bins of lists from those of the items (n, E) in the order of the lists, and describe the lists."""
    n_parts = bins.shape[1]
    lists.bins[:] = 0
    for i in range(lists.middles.shape[0]):
        for r in range(lists.starts[i + 1] - lists.starts[i]):
            at = (lists.blocks[i] + r // LANES) * n_parts * LANES + r % LANES
            for p in range(n_parts):
                lists.bins[at + p * LANES] = bins[lists.starts[i] + r, p]
    describe_lists(lists)


@kernel
def describe_lists(lists):
    """Fill the middles and spans of lists, and of groups of them, from the bins of their items."""
    n_lists, n_parts = lists.middles.shape
    low, high = np.empty((n_lists, n_parts), np.int64), np.empty((n_lists, n_parts), np.int64)
    of_list = np.empty((MOST_IN_LIST, n_parts), np.uint8)
    for i in range(n_lists):
        own = of_list[: lists.starts[i + 1] - lists.starts[i]]
        low[i], high[i] = BINS, -1
        for r in range(own.shape[0]):
            at = (lists.blocks[i] + r // LANES) * n_parts * LANES + r % LANES
            for p in range(n_parts):
                own[r, p] = lists.bins[at + p * LANES]
                b = np.int64(own[r, p])
                low[i, p], high[i, p] = min(low[i, p], b), max(high[i, p], b)
        _middle(own, lists.middles[i])
        for p in range(n_parts):
            lists.spans[i, p, 0], lists.spans[i, p, 1] = _span(low[i, p], high[i, p])
    for g in range(lists.of_groups.shape[0]):
        first, end = g * GROUP, min((g + 1) * GROUP, n_lists)
        _middle(lists.middles[first:end], lists.group_middles[g])
        for p in range(n_parts):
            lists.of_groups[g, p, 0], lists.of_groups[g, p, 1] = _span(low[first:end, p].min(), high[first:end, p].max())


@kernel
def prove_bins(positions, edges, lists, places, low, high, astray):
    """Fill ``astray`` (1,) with the first of some items whose position (m, E) is not in its bins; it stays if there is none.

    ``places`` (m,) are those of the items in the order of the lists. A position is in the first bin whose upper edge (E, 63) is
    >= it; the range of positions in each bin, (E, 64), grows by them.
    """
    n_parts = edges.shape[0]
    for row in range(positions.shape[0]):
        i = np.searchsorted(lists.starts, places[row], side="right") - 1
        r = places[row] - lists.starts[i]
        at = (lists.blocks[i] + r // LANES) * n_parts * LANES + r % LANES
        for p in range(n_parts):
            x, b = positions[row, p], np.int64(lists.bins[at + p * LANES])
            if not ((b == 0 or x > edges[p, b - 1]) and (b == BINS - 1 or x <= edges[p, b])):
                astray[0] = row
                return
            low[p, b], high[p, b] = min(low[p, b], x), max(high[p, b], x)


@kernel
def _middle(bins, out):
    """Fill ``out`` (E,) with the median bin of each feature."""
    for p in range(bins.shape[1]):
        counts, left = np.zeros(BINS, np.int64), (bins.shape[0] + 1) // 2
        for r in range(bins.shape[0]):
            counts[bins[r, p]] += 1
        c = 0
        while left > counts[c]:
            left -= counts[c]
            c += 1
        out[p] = c


@kernel
def _down(value):
    """Return the largest number of 32 bits that is not above a value."""
    near = np.float32(value)
    if near <= value:
        return near
    if near == np.inf:
        return _GREATEST
    return near - max(abs(near) * _STEP, _LEAST)


@kernel
def place_bins(scales, bins):
    """Fill where both ends of every bin lie on the scales."""
    for e in range(bins.low.shape[0]):
        for c in range(2 * BINS):
            at = bins.low[e, c] if c < BINS else bins.high[e, c - BINS]
            k, t, beyond = cell_of(at if abs(at) < np.inf else 0.0, scales.size[e])
            bins.cell[e, c], bins.fraction[e, c] = k, t
            bins.rise[e, c] = rise(beyond, scales.epsilon[e, 0], scales.epsilon[e, 1])


@kernel
def _bin_at(low, x):
    """Return the last bin whose low end is < x, or -1; low ends increase, and those of empty bins are infinite."""
    a, z = 0, low.shape[0]
    while a < z:
        middle = (a + z) // 2
        if low[middle] < x:
            a = middle + 1
        else:
            z = middle
    return a - 1


@kernel
def bin_minima(scales, profiles, b, bins, limits, out):
    """Fill what is least for query b over every bin and every cell, rounded down, infinite where one is empty.

    The least value in a bin is at an end of it, or where the function of the item breaks: at a knot, at the fraction of the
    query in any cell, and at the query itself.
    """
    size, values, n_parts = limits.size, np.empty(BINS), bins.low.shape[0]
    out.rest[b] = 0.0
    for e in range(n_parts):
        first, own, beyond = scales.first[e], profiles.fraction[b, e], profiles.beyond[b, e]
        for c in range(2 * BINS):
            t = bins.fraction[e, c]
            piece = first + 2 * bins.cell[e, c] + (t > own)
            value = profiles.pieces[b, piece, 0] + profiles.pieces[b, piece, 1] * t + abs(beyond - bins.rise[e, c])
            if c < BINS:
                values[c] = value
            else:
                values[c - BINS] = min(values[c - BINS], value)
        for k in range(scales.size[e]):
            for turn in range(2):
                x = k + turn * own
                c = _bin_at(bins.order[e], x)
                if c >= 0 and x < bins.high[e, c]:
                    values[c] = min(values[c], _value(x, e, scales, profiles, b))
        c = _bin_at(bins.order[e], profiles.position[b, e])
        if c >= 0 and profiles.position[b, e] < bins.high[e, c]:
            values[c] = min(values[c], _value(profiles.position[b, e], e, scales, profiles, b))
        lowest = np.inf
        for c in range(BINS):
            if bins.low[e, c] <= bins.high[e, c]:
                lowest = min(lowest, values[c])
        out.rest[b, e] = lowest
        size += abs(lowest)
        for c in range(BINS):
            above = min((values[c] - lowest) * limits.unit, _MOST)  # A product may be infinite.
            out.above[b, e, c] = _down(above) if bins.low[e, c] <= bins.high[e, c] else np.float32(np.inf)
        for c in range(16):
            of_cell = out.above[b, e, 4 * c : 4 * c + 4]
            out.cells[b, 16 * e + c] = min(min(of_cell[0], of_cell[1]), min(of_cell[2], of_cell[3]))
    for e in range(n_parts - 2, -1, -1):
        out.rest[b, e] += out.rest[b, e + 1]
    out.slack[b] = _ROUNDING * size


@kernel
def _span_minima(above, out):
    """Fill the minima (E, 7 * 64) over spans of 2^k bins."""
    for e in range(above.shape[0]):
        of_feature = out[e]
        for c in range(BINS):
            of_feature[c] = above[e, c]
        for k in range(1, _SPANS):
            before, now, half = (k - 1) * BINS, k * BINS, 1 << (k - 1)
            for c in range(BINS - 2 * half + 1):
                of_feature[now + c] = min(of_feature[before + c], of_feature[before + c + half])


@kernel
def _bound(minima, span, room):
    """Return a bound of the sums of the items of a list above the least, or a smaller one that is above ``room`` already."""
    bound = 0.0
    for e in range(span.shape[0]):
        bound += min(minima[e, span[e, 0]], minima[e, span[e, 1]])
        if e % 8 == 7 and bound > room:
            break
    return bound


@kernel
def _make_integers(above, room, out):
    """Fill 8-bit tables (M * 16,) from flat ones: sums up to 254 are those that may be <= ``room``, which is >= 0."""
    step = np.float32(_TOP / room * (1.0 - 1e-6)) if room > 1e-30 else np.float32(0.0)
    for c in range(above.shape[0]):
        out[c] = np.uint8(np.int32(min(above[c] * step, np.float32(255.0))))
    if step == 0.0:
        for c in range(above.shape[0]):
            out[c] = 0 if above[c] <= room else 255


@kernel
def _typical(above, middles):
    """Return the sums of the values (E, 64) of the middle bins of lists (L, E)."""
    out = np.empty(middles.shape[0], np.float32)
    for i in range(middles.shape[0]):
        total = np.float32(0.0)
        for e in range(middles.shape[1]):
            total += above[e, middles[i, e]]
        out[i] = total
    return out


@kernel
def _nearest_lists(above, lists, count):
    """Return up to ``count`` lists that are typically nearest to the queries.

    ``above`` (B, E, 64) are the values of bins. A list is as near as its middle bins say, in the mean over the queries; it is
    looked for in the groups that are nearest in the same way.
    """
    if count == 0:
        return np.empty(0, np.int64)
    mean, n_lists = above[0].copy(), lists.middles.shape[0]
    for b in range(1, above.shape[0]):
        for e in range(above.shape[1]):
            for c in range(BINS):
                mean[e, c] += above[b, e, c]
    groups = np.argsort(_typical(mean, lists.group_middles))[: 8 + 2 * count // GROUP]
    members, found = np.empty(groups.shape[0] * GROUP, np.int64), 0
    for g in groups:
        for i in range(g * GROUP, min((g + 1) * GROUP, n_lists)):
            members[found] = i
            found += 1
    members = members[:found]
    return members[np.argsort(_typical(mean, lists.middles[members]))[:count]]


@kernel
def _lists_within(above, room, lists, searched):
    """Return the lists that may hold an item within the room of a query, and bounds for all lists and queries, (L, B).

    ``above`` (B, E, 64) are the values of bins, and ``room`` (B,) what a sum may be above the least. Bounds are infinite where
    a list, or its group, is left out, as are lists that are marked in ``searched``. Lists come in the order of their least
    bounds.
    """
    minima, n_lists = np.empty((above.shape[1], _SPANS * BINS), np.float32), lists.spans.shape[0]
    bounds, promise = np.full((n_lists, above.shape[0]), np.inf, np.float32), np.full(n_lists, np.inf)
    for b in range(above.shape[0]):
        _span_minima(above[b], minima)
        for g in range(lists.of_groups.shape[0]):
            if _bound(minima, lists.of_groups[g], room[b]) > room[b]:
                continue
            for i in range(g * GROUP, min((g + 1) * GROUP, n_lists)):
                if not searched[i]:
                    bound = _bound(minima, lists.spans[i], room[b])
                    if bound <= room[b]:
                        bounds[i, b] = _down(bound)
                        promise[i] = min(promise[i], bound)
    found = np.flatnonzero(promise < np.inf)
    return found[np.argsort(promise[found])], bounds


class ListAnswers(NamedTuple):
    """The nearest of each query: sums and rows (B, k), how many sums or estimates were computed (B,), and what was collected.

    ``at_once`` (B,) says where no list beyond the near ones had some of the nearest. ``found`` (B,) is the number of items that
    were collected.
    """

    sums: np.ndarray
    rows: np.ndarray
    refined: np.ndarray
    at_once: np.ndarray
    found: np.ndarray

    @classmethod
    def empty(cls, n, k):
        """Return the answers of n queries, k each, before a search."""
        counts = np.zeros(n, np.int64), np.ones(n, np.bool_), np.zeros(n, np.int64)
        return cls(np.full((n, k), np.inf), np.full((n, k), -1, np.int64), *counts)


@kernel
def _larger(collected, found):
    """Return an array of the same items with twice the room."""
    n, room = collected.shape[1:]
    out = np.empty((2, n, 2 * room))
    for b in range(n):  # What no query has found stays untouched, and takes no memory.
        out[:, b, : found[b]] = collected[:, b, : found[b]]
    return out


@kernel
def _compacted(collected, found, b, limit):
    """Leave out those items of query b whose sum or estimate is above the limit."""
    n = 0
    for r in range(found[b]):
        if collected[1, b, r] <= limit:
            collected[:, b, n] = collected[:, b, r]
            n += 1
    found[b] = n


@kernel
def _lane(mask):
    """Return the number of the lowest bit that is set."""
    n = 0
    if not mask & np.uint64(0xFFFFFFFF):
        n, mask = n + 32, mask >> np.uint64(32)
    if not mask & np.uint64(0xFFFF):
        n, mask = n + 16, mask >> np.uint64(16)
    if not mask & np.uint64(0xFF):
        n, mask = n + 8, mask >> np.uint64(8)
    if not mask & np.uint64(0xF):
        n, mask = n + 4, mask >> np.uint64(4)
    if not mask & np.uint64(0x3):
        n, mask = n + 2, mask >> np.uint64(2)
    return n if mask & np.uint64(1) else n + 1


@kernel
def _sum_within(positions, scales, profiles, b, rest, limit):
    """Return the sum, or infinity if it is above the limit; ``rest[e]`` is the least that the features from e on add."""
    total = 0.0
    for e in range(positions.shape[0]):
        if e % 8 == 0 and total + rest[e] > limit:
            return np.inf
        total += _value(positions[e], e, scales, profiles, b)
    return total


@kernel
def _bin_sum(above, bins, at):
    """Return about the sum of the values (E, 64) of the bins of an item, by four sums in 32 bits.

    The bins are every 64th from ``at`` on.
    """
    n_parts = above.shape[0]
    one, two, three, four = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for e in range(0, n_parts - 3, 4):
        one += above[e, bins[at]]
        two += above[e + 1, bins[at + LANES]]
        three += above[e + 2, bins[at + 2 * LANES]]
        four += above[e + 3, bins[at + 3 * LANES]]
        at += 4 * LANES
    for e in range(n_parts - n_parts % 4, n_parts):
        one += above[e, bins[at]]
        at += LANES
    return (one + two) + (three + four)


@kernel
def _rounded_up(room, n_parts):
    """Return a number that no `_bin_sum` is above whose exact sum is at most ``room``."""
    return np.float32(room * (1.0 + 2e-7 * (n_parts + 8)) + 1e-37)


@kernel
def _candidates(lists, i, keep, integers, above, room, out):
    """Fill ``out`` with the eligible rows of list i whose cells and bins may be within the room, and their sums of bins."""
    n, n_parts, size = 0, above.shape[0], lists.starts[i + 1] - lists.starts[i]
    most = _rounded_up(room, n_parts)
    for block in range(lists.blocks[i + 1] - lists.blocks[i]):
        left = size - block * LANES
        mask = ~np.uint64(0) if left >= LANES else (np.uint64(1) << np.uint64(left)) - np.uint64(1)
        mask &= scan_64(integers, lists.bins, lists.blocks[i] + block, n_parts, np.uint8(_TOP))
        first = (lists.blocks[i] + block) * n_parts * LANES
        while mask:
            lane = _lane(mask)
            mask &= mask - np.uint64(1)
            row = np.int64(lists.rows[lists.starts[i] + block * LANES + lane])
            total = _bin_sum(above, lists.bins, first + lane)
            if not total > most and (not keep.shape[0] or keep[row]):
                out.rows[n], out.sums[n] = row, total
                n += 1
    out.found[0] = n


@kernel
def _by_bins(lists, i, keep, above, out):
    """Fill ``out`` with the eligible rows of list i and their sums of bins, small ones first to a 64th of their range."""
    n, n_parts, rows = 0, above.shape[0], np.empty(MOST_IN_LIST, np.int64)
    unsorted, ends = np.empty(MOST_IN_LIST, np.float32), np.zeros(BINS + 1, np.int64)
    for r in range(lists.starts[i + 1] - lists.starts[i]):
        row = np.int64(lists.rows[lists.starts[i] + r])
        if not keep.shape[0] or keep[row]:
            rows[n] = row
            unsorted[n] = _bin_sum(above, lists.bins, (lists.blocks[i] + r // LANES) * n_parts * LANES + r % LANES)
            n += 1
    out.found[0] = n
    low, high = np.float32(np.inf), np.float32(-np.inf)
    for r in range(n):
        low, high = min(low, unsorted[r]), max(high, unsorted[r])
    scale = np.float32(BINS - 1) / (high - low) if low < high < np.inf else np.float32(0.0)
    for r in range(n):
        ends[_bucket(unsorted[r], low, scale) + 1] += 1
    for c in range(1, BINS + 1):
        ends[c] += ends[c - 1]
    for r in range(n):
        c = _bucket(unsorted[r], low, scale)
        out.rows[ends[c]], out.sums[ends[c]] = rows[r], unsorted[r]
        ends[c] += 1


@kernel
def _bucket(value, low, scale):
    """Return which of 64 parts of a range a value is in."""
    at = (value - low) * scale
    return np.int64(at) if 0.0 <= at < BINS else 0


@kernel
def _room(limit, least, slack, unit):
    """Return what the bounds of an item may add up to above the least, times ``unit``, if its sum is within the limit.

    The rounding of a sum is relative to its terms, which are at most the least ones and what the sum is above them. What does
    not fit into a number is more than all bounds, and stays finite, as no limit is infinite.
    """
    room = ((limit - least) * (1.0 + _ROUNDING) + slack) * unit
    return min(room, _ROOM) if limit < np.inf else np.inf


@kernel
def search_lists(scales, profiles, searched, bins, limits, near, answers):
    """Fill the answers of at most 64 near queries: the items in lists whose sums can be within limits, and the k nearest.

    The limit of a query is that of ``limits``, or its k-th sum so far where this is smaller. So many lists ``near`` all queries
    together are visited first.

    With items whose positions are known nothing is collected. With places, or k = 0, items whose sums, or estimates of them,
    may be within the limits are collected, and the sums are the smallest estimates.

    Return the rows and sums, or estimates of these, of the items that were collected for each query, (2, B, R). They are one
    array, because numba makes arrays by calls of Python, in which Ctrl-C may come: the second of two would end the process.
    """
    items, places, lists, keep = searched
    n, n_parts, coded, unit = profiles.position.shape[0], bins.low.shape[0], places.codes.shape[0] > 0, limits.unit
    (sums, rows, refined, at_once, found), k = answers, answers.sums.shape[1]
    gather = coded or k == 0
    collected = np.empty((2, n if gather else 0, 256))
    above, cells = np.empty((n, n_parts, BINS), np.float32), np.empty((n, 16 * n_parts), np.float32)
    of_queries = BinTables(above, cells, np.zeros((n, scales.size.shape[0] + 1)), np.empty(n))
    integers, made_for = np.empty((n, 16 * n_parts), np.uint8), np.full(n, np.inf)
    done = np.zeros(lists.spans.shape[0], np.bool_)
    chosen_rows = ListCandidates(np.empty(MOST_IN_LIST, np.int64), np.empty(MOST_IN_LIST, np.float32), np.zeros(1, np.int64))
    limit, room = limits.sums.copy(), np.empty(n)
    for b in range(n):
        bin_minima(scales, profiles, b, bins, limits, of_queries)
        room[b] = _room(limit[b], of_queries.rest[b, 0], of_queries.slack[b], unit)
    for stage in range(2):
        if stage == 0:
            chosen, bounds = _nearest_lists(of_queries.above, lists, near), np.empty((0, 0), np.float32)
        else:
            chosen, bounds = _lists_within(of_queries.above, room, lists, done)
        for j in range(chosen.shape[0]):
            i = chosen[j]
            done[i] = True
            for b in range(n):
                if room[b] < 0.0 or stage and bounds[i, b] > room[b]:
                    continue
                own, rest = of_queries.above[b], of_queries.rest[b]
                of_query = BestItems(sums[b], rows[b], refined[b : b + 1])
                in_order = limit[b] == np.inf  # Then all items come, near ones first, and the first of them give a limit.
                if in_order:
                    _by_bins(lists, i, keep, own, chosen_rows)
                else:
                    if not room[b] > _RENEWED * made_for[b] and room[b] != made_for[b]:
                        made_for[b] = room[b]
                        _make_integers(of_queries.cells[b], room[b], integers[b])
                    _candidates(lists, i, keep, integers[b], own, room[b], chosen_rows)
                for r in range(chosen_rows.found[0]):
                    row, most = chosen_rows.rows[r], _room(limit[b], rest[0], of_queries.slack[b], unit)
                    if in_order and limit[b] < np.inf and chosen_rows.sums[r] > _rounded_up(most, n_parts):
                        continue
                    of_query.refined[0] += 1
                    if coded:
                        value = _estimate(places.codes[row], places, scales, profiles, b)
                    else:
                        at_most = rest[0] + _room(limit[b], rest[0], of_queries.slack[b], 1.0)
                        value = _sum_within(items.positions[row], scales, profiles, b, rest, at_most)
                        value = max(value, items.least)
                    if not gather:
                        if not value > limit[b]:
                            at_once[b] = at_once[b] and not stage
                            _insert(value, row, items.rank, of_query)
                            limit[b] = min(limit[b], of_query.sums[k - 1])
                        continue
                    if value > limit[b] + limits.room[b]:
                        continue
                    if k:
                        at_once[b] = at_once[b] and (not stage or value > of_query.sums[k - 1])
                        _keep_smallest(value, of_query.sums)
                        limit[b] = min(limit[b], max(of_query.sums[k - 1] + limits.room[b], items.least))
                    if found[b] == collected.shape[2]:
                        _compacted(collected, found, b, limit[b] + limits.room[b])
                        if 2 * found[b] > collected.shape[2]:
                            collected = _larger(collected, found)
                    collected[0, b, found[b]], collected[1, b, found[b]] = row, value
                    found[b] += 1
                room[b] = _room(limit[b], rest[0], of_queries.slack[b], unit)
    if gather:
        for b in range(n):
            _compacted(collected, found, b, limit[b] + limits.room[b])
    return collected


@kernel
def least_in_ranges(scales, profiles, bins, ranges, limits, out):
    """Fill ``out`` (B, G) with bounds from below of the sums between a query and all that lies in the ranges of a group.

    ``ranges`` are the spans of all groups (R, E, 2), and the first range of each and their end (G + 1,). A bound that is above
    the limit of its query need not be the largest that is known.
    """
    (spans, starts), n, n_parts, unit = ranges, profiles.position.shape[0], bins.low.shape[0], limits.unit
    above, cells = np.empty((n, n_parts, BINS), np.float32), np.empty((n, 16 * n_parts), np.float32)
    tables = BinTables(above, cells, np.zeros((n, scales.size.shape[0] + 1)), np.empty(n))
    minima = np.empty((n_parts, _SPANS * BINS), np.float32)
    for b in range(n):
        bin_minima(scales, profiles, b, bins, limits, tables)
        _span_minima(above[b], minima)
        rest, slack = tables.rest[b, 0], tables.slack[b]
        room = _room(limits.sums[b], rest, slack, unit)
        for g in range(out.shape[1]):
            least = np.inf
            for r in range(starts[g], starts[g + 1]):
                least = min(least, _bound(minima, spans[r], min(room, least)))
            bound = rest + min(least / unit, _ROOM) / (1.0 + _ROUNDING) - slack  # at most the limit whose `_room` it is
            out[b, g] = -np.inf if np.isnan(bound) else bound


@kernel
def of_bins(scales, profiles, bins, limits, out):
    """Fill the tables of 64 queries, of which query c lies in bin c of every feature."""
    for b in range(BINS):
        bin_minima(scales, profiles, b, bins, limits, out)


@kernel
def near_items(lists, tables, first, near, rows):
    """Find items near up to 64 items, those from place ``first`` on in the order of the lists, by their bins alone.

    ``tables`` are those of `of_bins`, of which an item takes that of its bin, feature by feature: so a sum is off by what a bin
    is wide. ``near`` are a number of lists near all of these items, and how many of them each visits. ``rows`` (B, k) are those
    of the smallest sums in them, -1 at the end where there are fewer; items whose sums over the cells of the
    tables are too large are left out.
    """
    (n, k), n_parts, (count, each) = rows.shape, lists.middles.shape[1], near
    above, cells = np.empty((n, n_parts, BINS), np.float32), np.empty((n, 16 * n_parts), np.float32)
    i = np.searchsorted(lists.starts, first, side="right") - 1
    for b in range(n):
        while first + b >= lists.starts[i + 1]:
            i += 1
        r = first + b - lists.starts[i]
        at = (lists.blocks[i] + r // LANES) * n_parts * LANES + r % LANES
        for e in range(n_parts):
            own = lists.bins[at + e * LANES]
            above[b, e] = tables.above[own, e]
            cells[b, 16 * e : 16 * e + 16] = tables.cells[own, 16 * e : 16 * e + 16]
    chosen = _nearest_lists(above, lists, count)
    middles, everything = lists.middles[chosen], np.empty(0, np.bool_)
    sums, integers = np.empty(k, np.float32), np.empty(16 * n_parts, np.uint8)
    found = ListCandidates(np.empty(MOST_IN_LIST, np.int64), np.empty(MOST_IN_LIST, np.float32), np.zeros(1, np.int64))
    for b in range(n):
        sums[:], rows[b], made_for = np.inf, -1, np.inf
        for j in np.argsort(_typical(above[b], middles))[:each]:
            if sums[k - 1] == np.inf:
                _by_bins(lists, chosen[j], everything, above[b], found)
            else:
                if not sums[k - 1] > _RENEWED * made_for and sums[k - 1] != made_for:
                    made_for = sums[k - 1]
                    _make_integers(cells[b], made_for, integers)
                _candidates(lists, chosen[j], everything, integers, above[b], sums[k - 1], found)
            for r in range(found.found[0]):
                if found.sums[r] < sums[k - 1]:
                    at = k - 1
                    while at > 0 and found.sums[r] < sums[at - 1]:
                        sums[at], rows[b, at] = sums[at - 1], rows[b, at - 1]
                        at -= 1
                    sums[at], rows[b, at] = found.sums[r], found.rows[r]
