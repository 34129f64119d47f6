"""What is learned of how difficult a pair is."""

import numpy as np
import pytest

from semimetric.distances.learning.intervals import PairDifficulty

RNG = np.random.default_rng(0)
PREDICTED, NOVELTY = RNG.uniform(0, 10, 2_000), RNG.uniform(0, 1, 2_000)


def test_errors_that_grow_with_distance_and_novelty_are_learned():
    expected = (0.1 + 0.2 * PREDICTED) * (1 + NOVELTY)
    learned = PairDifficulty.learned(PREDICTED, NOVELTY, expected * np.abs(RNG.standard_normal(2_000)))
    ratio = learned(PREDICTED, NOVELTY) / expected
    assert np.quantile(ratio, 0.95) / np.quantile(ratio, 0.05) < 1.8


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_the_units_of_distances_make_no_difference(unit):
    error = PREDICTED * np.abs(RNG.standard_normal(2_000))
    first, second = (PairDifficulty.learned(*(u * np.array([PREDICTED, NOVELTY, error]))) for u in (1.0, unit))
    np.testing.assert_allclose(second(unit * PREDICTED, unit * NOVELTY), first(PREDICTED, NOVELTY), rtol=1e-3)


@pytest.mark.parametrize(("n", "factor"), [(29, 1.0), (0, 1.0), (2_000, 0.0)], ids=["few", "none", "no error"])
def test_of_little_every_pair_is_as_difficult(n, factor):
    learned = PairDifficulty.learned(PREDICTED[:n], NOVELTY[:n], factor * PREDICTED[:n])
    assert (learned(PREDICTED, NOVELTY) == 1.0).all()


def test_it_is_bounded_and_finite_far_from_all_that_was_learned_from():
    learned = PairDifficulty.learned(PREDICTED, 0 * NOVELTY, PREDICTED)
    far = learned(np.array([0.0, 1e300, 1.0, -5.0]), np.array([0.0, 0.0, 1e300, 0.0]))
    assert np.isfinite(far).all()
    assert (far > 0).all()
    assert far.max() <= learned.high * (1 + 1e-12)


def test_what_cannot_be_a_difficulty_is_refused():
    for parts in ((np.ones(3), np.zeros((2, 0)), np.zeros(3), 1.0, 1.0), (np.zeros(2), np.zeros((2, 0)), np.zeros(3), 1.0, 1.0),
                  (np.ones(2), np.zeros((2, 0)), np.zeros(3), 2.0, 1.0)):  # fmt: skip
        with pytest.raises(ValueError, match="restore the file"):
            PairDifficulty(*parts)
