"""The interface of every solver, and the solution that it returns.

A solver refuses before the first iteration what it cannot solve, and certifies afterwards how good its solution is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..._foundation.errors import ConvergenceWarning, NotSupportedError, warn
from ..._foundation.iteration import Status, Step
from ..._foundation.optional_imports import optional
from ..._foundation.pictures import Axes, picture
from ..._foundation.stored import storable
from ..._foundation.text import html_table
from ..._foundation.types import Floats, FrozenValue, Integers, freeze
from ..programs.certificate import GapBound, certified_gap
from ..programs.design_matrix import Design
from ..programs.program import ConvexProgram

_MOST_LOOKS = 20  # of a history, in the table of a notebook


@storable
@dataclass(frozen=True, eq=False)
class History(FrozenValue):
    """The objective and the gap of a solver, one entry for each time that it looked at them, in the units of the program.

    Attributes
    ----------
    iterations : ndarray of shape (n,), int64
        Numbers of the iterations; solvers of many cheap ones do not record all.
    objective : ndarray of shape (n,)
        The loss plus the penalty at the weights then.
    gap : ndarray of shape (n,)
        Upper bound of the objective less the optimum by what was known then; ``inf`` where nothing was.
    """

    iterations: Integers
    objective: Floats
    gap: Floats

    def __post_init__(self) -> None:
        freeze(self, "iterations", "objective", "gap")

    @classmethod
    def of(cls, steps: Sequence[Step]) -> History | None:
        """Return the history of these steps; None if there are none."""
        if not steps:
            return None
        numbers, objective, gap = zip(*steps, strict=True)
        return cls(np.array(numbers, dtype=np.int64), np.array(objective, dtype=float), np.array(gap, dtype=float))

    def __len__(self) -> int:
        return len(self.iterations)

    def __repr__(self) -> str:
        first, last = self.objective[[0, -1]] if len(self) else (np.nan, np.nan)
        return f"History of {len(self)} looks: objective {first:.6g} to {last:.6g}"

    def to_frame(self) -> Any:
        """Return a frame of pandas with the columns objective and gap, and the numbers of the iterations as index."""
        index = optional("pandas").Index(self.iterations, name="iteration")
        return optional("pandas").DataFrame({"objective": self.objective, "gap": self.gap}, index=index)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the objective and the gap over the iterations; see `semimetric.plotting.plot_history`."""
        return picture("plot_history")(self, ax)

    def _repr_html_(self) -> str:
        looks = range(len(self)) if len(self) <= _MOST_LOOKS else [*range(_MOST_LOOKS - 1), len(self) - 1]
        rows = [(f"{self.iterations[k]:,}", f"{self.objective[k]:.6g}", f"{self.gap[k]:.2g}") for k in looks]
        rest = [f"{len(self):,} looks, of which the first {_MOST_LOOKS - 1} and the last are shown"]
        title = "Objective, and by how much it may be above the optimum"
        head = ("iteration", "objective", "gap")
        return html_table([head, *rows], title=title, notes=rest if len(self) > _MOST_LOOKS else [])


_HUGE = 1e150  # numbers that solvers square
_TINY = 1e-280  # a loss at w = 0 below this leaves no room for the digits of smaller ones


@storable
@dataclass(frozen=True)
class Repair:
    """By how much the weights violated the inequalities when a solver stopped, and what it cost to satisfy them.

    Parameters
    ----------
    violation : float
        The largest violation before the repair, relative to the largest weight.
    change : float
        The largest change of a weight in the repair, relative to the largest weight.
    objective : float
        The rise of the objective in the repair, relative to the objective.
    """

    violation: float
    change: float
    objective: float


