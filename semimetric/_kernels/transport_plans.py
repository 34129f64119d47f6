"""Transport plans along an order of the bins, which are feasible for any order, and checks of potentials and costs."""

import numpy as np

from .jit import kernel


@kernel
def cheapest_plans(query, items, orders, ground, out):
    """out[i] = the least cost of the plans from ``query`` (b,) to items[i] along ``orders`` (m, b), and the mass left over.

    What both have in common stays where it is. The rest is moved from the first bin of the order that has too much to the first
    that has too little, and so on (the north-west corner rule). ``ground`` is (b, b); ``out`` is (n, 2).
    """
    n_bins = query.shape[0]
    for i in range(items.shape[0]):
        out[i, 0], out[i, 1] = np.inf, 0.0
        for m in range(orders.shape[0]):
            cost, a, b, more, less = 0.0, 0, 0, 0.0, 0.0
            left = right = 0
            while True:
                while more <= 0.0 and a < n_bins:
                    left = orders[m, a]
                    more = query[left] - items[i, left]
                    a += 1
                while less <= 0.0 and b < n_bins:
                    right = orders[m, b]
                    less = items[i, right] - query[right]
                    b += 1
                if more <= 0.0 or less <= 0.0:
                    break
                moved = min(more, less)
                cost += moved * ground[left, right]
                more -= moved
                less -= moved
            rest = max(more, 0.0) + max(less, 0.0)
            for k in range(a, n_bins):
                rest += max(query[orders[m, k]] - items[i, orders[m, k]], 0.0)
            for k in range(b, n_bins):
                rest += max(items[i, orders[m, k]] - query[orders[m, k]], 0.0)
            if cost < out[i, 0]:
                out[i, 0], out[i, 1] = cost, rest


@kernel
def no_steeper(potential, most):
    """Return True if no difference of two values f_i - f_j of a potential (n,) is above most[i, j]; NaN counts as above."""
    for i in range(len(potential)):
        value, row, above = potential[i], most[i], 0
        for j in range(len(row)):
            above += not value - potential[j] <= row[j]
        if above:
            return False
    return True


@kernel
def steepest_slope(potential, costs):
    """Return the largest of 0 and (f_i - f_j) / costs[i, j] over the costs above 0, of a potential f (n,)."""
    most = 0.0
    for i in range(len(potential)):
        value, row = potential[i], costs[i]
        for j in range(len(row)):
            slope = (value - potential[j]) / row[j] if row[j] > 0.0 else 0.0
            most = slope if slope > most else most
    return most


@kernel
def has_no_detour(costs, slack):
    """Return True if no costs[i, j] is above (costs[i, k] + costs[k, j]) (1 + slack); NaN counts as above."""
    for i in range(len(costs)):
        row = costs[i]
        for k in range(len(costs)):
            first, onward, above = row[k], costs[k], 0
            for j in range(len(costs)):
                above += not row[j] <= (first + onward[j]) * (1.0 + slack)
            if above:
                return False
    return True
