"""The gap from second moments is at least the true one, with and without free weights."""

import numpy as np
import pytest
from scipy import sparse

from semimetric.distances.programs.certificate import QuadraticProgram, certified_gap_of_moments
from semimetric.distances.programs.design_matrix import MatrixDesign, Moments
from semimetric.distances.programs.penalties import Quadratic, Square


def program(rng, *, ridge, free):
    A, y, s, n = rng.random((20, 4)), rng.random(20), np.full(20, 0.05), 4
    R = sparse.csr_array(np.sqrt(ridge) * np.eye(n))
    penalty = Quadratic(sparse.csr_array(ridge * np.eye(n)), np.zeros(n), square=Square(R, np.zeros(n)))
    moments = MatrixDesign(sparse.csr_array(A)).moments(y, s)
    H, b = moments.gram + ridge * np.eye(n), moments.cross
    lower = np.full(n, -np.inf) if free else np.zeros(n)
    return QuadraticProgram(moments, penalty, lower, np.full(n, np.inf)), H, b


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_the_gap_of_free_weights_holds_and_is_tight(ridge, rng):
    made, H, b = program(rng, ridge=ridge, free=True)
    best = np.linalg.solve(H, b)
    for size in (0.0, 1e-6, 1e-2, 1.0):
        w = best + size * rng.normal(size=4)
        true = (w - best) @ H @ (w - best) / 2
        gap = certified_gap_of_moments(made, w, lambda g: np.linalg.solve(H, np.maximum(-g, 0)))
        assert true * (1 - 1e-9) <= gap < np.inf
        assert size or gap <= 1e-20


def test_undetermined_free_weights_have_no_certificate(rng):
    made, H, b = program(rng, ridge=0.0, free=True)
    gram = np.zeros((5, 5))
    gram[:4, :4], gram[4, :4], gram[:4, 4], gram[4, 4] = (
        made.moments.gram,
        made.moments.gram[0],
        made.moments.gram[0],
        made.moments.gram[0, 0],
    )
    moments = type(made.moments)(gram, np.append(b, b[0]), made.moments.square, 1.0)
    nothing = Quadratic(sparse.csr_array((5, 5)), np.zeros(5))
    twice = QuadraticProgram(moments, nothing, np.full(5, -np.inf), np.full(5, np.inf))
    assert certified_gap_of_moments(twice, np.ones(5), lambda g: np.zeros(5)) == np.inf


def test_ridges_of_some_weights_and_the_data_of_others_add_up():
    """A curvature d must leave H - diag(d) positive semidefinite: the larger of two such diagonals does not."""
    gram, R = np.ones((2, 2)), sparse.csr_array(np.diag([np.sqrt(1.5), 0.0]))
    moments = Moments(gram, np.ones(2), 1.0, 1.0)
    penalty = Quadratic(sparse.csr_array(R.T @ R), np.zeros(2), 0.0, Square(R, np.zeros(2)))
    for upper in (np.inf, 1.0):
        program = QuadraticProgram(moments, penalty, np.full(2, -np.inf), np.full(2, upper))
        rest = gram + penalty.P.toarray() - np.diag(program.curvature())
        assert np.linalg.eigvalsh(rest)[0] >= -1e-12


def test_moments_know_how_many_rows_they_sum(rng):
    A = MatrixDesign(sparse.csr_array(rng.random((30, 4))))
    one = A.moments(np.ones(30), np.full(30, 0.1))
    assert (one + one).n_rows == 60
    assert (one + one).mean.in_unit(2.0).scattered(np.arange(4), 5).n_rows == 60
