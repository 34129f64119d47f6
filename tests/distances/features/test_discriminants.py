import numpy as np
import pytest

from semimetric import TripletLearner, load
from semimetric._foundation.stored import state_of, value_of
from semimetric._foundation.types import Pairs
from semimetric.distances.features import discriminants as bent
from semimetric.distances.features.discriminants import discriminants
from semimetric.distances.features.fitted_directions import fit_directions
from semimetric.distances.features.linear_directions import Directions


def rings(rng, n=300):
    """Two classes that no linear direction tells apart: a ring around a disk."""
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(np.arange(n) % 2, 1.0, 3.0) + rng.normal(0, 0.2, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), np.arange(n) % 2


def pairs_of(X, labels, rng, n=2000):
    index = rng.integers(0, len(X), (n, 2))
    same = labels[index[:, 0]] == labels[index[:, 1]]
    return Pairs(X, index[same]), Pairs(X, index[~same])


def test_bent_directions_tell_apart_what_no_line_does(rng):
    X, labels = rings(rng)
    near, far = pairs_of(X, labels, rng)
    found = discriminants(near, far, np.ones(len(near)), np.ones(len(far)))
    feature = found.append(X)[:, 2]
    between = abs(feature[labels == 0].mean() - feature[labels == 1].mean())
    assert between > 2 * max(feature[labels == k].std() for k in (0, 1))
    assert found.names[0] == "discriminant0"
    assert found.n_features == 2


def test_weights_count_pairs(rng):
    X, labels = rings(rng)
    near, far = pairs_of(X, labels, rng)
    weight = rng.integers(0, 3, len(near)).astype(float)
    repeated = near.take(np.repeat(np.arange(len(near)), weight.astype(int)))
    one = discriminants(near.take(weight > 0), far, weight[weight > 0], np.ones(len(far)))
    other = discriminants(repeated, far, np.ones(len(repeated)), np.ones(len(far)))
    np.testing.assert_allclose(np.abs(one.matrix[0]), np.abs(other.matrix[0]), rtol=1e-6)


def test_too_many_features_have_none(rng):
    X = rng.random((20, 1001))
    pairs = Pairs(X, rng.integers(0, 20, (30, 2)))
    assert discriminants(pairs, pairs, np.ones(30), np.ones(30)) is None


def test_bent_directions_are_a_value_that_is_kept_to_the_bit(tmp_path, rng):
    X, labels = rings(rng)
    near, far = pairs_of(X, labels, rng)
    found = discriminants(near, far, np.ones(len(near)), np.ones(len(far)))
    again = value_of(state_of(found), Directions, ())
    assert again.same_as(found)
    assert not again.same_as(Directions(found.matrix, found.names, tuple(b + 1 for b in found.bends)))
    assert not Directions(np.eye(2), ("a", "b")).same_as(found)
    assert (again.append(X) == found.append(X)).all()
    assert (found.append(X[3:4]) == found.append(X)[3:4]).all()
    with pytest.raises(ValueError, match="read-only"):
        found.bends[0][0] = 1.0
    assert fit_directions(found, X, names=("u", "v")) is found
    index = np.column_stack([near.index[:600], far.index[:600, 1]])[labels[near.left[:600]] != labels[far.right[:600]]]
    model = TripletLearner(n_knots=4, alpha=1e-3, directions=found, preprocessor=X).fit(index)
    model.semimetric_.save(tmp_path / "bent.smm")
    assert (load(tmp_path / "bent.smm").pairwise(X) == model.semimetric_.pairwise(X)).all()
    compiled = model.semimetric_.get_numba_metric()
    assert compiled(X[0], X[1]) == pytest.approx(model.semimetric_.pairwise(X[:2])[0, 1], rel=1e-12)


def test_more_features_than_cells_have_no_discriminants(rng, monkeypatch):
    monkeypatch.setattr(bent, "_CELLS", 4)
    X, labels = rng.normal(size=(60, 5)), np.arange(60) % 2
    near, far = pairs_of(X, labels, rng, 200)
    ones = np.ones(len(near)), np.ones(len(far))
    assert discriminants(near, far, *ones) is None
    found = discriminants(near, far, *ones, usable=np.array([True, True, False, True, True]))
    assert not found.uses[:, 2].any()
    assert [len(knots) for knots in found.bends] == [2, 2, 1, 2, 2]


def test_features_that_are_all_constant_have_no_discriminants(rng):
    X = np.ones((30, 2))
    near, far = pairs_of(X, np.arange(30) % 2, rng, 100)
    assert discriminants(near, far, np.ones(len(near)), np.ones(len(far))) is None
