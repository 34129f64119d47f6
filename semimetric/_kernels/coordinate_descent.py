"""Steps that fit linear classifiers and regressors, row by row of a block of embedded rows.

    min_W  |W|² / 2 + sum_i c_i loss(y_i, <W, phi_i>),      W = sum_i c_i phi_i a_iᵀ

Dual variables a are in units of the weights c, so that bounds are 0 and 1. With the score f, the target t and epsilon e, the
dual of one coordinate is minimised by

    a <- clip(soft(a - g / h, e / h)),     g = f + a / 2 - t,  h = c |phi|² + 1 / 2        (the halves for squared losses only)

which is the step of Hsieh et al. (2008) for hinges (e = 0) and of Ho & Lin (2012) for epsilon-insensitive losses. Crammer and
Singer's loss ties the classes of a row: Keerthi et al. (2008).
"""

from typing import NamedTuple

import numpy as np

from .difference_penalties import climb, gather, row_norm, scatter
from .jit import kernel

__all__ = ["Machine", "Problem", "answer_pass", "dual_pass", "dual_values", "gap_pass", "restore_pass", "stochastic_pass"]


_MOVES, _SLEEPS = 0, 1  # The places of what `_inspect` tells of a row.


class Problem(NamedTuple):
    """What is minimised. A row i belongs to column ``codes[i]``: it has the target t there, and -t in the others.

    ``target`` and ``sample`` have one number a row, or one for all; ``own`` and ``other`` (K,) are C times the weight of a
    class, for the rows that belong to it and for the rest. ``two_sided`` tells regression, ``joint`` Crammer and Singer.
    """

    codes: np.ndarray
    target: np.ndarray
    sample: np.ndarray
    own: np.ndarray
    other: np.ndarray
    epsilon: float
    squared: bool
    two_sided: bool
    joint: bool


class Machine(NamedTuple):
    """Weights of the written rows: W_d = D^{-1} W flat, classes contiguous; ``bias`` (K,) of a column that is ``scaling``."""

    weights: np.ndarray
    bias: np.ndarray
    scaling: float
    order: int
    starts: np.ndarray


@kernel
def _target_and_weight(problem, i, c):
    """The target and the weight of row i in column c, two numbers."""
    sample = problem.sample[i if problem.sample.shape[0] > 1 else 0]
    target = problem.target[i if problem.target.shape[0] > 1 else 0]
    if problem.codes[i] == c:
        return target, sample * problem.own[c]
    return -target, sample * problem.other[c]


@kernel
def _box(problem, target):
    """The bounds of a dual variable whose row has this target."""
    top = np.inf if problem.squared else 1.0
    if problem.two_sided:
        return -top, top
    return (0.0, top) if target > 0 else (-top, 0.0)


@kernel
def _loss(problem, target, score):
    """loss(t, f), to be multiplied by the weight."""
    x = abs(target - score) - problem.epsilon if problem.two_sided else 1.0 - target * score
    x = max(x, 0.0)
    return x * x if problem.squared else x


@kernel
def _dual_term(problem, target, a):
    """-loss*(-a): what the coordinate adds to the dual objective, to be multiplied by the weight."""
    return target * a - problem.epsilon * abs(a) - (0.25 * a * a if problem.squared else 0.0)


@kernel
def _joint_weight(problem, i):
    """The weight of row i where the classes of a row are tied."""
    return problem.sample[i if problem.sample.shape[0] > 1 else 0] * problem.own[problem.codes[i]]


@kernel
def _inspect_joint(problem, i, score, dual, limits, record, status):
    """`_inspect` for Crammer and Singer: G_m = f_m + (m != y), a_y <= 1, a_m <= 0, sum of a = 0."""
    y, weight = problem.codes[i], _joint_weight(problem, i)
    if weight <= 0.0:
        status[_MOVES], status[_SLEEPS] = False, True
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
    status[_MOVES] = most > least
    status[_SLEEPS] = n_free == 1 and least - bounded > limits[0]  # A class that alone could fall has none to give to.


@kernel
def _inspect(problem, i, score, dual, limits, record, status):
    """Tell by ``status`` (2,) whether row i can move, and whether it sleeps.

    The gap of every class is added to record[0], and record[1] keeps the worst violation.
    """
    if problem.joint:
        _inspect_joint(problem, i, score, dual, limits, record, status)
        return
    moves, sleeps = False, True
    for c in range(score.shape[0]):
        target, weight = _target_and_weight(problem, i, c)
        if weight <= 0.0:
            continue
        a = float(dual[c])
        low, high = _box(problem, target)
        record[0, c] += weight * (_loss(problem, target, score[c]) + a * score[c] - _dual_term(problem, target, a))
        g = score[c] - target + (0.5 * a if problem.squared else 0.0)
        up = g + (problem.epsilon if a >= 0.0 else -problem.epsilon) if a < high else np.inf
        down = -g + (problem.epsilon if a <= 0.0 else -problem.epsilon) if a > low else np.inf
        slack = min(up, down)  # The slope in the steepest direction that the box leaves open.
        if slack < 0.0:
            moves = True
            record[1, c] = max(record[1, c], -slack)
        sleeps = sleeps and slack > limits[c]
    status[_MOVES], status[_SLEEPS] = moves, sleeps


