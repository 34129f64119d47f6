"""How to learn: the parameters of an estimator as one checked value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.storable import storable
from .._foundation.types import FeatureChoice, Knots, Periods
from .._foundation.validation import check_alpha, check_choice, check_n_jobs
from ..data.feature_groups import Groups, JointGroups, automatic
from ..distances.links import Link
from ..embeddings.pairs.base import PairMap
from ..programs.constraints import Bounded, Constraint
from ..programs.losses import Loss, resolve_loss
from ..programs.penalties import Lasso, Penalties, Penalty, Ridge, Roughness, Shift
from ..solvers.auto import resolve_solver
from ..solvers.base import Solver
from .effort import EFFORTS
from .given_prior import check_prior
from .link_choices import base_powers, check_link, resolved_link, row_power

__all__ = ["Recipe"]

_AXIOMS = ("semimetric", "metric", "quasimetric", "premetric", None)
_TENSOR = 300.0  # times alpha: pairs of items determine a table near its diagonal well, but its corners poorly


@storable
@dataclass(frozen=True)
class Recipe:
    """How to learn: the parameters of an estimator, with everything that was ``"auto"`` decided."""

    n_knots: int | Sequence[int] = 8
    knots: Knots = "quantile"
    groups: Groups = "singles"
    directions: Any = None
    tables: str = "full"
    axioms: str | None = "semimetric"
    symmetry: str = "tie"
    delta: float = 1e-6
    outside: str = "extend"
    link: str | float | Link = "identity"
    loss: str | Loss = "squared"
    relative: bool | float = False
    penalty: Penalties = "auto"
    alpha: float = 1e-3
    solver: str | Solver = "auto"
    base_distances: Sequence[Callable[..., Any]] = ()
    base_exponents: str | float | Sequence[float] = 1.0
    categorical_features: FeatureChoice = "auto"
    periodic: Periods = None
    missing: str = "error"
    constraints: Sequence[Constraint] = ()
    prior: Any = None
    n_jobs: int | None = None
    random_state: int | None = None
    verbose: bool | None = False
    effort: str = "default"

    def checked(self) -> "Recipe":
        """The recipe, if its parts are known and go together.

        Raises
        ------
        InputError, NotSupportedError
            If a parameter is unknown, or two of them do not go together.
        """
        check_choice("axioms", self.axioms, _AXIOMS)
        check_choice("tables", self.tables, ("full", "warped"))
        check_choice("symmetry", self.symmetry, ("tie", "swap"))
        check_choice("outside", self.outside, ("extend", "clip"))
        check_choice("missing", self.missing, ("error", "level"))
        check_choice("effort", self.effort, EFFORTS)
        if self.joint.n_knots is not None and not isinstance(self.knots, str):
            raise InputError(
                f"JointGroups(n_knots={self.joint.n_knots}) places knots, and knots= gives them; leave out n_knots, or name "
                'how knots are to be placed, such as knots="quantile"'
            )
        check_n_jobs(self.n_jobs)
        check_alpha("delta", self.delta)
        check_alpha("alpha", self.alpha)
        if self.relative is not True and self.relative is not False:
            check_alpha("relative", self.relative, strict=True)
        if self.asks_triangle and len(self.base_distances):
            raise NotSupportedError(
                f"axioms={self.axioms!r} cannot be claimed with base_distances=, of which nothing is known; leave them out, or "
                'use axioms="semimetric"'
            )
        self._check_constraints()
        if self.tables == "warped" and self.axioms not in ("semimetric", "metric"):
            raise NotSupportedError(f'tables="warped" is a metric by construction; axioms={self.axioms!r} needs tables="full"')
        if self.tables == "warped" and automatic(self.groups):
            raise NotSupportedError(
                f'groups={self.groups!r} finds pairs for joint tables, and tables="warped" has one scale a feature; '
                'use groups="singles", or tables="full"'
            )
        check_link(self)
        resolve_loss(self.loss)
        resolve_solver(self.solver)
        penalties = self.penalties()
        if self.prior is not None:
            self._check_prior(penalties)
        link = resolved_link(self.link)
        return self if link == self.link else replace(self, link=link)

    def _check_prior(self, penalties: Sequence[Penalty]) -> None:
        """Refuse a given distance that cannot be drawn to, or that no penalty draws to."""
        check_prior(self.prior)
        if not any(isinstance(penalty, Ridge) and penalty.towards == "prior" for penalty in penalties):
            raise NotSupportedError(
                f'prior= is given, but penalty={self.penalty!r} does not draw to it; use "auto", "ridge" or "roughness"'
            )
        if self.link != "identity" or self.axioms is None:
            raise NotSupportedError('prior= is drawn to by distances >= 0 themselves; use link="identity", and axioms')

    def _check_constraints(self) -> None:
        """Refuse what is no constraint, and constraints that cannot be guaranteed with the other parameters."""
        given = self.constraints
        if not isinstance(given, (list, tuple)) or not all(isinstance(constraint, Constraint) for constraint in given):
            raise InputError(
                f"constraints={given!r} is no list of shapes; a sequence of Monotone, Bounded and the like is required: write "
                "[Monotone(), ...], or () for none"
            )
        if not len(self.constraints):
            return
        if len(self.base_distances) or self.axioms is None:
            raise NotSupportedError(
                "constraints= need weights >= 0 and tables that are the whole distance; leave out base_distances=, and use "
                'axioms="premetric" or stronger'
            )
        if self.outside != "clip" and any(isinstance(constraint, Bounded) for constraint in self.constraints):
            raise NotSupportedError('Bounded cannot hold where slopes go on outside the knots; use outside="clip"')

    def penalties(self, embedding: PairMap | None = None) -> tuple[Penalty, ...]:
        """The penalty terms; "auto" leaves out differences where the embedding cannot hold its tables."""
        if self.penalty is None:
            return ()
        if isinstance(self.penalty, Penalty):
            return (self.penalty,)
        if isinstance(self.penalty, str):
            return _named_penalty(self.penalty, self.alpha, embedding is None or embedding.holds_tables)
        terms = tuple(self.penalty)
        if not all(isinstance(t, Penalty) for t in terms):
            raise InputError(f"penalty={self.penalty!r} must be a name, a Penalty, a sequence of them, or None")
        return terms

    @property
    def joint(self) -> JointGroups:
        """Knots and share of the penalty of groups of several features."""
        return self.groups if isinstance(self.groups, JointGroups) else JointGroups(())

    @property
    def row_power(self) -> float:
        """The power of a distance that the sum is: that of statements about distances as rows of the program."""
        return row_power(self.link)

    @property
    def base_powers(self) -> tuple[float, ...]:
        """The powers at which base distances enter the sum."""
        return base_powers(self.link, self.base_exponents, len(self.base_distances))

    @property
    def asks_triangle(self) -> bool:
        """Whether the triangle inequality is to hold."""
        return self.axioms in ("metric", "quasimetric")

    @property
    def without_triangle(self) -> str | None:
        """The axioms of the same columns without the triangle inequality: for fits that only compare settings."""
        return {"metric": "semimetric", "quasimetric": "premetric"}.get(str(self.axioms), self.axioms)

    @property
    def asks_of_features(self) -> bool:
        """Whether a constraint on raw features is given, which directions would make void."""
        return any(constraint.of_features for constraint in self.constraints)

    @property
    def asks_rows(self) -> bool:
        """Whether weights are tied to one another by inequalities, so that every vertex of a table is a column."""
        return self.asks_triangle or len(self.constraints) > 0

    @property
    def symmetry_of_columns(self) -> str:
        """The parameter ``symmetry`` of the pair embedding; "none" where the axioms do not ask for symmetry."""
        return self.symmetry if self.axioms in ("semimetric", "metric") else "none"


def _named_penalty(name: str, alpha: float, differences: bool) -> tuple[Penalty, ...]:
    """The terms of a penalty that is given by name; ``differences`` says whether tables can be differenced."""
    names: dict[str, tuple[Penalty, ...]] = {
        "auto": (Ridge(alpha), Shift(alpha), Roughness(_TENSOR * alpha)) if differences else (Ridge(alpha),),
        "ridge": (Ridge(alpha),),
        "ridge-zero": (Ridge(alpha, towards="zero"),),
        "roughness": (Roughness(alpha, order=1), Ridge(1e-3 * alpha)),
        "roughness-2": (Roughness(alpha, order=2), Ridge(1e-3 * alpha)),
        "lasso": (Lasso(alpha),),
    }
    check_choice("penalty", name, tuple(names))
    return names[name]
