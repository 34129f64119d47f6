"""A design in parts is the matrix of their rows, one under the other."""

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from semimetric.data.parts.engine import SerialEngine
from semimetric.distances.programs.design_in_parts import PartDesign, PartRows, check_room
from semimetric.distances.programs.design_matrix import MatrixDesign


@st.composite
def designs(draw, least=-2):
    """A matrix of small integers, so that sums are exact in any order, and the design of its rows in parts."""
    n, sizes = draw(st.integers(1, 4)), draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    rows = draw(st.lists(st.tuples(*[st.integers(least, 2)] * n), min_size=sum(sizes), max_size=sum(sizes)))
    matrix = np.array(rows, dtype=np.float64)
    pieces = np.split(matrix, np.cumsum(sizes)[:-1])
    parts = [PartRows(MatrixDesign(sparse.csr_array(p)), np.zeros(len(p)), np.ones(len(p))) for p in pieces]
    return matrix, PartDesign(SerialEngine(), parts, tuple(sizes), n)


def vector(n, seed):
    return np.random.default_rng(seed).integers(-3, 4, n).astype(float)


@given(designs(), st.integers(0, 9))
def test_products_are_those_of_the_matrix(design, seed):
    matrix, parts = design
    m, n = matrix.shape
    w, r = vector(n, seed), vector(m, seed + 1)
    assert parts.shape == (m, n)
    assert (parts.matvec(w) == matrix @ w).all()
    assert (parts.rmatvec(r) == matrix.T @ r).all()
    assert (parts.csr().toarray() == matrix).all()
    assert parts.held() is parts


@given(designs(), st.integers(0, 9))
def test_moments_are_those_of_the_matrix(design, seed):
    matrix, parts = design
    y, s = vector(len(matrix), seed), np.abs(vector(len(matrix), seed + 1))
    found = parts.moments(y, s)
    assert (found.gram == matrix.T @ (s[:, None] * matrix)).all()
    assert (found.cross == matrix.T @ (s * y)).all()
    assert (found.square, found.total) == (s @ y**2, s.sum())


@given(st.one_of(designs(), designs(least=0)))
def test_signs_are_those_of_all_parts(design):
    matrix, parts = design
    assert parts.nonnegative == (matrix >= 0).all()
    assert (parts.absolute.csr().toarray() == np.abs(matrix)).all()
    assert (parts.absolute is parts) == parts.nonnegative


@given(st.integers(1, 300), st.integers(1, 300))
def test_second_moments_have_half_of_the_limit(n, n_parts):
    taken = 8 * n * n * (int(np.log2(n_parts)) + 4)
    check_room(SerialEngine(2 * taken), n, n_parts)
    check_room(SerialEngine(None), n, n_parts)
    call = lambda: check_room(SerialEngine(2 * taken - 2), n, n_parts)  # noqa: E731
    assert_refused(call, f"second moments of {n} weights", "memory_limit", "raise it, use fewer knots or groups")


def test_no_moments_are_made_that_the_limit_has_no_room_for():
    parts = [PartRows(MatrixDesign(sparse.csr_array(np.ones((3, 2)))), np.zeros(3), np.ones(3))]
    design = PartDesign(SerialEngine(100), parts, (3,), 2)
    assert (design.matvec(np.ones(2)) == 2).all()
    with pytest.raises(ValueError, match="second moments of 2 weights"):
        design.moments(np.ones(3), np.ones(3))