@kernel
def _move_joint(problem, i, score, norm, weight, dual, move):
    """Exact minimum over the row's variables: a_m = min(bound, (level - b_m) / h), the level such that they sum to 0."""
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
def _move(problem, i, score, norm, factor, dual, move):
    """Minimise over the dual variables of row i, in place; ``move`` is what they add to the coefficients of phi_i."""
    if problem.joint:
        weight = _joint_weight(problem, i) * factor
        _move_joint(problem, i, score, norm, weight, dual, move)
        return
    for c in range(score.shape[0]):
        move[c] = 0.0
        target, weight = _target_and_weight(problem, i, c)
        weight *= factor
        h = norm * weight + (0.5 if problem.squared else 0.0)
        if h <= 0.0 or weight <= 0.0:
            continue
        old = dual[c]
        low, high = _box(problem, target)
        a = old - (score[c] - target + (0.5 * old if problem.squared else 0.0)) / h
        e = problem.epsilon / h
        a = a - e if a > e else (a + e if a < -e else 0.0)
        dual[c] = min(max(a, low), high)  # Weights follow what is stored, in the precision of the store.
        move[c] = (float(dual[c]) - float(old)) * weight


@kernel
def _score(machine, columns, values, out):
    """The scores of a row, out (K,), given its columns and values."""
    gather(columns, values, machine.weights, out)
    for c in range(out.shape[0]):
        out[c] += machine.scaling * machine.bias[c]


@kernel
def _add(machine, columns, values, climbed, move):
    """Add the row times ``move`` (K,) to the weights; ``climbed`` is what `climb` made of the row."""
    scatter(columns, values, machine.order, machine.starts, climbed, move, machine.weights)
    for c in range(move.shape[0]):
        machine.bias[c] += machine.scaling * move[c]


