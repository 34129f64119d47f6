import numpy as np
import pytest
from cases import assert_refused

from semimetric.linear_models.pieces.prior_choice import CANDIDATES, PriorChoice, choose_prior
from semimetric.linear_models.pieces.support_pairs import find_distinct_places


def choice_with(errors, pieces, n=200):
    """The choice where each candidate is wrong on so many items, the first of each class, and has so many pieces."""
    X = np.arange(float(n))[:, None]
    y = (np.arange(n) % 2).astype(np.int64)
    seen = []

    def fit(places, items, positive, others, w_prior):
        c = next(i for i, f in enumerate(CANDIDATES) if f == w_prior or (np.isnan(f) and np.isnan(w_prior)))
        seen.append((places, items, positive, others))
        truth = np.where(others[:, 0] % 2 == 1, 1.0, -1.0)
        return np.where(others[:, 0] < errors[c], -truth, truth), pieces[c]

    return choose_prior(find_distinct_places(X, y, 2), X, y, fit, random_state=0), seen


@pytest.mark.parametrize(
    ("errors", "chosen"),
    [((20, 20, 20, 20), 0), ((20, 18, 20, 20), 0), ((40, 10, 12, 30), 1), ((40, 30, 5, 30), 2), ((0, 10, 10, 10), 0)],
)
def test_the_fewest_pieces_within_the_error(errors, chosen):
    choice, _ = choice_with(errors, (1, 2, 3, 4))
    assert choice.chosen == chosen
    assert np.allclose(choice.accuracy, 1 - np.array(errors) / 200)
    assert np.allclose(choice.n_components, (1, 2, 3, 4))


def test_a_fold_learns_from_what_it_does_not_judge():
    _, seen = choice_with((0, 0, 0, 0), (1, 1, 1, 1))
    assert len(seen) == 5 * len(CANDIDATES)
    for places, items, positive, others in seen:
        assert not set(items[:, 0]) & set(others[:, 0])
        assert len(items) + len(others) == 200
        assert np.array_equal(items[places.rows], places.points)
        assert np.array_equal(places.points[places.place_of_item], items)
        assert np.array_equal(positive[places.rows], places.codes)


def test_a_choice_that_disagrees_with_itself_is_refused():
    one = np.ones(4)
    PriorChoice(one, one, one, one, 3).check()
    for wrong in (PriorChoice(one, one, one[:2], one, 0), PriorChoice(one, one, one, one, 4)):
        assert_refused(wrong.check, "one entry for each candidate", "restore the file")
