"""The recipe: the parameters of an estimator as one checked value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.real_numbers import real_number, shown
from ..._foundation.stored import storable
from ..._foundation.types import FeatureChoice, Knots, Periods
from ..._foundation.validation import check_alpha, check_choice, check_n_jobs
from ...data.feature_groups import Groups, JointGroups, automatic, only_singles
from ...data.knots import MOST_KNOTS, knot_counts
from ..model.divergences import DIVERGENCES
from ..model.links import Link, PowerLink, checked_link, link_function
from ..model.semimetric import Semimetric
from ..pairs.base import PairMap
from ..programs.constraints import Bounded, Concave, Constraint
from ..programs.losses import Loss, resolve_loss
from ..programs.penalties import Lasso, Penalties, Penalty, Ridge, Roughness, Shift
from ..solvers.auto import resolve_solver
from ..solvers.base import Solver

_CHOSEN = ("auto", "power", "concave")  # links that learning finds
_MOST = 10.0


def is_chosen(link: Any) -> bool:
    """Return True if a link is to be found by learning."""
    return isinstance(link, str) and link in _CHOSEN


def resolved_link(link: Any) -> str | Link:
    """A link as recipes keep it, of which two names stand for links that are to be found."""
    if is_chosen(link):
        return str(link)
    if isinstance(link, str) and link not in ("identity", "sqrt"):
        raise InputError(
            f"link={link!r} is not known; use one of 'auto', 'identity', 'sqrt', 'power', 'concave', or an exponent"
        )
    return checked_link(link)


def check_link(recipe: Any) -> None:
    """Refuse a link, or exponents of base distances, that are not known, or do not go with the rest of the recipe."""
    link = resolved_link(recipe.link)
    if isinstance(recipe.base_distances, Sequence):  # else they are refused where they are called
        _check_exponents(recipe.base_exponents, len(recipe.base_distances))
    if link in ("identity", "auto"):  # of which "auto" compares only what goes with the rest
        return
    if recipe.axioms is None:
        learns = (
            'link="sqrt" learns the squared distance, which' if link == "sqrt" else f"link={recipe.link!r} learns a sum that"
        )
        raise NotSupportedError(
            f"{learns} has no sign, and axioms=None allows it below 0, where it has no root; use "
            'axioms="premetric", or link="identity"'
        )
    concave = is_chosen(link) or link_function(link).concave
    if recipe.asks_triangle and not concave:
        raise NotSupportedError(
            f"link={recipe.link!r} is not concave, so that axioms={recipe.axioms!r} cannot be proved; use an exponent of "
            'at most 1, or axioms="semimetric"'
        )
    if not concave and any(isinstance(shape, Concave) for shape in recipe.constraints):
        raise NotSupportedError(f"Concave cannot hold under link={recipe.link!r}; use an exponent of at most 1")
    if len(recipe.constraints) and not (link in ("sqrt", "power") or isinstance(link, PowerLink)):
        raise NotSupportedError(
            f'constraints= cannot be stated as rows under link={recipe.link!r}; use an exponent, or link="power"'
        )


def refuse_open_links(recipe: Any, why: str) -> None:
    """Refuse a link, or exponents of base distances, that are yet to be chosen; ``why`` says what cannot choose them."""
    for name, is_open in (("link", is_chosen(recipe.link)), ("base_exponents", isinstance(recipe.base_exponents, str))):
        if is_open:
            raise NotSupportedError(
                f"{name}={getattr(recipe, name)!r} is chosen on held-out pairs, and {why}; give a number, such as that of the "
                "recipe_ of a fit on a sample in memory"
            )


def _check_exponents(given: Any, n: int) -> None:
    if isinstance(given, str):
        if given != "auto":
            raise InputError(f'base_exponents={given!r} is not known; a number > 0, one for each base distance, or "auto"')
        return
    numbers = given if isinstance(given, (list, tuple, np.ndarray)) else [given]
    fine = all(0 < (real_number(exponent) or 0.0) <= _MOST for exponent in numbers)
    if not fine or (numbers is given and len(given) != n):
        raise InputError(
            f"base_exponents={shown(given)} for {n} base distances: one number, or one for each, is required, above 0 and at "
            f'most {_MOST:g}; or "auto"'
        )


def base_powers(link: Any, exponents: str | float | Sequence[float], n: int) -> tuple[float, ...]:
    """The powers at which n base distances enter the sum, which under the link "sqrt" are squares."""
    if not n:
        return ()
    each = exponents_of(exponents) or (1.0 if isinstance(exponents, (str, Sequence)) else float(exponents),) * n
    return tuple((2.0 if link == "sqrt" else 1.0) * e for e in each)


def exponents_of(given: Any) -> tuple[float, ...]:
    """Exponents of base distances where there is one for each; else none."""
    return tuple(map(float, given)) if isinstance(given, (list, tuple, np.ndarray)) else ()


def exponent_of(link: Any) -> float | None:
    """The exponent of a power; None of other links."""
    return link.exponent if isinstance(link, PowerLink) else None


def row_power(link: Any) -> float:
    """The power of a distance that the sum is, for a link that is a power."""
    return 2.0 if link == "sqrt" else 1.0 / link.exponent if isinstance(link, PowerLink) else 1.0


EFFORTS = ("fast", "default", "thorough")


@dataclass(frozen=True)
class Limits:
    """Settings that a kind of learning compares at one effort, and the data that it compares them on."""

    n_knots: Mapping[str, tuple[int, ...]]  # numbers of knots, in the order in which they are preferred, by the kind of columns
    alphas: Mapping[str, tuple[float, ...]]  # strengths of the penalty, in the same way
    n_folds: int
    n_rows: int  # the most items, pairs or tuples that the folds divide; of more a sample is drawn
    n_columns: Mapping[str, int]  # the most weights of a candidate, by the kind of tables; wider ones are not compared
    n_repeats: int = 1  # how often small tables of labelled items are divided into folds
    n_passes: int = 1  # the most passes of a candidate for labelled items


BESIDE = "full beside warped"


def _same(
    value: tuple[float, ...], beside: tuple[float, ...] = (), shared: tuple[float, ...] = ()
) -> Mapping[str, tuple[float, ...]]:
    """The same strengths for full tables and scales, others for full ones beside scales, and for one that features share."""
    others = {kind: given for kind, given in ((BESIDE, beside), ("shared", shared)) if given}
    return MappingProxyType({"full": value, "warped": value} | others)


# Of labelled items the columns are scales ("warped"), tables of periodic numbers beside them ("tables"), scales with combined
# directions, and full tables. The first number of knots is as good or better on most tables (measured).
_LABEL_COLUMNS = MappingProxyType({"warped": 1_600, "full": 600})
LABELS = {
    "fast": Limits(
        {"warped": (16,), "tables": (8,), "combined": (6,), "full": ()},
        {"warped": (1e-2,), "tables": (1e-1, 1e-2)},
        n_folds=3, n_rows=500, n_columns=_LABEL_COLUMNS,
    ),
    "default": Limits(
        {"warped": (16, 6), "tables": (8, 5), "combined": (6,), "full": (5,)},
        {"warped": (1e-2, 1e-3), "tables": (1e-1, 1e-2, 1e-3)},
        n_folds=5, n_rows=1_000, n_columns=_LABEL_COLUMNS, n_passes=2,
    ),
    "thorough": Limits(
        {"warped": (16, 6, 10, 4), "tables": (8, 5, 12, 3), "combined": (6, 10), "full": (5, 8)},
        {"warped": (1e-1, 1e-2, 1e-3, 1e-4), "tables": (1e-1, 1e-2, 1e-3, 1e-4)},
        n_folds=5, n_rows=3_000, n_columns={"warped": 3_000, "full": 1_600}, n_repeats=3, n_passes=3,
    ),
}  # fmt: skip

# Of triplets, quadruplets and labeled pairs each fold draws its own sample, on either side. With tables="auto" full tables are
# compared beside scales, at fewer settings, because each takes longer.
_COMPARISON_ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
COMPARISONS = {
    "fast": Limits(
        {"full": (3, 6), "warped": (2, 8), BESIDE: (6,)},
        _same((1e-4, 1e-3, 1e-2), (1e-4,)),
        n_folds=2, n_rows=2_000, n_columns={"full": 1_500, "warped": 1_500},
    ),
    "default": Limits(
        {"full": (3, 4, 6, 8), "warped": (2, 4, 8, 16), BESIDE: (6, 10)},
        _same(_COMPARISON_ALPHAS, (1e-5, 1e-4, 1e-3)),
        n_folds=4, n_rows=4_000, n_columns={"full": 1_500, "warped": 1_500},
    ),
    "thorough": Limits(
        {"full": (2, 3, 4, 6, 8, 12), "warped": (2, 3, 4, 6, 8, 12, 16, 24), BESIDE: (4, 6, 10, 16)},
        _same((1e-6, *_COMPARISON_ALPHAS, 1.0), (1e-6, 1e-5, 1e-4, 1e-3)),
        n_folds=8, n_rows=16_000, n_columns={"full": 3_000, "warped": 3_000},
    ),
}  # fmt: skip

_DISTANCE_ALPHAS = (1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2, 1e-1)
_SHARED_ALPHAS = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # every pair has a value of each feature to show
DISTANCES = {
    "fast": Limits(
        {"full": (3, 6), "warped": (2, 6), "shared": (16, 32)},
        _same((1e-6, 1e-5, 1e-4, 1e-3, 1e-2), shared=(1e-9, 1e-7, 1e-5, 1e-3)),
        n_folds=2, n_rows=5_000, n_columns={"full": 3_000, "warped": 3_000, "shared": 3_000},
    ),
    "default": Limits(
        {"full": (3, 4, 6, 8, 12, 16), "warped": (2, 3, 4, 6, 8, 12), "shared": (8, 16, 32)},
        _same(_DISTANCE_ALPHAS, shared=_SHARED_ALPHAS),
        n_folds=4, n_rows=20_000, n_columns={"full": 3_000, "warped": 3_000, "shared": 3_000},
    ),
    "thorough": Limits(
        {"full": (3, 4, 6, 8, 12, 16, 24), "warped": (2, 3, 4, 6, 8, 12, 16, 24), "shared": (8, 16, 32, 48)},
        _same((*_DISTANCE_ALPHAS, 1.0), shared=_SHARED_ALPHAS),
        n_folds=8, n_rows=100_000, n_columns={"full": 6_000, "warped": 6_000, "shared": 6_000},
    ),
}  # fmt: skip

# Of more than 600 numbers those that are kept have scales if they are more than 400, or with directions. Fits are large, and
# little is compared.
WIDE_DISTANCES = {
    "fast": Limits({"warped": (2,)}, _same((1e-5,)), n_folds=2, n_rows=5_000, n_columns={"warped": 3_000}),
    "default": Limits({"warped": (2,)}, _same((1e-6, 1e-5, 1e-4)), n_folds=2, n_rows=20_000, n_columns={"warped": 3_000}),
    "thorough": Limits(
        {"warped": (2, 4, 6)}, _same((1e-7, 1e-6, 1e-5, 1e-4, 1e-3)), n_folds=4, n_rows=100_000, n_columns={"warped": 6_000}
    ),
}


def wide(effort: str) -> str:
    """The effort of a problem whose features were screened, for `distance_limits`."""
    return f"wide {effort}"


def distance_limits(effort: str) -> Limits:
    """Return the limits of measured distances at an effort, or at the `wide` form of one."""
    return DISTANCES[effort] if effort in DISTANCES else WIDE_DISTANCES[effort.removeprefix(wide(""))]


@storable
class SearchCost(NamedTuple):
    """Rows that candidates were scored on, models fitted for it, and the models that a further search would fit."""

    rows: str  # "items", "pairs", "triplets" or "quadruplets"
    n_rows: int  # that the folds divide
    n_all: int  # that were given
    n_fits: int  # for the comparison
    n_thorough: int  # that effort="thorough" would make

    @property
    def sample(self) -> str:
        """The rows in words."""
        of_all = f"{self.n_all:,} {self.rows}"
        return of_all if self.n_rows >= self.n_all else f"a sample of {self.n_rows:,} of {of_all}"

    @property
    def fits(self) -> str:
        """The fits in words."""
        if self.n_thorough <= self.n_fits:
            return f"{self.n_fits} fits"
        return f'{self.n_fits} fits; effort="thorough" makes {self.n_thorough}'


_ROUNDED = 1e-5  # a relative error that is shown as none
_MOST_APART = 1e12  # times the least factor: more would leave nothing of it


@storable
class PowerSum(NamedTuple):
    """A sum of powers that is near to distances: ``d(x, y)^p = sum_f c_f |x_f - y_f|^p``, of features or of directions."""

    error: float  # the mean relative one on held-out pairs
    exponent: float  # of the link, 1 / p
    factors: tuple[float, ...] | None  # of features across their ranges, then of directions, 1 in the mean; None: as they are
    directions: Any = None  # those of a Mahalanobis distance

    def __str__(self) -> str:
        """Return the form of the distance in words."""
        if self.directions is not None:
            n = self.directions.n_linear
            form = f"the Mahalanobis distance of {n} direction{'s' if n > 1 else ''}"
        else:
            form = f"the root of order {1.0 / self.exponent:g} of a sum of differences to the power {1.0 / self.exponent:g}"
        error = f"{100 * self.error:.2g} %" if self.error > _ROUNDED else "below 0.001 %"
        return f"{form}, mean relative error {error} on held-out pairs"

    def applied(self, recipe: Recipe) -> Recipe:
        """Return a recipe for a table that features share with the link and the factors of this sum."""
        link = recipe.link if recipe.link == "sqrt" else PowerLink(self.exponent)
        return replace(recipe, link=link, factors=None if self.factors is None else self, directions=self.directions)


_AXIOMS = ("semimetric", "metric", "quasimetric", "premetric", None)
_TENSOR = 300.0  # times alpha: pairs of items determine a table near its diagonal well, but its corners poorly


@storable
@dataclass(frozen=True)
class Recipe:
    """Parameters of an estimator, with everything that was ``"auto"`` decided."""

    n_knots: int | Sequence[int] = 8
    knots: Knots = "quantile"
    groups: Groups = "singles"
    directions: Any = None
    tables: str = "full"
    factors: Sequence[float] | PowerSum | None = None
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
    base_distances: Sequence[Callable[..., Any] | str] = ()
    base_exponents: str | float | Sequence[float] = 1.0
    categorical_features: FeatureChoice = "auto"
    periodic: Periods = None
    missing: str | Sequence[int | str] = "auto"
    constraints: Sequence[Constraint] = ()
    prior: Any = None
    n_jobs: int | None = None
    random_state: int | None = None
    verbose: bool | None = False
    effort: str = "default"

    def checked(self) -> Recipe:
        """The recipe, if its parts are known and go together."""
        check_choice("axioms", self.axioms, _AXIOMS)
        check_choice("tables", self.tables, ("full", "warped", "shared", "auto"))
        check_choice("symmetry", self.symmetry, ("tie", "swap"))
        check_choice("outside", self.outside, ("extend", "clip"))
        if isinstance(self.missing, str):
            check_choice("missing", self.missing, ("auto", "error", "level"))
        check_choice("effort", self.effort, EFFORTS)
        if self.joint.n_knots is not None and not isinstance(self.knots, str):
            raise InputError(
                f"JointGroups(n_knots={self.joint.n_knots}) places knots, and knots= gives them; leave out n_knots, or name "
                'how knots are to be placed, such as Tables(knots="quantile")'
            )
        knot_counts(self.n_knots, np.size(self.n_knots), MOST_KNOTS)
        check_n_jobs(self.n_jobs)
        check_alpha("delta", self.delta)
        check_alpha("alpha", self.alpha)
        if self.relative is not True and self.relative is not False:
            check_alpha("relative", self.relative, strict=True)
        self._check_constraints()
        if self.tables == "warped" and self.axioms not in ("semimetric", "metric"):
            raise NotSupportedError(f'tables="warped" is a metric by construction; axioms={self.axioms!r} needs tables="full"')
        if self.tables == "warped" and automatic(self.groups):
            raise NotSupportedError(
                f'groups={self.groups!r} finds pairs for joint tables, and tables="warped" has one scale a feature; '
                'use Tables(groups="singles"), or tables="full"'
            )
        self._check_factors()
        if self.tables == "shared":
            self._check_shared()
        check_link(self)
        if self.asks_triangle:
            self._check_metric_bases()
        resolve_loss(self.loss)
        resolve_solver(self.solver)
        penalties = self.penalties()
        if self.prior is not None:
            self._check_prior(penalties)
        link = resolved_link(self.link)
        return self if link == self.link else replace(self, link=link)

    @property
    def may_share(self) -> bool:
        """True if nothing that is asked for needs tables of single features."""
        return not self._against_sharing

    @property
    def _against_sharing(self) -> tuple[str, ...]:
        """The parameters that need tables of single features, by name."""
        asked = {
            f"axioms={self.axioms!r}": self.asks_triangle or self.axioms is None,
            "directions=": self.directions is not None and self.factors is None,
            "groups=": not only_singles(self.groups),
            f"knots={self.knots!r:.40}": isinstance(self.knots, str) and self.knots != "quantile",
            f"n_knots={self.n_knots!r:.40}": np.ndim(self.n_knots) > 0,
            'symmetry="swap"': self.symmetry == "swap",
            "constraints=": len(self.constraints) > 0,
            "prior=": self.prior is not None,
        }
        return tuple(name for name, is_asked in asked.items() if is_asked)

    @property
    def column_factors(self) -> tuple[float, ...] | None:
        """The factors of the features in a table that they share, and None if they share its knots too."""
        given = self.factors.factors if isinstance(self.factors, PowerSum) else self.factors
        return None if given is None else tuple((np.asarray(given, dtype=np.float64) / np.max(given)).tolist())

    def _check_factors(self) -> None:
        if isinstance(self.factors, PowerSum) or self.factors is None:
            return
        numbers = [real_number(number) or 0.0 for number in self.factors] if np.ndim(self.factors) == 1 else [0.0]
        if not (numbers and all(0.0 < number < np.inf for number in numbers) and max(numbers) < _MOST_APART * min(numbers)):
            raise InputError(
                f"factors={shown(self.factors)} are no numbers > 0, one for each feature, of which the largest is less than "
                f"{_MOST_APART:g} times the least; give such, or None to have them found"
            )
        if self.tables != "shared":
            raise InputError(f'factors= multiply the table that features share, and tables is {self.tables!r}; give "shared"')

    def _check_shared(self) -> None:
        if against := self._against_sharing:
            raise NotSupportedError(
                f'{against[0]} needs a table for each feature, and tables="shared" has one for all; leave it out, or use '
                'tables="full"'
            )

    def _check_metric_bases(self) -> None:
        """Refuse base distances without a known triangle inequality; what is no list, or no name, is refused later."""
        given = self.base_distances
        if isinstance(given, str) or not isinstance(given, Sequence):
            return
        for function, power in zip(given, self.base_powers, strict=True):
            if isinstance(function, str) and function not in DIVERGENCES:
                continue
            most = DIVERGENCES[function].metric_power if isinstance(function, str) else 0.0
            if power > most:
                metrics = (each for each in DIVERGENCES.values() if each.metric_power)
                powers = ", ".join(f"{each.name!r} up to {each.metric_power:g}" for each in metrics)
                raise NotSupportedError(
                    f"axioms={self.axioms!r} cannot be claimed with {function!r} of base_distances= at the power {power:g}; "
                    f'leave it out, give what is known to be a metric ({powers}), or use axioms="semimetric"'
                )

    def _check_prior(self, penalties: Sequence[Penalty]) -> None:
        """Refuse a given distance that cannot be drawn to, or that no penalty draws to."""
        check_prior(self.prior)
        if not any(isinstance(penalty, Ridge) and penalty.towards == "prior" for penalty in penalties):
            raise NotSupportedError(
                f'prior= is given, but penalty={self.penalty!r} does not draw to it; use "auto", "ridge" or "roughness"'
            )
        if self.link not in ("identity", "auto") or self.axioms is None:
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
                "constraints= need weights >= 0 and tables that are the whole distance; leave out Tables(base_distances=), and "
                'use axioms="premetric" or stronger'
            )
        if self.outside != "clip" and any(isinstance(constraint, Bounded) for constraint in self.constraints):
            raise NotSupportedError('Bounded cannot hold where slopes go on outside the knots; use Tables(outside="clip")')

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
        """True if the triangle inequality is to hold."""
        return self.axioms in ("metric", "quasimetric")

    @property
    def without_triangle(self) -> str | None:
        """The axioms of the same columns without the triangle inequality: for fits that only compare settings."""
        return {"metric": "semimetric", "quasimetric": "premetric"}.get(str(self.axioms), self.axioms)

    @property
    def asks_of_features(self) -> bool:
        """True if a constraint on raw features is given, which directions would make void."""
        return any(constraint.of_features for constraint in self.constraints)

    @property
    def needs_inequalities(self) -> bool:
        """True if inequalities tie weights to one another, so that every vertex of a table is a column."""
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


def check_prior(d: object) -> None:
    """Refuse what is no distance that is a sum over single features."""
    if not isinstance(d, Semimetric):
        raise InputError(
            f"prior= is a {type(d).__name__}; a Semimetric is required: give gower(X), or model.semimetric_ of a fitted learner"
        )
    if d.directions is not None or d.base_distances or d.link != "identity" or any(len(g) > 1 for g in d.embedding.groups):
        raise NotSupportedError(
            "prior= must be a sum over single features, whose tables can be drawn to one by one; this one has directions, "
            'joint groups, base distances or link="sqrt": give gower(X), or learn it without these'
        )
    if not (d.axioms.nonnegative and d.axioms.zero_on_diagonal and d.axioms.symmetric):
        raise NotSupportedError(f"prior= is {d.axioms.name}, but a symmetric distance >= 0 is required; learn it with axioms")
