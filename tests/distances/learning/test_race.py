"""A sum within a time budget, by a clock that the tests set."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from cases import candidate
from numpy.testing import assert_array_equal

from semimetric import SemimetricWarning
from semimetric._foundation import progress as time_budget
from semimetric._foundation.progress import TimeBudget
from semimetric.data.schema import Schema
from semimetric.distances.learning import sum_of_distances as race
from semimetric.distances.learning import sum_of_distances as shares
from semimetric.distances.learning.items import LabeledDataset, LabelProblem, LargeMargin
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.sum_of_distances import learn_sum_within

RECIPE = Recipe(n_knots=4, tables="warped", alpha=1e-2, loss="squared_hinge", random_state=0)
COSTS = {"scales": 0.001, "components": 0.01, "forest": 0.002}  # seconds an item


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(700, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    data = LabeledDataset(X, y, np.full(700, 1.0 / 700))
    return LabelProblem(RECIPE, frozenset(), LargeMargin(n_passes=1), data, Schema.numeric(["u", "v", "w"]), 700.0)


@pytest.fixture
def learned(monkeypatch):
    """What was learned, in turn: from how many items, what, and from how many the scales; learning moves the clock."""
    at, done, real = [0.0], [], shares.learn_summands

    def learn(recipe, rule, dataset, schema, *, wanted=("components", "forest"), n_jobs=None, most_for_scales=None):
        n, most = len(dataset.labels), most_for_scales or 2000
        kept = [name for name in wanted if name == "forest"]  # components of these tests take time only
        found = real(recipe, rule, dataset, schema, wanted=kept, n_jobs=n_jobs, most_for_scales=most)
        weights = dict(found.weights)
        if "components" in wanted:
            weights["components"] = found.weights["scales"] + found.weights.get("forest", 0.0)
        seconds = {name: COSTS[name] * (min(n, most) if name == "scales" else n) for name in {"scales", *wanted}}
        at[0] += sum(seconds.values())
        done.append((n, tuple(sorted({*wanted} - {"scales"})), most))
        return replace(found, weights=weights, seconds=seconds)

    monkeypatch.setattr(time_budget, "now", lambda: at[0])
    monkeypatch.setattr(shares, "learn_summands", learn)
    return done, at


@pytest.mark.slow
def test_with_time_enough_the_candidates_are_those_of_no_budget(problem, learned, monkeypatch):
    monkeypatch.setattr(race._Halving, "_drop", lambda self: None)
    whole, found = shares.learn_sum(problem), learn_sum_within(problem, TimeBudget(1e6))
    assert [c.losses for c in found.choices] == [c.losses for c in whole.choices]
    assert found.choices.chosen.settings["directions"] == whole.choices.chosen.settings["directions"]
    assert_array_equal(found.result.semimetric.weights, whole.result.semimetric.weights)
    assert all(c.seconds is None for c in whole.choices)
    assert all(c.seconds > 0 for c in found.choices)
    assert "seconds" in repr(found.choices)
    assert "seconds" not in repr(whole.choices)
    assert list(found.choices.to_frame()["seconds"]) == [c.seconds for c in found.choices]


@pytest.mark.parametrize("seconds", [4.0, 6.0, 9.0, 15.0, 25.0, 40.0])
@pytest.mark.slow
def test_the_budget_holds_where_something_fits(problem, learned, seconds, recwarn):
    done, at = learned
    found = learn_sum_within(problem, TimeBudget(seconds))
    assert at[0] <= 1.2 * seconds
    assert 220 <= done[0][0] <= 230  # a quarter of 300 judges
    assert done[-1][0] == 700
    assert not [w for w in recwarn if "too short" in str(w.message)]
    assert len(found.held_out) >= 2


@pytest.mark.slow
def test_more_time_is_used_for_more_folds(problem, learned):
    done, _ = learned
    n_heats = []
    for seconds in (6.0, 20.0, 1e6):
        done.clear()
        learn_sum_within(problem, TimeBudget(seconds))
        n_heats.append(len(done) - 1)
    assert n_heats[0] == 1 < n_heats[1] < n_heats[2]


@pytest.mark.slow
def test_what_is_too_slow_is_left_out(problem, learned):
    found = learn_sum_within(problem, TimeBudget(5.5))
    assert all("components" not in c.settings["directions"] for c in found.choices)
    assert learned[0][-1][1] in ((), ("forest",))


@pytest.mark.slow
def test_scales_are_learned_from_fewer_items_where_there_is_no_time_for_more(problem, learned, monkeypatch):
    monkeypatch.setattr(race, "_FOR_SCALES", (2_000, 200))
    monkeypatch.setitem(COSTS, "scales", 0.01)
    learn_sum_within(problem, TimeBudget(8.0))
    assert learned[0][-1][2] == 200


def test_a_budget_that_is_too_short_fits_the_cheapest_and_says_how_long(problem, learned):
    done, at = learned
    with pytest.warns(SemimetricWarning, match=r"time_budget=0.5 is too short: 2.9 s have passed, .* needs about 0.25 s more"):
        found = learn_sum_within(problem, TimeBudget(0.5))
    assert done[1:] == [(700, (), 250)]
    assert found.choices.chosen.settings["directions"] == "1 scales"


def test_what_is_hopeless_leaves_the_race(problem, learned, monkeypatch):
    runner = race._Halving(problem, TimeBudget(10.0))
    runner.last = [shares.FoldDistances(np.arange(3), np.arange(2), {n: np.ones((2, 3)) for n in COSTS})] * 2

    def candidates(*losses):
        lattice = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
        made = (candidate(4, 0.01, pair, tables="warped", directions="words") for pair in losses)
        return dict(zip([tuple(map(Fraction, s)) for s in lattice], made, strict=True))

    monkeypatch.setattr(race, "compared", lambda *_: candidates((1.0, 1.1), (5.0, 5.1), (1.0, 1.3)))
    runner._drop()
    assert (runner.alive, runner.dropped) == (("forest",), {"components"})


def test_seconds_grow_as_they_did():
    seconds = race._Seconds()
    seconds.add(100, {"forest": 1.0})
    assert seconds.expected("forest", 400) == 4.0
    seconds.add(400, {"forest": 2.0})
    assert seconds.expected("forest", 1600) == pytest.approx(4.0)
    seconds.add(800, {"forest": 64.0})
    assert seconds.expected("forest", 3200) == pytest.approx(64.0 * 8)  # no steeper than the power 1.5
    assert seconds.expected("components", 100) == 0.0
    seconds.add(100, {"components": 1.0})
    assert seconds.expected("components", 200) > 2.0
