"""Pairs that are drawn in rounds: when they end, what they cost, and what is kept."""

import warnings

import cases
import numpy as np
import pytest
from learners import made

from semimetric import DistanceApproximator, DistanceCallError, DistanceRegressor, InputError, SemimetricWarning, load
from semimetric.distances.estimators.approximator import errors_fell

ITEMS = np.random.default_rng(0).random((150, 2))


class Counted:
    """A distance of two batches that counts its pairs, and fails after some."""

    def __init__(self, distance=cases.warped_sum, most=10**9, error=None):
        self.distance, self.most, self.error, self.n = distance, most, error, 0

    def __call__(self, x, y):
        self.n += len(np.atleast_2d(x))
        if self.n > self.most:
            if self.error is not None:
                raise self.error
            return np.full(len(x), np.nan)
        return self.distance(np.asarray(x), np.asarray(y))


def fit(distance, **options):
    settings = {"n_pairs": "auto", "n_knots": 4, "alpha": 1e-5}
    return made(DistanceApproximator, distance, **settings | options).fit(ITEMS)


def test_what_is_simple_needs_few_pairs_and_what_is_not_more():
    def simple(x, y):
        return np.abs(x - y).sum(axis=-1)

    def fine(x, y):
        return np.abs(np.sin(9 * x) - np.sin(9 * y)).sum(axis=-1)

    easy, hard = fit(simple), fit(fine, n_knots=24)
    assert len(easy.pairs_) < 4_000
    assert len(easy.pairs_) < len(hard.pairs_)
    assert easy.error_.median < 0.01


@pytest.mark.parametrize("most", [20, 300, 1_500, 4_000])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
def test_no_more_is_evaluated_than_was_allowed(most, share):
    distance = Counted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)
        model = fit(distance, max_calls=most, validation_fraction=share)
    assert model.n_calls_ <= most
    assert model.n_calls_ <= distance.n < model.n_calls_ + 60  # which form it has, and whether it is symmetric, is asked too
    assert model.n_calls_ >= 0.5 * min(most, 900)


def test_a_first_round_of_nothing_but_zeros_is_followed_by_more():
    distance = Counted(lambda x, y: np.where(distance.n > 1_000, np.abs(x - y).sum(axis=-1), 0.0))
    model = fit(distance, max_calls=2_000, validation_fraction=0.0)
    assert not model.distances_[:899].any()
    assert model.distances_.any()
    nothing = Counted(lambda x, y: np.zeros(len(x)))
    with pytest.raises(InputError, match="all distances in y are 0; there is nothing to learn"):
        fit(nothing, max_calls=2_000, validation_fraction=0.0)


def test_every_pair_that_was_evaluated_is_learned_from_and_none_twice():
    model = fit(Counted(), max_calls=3_000)
    pairs = np.sort(model.pairs_, axis=1)
    assert len(np.unique(pairs, axis=0)) == len(pairs) == len(model.distances_)
    np.testing.assert_array_equal(model.distances_, cases.warped_sum(*ITEMS[model.pairs_.T]))
    again = fit(Counted(), max_calls=3_000)
    np.testing.assert_array_equal(again.pairs_, model.pairs_)


@pytest.mark.slow
@pytest.mark.parametrize("error", [None, KeyboardInterrupt()])
def test_the_calls_of_all_rounds_are_kept_when_one_fails(error):
    distance = Counted(most=1_500, error=error)
    model = DistanceApproximator(distance, DistanceRegressor(n_knots=16, alpha=1e-5), n_pairs="auto", validation_fraction=0)
    with pytest.raises((DistanceCallError, KeyboardInterrupt)) as said:
        model.fit(ITEMS)
    assert 900 < len(model.pairs_) == len(model.distances_) <= 1_500
    assert f"The {len(model.distances_)} distances that were evaluated are kept" in said.value.__notes__[0]
    np.testing.assert_array_equal(model.distances_, cases.warped_sum(*ITEMS[model.pairs_.T]))


def test_a_fall_is_told_by_items_and_not_by_pairs():
    """Of one item whose pairs fell and one whose pairs rose less, many pairs are no more than two witnesses."""
    index = np.column_stack(np.triu_indices(60, 1))
    one = np.where((index == 0).any(axis=1), 1.0, 0.0) - 0.4 * (index == 1).any(axis=1)
    assert one.mean() > 2 * one.std() / np.sqrt(len(one))
    assert not errors_fell(one, index)
    assert errors_fell(np.full(len(index), 0.1), index)
    assert not errors_fell(np.zeros(len(index)), index)


def test_a_file_keeps_how_pairs_were_drawn(tmp_path):
    model = fit(Counted(), max_calls=600)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.n_pairs, again.max_calls, again.n_calls_) == ("auto", 600, model.n_calls_)


@pytest.mark.parametrize(
    ("options", "parts"),
    [({"n_pairs": "many"}, ("n_pairs='many'", '"auto"', "integer >= 1")),
     ({"max_calls": 5}, ("max_calls=5", "integer >= 20", "required")),
     ({"max_calls": None}, ("max_calls=None", "integer >= 20", "required"))],
)  # fmt: skip
def test_bad_input_is_refused(options, parts):
    cases.assert_refused(lambda: fit(Counted(), **options), *parts)