@storable
@dataclass(frozen=True, eq=False)
class Solution:
    """Weights and how good they are.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        The weights, in the units of the program (mean target 1).
    objective : float
        The loss plus the penalty at the weights.
    gap : float
        A certified upper bound of objective - optimum; ``inf`` where the solver can give none.
    n_iter : int
        The number of iterations.
    status : Status
    solver : str
        The name of the solver, and the reason for it where it was chosen automatically.
    repair : Repair or None
        What it took to satisfy the inequalities; None for programs without any.
    history : History or None
        Objective and gap on the way, with ``to_frame()``; None where the solver gives none, as those that CVXPY calls.
    """

    weights: Floats
    objective: float
    gap: float
    n_iter: int
    status: Status
    solver: str
    repair: Repair | None = None
    history: History | None = None

    @property
    def relative_gap(self) -> float:
        """gap / objective: a perfect solver could lower the objective by at most this share."""
        return self.gap / max(abs(self.objective), 1e-300)

    def warn_unless_solved(self) -> None:
        """Issue a `ConvergenceWarning` with the gap if the solver stopped before its tolerance."""
        if self.status is not Status.SOLVED:
            warn(f"{self!r}", ConvergenceWarning)

    def raise_if_interrupted(self, *, kept: bool = False) -> Solution:
        """Raise KeyboardInterrupt if Ctrl-C ended the solver; the message says if the weights are ``kept`` or lost."""
        if self.status is Status.INTERRUPTED:
            lost = "interrupted by the user before the last program: nothing is fitted"
            raise KeyboardInterrupt(self.status.value if kept else lost)
        return self

    def __repr__(self) -> str:
        return (
            f"Solution({self.solver}: {self.status.value}; objective {self.objective:.6g}, "
            f"gap <= {self.gap:.2g}, {self.n_iter} iteration{'s' * (self.n_iter != 1)})"
        )

    def _repr_html_(self) -> str:
        known = f"{self.gap:.2g}, {self.relative_gap:.2g} of the objective" if np.isfinite(self.gap) else "not known"
        rows = [
            ("solver", self.solver),
            ("it stopped", self.status.value),
            ("objective", f"{self.objective:.6g}"),
            ("above the optimum by at most", known),
            ("iterations", str(self.n_iter)),
            ("weights", str(len(self.weights))),
        ]
        if self.repair is not None:
            rows.append(
                ("inequalities were violated by", f"{self.repair.violation:.2g} of the largest weight, and are not now")
            )
        return html_table([("what", "value"), *rows], title="Solution")


def refuse_free_weights(program: ConvexProgram) -> str | None:
    """Return why a solver that needs finite lower bounds cannot take the program; None if it can."""
    if not program.bounded:
        return "some weights are free; use Reference, or Gram for the squared loss"
    return None


def with_repair(program: ConvexProgram, raw: Floats, solution: Solution) -> Solution:
    """Attach a `Repair` of the weights ``raw`` at which the solver stopped; none to a program without inequalities."""
    rows = program.inequalities if program.triangles is None else program.triangles
    if rows is None:
        return solution
    violation = rows.excess(raw)
    size = max(float(np.abs(raw).max()), 1e-300)
    before = program.objective(np.maximum(raw, program.lower))
    change = float(np.abs(solution.weights - raw).max()) / size
    rise = (solution.objective - before) / max(abs(solution.objective), 1e-300)
    return replace(solution, repair=Repair(violation / size, change, rise))


def refuse_inequalities(program: ConvexProgram) -> str | None:
    """Return why a solver that knows no constraints but lower bounds cannot take the program; None if it can."""
    if program.inequalities is not None:
        return "it has inequalities between weights; use InteriorPoint, FirstOrder or Reference"
    return None


def refuse_extremes(program: ConvexProgram) -> str | None:
    """Return why no solver can take a program whose numbers leave floating point; None if its numbers can be added."""
    with np.errstate(over="ignore", invalid="ignore"):
        start = np.where(np.isfinite(program.lower), program.lower, 0.0)
        at_zero, at_start = program.loss.value(-program.y, program.sample_weight), program.penalty.value(start)
        strength = float(np.abs(program.penalty.P.data).sum() + np.abs(program.penalty.q).sum())
    if not np.max([at_start, at_zero, strength]) < _HUGE:  # NaN is not either
        return (
            f"its squares overflow: targets reach {np.abs(program.y).max():g}, and the coefficients of the penalty sum to "
            f"{strength:g}; divide the targets by their mean, and lower alpha"
        )
    if 0.0 < np.abs(program.y).max() and at_zero < _TINY:
        return f"its loss underflows, with targets up to {np.abs(program.y).max():g}; divide the targets by their mean"
    return None


