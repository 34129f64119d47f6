"""One query: which candidates are called, and in which order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from semimetric.distances.search.bounds import Bounds, Coordinates, QueryBounds
from semimetric.distances.search.filter_refine import CandidateItems, Found, nearest, proved, within


class Given(Bounds):
    """Bounds that are given: the lower ones as values, the upper ones as masses."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def fit(self, X, y=None):
        return self

    def _placed(self, objects, name):
        raise NotImplementedError

    @property
    def items_(self):
        return Coordinates(np.array(self.low)[:, None], np.empty((len(self.low), 0)), np.array(self.high))

    def lower_at(self, query, items):
        return items.values[:, 0]

    def upper_at(self, query, items):
        return items.masses


def run(search, low, true, goal, high=None, estimates=None, ranks=None, **options):
    """The answer of a search, and the rows that were called in their order."""
    n = len(true)
    high = [np.inf] * n if high is None else high
    order = []
    bounds = [QueryBounds(Given(low, high), Coordinates(np.zeros((1, 1)), np.empty((1, 0)), np.ones(1)))]
    candidates = CandidateItems(
        np.arange(n),
        np.arange(n) if ranks is None else ranks,
        bounds,
        None if estimates is None else np.array(estimates, dtype=float),
    )

    def call(row, lower):
        order.append(row)
        assert lower == low[row]
        return true[row], None

    options = {"known": {}, "budget": np.inf} | options
    return search(candidates, call, goal, **options), order


def test_nothing_beyond_the_threshold_is_called():
    found, order = run(nearest, [1.0, 5.0, 2.0, 9.0], [3.0, 6.0, 4.0, 9.5], 2)
    assert [row for *_, row in found.called] == [0, 2]
    assert order == [0, 2]


@given(seed=st.integers(0, 2**31), n=st.integers(1, 60), learned=st.booleans())
def test_called_are_those_whose_bounds_are_before_the_last_neighbour_and_no_others(seed, n, learned):
    """With ties of all kinds: an item is called if its lower bound, and then its rank, is before the last one found."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 8, n).astype(float)
    low, high = np.maximum(true - rng.integers(0, 5, n), 0.0), true + rng.integers(0, 5, n)
    ranks, k = rng.permutation(n), int(rng.integers(1, n + 1))
    estimates = np.zeros(n) if learned else None
    found, order = run(nearest, low.tolist(), true.tolist(), k, high.tolist(), estimates, ranks)
    last = sorted(zip(true, ranks, strict=True))[k - 1]
    assert [(value, rank) for value, rank, _ in found.called[:k]] == sorted(zip(true, ranks, strict=True))[:k]
    within_last = {row for row in range(n) if (low[row], ranks[row]) <= last}
    assert within_last <= set(order)
    if not learned:
        assert set(order) == within_last
        assert order == sorted(order, key=lambda row: (low[row], ranks[row]))


def test_estimates_come_first_and_lower_bounds_once_there_is_a_threshold():
    found, order = run(nearest, [0.0, 0.0, 0.0, 7.0], [5.0, 1.0, 6.0, 8.0], 1, estimates=[50.0, 10.0, 60.0, 70.0])
    assert order[0] == 1  # the nearest by estimate
    assert sorted(order) == [0, 1, 2]
    assert found.called[0] == (1.0, 1, 1)


def test_a_tie_at_the_threshold_is_called_only_if_its_id_could_win():
    _, order = run(nearest, [1.0, 2.0, 2.0], [2.0, 2.0, 2.0], 1)
    assert order == [0]
    _, order = run(nearest, [2.0, 1.0, 2.0], [2.0, 2.0, 2.0], 1)
    assert order == [1, 0]


def test_upper_bounds_discard_before_any_call():
    found, order = run(nearest, [1.0, 6.0, 2.0], [3.0, 7.0, 4.0], 2, high=[5.0, 9.0, 5.0], estimates=[2.0, 1.0, 3.0])
    assert order == [0, 2]
    assert len(found.open_rows) == 0


def test_known_distances_are_not_called():
    found, order = run(nearest, [1.0, 2.0, 3.0], [1.5, 2.5, 9.0], 2, known={0: 1.5, 1: 2.5})
    assert order == []
    assert found.n_calls == 0
    assert [value for value, *_ in found.called] == [1.5, 2.5]


def test_a_budget_ends_the_search_and_only_what_is_sure_is_proved():
    found, order = run(nearest, [0.0, 1.0, 2.0, 2.0], [0.5, 2.5, 3.0, 4.0], 2, budget=2)
    assert order == [0, 1]
    assert proved(found, 2, np.arange(4)) == [True, False]
    assert sorted(found.open_rows.tolist()) == [2, 3]
    all_called, _ = run(nearest, [0.0, 1.0, 2.0, 2.0], [0.5, 2.5, 3.0, 4.0], 2)
    assert proved(all_called, 2, np.arange(4)) == [True, True]


def test_a_tie_with_an_open_item_is_proved_by_its_id_alone():
    called = [(2.0, 5, 5)]
    assert proved(Found(called, np.array([7]), np.array([2.0]), 1), 1, np.arange(9)) == [True]
    assert proved(Found(called, np.array([3]), np.array([2.0]), 1), 1, np.arange(9)) == [False]


def test_a_radius_calls_what_may_lie_within_it():
    found, order = run(within, [1.0, 5.0, 3.0], [2.0, 6.0, 4.5], 3.0)
    assert sorted(order) == [0, 2]
    assert [row for *_, row in found.called] == [0, 2]
    found, order = run(within, [1.0, 5.0, 3.0], [2.0, 6.0, 4.5], 3.0, budget=1)
    assert order == [0]
    assert found.open_rows.tolist() == [2]
