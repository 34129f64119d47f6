"""Slow, obvious twins of the package in plain Python and NumPy: what the fast code must agree with."""

from fractions import Fraction
from itertools import combinations, product
from math import factorial

import numpy as np
from scipy.optimize import linprog


def locate(value, knots):
    """Alg. 1, lines 5-8: lower vertex, upper vertex and fraction of one value; clipped."""
    if len(knots) == 1:
        return 0, 0, 0.0
    value = min(max(value, knots[0]), knots[-1])
    upper = next((k for k in range(1, len(knots)) if knots[k] >= value), len(knots) - 1)
    width = knots[upper] - knots[upper - 1]
    return upper - 1, upper, (value - knots[upper - 1]) / width


def position(value, knots, kind="numeric", missing=False):
    """Where a value lies among the vertices of its feature: a lower vertex plus a fraction."""
    if missing and np.isnan(value):
        return float(len(knots))
    if kind == "periodic":
        turn = knots[-1] - knots[0]
        value = knots[0] + (value - knots[0]) % turn
    lower, _, fraction = locate(value, knots)
    return lower + fraction


def gower(x, y, kinds, widths, weights, middles=None):
    """Gower's distance with weights: |x - y| over the range, on the circle over half a turn, 0 or 1 for categories.

    A missing value (None) is half the largest gap away from a number, the largest from a category, 0 from another missing one.
    With ``middles``, a number is as far from it as from the first of two numbers, and by the second further.
    """
    total = 0.0
    for f, (a, b, kind, width, weight) in enumerate(zip(x, y, kinds, widths, weights, strict=True)):
        if a is None or b is None:
            gap = 0.0 if a is b else 1.0 if kind == "categorical" else 0.5
            if middles and kind == "numeric" and a is not b:
                gap = (abs((a if b is None else b) - middles[f][0]) + middles[f][1]) / width
        elif kind == "categorical":
            gap = float(a != b)
        elif kind == "periodic":
            gap = min((a - b) % (2 * width), (b - a) % (2 * width)) / width
        else:
            gap = abs(a - b) / width
        total += weight * gap
    return total


def id_vector(x, knots):
    """Alg. 1 of paper 2 to the letter: {vertex: weight}, a vertex being a tuple of knot numbers."""
    cells = [locate(value, k) for value, k in zip(x, knots, strict=True)]
    fractions = [cell[2] for cell in cells]
    order = sorted(range(len(x)), key=fractions.__getitem__)
    vertex, row, reached = [cell[1] for cell in cells], {}, 0.0
    for axis in order:
        row[tuple(vertex)] = row.get(tuple(vertex), 0.0) + fractions[axis] - reached
        reached = fractions[axis]
        vertex[axis] = cells[axis][0]
    row[tuple(vertex)] = row.get(tuple(vertex), 0.0) + 1.0 - reached
    return row


def number(vertex, sizes):
    """Flat number of a grid point, the first feature running slowest."""
    flat = 0
    for k, size in zip(vertex, sizes, strict=True):
        flat = flat * size + k
    return flat


def pair_row(x, y, knots, group):
    """ID of the concatenation [x_S, y_S] on the grid [V_S; V_S]: {(a, b): weight} over flat grid points."""
    chosen = [knots[f] for f in group]
    sizes = [len(k) for k in chosen]
    both = id_vector([x[f] for f in group] + [y[f] for f in group], chosen + chosen)
    row = {}
    for vertex, weight in both.items():
        key = number(vertex[: len(group)], sizes), number(vertex[len(group) :], sizes)
        row[key] = row.get(key, 0.0) + weight
    return row


def table_lookup(row, table):
    """The value of a pair row under a table (C, C)."""
    return sum(weight * table[a, b] for (a, b), weight in row.items())


def distance(x, y, knots, tables):
    """sum_S w_S · ID([x_S, y_S]) for {group: table}."""
    return sum(table_lookup(pair_row(x, y, knots, group), table) for group, table in tables.items())


