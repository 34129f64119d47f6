"""Coefficients and decision values of machines against products with the stored embedding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_machines import PL1, Ladders, X
from reference import differences
from sklearn.base import clone

from semimetric.vectors.machines import rows as coefficients_module
from semimetric.vectors.machines.rows import (
    EmbeddedRows,
    coefficients,
    decision_values,
    intercepts,
    squared_norms,
    zero_machine,
)


def random_machine(embedding, n_classes, scaling, seed=0):
    rng = np.random.default_rng(seed)
    machine = zero_machine(embedding, n_classes, scaling)
    machine.weights[:], machine.bias[:] = rng.normal(size=machine.weights.shape), rng.normal(size=n_classes)
    return machine


@given(st.integers(0, 3), st.integers(1, 3), st.floats(0, 4), st.integers(1, 40), st.integers(0, 1000))
def test_decision_values_are_those_of_the_stored_embedding(order, n_classes, scaling, size, seed):
    embedding = Ladders(order).fit(X[:50])
    machine = random_machine(embedding, n_classes, scaling, seed)
    W = coefficients(machine)
    expected = embedding.stored(X[:50]) @ W.T + intercepts(machine)
    found = decision_values(machine, EmbeddedRows(embedding, embedding.encode(X[:50]), size))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(squared_norms(machine), (W**2).sum(axis=1) + machine.bias**2)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_ladder_is_undone_by_differences(order):
    machine = random_machine(Ladders(order, n_knots=4).fit(X[:, :2]), 2, 1.0)
    per_feature = machine.weights.reshape(2, 4, 2)
    expected = np.concatenate([differences(4, order) @ part for part in per_feature])
    np.testing.assert_allclose(coefficients(machine), expected.T, atol=1e-12)


def test_threads_change_nothing(monkeypatch):
    embedding = clone(PL1).fit(X)
    machine, rows = random_machine(embedding, 3, 1.0), EmbeddedRows(embedding, embedding.encode(X), 7)
    one = decision_values(machine, rows)
    monkeypatch.setattr(coefficients_module, "_ROWS_PER_TASK", 11)
    assert np.array_equal(decision_values(machine, rows, n_jobs=2), one)


def test_a_zero_machine_without_intercept_scores_zero():
    embedding = clone(PL1).fit(X)
    machine = zero_machine(embedding, 3, 0.0)
    assert coefficients(machine).shape == (3, embedding.n_columns_)
    assert intercepts(machine).tolist() == [0.0, 0.0, 0.0]
    assert not decision_values(machine, EmbeddedRows(embedding, embedding.encode(X))).any()
