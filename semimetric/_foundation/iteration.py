"""The loop that runs every iterative method, and the statuses with which they stop."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np

from .progress import progress_bar
from .stored import storable

Step = tuple[int, float, float]  # the number of an iteration, the objective there, and the gap


@storable
class Status(Enum):
    """The reason why a method stopped; the text also advises what to do about it."""

    SOLVED = "solved to the tolerance"
    FINISHED = "finished the number of passes that was asked for"
    LIMIT = "stopped at the limit of iterations: raise max_iter, loosen tol, or add a ridge"
    INTERRUPTED = "interrupted by the user: the weights are the best so far"
    UNCERTIFIED = (
        "converged, but nothing certifies it, as no bound of some weights is known: add a ridge, such as penalty=Ridge(1e-6), "
        "to certify a gap"
    )
    INACCURATE = "solved to less than the tolerance: rescale the targets, add a ridge, or try another solver"


class Method(Protocol):
    """An iterative method with a state: the caller makes steps, and looks at the point now and then."""

    @property
    def objective(self) -> float:
        """The objective by the last look; NaN where it is not computed."""

    @property
    def gap(self) -> float:
        """An upper bound of objective - optimum by the last look; NaN where it is not computed."""

    def step(self) -> None:
        """Make one iteration."""

    def look(self) -> Status | None:
        """Certify the current point, and return the status if the method is to stop."""


@dataclass(frozen=True)
class Run:
    """A run of a method: why it stopped, after how many steps, and what every look has found."""

    status: Status
    n_iter: int
    steps: list[Step] = field(default_factory=list)


def iterate(
    method: Method,
    *,
    name: str,
    max_iter: int,
    every: int = 1,
    at_start: bool = True,
    total: int | None = None,
    failures: tuple[type[Exception], ...] = (),
    verbose: bool | None = None,
) -> Run:
    """Take steps until a look at the method, every ``every`` steps, gives a status, or LIMIT or Ctrl-C is reached.

    A bar counts to ``total``. ``failures`` are errors of rounding, after which the status is INACCURATE.
    """
    status: Status | None = None
    steps: list[Step] = []
    n_iter = 0
    with progress_bar(total, name, verbose=verbose) as bar:
        try:
            while True:
                if n_iter % every == 0 and (n_iter or at_start):
                    status = method.look()
                    steps.append((n_iter, method.objective, method.gap))
                    found = {"objective": method.objective, "gap": method.gap}
                    bar.set_postfix({key: value for key, value in found.items() if not np.isnan(value)})
                if status is not None or n_iter == max_iter:
                    break
                method.step()
                n_iter += 1
                bar.update()
        except failures:
            status = Status.INACCURATE
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
    return Run(status or Status.LIMIT, n_iter, steps)