def swapped(x, y, group):
    """The paper's symmetry: the lexicographically larger of x_S and y_S comes first."""
    return (y, x) if [x[f] for f in group] < [y[f] for f in group] else (x, y)


def weighted_l1(x, y, slopes):
    return sum(s * abs(a - b) for s, a, b in zip(slopes, x, y, strict=True))


def warped(x, y, knots, rises):
    """sum_f |phi_f(x_f) - phi_f(y_f)|, phi_f rising by rises[f][k] over cell k."""
    scales = [np.concatenate([[0.0], np.cumsum(r)]) for r in rises]
    return sum(abs(np.interp(a, k, s) - np.interp(b, k, s)) for a, b, k, s in zip(x, y, knots, scales, strict=True))


def gap_scale(x, y, knots, rises, downs, level):
    """Two scales that add up to one, between which a missing value lies ``level`` beyond the low end and the high end."""
    up, down = (np.concatenate([[0.0], np.cumsum(part)]) for part in (rises, downs))

    def places(v):
        missing = -level / 2, down[-1] + level / 2
        return missing if np.isnan(v) else tuple(np.interp(v, knots, scale) for scale in (up, down))

    return sum(abs(a - b) for a, b in zip(places(x), places(y), strict=True))


def emd_1d(u, v, positions):
    """Earth Mover's Distance of two histograms of equal mass on a line."""
    return float(np.abs(np.cumsum(u - v)[:-1]) @ np.diff(positions))


def smallest(function, *axes):
    """The smallest value of ``function`` over the grid that the axes span."""
    return min(function(*point) for point in product(*axes))


def cone(x, anchor, p):
    """||x - a||_p^p, or the largest difference for p = inf; a missing value adds nothing."""
    gaps = [abs(u - v) for u, v in zip(x, anchor, strict=True) if u == u]
    return max(gaps, default=0.0) if p == np.inf else sum(gap**p for gap in gaps)


def conic_row(x, sets, p, expand, concatenate=True):
    """phi of paper 4, Section 2 and §S.2, for sets of anchors."""
    row = [value if value == value else 0.0 for value in x]
    for anchors in sets:
        nearest = min(anchors, key=lambda a: cone(x, a, p))
        if expand == "one":
            row.append(cone(x, nearest, p))
            continue
        for anchor in anchors if concatenate else [nearest]:
            row.extend(cone([u], [v], p) for u, v in zip(x, anchor, strict=True))
    return row


def vector_row(x, knots, groups, *, missing="error", zeros=False):
    """ID of one vector for groups of features in turn: (the row, the names of its columns), vertex by vertex.

    A missing value (NaN) is the vertex after the last knot with missing="indicator", else its groups have no entry. With
    ``zeros`` there are no columns where a coordinate is 0.
    """
    row, names = [], []
    for group in groups:
        places = [[*knots[f], *(["missing"] if missing == "indicator" else [])] for f in group]
        known = [f for f in group if not np.isnan(x[f])]
        inside = id_vector([x[f] for f in known], [knots[f] for f in known])
        whole = {}
        for vertex, weight in inside.items():
            at = dict(zip(known, vertex, strict=True))
            whole[tuple(at.get(f, len(knots[f])) for f in group)] = weight
        if len(known) < len(group) and missing != "indicator":
            whole = {}
        for vertex in product(*(range(len(p)) for p in places)):
            coordinates = [p[k] for p, k in zip(places, vertex, strict=True)]
            if not (zeros and 0.0 in coordinates):
                row.append(whole.get(vertex, 0.0))
                names.append(tuple(zip(group, coordinates, strict=True)))
    return np.array(row), names