@kernel
def dual_pass(phi, rows, problem, machine, dual, limits, record, awake):
    """Take a coordinate step on every row ``rows[r]`` of the block where ``awake[r]`` is 2.

    It becomes 1 where the row did not move, and rests for the other sweeps over the block, and 0 where it falls asleep.
    record (2, K) gathers the gap before the steps and the worst violation; rows sleep beyond ``limits`` (K,), the worst
    violation of the pass before (Hsieh et al. 2008, section 3.2).
    """
    K = machine.bias.shape[0]
    score, move, status = np.empty(K), np.empty(K), np.empty(2, np.bool_)
    climbed = np.empty(machine.weights.shape[0] // K if machine.order else 0)
    for r in range(rows.shape[0]):
        if awake[r] < 2:
            continue
        i, entries = rows[r], slice(phi.indptr[r], phi.indptr[r + 1])
        columns, values = phi.indices[entries], phi.data[entries]
        _score(machine, columns, values, score)
        _inspect(problem, i, score, dual[i], limits, record, status)
        awake[r] = 0 if status[_SLEEPS] else 1 + status[_MOVES]
        if status[_MOVES]:
            climb(columns, values, machine.order, machine.starts, climbed)
            norm = row_norm(columns, values, machine.order, climbed) + machine.scaling**2
            if norm > 0.0:
                _move(problem, i, score, norm, 1.0, dual[i], move)
                _add(machine, columns, values, climbed, move)


@kernel
def gap_pass(phi, rows, problem, machine, dual, limits, record, awake):
    """`dual_pass` without its steps: the gaps of the rows at the weights as they are, and who sleeps."""
    K = machine.bias.shape[0]
    score, status = np.empty(K), np.empty(2, np.bool_)
    for r in range(rows.shape[0]):
        entries = slice(phi.indptr[r], phi.indptr[r + 1])
        _score(machine, phi.indices[entries], phi.data[entries], score)
        _inspect(problem, rows[r], score, dual[rows[r]], limits, record, status)
        awake[r] = not status[_SLEEPS]


@kernel
def dual_values(problem, dual, out):
    """out[c] = sum of the dual terms of column c, without |W|² / 2; all in out[0] for Crammer and Singer."""
    out[:] = 0.0
    for i in range(dual.shape[0]):
        for c in range(dual.shape[1]):
            if problem.joint:
                out[0] -= 0.0 if c == problem.codes[i] else _joint_weight(problem, i) * dual[i, c]
            else:
                target, weight = _target_and_weight(problem, i, c)
                out[c] += weight * _dual_term(problem, target, float(dual[i, c]))


@kernel
def restore_pass(phi, rows, problem, machine, dual):
    """Add sum_i c_i phi_i a_iᵀ over the rows to the machine: the weights of given dual variables."""
    K = machine.bias.shape[0]
    move = np.empty(K)
    climbed = np.empty(machine.weights.shape[0] // K if machine.order else 0)
    for r in range(rows.shape[0]):
        i, entries = rows[r], slice(phi.indptr[r], phi.indptr[r + 1])
        columns, values = phi.indices[entries], phi.data[entries]
        for c in range(K):
            weight = _joint_weight(problem, i) if problem.joint else _target_and_weight(problem, i, c)[1]
            move[c] = weight * float(dual[i, c])
        climb(columns, values, machine.order, machine.starts, climbed)
        _add(machine, columns, values, climbed, move)


@kernel
def stochastic_pass(phi, rows, problem, machine, clock):
    """Take a step of Pegasos for every row; clock = (scale of the weights, steps taken t, rows n that the objective counts).

    W <- argmin_V  (t + 1) / (2 n) |V - t / (t + 1) W|² + c_i loss(y_i, <V, phi_i>):  the subgradient step of size n / (t + 1)
    but never past the margin of the row, so that no first step is too long.
    """
    K = machine.bias.shape[0]
    score, move, dual = np.empty(K), np.empty(K), np.empty(K)
    climbed = np.empty(machine.weights.shape[0] // K if machine.order else 0)
    for r in range(rows.shape[0]):
        entries = slice(phi.indptr[r], phi.indptr[r + 1])
        columns, values = phi.indices[entries], phi.data[entries]
        t = clock[1]
        clock[1] = t + 1.0
        if t > 0.0:
            clock[0] *= t / (t + 1.0)
        _score(machine, columns, values, score)
        climb(columns, values, machine.order, machine.starts, climbed)
        norm = row_norm(columns, values, machine.order, climbed) + machine.scaling**2
        if norm > 0.0:
            score *= clock[0]
            dual[:] = 0.0
            _move(problem, rows[r], score, norm, clock[2] / (t + 1.0), dual, move)
            move /= clock[0]
            _add(machine, columns, values, climbed, move)


@kernel
def answer_pass(phi, rows, problem, machine, answer, record):
    """The dual variables that the scores ask for, added to the machine ``answer``.

    record (3, K) gathers the losses, and the linear and the quadratic parts of the dual terms.
    """
    K = machine.bias.shape[0]
    score, move = np.empty(K), np.empty(K)
    climbed = np.empty(machine.weights.shape[0] // K if machine.order else 0)
    for r in range(rows.shape[0]):
        i, entries = rows[r], slice(phi.indptr[r], phi.indptr[r + 1])
        columns, values = phi.indices[entries], phi.data[entries]
        _score(machine, columns, values, score)
        if problem.joint:
            _answer_joint(problem, i, score, move, record)
        else:
            _answer(problem, i, score, move, record)
        climb(columns, values, machine.order, machine.starts, climbed)
        _add(answer, columns, values, climbed, move)


@kernel
def _answer(problem, i, score, move, record):
    """The dual variables a = -loss'(f) of a row, column by column, as what they add to the weights: ``move`` (K,)."""
    for c in range(score.shape[0]):
        target, weight = _target_and_weight(problem, i, c)
        loss = _loss(problem, target, score[c])
        size = 2.0 * np.sqrt(loss) if problem.squared else (1.0 if loss > 0.0 else 0.0)
        a = size if target > (score[c] if problem.two_sided else 0.0) else -size
        record[0, c] += weight * loss
        record[1, c] += weight * (target * a - problem.epsilon * abs(a))
        record[2, c] += weight * 0.25 * a * a if problem.squared else 0.0
        move[c] = weight * a


@kernel
def _answer_joint(problem, i, score, move, record):
    """`_answer` for Crammer and Singer: the true class goes up, and the one that is furthest ahead of it goes down."""
    y, weight = problem.codes[i], _joint_weight(problem, i)
    move[:] = 0.0
    worst = y
    for m in range(score.shape[0]):
        if m != y and score[m] + 1.0 > score[worst] + (0.0 if worst == y else 1.0):
            worst = m
    if worst != y:
        record[0, 0] += weight * (1.0 + score[worst] - score[y])
        record[1, 0] += weight
        move[y], move[worst] = weight, -weight
