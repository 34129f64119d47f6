import numpy as np
import pytest
from mixtures import points_of, prior_of, state

from semimetric._kernels.mixture import log_joint
from semimetric.vectors.pieces.merged_planes import _Groups, merged_labels
from semimetric.vectors.pieces.mixture_em import planes_of_labels


def planes_apart(rng, n=20):
    """Points on a line along the first axis, and on one along the second, with directions across."""
    x = np.concatenate([np.column_stack([rng.uniform(-1, 1, n), 0.02 * rng.normal(size=n)]),
                        np.column_stack([1.5 + 0.02 * rng.normal(size=n), rng.uniform(0, 2, n)])])  # fmt: skip
    v = np.concatenate([np.tile([0.0, 0.1], (n, 1)), np.tile([0.1, 0.0], (n, 1))]) + 0.01 * rng.normal(size=(2 * n, 2))
    return points_of(x - x.mean(axis=0), v)


@pytest.mark.parametrize("n_start", [2, 8, 40])
def test_two_planes_are_found_from_below(rng, n_start):
    labels = merged_labels(planes_apart(rng), prior_of(2, 100.0), 1.0, n_start, 0)
    assert labels.max() == 1
    assert len(set(labels[:20])) == len(set(labels[20:])) == 1


def test_a_given_number_of_components_is_kept(rng):
    for k in (1, 3, 5):
        assert len(set(merged_labels(planes_apart(rng), prior_of(2, 100.0), 1.0, 8, 0, n_components=k))) == k


def test_the_gain_of_a_merge_is_that_of_the_log_joint_density(rng):
    points, prior, alpha = planes_apart(rng), prior_of(2, 100.0), 0.3
    labels = np.arange(40) // 10

    def joint(labels):
        k = int(labels.max()) + 1
        planes = planes_of_labels(points, labels, k, prior, n_steps=1)
        return sum(log_joint(points, prior, alpha, state(points, planes, labels)))

    gains = _Groups(points, prior, alpha, labels).gains
    merged = np.array([0, 0, 1, 2])[labels]
    assert gains[0, 1] == pytest.approx(joint(merged) - joint(labels))