def bspline(i, degree, x, knots):
    """B_i of the degree on the knots, by the recursion of Cox and de Boor; cells are closed on the left."""
    if degree == 0:
        return float(knots[i] <= x < knots[i + 1])
    left = (x - knots[i]) / (knots[i + degree] - knots[i])
    right = (knots[i + degree + 1] - x) / (knots[i + degree + 1] - knots[i + 1])
    return left * bspline(i, degree - 1, x, knots) + right * bspline(i + 1, degree - 1, x, knots)


def differences(n, order):
    """D_order of paper 1, section 3: the power of D_1, with 1 on the diagonal and -1 below it."""
    return np.linalg.matrix_power(np.eye(n) - np.eye(n, k=-1), order)


def eilers_marx_fit(psi, widths, order, y, alpha):
    """Fitted values of P-splines (Eilers & Marx 1996): min |y - b - psi v|² + alpha |D v|², D = differences of each block."""
    D = [np.diff(np.eye(m), order, axis=0) for m in widths]
    penalty, start = np.zeros((1 + sum(widths),) * 2), 1
    for m, part in zip(widths, D, strict=True):
        penalty[start : start + m, start : start + m] = alpha * part.T @ part
        start += m
    A = np.hstack([np.ones((len(y), 1)), psi])
    return A @ np.linalg.lstsq(A.T @ A + penalty, A.T @ y, rcond=1e-12)[0]  # levels and b are one: the shortest of many


def linear_objective(model, F, y, weight=None):
    """The objective of an EmbeddedLinearClassifier or -Regressor on stored rows F (n, n_columns), written out."""
    offset = getattr(model, "offset_", 0.0)
    W, b, y = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_) - offset, y - offset if offset else y
    f, scaling = F @ W.T + b, getattr(model, "intercept_scaling", 1.0)
    weight = np.ones(len(y)) if weight is None else weight
    value = 0.5 * (W**2).sum() + 0.5 * ((b / scaling) ** 2).sum()
    if "epsilon" in model.loss:
        x = np.maximum(np.abs(y[:, None] - f) - model.epsilon, 0)
    elif model.multi_class == "crammer_singer":
        own = f[np.arange(len(y)), y]
        margins = f + 1
        margins[np.arange(len(y)), y] -= 1
        return value + model.C * weight @ (margins.max(axis=1) - own)
    else:
        signs = np.where(y[:, None] == np.arange(f.shape[1]), 1, -1) if f.shape[1] > 1 else 2 * y[:, None] - 1
        x = np.maximum(1 - signs * f, 0)
    return value + model.C * (weight[:, None] * (x**2 if "squared" in model.loss else x)).sum()


def problem_losses(problem, f):
    """Losses of the scores f (n, K) times their weights, summed over the rows, shape (K,); a joint loss is in column 0."""
    n, K = f.shape
    out = np.zeros(K)
    for i in range(n):
        y, sample = problem.codes[i], problem.sample[i % len(problem.sample)]
        if problem.joint:
            others = [1 + f[i, m] - f[i, y] for m in range(K) if m != y]
            out[0] += sample * problem.own[y] * max(0.0, *others)
            continue
        for c in range(K):
            target = problem.target[i % len(problem.target)] * (1 if y == c else -1)
            x = abs(target - f[i, c]) - problem.epsilon if problem.two_sided else 1 - target * f[i, c]
            out[c] += sample * (problem.own if y == c else problem.other)[c] * max(x, 0.0) ** (2 if problem.squared else 1)
    return out


def problem_dual(problem, dual):
    """What the dual variables (n, K) add to the dual objective, and the coefficients c_i a_i (n, K) of the rows in W."""
    terms, coefficients = np.zeros(dual.shape[1]), np.zeros(dual.shape)
    for i in range(len(dual)):
        y, sample = problem.codes[i], problem.sample[i % len(problem.sample)]
        for c in range(dual.shape[1]):
            if problem.joint:
                weight = sample * problem.own[y]
                terms[0] -= weight * dual[i, c] * (c != y)
            else:
                weight = sample * (problem.own if y == c else problem.other)[c]
                target = problem.target[i % len(problem.target)] * (1 if y == c else -1)
                a = dual[i, c]
                terms[c] += weight * (target * a - problem.epsilon * abs(a) - (a * a / 4 if problem.squared else 0.0))
            coefficients[i, c] = weight * dual[i, c]
    return terms, coefficients


