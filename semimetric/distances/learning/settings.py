"""Values that learners take as parameters: which features, which tables, which program, which triplets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.estimator import ShortRepr
from ..._foundation.stored import storable
from ..._foundation.types import Exponents, FeatureChoice, Knots, Periods
from ...data.feature_groups import Groups
from ...data.schema import Schema
from ..model.semimetric import Semimetric
from ..programs.constraints import Constraint
from ..programs.penalties import Penalties
from ..solvers.base import Solver


class Settings(ShortRepr, BaseEstimator):
    """A part of the parameters of a learner as one value, which `clone` and `set_params` take as they take an estimator."""

    _text: ClassVar[bool] = False  # its first parameter, a text, may stand for it

    @classmethod
    def meant_by(cls, given: Any) -> Self | None:
        """Return the value that None, or a text for the first parameter, stands for; None of anything else."""
        if cls._text:
            return cls(given) if isinstance(given, str) else None
        return cls() if given is None else None

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the value of a parameter that may be None, for the defaults, or a text for the first parameter."""
        if isinstance(given, cls):
            return given
        if (meant := cls.meant_by(given)) is not None:
            return meant
        name = cls.__name__
        other = f'a name such as "{cls().get_params()["kind"]}"' if cls._text else "None"
        raise InputError(f"{name.lower()}={given!r:.60} must be {name}(...) or {other}; write {name.lower()}={name}(...)")


@storable
class Columns(Settings):
    """Kinds of the columns that a learner reads: categories, angles, missing values, none; all else are numbers and times.

    A frame is read as it is, as `Semimetric.gower` reads it (see `Schema.fit`). Print ``columns_`` of the fitted learner for a
    line that says how. An array is one of numbers, of which none is missing, unless its columns are named here. A frame that
    comes later is read by what was learned. It needs the same columns, of which those that were left out may be absent.

    Parameters
    ----------
    categorical : "auto" (default), None, or sequence of int or str
        Features that are categories: a table of every two. "auto" takes of a frame the columns of a categorical dtype, and of
        text of which at most 20 cells, or a tenth, differ. A sequence names others, such as numbers of districts. An unseen
        category is at the mean learned distance between the other category and the rest; all unseen ones are one.
    periodic : dict of int or str to float or {"day", "week", "year"}, or None, default None
        Features that wrap around, and their periods: ``{"hour": 24}``. Times are days on a scale unless they have one here.
    missing : {"auto", "error", "level"}, or sequence of int or str, default "auto"
        Refuse missing values (NaN, None, NA), or give them a level of their own in every feature, or in those of a sequence.
        "auto" does so in the columns of a frame that have some, and refuses them in arrays. If no training value is missing,
        that level is at the weighted L1 distance across half the range. On scales it lies between two that add up to that of
        the number, so that the distance is a metric with L1 coordinates; in full tables its distances are learned one by one.
    drop : "auto" (default), None, or sequence of int or str
        Columns of a frame that are left out. "auto" leaves out names and free text, ids, and what is the same on 20 or more
        rows, and warns of them in one list. It refuses them where other parameters name features by number.

    Examples
    --------
    >>> from semimetric import Columns, DistanceRegressor
    >>> DistanceRegressor(columns=Columns(["colour"], periodic={"hour": 24}, missing="level"))
    DistanceRegressor(columns=Columns(categorical=['colour'], missing='level',
                                      periodic={'hour': 24}))
    """

    def __init__(
        self,
        categorical: FeatureChoice = "auto",
        *,
        periodic: Periods = None,
        missing: str | Sequence[int | str] = "auto",
        drop: str | Sequence[int | str] | None = "auto",
    ) -> None:
        self.categorical = categorical
        self.periodic = periodic
        self.missing = missing
        self.drop = drop

    @classmethod
    def as_read(cls, schema: Schema) -> Self:
        """Return the kinds that a table had when it was read, for another part of it."""
        found = schema.features
        periods: dict[int | str, float | str] = {f.name: f.time or f.period for f in found if f.kind == "periodic"}
        return cls(
            [f.name for f in found if f.kind == "categorical"],
            periodic=periods or None,
            missing=[f.name for f in found if f.missing],
            drop=list(schema.dropped),
        )

    @property
    def only_numbers(self) -> bool:
        """True if it says of no feature of an array that it is anything but a number that is there."""
        named = self.categorical is not None and not isinstance(self.categorical, str) and len(self.categorical) > 0
        return not self.may_miss and not self.periodic and not named

    @property
    def may_miss(self) -> bool:
        """True if values of an array may be missing."""
        return self.missing == "level" if isinstance(self.missing, str) else len(self.missing) > 0

    def named(self) -> dict[str, Any]:
        """Return the values by the names of a recipe."""
        return {"categorical_features": self.categorical, "periodic": self.periodic, "missing": self.missing}

    def read(self, X: Any, name: str = "X") -> Schema:
        """Return the schema of a table; an array has no missing values unless the parameters say so."""
        missing = "error" if self.missing == "auto" and not hasattr(X, "columns") else self.missing
        return Schema.fit(X, **self.named() | {"missing": missing}, drop=self.drop, name=name)


