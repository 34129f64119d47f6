import hypothesis.strategies as st
import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given

from semimetric.datasets.triplet_answers import make_triplet_answers, perceived


def test_an_observer_answers_by_the_scale_but_for_noise():
    made = make_triplet_answers(4000, n_items=50, noise=0.0)
    head, near, far = perceived(made.items[:, 0])[made.triplets].T
    assert (np.abs(head - near) <= np.abs(head - far)).all()
    assert all(len(set(row)) == 3 for row in made.triplets.tolist())
    head, near, far = perceived(made.items[:, 0])[make_triplet_answers(4000, n_items=50, noise=0.2).triplets].T
    assert 0.6 < (np.abs(head - near) <= np.abs(head - far)).mean() < 0.95
    ends = perceived([0.0, 0.5, 1.0])
    assert np.allclose(ends[[0, 2]], [0, 1], atol=1e-4)
    assert_refused(lambda: make_triplet_answers(5, n_items=2), "n_items=2", "at least three items")


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20, unique=True))
def test_the_scale_of_the_observer_rises(stimuli):
    stimuli = np.sort(stimuli)
    apart = np.diff(stimuli) > 1e-9
    assert (np.diff(perceived(stimuli))[apart] > 0).all()


@given(st.integers(3, 12), st.integers(1, 40), st.integers(0, 1000))
def test_answers_repeat_for_the_same_seed_and_name_three_different_items(n_items, n_triplets, seed):
    made, again = (make_triplet_answers(n_triplets, n_items=n_items, random_state=seed) for _ in range(2))
    assert np.array_equal(made.triplets, again.triplets)
    assert made.triplets.shape == (n_triplets, 3)
    assert 0 <= made.triplets.min() <= made.triplets.max() < n_items
    assert all(len(set(row)) == 3 for row in made.triplets.tolist())


def test_without_a_triplet_there_is_nothing_to_answer():
    with pytest.raises(ValueError, match="at least three items and one triplet"):
        make_triplet_answers(0)