def pegasos_steps(w, phi, targets, squared, C, n_steps, n_rows):
    """Implicit steps on rows phi (n, d) of two classes, +1 and -1: the exact minima of the proximal problem of each row."""
    for x, target in zip(phi, targets, strict=True):
        w = w * n_steps / (n_steps + 1) if n_steps > 0 else w
        step = C * n_rows / (n_steps + 1)
        slope = max(0.0, 1 - target * (w @ x)) / (step * (x @ x) + (0.5 if squared else 0.0))
        w = w + target * step * (slope if squared else min(slope, 1.0)) * x
        n_steps += 1
    return w


def support_pair(X, y, i):
    """s+ and s- of item i as rows of X, and the cut, by equations 3 and 7 of paper 3; no two items at one place."""
    order = sorted(range(len(X)), key=lambda k: tuple(X[k]))  # of equals the first in lexicographic order

    def squared(a, b):
        return sum((u - v) ** 2 for u, v in zip(a, b, strict=True))

    other = min((k for k in order if y[k] != y[i]), key=lambda k: squared(X[k], X[i]))
    best, cut = i, 0.5
    for k in (k for k in order if y[k] == y[i]):
        inner = sum((a - s) * (x - s) for a, s, x in zip(X[k], X[other], X[i], strict=True))
        if inner > 0 and squared(X[k], X[other]) / (2 * inner) < cut:
            best, cut = k, squared(X[k], X[other]) / (2 * inner)
    return best, other, cut


def closure_slow(table):
    """All shortest paths, one longer detour at a time."""
    t, n = table.copy(), len(table)
    for _ in range(n):
        t = np.array([[min(t[a, b] + t[b, c] for b in range(n)) for c in range(n)] for a in range(n)])
    return t


def worst_triple(table):
    """The largest w_ac - w_ab - w_bc of different points, at least 0."""
    n = len(table)
    excess = [table[a, c] - table[a, b] - table[b, c] for a, b, c in product(range(n), repeat=3) if len({a, b, c}) == 3]
    return max(excess, default=0.0)


def pairs_conformal_rank(scores, items, level):
    """The rank, from 1, of the score that covers a share of new pairs, when pairs share items: by leaving two items out.

    Each pair is judged by the scores of those that share no item with it. Of ranks r that are no less than those of plain split
    conformal prediction, it is the least for which enough pairs are at or below the score of the same share of their judges:
    the first r at which ``r / (n + 1)`` exceeds ``below / (apart + 1)`` for a share ``level`` of the pairs.
    """
    n = len(scores)
    needed = []
    for pair, score in zip(items, scores, strict=True):
        apart = [s for other, s in zip(items, scores, strict=True) if not set(other) & set(pair)]
        below = sum(s < score for s in apart)
        rank = 1
        while Fraction(rank, n + 1) <= Fraction(below, len(apart) + 1):
            rank += 1
        needed.append(rank)
    plain = next(r for r in range(1, n + 2) if r >= level * (n + 1) - 1e-9)
    enough = next(r for r in range(1, n + 2) if sum(k <= r for k in needed) >= level * n - 1e-9)
    return max(plain, enough)


