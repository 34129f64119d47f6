"""The gradient of the votes of all items, against differences of a slow twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semimetric._kernels.neighborhoods import VotingItems, add_vote_gradients


def slow_loss(z, labels, weight, anchor):
    """-log of the share of the votes that the class of the anchor gets from all other items."""
    distance = np.abs(z - z[anchor]).sum(axis=1)
    vote = weight * np.exp(-distance)
    others = np.arange(len(z)) != anchor
    return -np.log(vote[others & (labels == labels[anchor])].sum() / vote[others].sum())


def gradients(z, labels, weight, anchors, importance):
    out, losses = np.zeros(z.shape, np.float32), np.empty(len(anchors))
    z = z.astype(np.float32)
    voters = VotingItems(z, np.ascontiguousarray(z.T), labels, weight.astype(np.float32))
    add_vote_gradients(voters, anchors, importance.astype(np.float32), out, losses)
    return out, losses


@settings(max_examples=20)
@given(seed=st.integers(0, 2**31), n_classes=st.integers(1, 3))
def test_gradient_is_that_of_the_loss(seed, n_classes):
    rng = np.random.default_rng(seed)
    z, labels, weight = rng.normal(size=(9, 4)), np.arange(9) % n_classes, rng.uniform(0.5, 2.0, 9)
    anchors, importance = np.array([0, 3, 4]), np.array([1.0, 0.5, 2.0])
    got, losses = gradients(z, labels, weight, anchors, importance)
    np.testing.assert_allclose(losses, [slow_loss(z, labels, weight, a) for a in anchors], rtol=1e-4, atol=1e-5)
    want, h = np.zeros_like(z), 1e-6
    for i, k in np.ndindex(z.shape):
        for side in (1.0, -1.0):
            moved = z.copy()
            moved[i, k] += side * h
            total = sum(w * slow_loss(moved, labels, weight, a) for a, w in zip(anchors, importance, strict=True))
            want[i, k] += side * total / (2 * h)
    np.testing.assert_allclose(got, want, atol=0.03)  # changes of less than 3 % of a mean vote are left out


def test_an_item_far_from_its_class_is_drawn_to_it():
    z = np.array([[0.0], [500.0], [500.5], [-0.2]])
    got, losses = gradients(z, np.array([0, 0, 0, 1]), np.ones(4), np.array([0]), np.ones(1))
    assert losses[0] == pytest.approx(499.8, rel=1e-3)
    assert got[0, 0] < -0.5  # a step against the gradient moves it up, and away from the other class


def test_an_item_alone_in_its_class_has_no_gradient():
    got, losses = gradients(np.arange(3.0)[:, None], np.array([0, 1, 1]), np.ones(3), np.array([0]), np.ones(1))
    assert np.isnan(losses[0])
    assert not got.any()
