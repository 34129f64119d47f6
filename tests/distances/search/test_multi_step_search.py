"""One query: which candidates are called, and in which order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from semimetric.distances.search.bounds import Bounds, Coordinates, QueryBounds
from semimetric.distances.search.filter_refine import CandidateItems, Found, nearest, proved, within


class Given(Bounds):
    """Bounds that are given: the lower ones as values, also quick ones if there are any, the upper ones as masses."""

    def __init__(self, low, high, quick=None):
        self.low, self.high, self.quick = low, high, quick
        self.has_quick = quick is not None
        self.n_full = 0  # lower bounds that were computed in full

    def fit(self, X, y=None):
        return self

    def _placed(self, objects, name):
        raise NotImplementedError

    @property
    def items_(self):
        quick = np.empty((len(self.low), 0)) if self.quick is None else np.array(self.quick)[:, None]
        return Coordinates(np.array(self.low)[:, None], quick, np.array(self.high))

    def lower_at(self, query, items):
        self.n_full += len(items)
        return items.values[:, 0]

    def quick_at(self, query, items):
        return items.histograms[:, 0] if self.has_quick else self.lower_at(query, items)

    def upper_at(self, query, items):
        return items.masses


def run(search, low, true, goal, high=None, estimates=None, ranks=None, quick=None, **options):
    """The answer of a search, and the rows that were called in their order."""
    return run_with(
        Given(low, [np.inf] * len(true) if high is None else high, quick), search, true, goal, estimates, ranks, **options
    )


def run_with(given, search, true, goal, estimates=None, ranks=None, **options):
    """As `run`, by bounds that can be asked afterwards how many were computed in full."""
    n = len(true)
    order = []
    bounds = [QueryBounds(given, Coordinates(np.zeros((1, 1)), np.empty((1, 0)), np.ones(1)))]
    candidates = CandidateItems(
        np.arange(n),
        np.arange(n) if ranks is None else ranks,
        bounds,
        None if estimates is None else np.array(estimates, dtype=float),
    )

    def call(row, lower):
        order.append(row)
        assert lower == given.low[row]
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


@given(seed=st.integers(0, 2**31), n=st.integers(1, 300), learned=st.booleans(), budget=st.integers(0, 30) | st.just(np.inf))
def test_quick_bounds_change_no_call_and_nothing_that_is_proved(seed, n, learned, budget):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 40, n).astype(float)
    low, high = np.maximum(true - rng.integers(0, 5, n), 0.0), true + rng.integers(0, 5, n)
    quick, ranks, k = np.maximum(low - rng.integers(0, 9, n), 0.0), rng.permutation(n), int(rng.integers(1, n + 1))
    options = {"high": high.tolist(), "estimates": rng.random(n) if learned else None, "ranks": ranks, "budget": budget}
    for search, goal in ((nearest, k), (within, float(rng.integers(0, 40)))):
        full, in_order = run(search, low.tolist(), true.tolist(), goal, **options)
        found, order = run(search, low.tolist(), true.tolist(), goal, quick=quick.tolist(), **options)
        assert found.called == full.called
        assert order == in_order
        left, left_in_full = np.argsort(found.open_rows), np.argsort(full.open_rows)
        np.testing.assert_array_equal(found.open_rows[left], full.open_rows[left_in_full])
        np.testing.assert_array_equal(found.open_lower[left], full.open_lower[left_in_full])


def test_bounds_are_computed_in_full_where_quick_ones_leave_items_open():
    true = np.arange(2_000.0)
    given_bounds = Given((0.9 * true).tolist(), (1.1 * true).tolist(), (0.5 * true).tolist())
    found, order = run_with(given_bounds, nearest, true.tolist(), 10)
    assert [row for *_, row in found.called[:10]] == list(range(10))
    assert order == list(range(10))
    assert given_bounds.n_full < 100


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
