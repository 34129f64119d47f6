"""Steps that fit linear classifiers and regressors, row by row of a block of embedded rows.

    min_W  |W|² / 2 + sum_i c_i loss(y_i, <W, phi_i>),      W = sum_i c_i phi_i a_iᵀ

Weights that must not be negative are max(0, W), of the W above: what is stored is the W above, a step of the dual then takes
|phi|² for an upper bound of its curvature, and the gap is the same sum.

Dual variables a are in units of the weights c, so that bounds are 0 and 1. With the score f, the target t and epsilon e, the
dual of one coordinate is minimised by

    a <- clip(soft(a - g / h, e / h)),     g = f + a / 2 - t,  h = c |phi|² + 1 / 2        (the halves for squared losses only)

which is the step of Hsieh et al. (2008) for hinges (e = 0) and of Ho & Lin (2012) for epsilon-insensitive losses. Crammer and
Singer's loss ties the classes of a row: Keerthi et al. (2008).
"""

from typing import NamedTuple

import numpy as np

from .crammer_singer import answer_joint, inspect_joint, joint_weight, move_joint
from .difference_penalties import add_row, gather, product, squared_norm
from .dual_states import ASLEEP, AWAKE, RESTS, any_awake
from .jit import kernel

_NONE = np.zeros(0, np.bool_)
_FEW = 4  # Scores of single columns are computed where these are at most a fourth of all.