def exact_objective(program, w):
    """The loss plus the penalties as a fraction, from their formulas; the floats that go in count as exact."""
    F, w = Fraction, [Fraction(v) for v in w.tolist()]
    low, high = program.loss.interval
    curvature = F(program.loss.curvature)
    total = F(0)
    rows = program.design.csr().toarray().tolist()
    for row, y, s in zip(rows, program.y.tolist(), program.sample_weight.tolist(), strict=True):
        r = sum((F(a) * v for a, v in zip(row, w, strict=True) if a), -F(y))
        if curvature:
            slope = r / curvature
            slope = max(slope, F(low)) if np.isfinite(low) else slope
            slope = min(slope, F(high)) if np.isfinite(high) else slope
        else:
            slope = F(high) if r > 0 else F(low)
        total += F(s) * (slope * r - curvature * slope * slope / 2)
    return total + sum(_exact_penalty(p, program.columns, w) for p in program.penalties)


def _exact_penalty(penalty, columns, w):
    """A penalty at weights that are fractions, from the formula of its docstring."""
    F = Fraction
    unit, share, step = ([F(v) for v in a.tolist()] for a in (columns.unit, columns.share, columns.step))
    name = type(penalty).__name__
    if name == "Linear":
        return sum(F(c) * v for c, v in zip(penalty.cost.tolist(), w, strict=True))
    alpha = F(penalty.alpha)
    if name == "Lasso":
        return alpha * sum(s * abs(v) / u for s, v, u in zip(share, w, unit, strict=False))
    if name == "Ridge":
        center = columns.prior.tolist() if penalty.towards == "prior" else [0.0] * len(unit)
        return alpha / 2 * sum(s * ((v - F(c)) / u) ** 2 for s, v, c, u in zip(share, w, center, unit, strict=False))
    D = columns.differences("tables" if penalty.order == 1 else "curves").toarray().tolist()
    # sqrt(share) is the same for all columns here, so that it can stand before the sum
    return alpha / 2 * share[0] * sum(sum(F(d) * v / t for d, v, t in zip(row, w, step, strict=False)) ** 2 for row in D)


def emd(x, y, cost):
    """The Earth Mover's Distance of two histograms of equal mass as a linear program."""
    n = len(cost)
    rows = np.kron(np.eye(n), np.ones(n))
    columns = np.kron(np.ones(n), np.eye(n))
    mass = x.sum()  # the tolerance of the solver is absolute
    solved = linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([x, y]) / mass, method="highs")
    return float(solved.fun) * mass


def transport_of_clouds(x, y, metric):
    """The least cost of moving one point cloud to another, masses divided by their sums, and the largest cost of two points."""
    (p, a), (q, b) = (one if isinstance(one, tuple) else (one, np.ones(len(one))) for one in (x, y))
    step = np.abs(p[:, None] - q)
    cost = {"euclidean": np.sqrt((step**2).sum(axis=2)), "cityblock": step.sum(axis=2), "sqeuclidean": (step**2).sum(axis=2)}[
        metric
    ]
    scale = cost.max() or 1.0
    rows, columns = np.kron(np.eye(len(p)), np.ones(len(q))), np.kron(np.ones(len(p)), np.eye(len(q)))
    masses = np.concatenate([a / a.sum(), b / b.sum()])
    solved = linprog(cost.ravel() / scale, A_eq=np.vstack([rows, columns])[1:], b_eq=masses[1:], method="highs")
    return float(solved.fun) * scale, cost.max()


def best_potential(gap, cost):
    """The largest ``f @ gap`` over all f with ``f_i - f_j <= cost_ij``: the dual of `emd` for a gap that sums to 0."""
    n = len(cost)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    rows = np.array([np.eye(n)[i] - np.eye(n)[j] for i, j in pairs])
    solved = linprog(-np.asarray(gap), A_ub=rows, b_ub=[cost[p] for p in pairs], bounds=[(0, 0)] + [(None, None)] * (n - 1))
    return float(-solved.fun)


def exact_steepest(potential, cost):
    """The largest ``f_i - f_j - cost_ij`` over i != j, in fractions, so without any rounding."""
    f = [Fraction(float(v)) for v in potential]
    n = len(f)
    return max(f[i] - f[j] - Fraction(float(cost[i, j])) for i in range(n) for j in range(n) if i != j)