@storable
class Tables(Settings):
    """Tables of a distance: their kind, which features share one, knots, and known distances beside them.

    A text stands for the kind alone: ``tables="warped"`` is ``tables=Tables("warped")``.

    Parameters
    ----------
    kind : {"full", "shared", "warped", "auto"}, default "full"
        A full table for each feature, or one monotone scale a feature: fewer weights, a metric, and an exact `transform` into
        L1. "shared" is one full table w of all features, ``d(x, y) = sum_f w · ID([x_f, y_f])``, for measured distances and
        features that are numbers in one unit, as the bins of a histogram are. Unless its knots are given, they are centers of
        k-means clusters of all values, on a scale that is half value and half rank. Learners say what "auto" chooses.
    groups : "singles" (default), "pairs", int, "auto", AutoGroups, JointGroups or sequence of tuples of int or str
        Features with a joint table, by number or name; these need full tables. An integer k joins every k features (Pele
        & Ben-Aliz 2016, section 4). "auto" adds pairs while the held-out error falls by more than a standard error, see
        `AutoGroups`. A feature in no group counts outside its range only, and positivity is not claimed.
        The error is the loss of a regressor, and the fraction of tuples, or votes, that are missed of other learners.
        Each step costs two fits and a few milliseconds a candidate pair, five times over.
    knots : {"quantile", "uniform", "kmeans"} or sequence of arrays, default "quantile"
        Placement of knots among the distinct items, or the knots themselves: of raw features, then of directions. Shared
        tables have a placement of their own, or the same given knots for all features.
        Labeled items count a row each.
    factors : sequence of float, or None, default None
        What a shared table is multiplied by for each feature, then for each direction, all > 0:
        ``d(x, y) = sum_f c_f w · ID([x_f, y_f])``. The knots are then at the same shares of the range of each feature. None
        finds factors where the distances are nearly a power of a sum of powers, such as Euclid's of columns in different
        units, or a Mahalanobis distance, whose directions are found.
    symmetry : {"tie", "swap"}, default "tie"
        Tied columns, or the paper's lexicographic swap (not continuous for groups of two or more features). "swap" is for
        measured distances.
    outside : {"extend", "clip"}, default "extend"
        Beyond the range of the training items a feature keeps the slope of the last fifth of the range. With "clip" a value
        there counts as the end, but for a slope of ``delta`` that separates points (Pele & Ben-Aliz 2016, Alg. 1), see
        `Semimetric.outside`. A feature whose training items exceed its given knots is clipped, with a `SemimetricWarning`.
        Later blocks of `DistanceRegressor.partial_fit` beyond the knots of the first count so too.
    delta : float, default 1e-6
        Lower bound of the weights of raw features, relative to the mean weight of the weighted L1 prior; at 0 positivity is not
        claimed.
    base_distances : sequence of callables and names, default ()
        Known distances that join the sum with weights >= 0; tables learn what they miss. The sum is a semimetric if they are.
        Nearest-neighbor search must evaluate them for every candidate. They are for measured distances. Names are for columns
        of numbers x_k >= 0, and need not be given again when a file is loaded: "jensenshannon" is
        ``sqrt(sum_k (x_k ln(x_k / m_k) + y_k ln(y_k / m_k)) / 2)`` with ``m_k = (x_k + y_k) / 2``, "hellinger"
        ``sqrt(sum_k (sqrt(x_k) - sqrt(y_k))^2 / 2)``, "chi2" ``sum_k (x_k - y_k)^2 / (x_k + y_k)``, and "kl_div"
        ``sum_k x_k ln(x_k / y_k) - x_k + y_k``, which is not symmetric, and infinite where y_k alone is 0. With
        ``axioms="metric"`` the first two are allowed at exponents <= 1 and "chi2" at <= 0.5, where they are metrics (Hein &
        Bousquet 2005).
    base_exponents : float, sequence of float, or "auto", default 1.0
        Exponents of the base distances (of their squares with ``link="sqrt"``). "auto" chooses one for all from 1, 0.9, ...,
        0.5 on held-out pairs, together with an open link.

    Examples
    --------
    >>> from semimetric import DistanceRegressor, Tables
    >>> DistanceRegressor(tables=Tables(groups="pairs", outside="clip"))
    DistanceRegressor(tables=Tables(groups='pairs', outside='clip'))
    """

    _text = True

    def __init__(
        self,
        kind: str = "full",
        *,
        groups: Groups = "singles",
        knots: Knots = "quantile",
        factors: Sequence[float] | None = None,
        symmetry: str = "tie",
        outside: str = "extend",
        delta: float = 1e-6,
        base_distances: Sequence[Callable[..., Any] | str] = (),
        base_exponents: Exponents = 1.0,
    ) -> None:
        self.kind = kind
        self.groups = groups
        self.knots = knots
        self.factors = factors
        self.symmetry = symmetry
        self.outside = outside
        self.delta = delta
        self.base_distances = base_distances
        self.base_exponents = base_exponents

    def named(self) -> dict[str, Any]:
        """Return the values by the names of a recipe."""
        values = self.get_params(deep=False)
        return {"tables": values.pop("kind")} | values

    @property
    def for_measured(self) -> tuple[str, ...]:
        """The given parameters that only learning from measured distances knows."""
        given = {
            "symmetry": self.symmetry != "tie",
            "factors": self.factors is not None,
            "base_distances": len(self.base_distances) > 0,
            "base_exponents": not np.array_equal(np.asarray(self.base_exponents), 1.0),
        }
        return tuple(f"Tables({name}=)" for name, is_given in given.items() if is_given)