class Problem(NamedTuple):
    """The objective: a row i has the target t in its column ``codes[i]``, and -t in the others.

    ``target`` and ``sample`` have one number a row, or one for all; ``own`` and ``other`` (K,) are C times the weight of a
    class, for the rows that belong to it and for the rest. ``two_sided`` marks regression, ``joint`` Crammer and Singer.
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
    """Weights, flat, classes contiguous; ``bias`` (K,) of a column that is ``scaling``.

    Kernels that learn take the weights W of rows phi. Where ``order`` is not 0, the weights are those of psi, W_d = D^{-1} W
    within the blocks of columns ``starts``, with which scores are computed.

    ``positive`` (n_columns,) marks the columns whose negative weights count as 0; it has no entries where none do.
    """

    weights: np.ndarray
    bias: np.ndarray
    scaling: float
    order: int
    starts: np.ndarray
    positive: np.ndarray = _NONE


@kernel
def _target_and_weight(problem, i, c):
    sample = problem.sample[i if problem.sample.shape[0] > 1 else 0]
    target = problem.target[i if problem.target.shape[0] > 1 else 0]
    if problem.codes[i] == c:
        return target, sample * problem.own[c]
    return -target, sample * problem.other[c]


@kernel
def _box(problem, target):
    top = np.inf if problem.squared else 1.0
    if problem.two_sided:
        return -top, top
    return (0.0, top) if target > 0 else (-top, 0.0)


@kernel
def _loss(problem, target, score):
    """Return loss(t, f), without the weight."""
    x = abs(target - score) - problem.epsilon if problem.two_sided else 1.0 - target * score
    x = max(x, 0.0)
    return x * x if problem.squared else x


@kernel
def _dual_term(problem, target, a):
    """Return -loss*(-a), which the coordinate adds to the dual objective, without the weight."""
    return target * a - problem.epsilon * abs(a) - (0.25 * a * a if problem.squared else 0.0)


@kernel
def _inspect(problem, i, score, dual, limits, record, state):
    """Set ``state`` (K,) of the awake columns of row i: they still can move, rest or fall asleep.

    The gaps of these columns are added to record[0], and record[1] keeps the worst violations.
    """
    if problem.joint:
        inspect_joint(problem, i, score, dual, limits, record, state)
        return
    for c in range(score.shape[0]):
        if state[c] != AWAKE:
            continue
        target, weight = _target_and_weight(problem, i, c)
        if weight <= 0.0:
            state[c] = ASLEEP
            continue
        a = float(dual[c])
        low, high = _box(problem, target)
        record[0, c] += weight * (_loss(problem, target, score[c]) + a * score[c] - _dual_term(problem, target, a))
        g = score[c] - target + (0.5 * a if problem.squared else 0.0)
        up = g + (problem.epsilon if a >= 0.0 else -problem.epsilon) if a < high else np.inf
        down = -g + (problem.epsilon if a <= 0.0 else -problem.epsilon) if a > low else np.inf
        slack = min(up, down)  # The slope in the steepest direction that the box leaves open.
        if slack < 0.0:
            record[1, c] = max(record[1, c], -slack)
        else:
            state[c] = ASLEEP if slack > limits[c] else RESTS


@kernel
def _move(problem, i, score, norm, factor, dual, state, move):
    """Minimise over the dual variables of row i that are awake, in place; ``move`` is what they add to the weights of phi_i."""
    if problem.joint:
        weight = joint_weight(problem, i) * factor
        move_joint(problem, i, score, norm, weight, dual, move)
        return
    for c in range(score.shape[0]):
        move[c] = 0.0
        target, weight = _target_and_weight(problem, i, c)
        weight *= factor
        h = norm * weight + (0.5 if problem.squared else 0.0)
        if state[c] != AWAKE or h <= 0.0 or weight <= 0.0:
            continue
        old = dual[c]
        low, high = _box(problem, target)
        a = old - (score[c] - target + (0.5 * old if problem.squared else 0.0)) / h
        e = problem.epsilon / h
        a = a - e if a > e else (a + e if a < -e else 0.0)
        dual[c] = min(max(a, low), high)  # Weights follow what is stored, in the precision of the store.
        move[c] = (float(dual[c]) - float(old)) * weight


@kernel
def _gather_positive(columns, values, machine, out):
    """Do as `gather`, with weights below 0 as 0 where they must not be negative."""
    K = out.shape[0]
    out[:] = 0.0
    for j in range(columns.shape[0]):
        column = np.uint64(columns[j])
        first = column * np.uint64(K)
        for c in range(K):
            w = machine.weights[first + np.uint64(c)]
            if w > 0.0 or not machine.positive[column]:
                out[c] += values[j] * w


@kernel
def _score(machine, columns, values, out):
    if machine.positive.shape[0]:
        _gather_positive(columns, values, machine, out)
    else:
        gather(columns, values, machine.weights, out)
    for c in range(out.shape[0]):
        out[c] += machine.scaling * machine.bias[c]


@kernel
def _score_awake(machine, columns, values, state, out):
    """Compute the scores of the columns of out (K,) that are awake; others may stay as they were.

    All are computed where that is no more work, and where weights must not be negative.
    """
    K, n_awake = out.shape[0], 0
    for c in range(K):
        n_awake += state[c] == AWAKE
    if n_awake * _FEW > K or machine.positive.shape[0]:
        _score(machine, columns, values, out)
        return
    for c in range(K):
        if state[c] == AWAKE:
            out[c] = product(columns, values, machine.weights, (K, c)) + machine.scaling * machine.bias[c]


@kernel
def _add(machine, columns, values, move):
    """Add the row times ``move`` (K,) to the weights."""
    add_row(columns, values, move, machine.weights)
    for c in range(move.shape[0]):
        machine.bias[c] += machine.scaling * move[c]


@kernel
def dual_pass(phi, rows, problem, machine, dual, limits, record, state):
    """Take a coordinate step on the variables of every row ``rows[r]`` of the block where ``state[rows[r]]`` (K,) is `AWAKE`.

    A variable that does not move rests for the other sweeps over the block, or falls asleep until `gap_pass` wakes it. record
    (2, K) gathers the gap before the steps and the worst violation; variables sleep beyond ``limits`` (K,), the worst
    violation of the pass before (Hsieh et al. 2008, section 3.2).
    """
    K = machine.bias.shape[0]
    score, move = np.empty(K), np.empty(K)
    for r in range(rows.shape[0]):
        i = rows[r]
        if not any_awake(state[i]):
            continue
        entries = slice(phi.indptr[r], phi.indptr[r + 1])
        columns, values = phi.indices[entries], phi.data[entries]
        _score_awake(machine, columns, values, state[i], score)
        _inspect(problem, i, score, dual[i], limits, record, state[i])
        if any_awake(state[i]):
            norm = squared_norm(values) + machine.scaling**2
            if norm > 0.0:
                _move(problem, i, score, norm, 1.0, dual[i], state[i], move)
                _add(machine, columns, values, move)


@kernel
def gap_pass(phi, rows, problem, machine, dual, limits, record, state):
    """Do as `dual_pass` without its steps, on all variables: add up the gaps at these weights, and set the states."""
    score = np.empty(machine.bias.shape[0])
    for r in range(rows.shape[0]):
        i, entries = rows[r], slice(phi.indptr[r], phi.indptr[r + 1])
        _score(machine, phi.indices[entries], phi.data[entries], score)
        state[i, :] = AWAKE
        _inspect(problem, i, score, dual[i], limits, record, state[i])


@kernel
def dual_values(problem, dual, out):
    """out[c] = sum of the dual terms of column c, without |W|² / 2; all in out[0] for Crammer and Singer."""
    out[:] = 0.0
    for i in range(dual.shape[0]):
        for c in range(dual.shape[1]):
            if problem.joint:
                out[0] -= 0.0 if c == problem.codes[i] else joint_weight(problem, i) * dual[i, c]
            else:
                target, weight = _target_and_weight(problem, i, c)
                out[c] += weight * _dual_term(problem, target, float(dual[i, c]))


@kernel
def restore_pass(phi, rows, problem, machine, dual):
    """Add sum_i c_i phi_i a_iᵀ over the rows to the machine: the weights of given dual variables."""
    K = machine.bias.shape[0]
    move = np.empty(K)
    for r in range(rows.shape[0]):
        i, entries = rows[r], slice(phi.indptr[r], phi.indptr[r + 1])
        columns, values = phi.indices[entries], phi.data[entries]
        for c in range(K):
            weight = joint_weight(problem, i) if problem.joint else _target_and_weight(problem, i, c)[1]
            move[c] = weight * float(dual[i, c])
        _add(machine, columns, values, move)


@kernel
def stochastic_pass(phi, rows, problem, machine, clock):
    """Take a step of Pegasos for every row; clock = (scale of the weights, steps taken t, rows n that the objective counts).

    W <- argmin_V  (t + 1) / (2 n) |V - t / (t + 1) W|² + c_i loss(y_i, <V, phi_i>):  the subgradient step of size n / (t + 1)
    but never past the margin of the row, so that no first step is too long.
    """
    K = machine.bias.shape[0]
    score, move, dual, state = np.empty(K), np.empty(K), np.empty(K), np.full(K, AWAKE, np.int8)
    for r in range(rows.shape[0]):
        entries = slice(phi.indptr[r], phi.indptr[r + 1])
        columns, values = phi.indices[entries], phi.data[entries]
        t = clock[1]
        clock[1] = t + 1.0
        if t > 0.0:
            clock[0] *= t / (t + 1.0)
        _score(machine, columns, values, score)
        norm = squared_norm(values) + machine.scaling**2
        if norm > 0.0:
            score *= clock[0]
            dual[:] = 0.0
            _move(problem, rows[r], score, norm, clock[2] / (t + 1.0), dual, state, move)
            move /= clock[0]
            _add(machine, columns, values, move)


@kernel
def answer_pass(phi, rows, problem, machine, answer, record):
    """Add the dual variables that the scores ask for to the machine ``answer``.

    record (3, K) gathers the losses, and the linear and the quadratic parts of the dual terms.
    """
    K = machine.bias.shape[0]
    score, move = np.empty(K), np.empty(K)
    for r in range(rows.shape[0]):
        i, entries = rows[r], slice(phi.indptr[r], phi.indptr[r + 1])
        columns, values = phi.indices[entries], phi.data[entries]
        _score(machine, columns, values, score)
        if problem.joint:
            answer_joint(problem, i, score, move, record)
        else:
            _answer(problem, i, score, move, record)
        _add(answer, columns, values, move)


@kernel
def _answer(problem, i, score, move, record):
    """Fill ``move`` (K,) with what the dual variables a = -loss'(f) of a row add to the weights."""
    for c in range(score.shape[0]):
        target, weight = _target_and_weight(problem, i, c)
        loss = _loss(problem, target, score[c])
        size = 2.0 * np.sqrt(loss) if problem.squared else (1.0 if loss > 0.0 else 0.0)
        a = size if target > (score[c] if problem.two_sided else 0.0) else -size
        record[0, c] += weight * loss
        record[1, c] += weight * (target * a - problem.epsilon * abs(a))
        record[2, c] += weight * 0.25 * a * a if problem.squared else 0.0
        move[c] = weight * a
