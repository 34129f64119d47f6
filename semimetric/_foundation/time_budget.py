"""How many seconds are left: the clock of what ``time_budget=`` limits."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from .errors import InputError

__all__ = ["Stopwatch", "TimeBudget", "check_time_budget", "now"]


def now() -> float:
    """Seconds of a clock that never goes back."""
    return time.monotonic()


def check_time_budget(seconds: object) -> float | None:
    """The value of ``time_budget``: None, or seconds > 0."""
    if seconds is None:
        return None
    if isinstance(seconds, (int, float, np.number)) and not isinstance(seconds, bool) and 0 < seconds < math.inf:
        return float(seconds)
    raise InputError(f"time_budget={seconds!r}: seconds, a finite number > 0, or None are required")


@dataclass(frozen=True)
class Stopwatch:
    """Counts from when it is made."""

    started: float = field(default_factory=lambda: now())

    @property
    def seconds(self) -> float:
        """How many have passed."""
        return now() - self.started


@dataclass(frozen=True)
class TimeBudget:
    """Seconds that may pass from when it is made.

    Parameters
    ----------
    seconds : float
    watch : Stopwatch
        Starts when the budget is made.
    """

    seconds: float
    watch: Stopwatch = field(default_factory=Stopwatch)

    @classmethod
    def of(cls, seconds: object) -> TimeBudget | None:
        """The budget of a parameter ``time_budget``, whose clock starts now; None for None."""
        checked = check_time_budget(seconds)
        return None if checked is None else cls(checked)

    @property
    def left(self) -> float:
        """How many seconds are left; less than 0 if more have passed."""
        return self.seconds - self.watch.seconds
