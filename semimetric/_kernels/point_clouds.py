"""Numbers between which the Earth Mover's Distance of point clouds lies: see `semimetric.distances.search.point_clouds`.

Clouds are rows of ``items`` (N, L, d + 1), of which the first counts[k] hold points and, last, their masses, of sum 1. The
``kind`` of a cost is 0 for Euclid's distance, 1 for the sum of absolute differences, and 2 for the square of Euclid's.
"""

import numpy as np

from .jit import kernel

_NEAREST = 8  # points to which the mass of one is moved, before the rest of it is priced as the next


@kernel
def _costs(x, y, kind):
    """Return the costs (n, m) of moving a unit from x[i] to y[j], whose last columns are masses."""
    costs = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            total = 0.0
            for k in range(x.shape[1] - 1):
                step = x[i, k] - y[j, k]
                total += abs(step) if kind == 1 else step * step
            costs[i, j] = np.sqrt(total) if kind == 0 else total
    return costs


@kernel
def _dual_value(costs, a, b, f):
    """Return the dual value of the best g for potentials f of rows, and then the best f for these: ``f_i + g_j <= c_ij``."""
    total = 0.0
    g = np.empty(len(b))
    for j in range(len(b)):
        g[j] = np.inf
    for i in range(len(a)):
        for j in range(len(b)):
            g[j] = min(g[j], costs[i, j] - f[i])
    for j in range(len(b)):
        total += b[j] * g[j]
    for i in range(len(a)):
        best = np.inf
        for j in range(len(b)):
            best = min(best, costs[i, j] - g[j])
        total += a[i] * best
    return total


@kernel
def _nearest_first(costs, a, b):
    """Return the cost of rows of mass a that each fill the nearest columns, which hold b, as if no other row did."""
    total = 0.0
    for i in range(len(a)):
        last, at, left = -1.0, -1, a[i]
        for step in range(_NEAREST + 1):
            best, where = np.inf, -1
            for j in range(len(b)):
                value = costs[i, j]
                if value < best and (value > last or (value == last and j > at)):
                    best, where = value, j
            if where < 0:
                break  # rounding has left over what no column holds
            moved = left if step == _NEAREST else min(left, b[where])
            total += moved * best
            left -= moved
            last, at = best, where
            if left <= 0.0:
                break
    return total


@kernel
def _row_minima(costs):
    least = np.empty(len(costs))
    for i in range(len(costs)):
        least[i] = costs[i].min()
    return least


@kernel
def projected_lower(query, items, n_parts, kind, out):
    """out[k] is a bound by projections: query (B, d, n_parts) and items (N, B, d, n_parts) are `quantile_integrals`.

    In each of B bases the costs along its d orthogonal directions are put together as ``kind`` puts together its coordinates.
    """
    for k in range(len(items)):
        best = 0.0
        for basis in range(query.shape[0]):
            total = 0.0
            for u in range(query.shape[1]):
                along = 0.0
                for p in range(n_parts):
                    step = items[k, basis, u, p] - query[basis, u, p]
                    along += step * step if kind == 2 else abs(step)
                total += along * along if kind == 0 else along
            best = max(best, np.sqrt(total) if kind == 0 else total * (n_parts if kind == 2 else 1))
        out[k] = best


@kernel
def reaches(query, items, counts, out):
    """out[k] is the largest sum of absolute coordinates of a point of the query, and the one of each item, together."""
    of_query = _reach(query)
    for k in range(len(items)):
        out[k] = of_query + _reach(items[k, : counts[k]])


@kernel
def _reach(points):
    most = 0.0
    for i in range(len(points)):
        total = 0.0
        for axis in range(points.shape[1] - 1):
            total += abs(points[i, axis])
        most = max(most, total)
    return most


@kernel
def relaxed_lower(query, items, counts, kind, out, largest):
    """out[k] is the larger of four bounds of each item, and largest[k] the largest cost between its points and the query's.

    Both ways: every point fills the nearest ones, and a dual from the distance to the nearest point.
    """
    a = np.ascontiguousarray(query[:, -1])
    for k in range(len(items)):
        item = items[k, : counts[k]]
        b = np.ascontiguousarray(item[:, -1])
        costs = _costs(query, item, kind)
        largest[k] = costs.max()
        turned = np.ascontiguousarray(costs.T)
        out[k] = max(
            max(_nearest_first(costs, a, b), _nearest_first(turned, b, a)),
            max(_dual_value(costs, a, b, _row_minima(costs)), _dual_value(turned, b, a, _row_minima(turned))),
        )


@kernel
def dual_lower(query, dual, items, counts, kind, out, largest):
    """out[k] is the bound that potentials ``dual`` of the query's points prove, and largest[k] the largest cost."""
    a = np.ascontiguousarray(query[:, -1])
    for k in range(len(items)):
        item = items[k, : counts[k]]
        costs = _costs(query, item, kind)
        largest[k] = costs.max()
        out[k] = _dual_value(costs, a, np.ascontiguousarray(item[:, -1]), dual)


@kernel
def plan_upper(query, items, counts, kind, out, largest):
    """out[k] is the cost of a plan that fills the cheapest pairs first, and largest[k] the largest cost."""
    for k in range(len(items)):
        item = items[k, : counts[k]]
        costs = _costs(query, item, kind)
        largest[k] = costs.max()
        left, room, total = query[:, -1].copy(), item[:, -1].copy(), 0.0
        for pair in np.argsort(costs.reshape(-1)):
            i, j = pair // len(item), pair % len(item)
            moved = min(left[i], room[j])
            if moved > 0.0:
                total += moved * costs[i, j]
                left[i] -= moved
                room[j] -= moved
        out[k] = total


@kernel
def quantile_integrals(along, masses, out):
    """out[u, p] integrates the quantile function of column u of ``along`` (n, k), sorted, over part p of [0, 1].

    masses (n, k) are those of the sorted values. What rounding leaves of the last part is filled by the last value.
    """
    n, n_parts = len(along), out.shape[1]
    for u in range(along.shape[1]):
        i, left = 0, masses[0, u]
        for p in range(n_parts):
            open_, total = 1.0 / n_parts, 0.0
            while open_ > 0.0:
                moved = open_ if i == n - 1 else min(open_, left)
                total += moved * along[i, u]
                open_ -= moved
                left -= moved
                if left <= 0.0 and i < n - 1:
                    i += 1
                    left = masses[i, u]
            out[u, p] = total
