"""Problems for the kernels: their losses are hinges and epsilon-insensitive losses with the weights of rows and classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import problem_losses

from semimetric.vectors.machines.rows import classification_problem, regression_problem


@st.composite
def labelled_scores(draw, n_classes):
    n = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return rng.integers(0, n_classes, n), rng.normal(size=(n, n_classes)), rng.random(n), rng.random(n_classes + 1)


@pytest.mark.parametrize("squared", [False, True])
@given(labelled_scores(3))
def test_one_against_the_rest_weighs_the_rest_by_c(squared, made):
    codes, f, sample, weights = made
    found = problem_losses(classification_problem(codes, sample, weights, squared=squared, joint=False), f)
    signs = np.where(codes[:, None] == np.arange(3), 1, -1)
    factor = sample[:, None] * np.where(signs > 0, weights[:3], weights[3])
    loss = np.maximum(1 - signs * f, 0)
    np.testing.assert_allclose(found, (factor * (loss**2 if squared else loss)).sum(axis=0))


@pytest.mark.parametrize("squared", [False, True])
@given(labelled_scores(2))
def test_two_classes_are_one_column_with_a_weight_each(squared, made):
    codes, f, sample, weights = made
    found = problem_losses(classification_problem(codes, sample, weights, squared=squared, joint=False), f[:, :1])
    loss = np.maximum(1 - (2 * codes - 1) * f[:, 0], 0)
    np.testing.assert_allclose(found, sample * weights[codes] @ (loss**2 if squared else loss))


@given(labelled_scores(4))
def test_crammer_and_singer_weighs_a_row_by_its_class(made):
    codes, f, sample, weights = made
    found = problem_losses(classification_problem(codes, sample, weights, squared=False, joint=True), f)
    margins = f - f[np.arange(len(f)), codes][:, None] + (codes[:, None] != np.arange(4))
    assert found.sum() == pytest.approx(sample * weights[codes] @ margins.max(axis=1))


@pytest.mark.parametrize("power", [1, 2])
@given(labelled_scores(2), st.floats(0, 1))
def test_regression_is_epsilon_insensitive_on_both_sides(power, made, epsilon):
    _, f, sample, _ = made
    problem = regression_problem(f[:, 1], sample, 0.3, epsilon=epsilon, squared=power == 2)
    loss = np.maximum(np.abs(f[:, 1] - f[:, 0]) - epsilon, 0) ** power
    assert problem_losses(problem, f[:, :1])[0] == pytest.approx(0.3 * sample @ loss)


@pytest.mark.parametrize(("n_classes", "n_bytes"), [(2, 1), (127, 1), (128, 4)])
def test_classes_are_numbered_in_as_few_bytes_as_hold_them(n_classes, n_bytes):
    problem = classification_problem(np.arange(n_classes), None, np.ones(n_classes + 1), squared=True, joint=False)
    assert problem.codes.itemsize == n_bytes
    assert problem.sample.tolist() == [1.0]
