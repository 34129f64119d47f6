"""Steps on all classes of a row at once: Crammer and Singer's loss, whose dual variables are tied (Keerthi et al. 2008).

G_m = f_m + (m != y),     a_y <= 1,  a_m <= 0 for the other classes m,     sum_m a_m = 0
"""

import numpy as np

from .dual_states import ASLEEP, AWAKE, RESTS
from .jit import kernel


@kernel
def joint_weight(problem, i):
    """Return the weight of row i, which all of its classes share."""
    return problem.sample[i if problem.sample.shape[0] > 1 else 0] * problem.own[problem.codes[i]]


@kernel
def inspect_joint(problem, i, score, dual, limits, record, state):
    """Set ``state`` (K,) of all variables of row i, which can only move together; its gap is added to record[0, 0]."""
    y, weight = problem.codes[i], joint_weight(problem, i)
    if weight <= 0.0:
        state[:] = ASLEEP
        return
    bounded, free, least, term, n_free = -np.inf, -np.inf, np.inf, 0.0, 0
    for m in range(score.shape[0]):
        g = score[m] + (0.0 if m == y else 1.0)
        term += dual[m] * g
        if dual[m] < (1.0 if m == y else 0.0):
            least, free, n_free = min(least, g), max(free, g), n_free + 1
        else:
            bounded = max(bounded, g)
    most = max(free, bounded)
    record[0, 0] += weight * (most - score[y] + term)
    record[1, 0] = max(record[1, 0], most - least)
    if n_free == 1 and least - bounded > limits[0]:  # A class that alone could fall has none to give to.
        state[:] = ASLEEP
    else:
        state[:] = AWAKE if most > least else RESTS


@kernel
def move_joint(problem, i, score, norm, weight, dual, move):
    """Minimise exactly over the row's variables: a_m = min(bound, (level - b_m) / h), with the level at which they sum to 0."""
    K, y, h = score.shape[0], problem.codes[i], norm * weight
    b, ordered = np.empty(K), np.empty(K)
    for m in range(K):
        b[m] = score[m] + (0.0 if m == y else 1.0) - h * dual[m]
        ordered[m] = b[m] + (h if m == y else 0.0)
    ordered.sort()
    level, used = ordered[K - 1] - h, 1
    while used < K and level < used * ordered[K - 1 - used]:
        level += ordered[K - 1 - used]
        used += 1
    level /= used
    for m in range(K):
        new = min(1.0 if m == y else 0.0, (level - b[m]) / h)
        move[m] = (new - dual[m]) * weight
        dual[m] = new


@kernel
def answer_joint(problem, i, score, move, record):
    """Set the dual variables that the scores ask for: the true class goes up, and the one furthest ahead of it down."""
    y, weight = problem.codes[i], joint_weight(problem, i)
    move[:] = 0.0
    worst = y
    for m in range(score.shape[0]):
        if m != y and score[m] + 1.0 > score[worst] + (0.0 if worst == y else 1.0):
            worst = m
    if worst != y:
        record[0, 0] += weight * (1.0 + score[worst] - score[y])
        record[1, 0] += weight
        move[y], move[worst] = weight, -weight
