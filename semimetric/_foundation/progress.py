"""Progress of what takes long: bars and announcements on standard error, for those who asked for them or who look.

With ``verbose=True`` a bar is shown at once, with ``verbose=False`` never. With ``verbose=None``, the default of learners and
linear machines, a bar is shown at a terminal and in a notebook once its whole work is likely to take more than two seconds, so
that short work stays silent; and nothing is written where nobody looks: in pipes, logs and tests.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from tqdm import tqdm

from .errors import InputError
from .real_numbers import real_number, shown

_PATIENCE = 2.0  # seconds
_SETTLED = 0.5  # seconds after which the rate of the work so far shows how long the rest will take
_SHARES = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


def _is_watched() -> bool:
    """Return True if standard error is a terminal or a notebook."""
    return sys.stderr is not None and (sys.stderr.isatty() or _in_notebook())


def _in_notebook() -> bool:
    """Return True in a kernel of Jupyter; IPython is asked only if it is imported already."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class _PatientBar(tqdm):
    """A bar that appears once its whole work, at the rate so far, would take longer than one cares to wait without a word."""

    delay: float

    def update(self, n: float | None = 1) -> bool | None:
        if not self.disable and self.delay and self.total:
            elapsed = self._time() - self.start_t
            if elapsed > _SETTLED and elapsed * self.total > _PATIENCE * (self.n + (n or 0)):
                self.delay = 0
        return super().update(n)


def progress_bar(
    total: float | None, description: str, *, verbose: bool | None, unit: str = "it", share: bool = False
) -> Any:  # fmt: skip
    """Return a bar of `tqdm` as a context, whose ``update()`` counts a step; ``total`` is None if the end is open.

    With ``share`` steps differ in length, and the bar shows a fraction of the whole instead of a count.
    """
    shown = _is_watched() if verbose is None else bool(verbose)
    return _PatientBar(
        total=total, desc=description, unit=unit, disable=not shown, delay=0.0 if verbose else _PATIENCE, leave=bool(verbose),
        bar_format=_SHARES if share else None,
    )  # fmt: skip


def announce(message: str, *, verbose: bool | None) -> None:
    """Say what is about to be done, where that is likely to take minutes: to those who asked for it or who look."""
    if verbose or (verbose is None and _is_watched()):
        tqdm.write(message, file=sys.stderr)


def now() -> float:
    """Return seconds of a clock that never goes back."""
    return time.monotonic()


def check_time_budget(seconds: object) -> float | None:
    """Return the value of ``time_budget``: None, or seconds > 0."""
    if seconds is None:
        return None
    number = real_number(seconds)
    if number is not None and 0 < number < math.inf:
        return number
    raise InputError(f"time_budget={shown(seconds)}: seconds, a finite number > 0, or None are required")


@dataclass(frozen=True)
class Stopwatch:
    """Counts from when it is made."""

    started: float = field(default_factory=lambda: now())

    @property
    def seconds(self) -> float:
        """Seconds that have passed."""
        return now() - self.started


@dataclass(frozen=True)
class TimeBudget:
    """Seconds that may pass from when it is made."""

    seconds: float
    watch: Stopwatch = field(default_factory=Stopwatch)  # starts when the budget is made

    @classmethod
    def of(cls, seconds: object) -> TimeBudget | None:
        """Return the budget of a parameter ``time_budget``, whose clock starts now; None for None."""
        checked = check_time_budget(seconds)
        return None if checked is None else cls(checked)

    @property
    def left(self) -> float:
        """Seconds that are left; less than 0 if more have passed."""
        return self.seconds - self.watch.seconds