def nearest_by_brute_force(distance, query, items, ids, k):
    """The k nearest items by calling the distance for all of them; ties go to the smallest id."""
    return sorted((float(distance(query, item)), id) for item, id in zip(items, ids, strict=True))[:k]


def edit_distance(x, y):
    """The fewest insertions, deletions and exchanges of symbols that make y of x (Levenshtein 1966), row by row."""
    row = list(range(len(y) + 1))
    for i, a in enumerate(x):
        following = [i + 1]
        for j, b in enumerate(y):
            following.append(min(row[j + 1] + 1, following[j] + 1, row[j] + (a != b)))
        row = following
    return row[-1]


def time_warping(x, y):
    """The least sum of |x_i - y_j| along a path that takes every value of both in order (Sakoe & Chiba 1978)."""
    cost = np.full((len(x) + 1, len(y) + 1), np.inf)
    cost[0, 0] = 0.0
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            cost[i + 1, j + 1] = abs(a - b) + min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
    return float(cost[-1, -1])


def emd_hat(x, y, cost, alpha):
    """EMD-hat of histograms of any mass (Pele & Werman 2008): the smaller mass is moved, what is left costs alpha max cost."""
    rest = x.sum() - y.sum()
    spare = np.zeros((len(x) + 1, len(x) + 1))  # a bin more, which takes the rest for nothing
    spare[:-1, :-1] = cost
    moved = emd(np.append(x, max(-rest, 0.0)), np.append(y, max(rest, 0.0)), spare)
    return moved + alpha * abs(rest) * cost.max()


def ground_distance(a, b, metric, periods):
    """The distance of two places, of which some axes are circles."""
    gaps = [
        min(abs(s - t) % p, p - abs(s - t) % p) if p < np.inf else abs(s - t) for s, t, p in zip(a, b, periods, strict=True)
    ]
    return {"euclidean": sum(g * g for g in gaps) ** 0.5, "cityblock": sum(gaps), "chebyshev": max(gaps)}[metric]


def strips(places, threshold):
    """All sets {t - threshold <= place < t} of places on a line that are not empty, as rows of 0 and 1."""
    breaks = sorted({round(p + s, 9) for p in places for s in ({0.0, threshold} - {np.inf})})
    for low, high in zip(breaks[:-1], breaks[1:], strict=True):
        t = (low + high) / 2
        row = [float(t - threshold <= p < t) for p in places]
        if any(row):
            yield row


def slices_of_bins(places, directions, periods, threshold):
    """Rows of 0 and 1: the strips of the bins along all directions, with circles laid out from every place on."""
    circles = [a for a, p in enumerate(periods) if p < np.inf]
    for cut in product(*[sorted({round(b[a] % periods[a], 9) for b in places}) for a in circles]):
        laid = [list(b) for b in places]
        for b in laid:
            for a, start in zip(circles, cut, strict=True):
                b[a] = round(b[a] - start, 9) % periods[a]
        for u in directions:
            yield from strips([sum(s * t for s, t in zip(u, b, strict=True)) for b in laid], threshold)


def balls_of_bins(places, radii, metric, periods):
    """Rows of 0 and 1: the bins within each radius of each bin."""
    for c, r in product(places, radii):
        yield [float(ground_distance(b, c, metric, periods) <= r * (1 + 1e-9)) for b in places]


def edges_of_bins(places, directions, width, metric, periods):
    """Rows of numbers that fall off with the distance from each bin, of the sign of its side in each direction."""
    for c, u in product(places, directions):
        row = []
        for b in places:
            ahead = sum(v * _short_way(x - y, p) for v, x, y, p in zip(u, b, c, periods, strict=True))
            sign = 0.0 if abs(ahead) < 1e-9 else float(np.sign(ahead))
            row.append(sign * np.exp(-ground_distance(b, c, metric, periods) / width))
        yield row