@storable
class Program(Settings):
    """A convex program: its penalty, what is known of the distance, and its solver.

    Parameters
    ----------
    penalty : {"auto", "ridge", "ridge-zero", "roughness", "roughness-2", "lasso"}, Penalty, sequence or None, default "auto"
        "ridge" shrinks to the weighted L1 distance that fits best, "ridge-zero" and "lasso" to 0; "roughness" and
        "roughness-2" penalise differences of order 1 and 2. "auto" is a ridge and, for full tables, tensor differences of
        order 1 and differences under a common shift. Entries without data are at the weighted L1 distance, or with
        "ridge-zero" and "lasso" at their lower bound: close to 0. For labels the weighted L1 distance is the uniform one.
    constraints : sequence of Monotone, Bounded, TranslationInvariant, Concave, AtLeast, AtMost, default ()
        What else is known of the distance; each class states its guarantee. Tables are held whole. Values are in units of the
        distance: of the margin, where comparisons or labels are learned from.
    prior : Semimetric or None, default None
        A distance to start from, such as ``gower(X)``: penalties draw tables to it, times the number that fits the data best,
        in place of the weighted L1 distance. It is a sum over the same single features; directions start from 0. For labels
        its factor makes the margin 0.7 of its mean distance to a target, and the first targets and impostors are found
        under it. For comparisons its values are in units of the margin.
    relative : bool or float, default False
        Divide the residual of a pair by max(its target, floor); True takes the floor 0.1, in units of the mean target. It is
        for measured distances.
    solver : {"auto", "gram", "newton", "interior_point", "first_order", "splitting", "cutting_plane", "cvxpy"} or Solver, \
default "auto"
        "auto" chooses by the loss and the number of weights; ``solution_`` names its choice. "cvxpy" is `Reference`, for small
        programs, and "cvxpy:OSQP" is it with another engine of CVXPY that is installed. `Gram` and `Splitting` need the
        squared loss, `Newton` a loss that curves. `CuttingPlane` handles triangle rows around any solver that takes rows.

    Examples
    --------
    >>> from semimetric import DistanceRegressor, Monotone, Program
    >>> DistanceRegressor(program=Program(constraints=[Monotone([0])], solver="newton"))
    DistanceRegressor(program=Program(constraints=[Monotone(features=[0])],
                                      solver='newton'))
    """

    def __init__(
        self,
        *,
        penalty: Penalties = "auto",
        constraints: Sequence[Constraint] = (),
        prior: Semimetric | None = None,
        relative: bool | float = False,
        solver: str | Solver = "auto",
    ) -> None:
        self.penalty = penalty
        self.constraints = constraints
        self.prior = prior
        self.relative = relative
        self.solver = solver

    def named(self) -> dict[str, Any]:
        """Return the values by the names of a recipe."""
        return self.get_params(deep=False)

    @property
    def for_measured(self) -> tuple[str, ...]:
        """The given parameters that only learning from measured distances knows."""
        return () if self.relative is False else ("Program(relative=)",)