def refuse_unknown_inside(program: ConvexProgram) -> str | None:
    """Return why a solver that repairs weights by ``inside`` cannot take the program; None if it can."""
    if program.inequalities is not None and program.inside is None:
        return "it has inequalities, and no weights are known that keep them (inside); use Reference"
    return None


class Solver(ABC):
    """A configured solver of `ConvexProgram`.

    Attributes
    ----------
    separates : bool
        True if the solver takes programs with ``triangles``, by generating the violated inequalities itself.
    """

    separates: ClassVar[bool] = False

    @abstractmethod
    def refusal(self, program: ConvexProgram) -> str | None:
        """Return why this solver cannot take the program, naming what it lacks; None if it can."""

    @abstractmethod
    def _solve(self, program: ConvexProgram, start: Floats | None, verbose: bool | None) -> Solution:
        """Solve a program that `refusal` has accepted; ``start`` are weights of shape (n,) to begin with."""

    def solve(self, program: ConvexProgram, *, start: Floats | None = None, verbose: bool | None = None) -> Solution:
        """Solve ``program``, and warn if the solution is not certified to the tolerance.

        Solvers that can use weights to begin with take those of ``start``, shape (n,). After Ctrl-C the solution has the
        status ``INTERRUPTED`` and the best weights so far; where there are none yet, and in `Reference`, KeyboardInterrupt is
        raised. A program that the solver cannot take raises a NotSupportedError first.
        """
        solution = self.attempt(program, start=start, verbose=verbose)
        solution.warn_unless_solved()
        return solution

    def attempt(self, program: ConvexProgram, *, start: Floats | None = None, verbose: bool | None = None) -> Solution:
        """Solve ``program`` without a warning, for callers that ask another solver where this one certifies too little."""
        reason = refuse_extremes(program) or self.refusal(program)
        if program.triangles is not None and not self.separates:
            reason = f"it asks for the triangle inequality; use CuttingPlane({type(self).__name__}())"
        if reason is not None:
            raise NotSupportedError(f"{type(self).__name__} cannot solve this program: {reason}")
        return self._solve(program, start, verbose)


STOPS_AT = 0.9  # of the tolerance: what solvers compute on their way and what they can certify differ by rounding


def certified(
    solution: Solution, bounds: GapBound, design: Design, theta: Floats | None, tol: float, near: Floats | None = None
) -> Solution:
    """Return the solution with the gap that holds in floating point, and the status that this gap allows.

    The dual variables ``theta`` (m + k,) were found at the weights ``near``, if not at those of the solution; None are those
    of the loss.
    """
    p, w = bounds.program, solution.weights
    if theta is None:
        slope = p.sample_weight * p.loss.slope(design.matvec(w)[: len(p.y)] - p.y)
        theta = np.append(slope, np.zeros(len(p.targets) - len(p.y)))
    tol *= max(abs(solution.objective), p.exact)
    gap = certified_gap(bounds, design, w, theta, near, tol)
    for steep in ("open", "all") if _may_be_steep(solution, p) else ():
        if gap <= max(tol, p.exact):
            break
        if steep == "all" or bounds.box.unbounded.any():
            bounds = GapBound(p, steep)
            gap = min(gap, certified_gap(bounds, design, w, theta, near, tol))
    found = with_allowed_status(replace(solution, gap=gap), tol, p.exact)
    if found.status in (solution.status, Status.SOLVED) or not bounds.box.unbounded.any():
        return found
    return replace(found, status=Status.UNCERTIFIED)


def _may_be_steep(solution: Solution, program: ConvexProgram) -> bool:
    """Return True if a longer search for a box may certify more: of a loss that rises on one side, and not after Ctrl-C."""
    return solution.status is not Status.INTERRUPTED and np.isinf(program.loss.growth(1.0))


def with_allowed_status(solution: Solution, tol: float, exact: float) -> Solution:
    """Count a solution as solved if its gap is at most ``tol`` or ``exact``, and only then, even if progress had stopped.

    At a limit of iterations it is solved if its gap is at most ``tol``.
    """
    within = solution.gap <= max(tol, exact)
    if solution.status is Status.SOLVED and not within:
        return replace(solution, status=Status.INACCURATE)
    if (solution.status is Status.INACCURATE and within) or (solution.status is Status.LIMIT and solution.gap <= tol):
        return replace(solution, status=Status.SOLVED)
    return solution
