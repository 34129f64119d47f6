"""What an attack is: how its cases are drawn, and what one try of a case does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Case = Mapping[str, Any]


@dataclass(frozen=True)
class Attack:
    """A way of trying to break the package, whose cases can be drawn without end.

    Parameters
    ----------
    draw : callable
        ``draw(rng)`` gives a case: a dict that JSON can hold, and that says everything about the try.
    attempt : callable
        ``attempt(case, folder)`` tries a case in an empty folder, and returns what came of it in a word or two, such as
        "refused" or "correct", by which outcomes are counted, or numbers by such words, where one try makes many comparisons.
        Any exception is a finding, and so is the death of the process.
    seconds : float, default 60
        How long one try may take; a longer one is a finding.
    mebibytes : int, default 256
        How far the resident memory may rise during one try; more is a finding.
    short : int, default 25
        How many cases `make test-slow` tries; 0 leaves the attack to `make soak`.
    """

    draw: Callable[[np.random.Generator], Case]
    attempt: Callable[[Case, Path], str | Mapping[str, int]]
    seconds: float = 60
    mebibytes: int = 256
    short: int = 25