@storable
class Triplets(Settings):
    """Triplets of an item, a target and an impostor from which `LargeMarginLearner` learns.

    Parameters
    ----------
    n_impostors : int, default 6
        Impostors of an item: the nearest items of other classes.
    mu : float, default 1.0
        In (0, 1]: the weight of the push against the pull of targets. At 1 the penalty alone keeps distances from growing.
    n_passes : int, default 3
        How often targets and impostors are found and a program is solved.
    base : {"values", "positions"}, default "values"
        Differences that the uniform L1 distance counts: of values, or of positions among the knots. With "positions", an
        increasing map of a feature that is linear between knots changes nothing if the knots follow and ``directions=None``.

    Examples
    --------
    >>> from semimetric import LargeMarginLearner, Triplets
    >>> LargeMarginLearner(triplets=Triplets(mu=0.5))
    LargeMarginLearner(triplets=Triplets(mu=0.5))
    """

    def __init__(self, *, n_impostors: int = 6, mu: float = 1.0, n_passes: int = 3, base: str = "values") -> None:
        self.n_impostors = n_impostors
        self.mu = mu
        self.n_passes = n_passes
        self.base = base


def recipe_values(columns: Any, tables: Any, program: Any) -> dict[str, Any]:
    """Return what the parameters of these names say, by the names of a recipe."""
    return Columns.of(columns).named() | Tables.of(tables).named() | Program.of(program).named()


def refuse_for_measured(tables: Tables, program: Program) -> None:
    """Refuse settings that comparisons and labels cannot follow."""
    if given := (*tables.for_measured, *program.for_measured):
        raise NotSupportedError(f"{given[0]} is for measured distances, from which DistanceRegressor learns; leave it out")


MOVED = {
    "categorical_features": "columns__categorical",
    "periodic": "columns__periodic",
    "missing": "columns__missing",
    "groups": "tables__groups",
    "knots": "tables__knots",
    "symmetry": "tables__symmetry",
    "outside": "tables__outside",
    "delta": "tables__delta",
    "base_distances": "tables__base_distances",
    "base_exponents": "tables__base_exponents",
    "penalty": "program__penalty",
    "constraints": "program__constraints",
    "prior": "program__prior",
    "relative": "program__relative",
    "solver": "program__solver",
    "n_impostors": "triplets__n_impostors",
    "mu": "triplets__mu",
    "n_passes": "triplets__n_passes",
    "even": "triplets__base",
}
"""Where parameters of earlier versions are now, as `set_params` names them."""
