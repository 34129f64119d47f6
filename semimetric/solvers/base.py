"""What a solver promises: it says before the first iteration whether it can, and afterwards how good its answer is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

import numpy as np

from .._foundation.errors import ConvergenceWarning, NotSupportedError, warn
from .._foundation.types import Floats
from ..programs.program import ConvexProgram

__all__ = ["Repair", "Solution", "Solver", "Status", "no_rows", "open_ends", "repaired", "unknown_inside"]


class Status(Enum):
    """How a solver ended; the text is the advice."""

    SOLVED = "solved to the tolerance"
    LIMIT = "stopped at the limit of iterations: raise max_iter, loosen tol, or add a ridge"
    INTERRUPTED = "interrupted by the user: the weights are the best so far"
    INACCURATE = "solved to less than the tolerance: rescale the targets, add a ridge, or try another solver"


@dataclass(frozen=True)
class Repair:
    """What was left of violated inequalities when a solver stopped, and what it took to end it.

    Attributes
    ----------
    violation : float
        The largest before, relative to the largest weight.
    change : float
        The largest change of a weight, relative to the largest weight.
    objective : float
        By how much the objective rose, relative to it.
    """

    violation: float
    change: float
    objective: float


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights and how good they are.

    Attributes
    ----------
    weights : ndarray of shape (n,)
        In the units of the program (mean target 1).
    objective : float
        Loss plus penalty at the weights.
    gap : float
        A certified bound of objective - optimum; ``inf`` where the solver can give none.
    n_iter : int
    status : Status
    solver : str
        Which solver, and why where it was chosen automatically.
    repair : Repair or None
        Of programs with triangles.
    """

    weights: Floats
    objective: float
    gap: float
    n_iter: int
    status: Status
    solver: str
    repair: Repair | None = None

    @property
    def relative_gap(self) -> float:
        """gap / objective: the share of the objective that a perfect solver could still remove, at most."""
        return self.gap / max(abs(self.objective), 1e-300)

    def warn_unless_solved(self) -> None:
        """Say that a solver stopped before its tolerance, and with what gap."""
        if self.status is not Status.SOLVED:
            warn(f"{self!r}", ConvergenceWarning)

    def raise_if_interrupted(self) -> "Solution":
        """The solution, if Ctrl-C did not end it; else KeyboardInterrupt, so that whoever waits for it learns."""
        if self.status is Status.INTERRUPTED:
            raise KeyboardInterrupt(self.status.value)
        return self

    def __repr__(self) -> str:
        return (
            f"Solution({self.solver}: {self.status.value}; objective {self.objective:.6g}, "
            f"gap <= {self.gap:.2g}, {self.n_iter} iteration{'s' * (self.n_iter != 1)})"
        )


def open_ends(program: ConvexProgram) -> str | None:
    """Why a solver over bounded weights without equality rows cannot take the program; None if it can."""
    if program.equalities is not None:
        return "it has explicit equality rows; use Reference"
    if not program.bounded:
        return "some weights are free; use Reference, or Gram for the squared loss"
    return None


def repaired(program: ConvexProgram, raw: Floats, violation: float, solution: Solution) -> Solution:
    """The solution with what the repair of ``raw`` took; as it is where there was nothing to keep."""
    if program.inequalities is None and program.triangles is None:
        return solution
    size, before = max(float(np.abs(raw).max()), 1e-300), program.objective(np.maximum(raw, program.lower))
    change = float(np.abs(solution.weights - raw).max()) / size
    rise = (solution.objective - before) / max(abs(solution.objective), 1e-300)
    return replace(solution, repair=Repair(violation / size, change, rise))


def no_rows(program: ConvexProgram) -> str | None:
    """Why a solver over bounds alone cannot take the program; None if it can."""
    if program.inequalities is not None:
        return "it has inequalities between weights; use InteriorPoint, FirstOrder or Reference"
    return None


def unknown_inside(program: ConvexProgram) -> str | None:
    """Why a solver that moves towards known weights cannot take the program; None if it can."""
    if program.inequalities is not None and program.inside is None:
        return "it has inequalities, and no weights are known that keep them (inside); use Reference"
    return None


class Solver(ABC):
    """A configured solver of `ConvexProgram`.

    Attributes
    ----------
    separates : bool
        Whether it takes programs with ``triangles``.
    """

    separates: ClassVar[bool] = False

    @abstractmethod
    def refusal(self, program: ConvexProgram) -> str | None:
        """Why this solver cannot take the program, naming the missing piece; None if it can."""

    @abstractmethod
    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool) -> Solution:
        """Solve a program that is supported."""

    def solve(self, program: ConvexProgram, *, start: Floats | None = None, verbose: bool = False) -> Solution:
        """Solve ``program``, warm from ``start`` where the solver can use it.

        Ctrl-C ends the iterations: the solution then has the status ``INTERRUPTED`` and the best weights so far, and the
        caller decides. Where there are no weights yet, and in `Reference`, it raises.

        Raises
        ------
        NotSupportedError
            Before the first iteration, naming what does not go together.
        KeyboardInterrupt
            On Ctrl-C before there are any weights.
        """
        reason = self.refusal(program)
        if program.triangles is not None and not self.separates:
            reason = f"it asks for the triangle inequality; use CuttingPlane({type(self).__name__}())"
        if reason is not None:
            raise NotSupportedError(f"{type(self).__name__} cannot solve this program: {reason}")
        solution = self._solve(program, start, verbose)
        solution.warn_unless_solved()
        return solution
