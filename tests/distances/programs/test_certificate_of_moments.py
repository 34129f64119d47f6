"""The gap from second moments is at least the true one, with and without free weights."""

import numpy as np
import pytest
from scipy import sparse

from semimetric.distances.programs.certificate import QuadraticProgram, certified_gap_of_moments
from semimetric.distances.programs.design_matrix import MatrixDesign
from semimetric.distances.programs.penalties import Quadratic, Square


def program(rng, *, ridge, free):
    A, y, s, n = rng.random((20, 4)), rng.random(20), np.full(20, 0.05), 4
    R = sparse.csr_array(np.sqrt(ridge) * np.eye(n))
    penalty = Quadratic(sparse.csr_array(ridge * np.eye(n)), np.zeros(n), square=Square(R, np.zeros(n)))
    moments = MatrixDesign(sparse.csr_array(A)).moments(y, s)
    H, b = moments.gram + ridge * np.eye(n), moments.cross
    lower = np.full(n, -np.inf) if free else np.zeros(n)
    return QuadraticProgram(moments, penalty, lower, np.full(n, np.inf), 20), H, b


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
    twice = QuadraticProgram(moments, nothing, np.full(5, -np.inf), np.full(5, np.inf), 20)
    assert certified_gap_of_moments(twice, np.ones(5), lambda g: np.zeros(5)) == np.inf
