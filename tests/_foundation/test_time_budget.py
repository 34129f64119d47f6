"""The clock of a time budget, which tests set."""

import numpy as np
import pytest
from cases import assert_refused

from semimetric._foundation import progress as time_budget
from semimetric._foundation.progress import Stopwatch, TimeBudget, check_time_budget


def test_a_budget_runs_down(monkeypatch):
    at = [100.0]
    monkeypatch.setattr(time_budget, "now", lambda: at[0])
    budget, watch = TimeBudget.of(5), Stopwatch()
    assert (budget.seconds, budget.left, watch.seconds) == (5.0, 5.0, 0.0)
    at[0] += 7.0
    assert (budget.left, watch.seconds) == (-2.0, 7.0)
    assert TimeBudget.of(None) is None


def test_time_goes_on():
    before = time_budget.now()
    assert time_budget.now() >= before


@pytest.mark.parametrize("seconds", [0, -1.0, np.inf, np.nan, "2", True, [1]])
def test_what_is_no_number_of_seconds_is_refused(seconds):
    assert_refused(lambda: check_time_budget(seconds), "time_budget=", "a finite number > 0")


def test_numbers_of_seconds():
    assert (check_time_budget(None), check_time_budget(2), check_time_budget(np.float32(0.5))) == (None, 2.0, 0.5)