def _short_way(step, period):
    """A step along an axis, round a circle the short way; 0 to the far side, where both ways are as long."""
    if period == np.inf:
        return step
    return 0.0 if abs(abs(step) % period - period / 2) < 1e-9 else step - period * round(step / period)


def shapley_values(value, n_players):
    """Shapley values (n_players, ...) of a game, by all coalitions (Shapley 1953)."""
    players = range(n_players)
    worth = {s: np.asarray(value(list(s))) for k in range(n_players + 1) for s in combinations(players, k)}
    found = []
    for j in players:
        total = 0.0
        for s in worth:
            if j not in s:
                share = factorial(len(s)) * factorial(n_players - len(s) - 1) / factorial(n_players)
                total = total + share * (worth[tuple(sorted((*s, j)))] - worth[s])
        found.append(total)
    return np.array(found)


def windowed_warping(x, y, window=None):
    """The root of the least sum of squares along a path within a window: of steps, or as a float a share of the longer."""
    n, m = len(x), len(y)
    steps = max(n, m) if window is None else int(window * max(n, m)) if isinstance(window, float) else window
    steps = max(steps, abs(n - m))
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            if abs(i - j) <= steps:
                cost = ((np.asarray(x[i]) - np.asarray(y[j])) ** 2).sum()
                table[i + 1, j + 1] = cost + min(table[i, j], table[i, j + 1], table[i + 1, j])
    return float(np.sqrt(table[n, m]))


def elastic_distance(kind, x, y, window=None, g=0.0, epsilon=1.0, c=1.0, nu=0.001, lmbda=1.0):
    """ERP, LCSS, EDR, MSM or TWED of series of shape (n_steps, n_channels), by the recursions of their papers, cell by cell."""
    if kind == "msm" and x.shape[1] > 1:
        return sum(elastic_distance(kind, x[:, [k]], y[:, [k]], window, c=c) for k in range(x.shape[1]))
    n, m = len(x), len(y)
    steps = max(n, m) if window is None else int(window * max(n, m)) if isinstance(window, float) else window
    steps = max(steps, abs(n - m))

    def size(values):
        return float(np.abs(values).sum())

    def close(i, j):
        return bool((np.abs(x[i - 1] - y[j - 1]) <= epsilon).all())

    if kind == "lcss":
        pairs = np.zeros((n + 1, m + 1))
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                both = pairs[i - 1, j - 1] + (abs(i - j) <= steps and close(i, j))
                pairs[i, j] = max(both, pairs[i - 1, j], pairs[i, j - 1])
        return 1.0 - pairs[n, m] / min(n, m)

    def split(value, before, beside):
        low, high = sorted([before, beside])
        return c if low <= value <= high else c + min(abs(value - before), abs(value - beside))

    def pair(i, j):
        if kind == "edr":
            return 0.0 if close(i, j) else 1.0
        if kind == "twed" and i > 1 and j > 1:
            return size(x[i - 1] - y[j - 1]) + size(x[i - 2] - y[j - 2]) + 2 * nu * abs(i - j)
        return size(x[i - 1] - y[j - 1])

    def skip(one, other, i, j):
        if kind == "erp":
            return size(one[i - 1] - g)
        if kind == "edr":
            return 1.0
        if kind == "msm":
            return split(one[i - 1, 0], one[i - 2, 0], other[j - 1, 0]) if i > 1 and j > 0 else np.inf
        return size(one[i - 1] - one[i - 2]) + nu + lmbda if i > 1 and j > 0 else np.inf

    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            ways = [table[i, j]]
            if i and j:
                ways.append(table[i - 1, j - 1] + pair(i, j))
            if i:
                ways.append(table[i - 1, j] + skip(x, y, i, j))
            if j:
                ways.append(table[i, j - 1] + skip(y, x, j, i))
            table[i, j] = min(ways) if abs(i - j) <= steps else np.inf
    return float(table[n, m])
