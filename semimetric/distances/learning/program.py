"""Bounds of the columns of a structure, and the numbers by which penalties measure them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._foundation.arrays import as_vector
from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.progress import announce
from ..._foundation.types import Floats
from ..model.semimetric import Semimetric
from ..pairs.base import PairMap
from ..pairs.triangle_inequality import Triangles
from ..programs.constraints import TableLayout
from ..programs.design_in_parts import PartDesign
from ..programs.design_matrix import Moments
from ..programs.inequalities import Inequalities, feasible_weights
from ..programs.penalties import PenaltyColumns, Quadratic, total
from ..programs.program import ConvexProgram
from ..solvers import auto
from ..solvers.base import Solution
from ..solvers.gram import Gram, solve_moments
from .options import Recipe
from .prior import L1Prior
from .structure import Structure

_NORM_ROUNDING = 1e-12  # of the largest norm: a column of less is touched by rounding, not by examples


@dataclass(frozen=True, eq=False)
class Terms:
    """Penalties and bounds on the columns of one structure."""

    columns: PenaltyColumns  # what penalties may ask of the columns
    # Shape (n,); lower bounds of the weights: of tables with raw features ``delta``, else 0; -inf with ``axioms=None``.
    lower: Floats
    delta: float  # the lower bound that makes the distance positive, in units of the mean target
    unseen: Floats  # shape (n_columns,); weights for columns of the tables that nothing determines

    def followed_by(self, n_extra: int) -> "Terms":
        """The same terms with ``n_extra`` columns more, at the end, which are >= 0 and are not penalised."""
        columns = replace(self.columns, n=len(self.columns.prior) + n_extra)
        return replace(self, columns=columns, lower=np.append(self.lower, np.zeros(n_extra)))

    def with_prior_where_undetermined(self, weights: Floats, penalty: Quadratic, norms: Callable[[], Floats]) -> Floats:
        """The weights, with ``unseen`` at columns of the tables that neither an example nor the penalty touches.

        ``weights``: shape (n,). ``norms``: gives any norm of every column, shape (n,); called only if the penalty leaves some
        columns alone.
        """
        n = len(self.unseen)
        unpenalized = (penalty.P.diagonal()[:n] == 0) & (penalty.q[:n] == 0)
        if not unpenalized.any():
            return weights
        size = norms()
        undetermined = unpenalized & (size[:n] <= _NORM_ROUNDING * size.max())
        return np.append(np.where(undetermined, self.unseen, weights[:n]), weights[n:])


def least_weight(recipe: Recipe, weights: Floats) -> float:
    """The ``delta`` of `Terms`, from the weights of the prior, shape (n_columns,); their mean is 1 / n_columns at least."""
    if recipe.axioms is None or not len(weights):
        return 0.0
    return recipe.delta * (float(weights.mean()) or 1.0 / len(weights))  # 0 where base distances explain all


def make_terms(recipe: Recipe, structure: Structure, prior: L1Prior) -> Terms:
    """The terms of a recipe on the columns of a structure, those of base distances last."""
    embedding, n_base = structure.embedding, len(structure.bases)
    weights = prior.weights(structure)
    delta = least_weight(recipe, weights)
    lower = np.where(structure.is_raw[embedding.group_of_column], delta, 0.0)
    if recipe.axioms is None:
        lower = np.full(len(weights), -np.inf)
    n_terms = len(embedding.groups) * embedding.n_sharing
    unseen = embedding.prior(prior.unseen_slopes(n_terms)) if prior.given is None else weights
    factors = recipe.joint.penalty_factors(structure.names)
    columns = columns_of(embedding, prior, n_base, nonnegative=recipe.axioms is not None, shares=factors)
    columns = replace(columns, prior=weights, given=prior.given is not None)
    return Terms(columns, np.append(lower, np.zeros(n_base)), delta, np.maximum(unseen, lower))


def columns_of(
    embedding: PairMap,
    prior: L1Prior,
    n_base: int = 0,
    *,
    nonnegative: bool = True,
    shares: Mapping[tuple[int, ...], float] | None = None,
) -> PenaltyColumns:
    """Describe for penalties the columns of an embedding, followed by ``n_base`` that are not penalised.

    Columns of the groups in ``shares`` count so many times as much as others.
    """
    weights = embedding.prior(prior.slopes)
    grid, owner, cells = embedding.grid, embedding.group_of_column, embedding.cells
    n_groups = max(len(np.unique(owner)), 1)
    even = 1.0 / (prior.spread * n_groups * embedding.n_sharing)
    unit = embedding.units(even)
    floor = 1e-6 * float(unit[unit > 0].mean()) if (unit > 0).any() else 1.0
    rise = np.array([sum(float(grid.widths[f] * even[f]) * grid.varies[f] for f in g) for g in embedding.groups])
    share = np.array([(shares or {}).get(g, 1.0) for g in embedding.groups]) / (n_groups * cells)
    return PenaltyColumns(
        n=len(weights) + n_base, prior=weights, unit=np.maximum(unit, floor), step=np.maximum((rise / cells)[owner], floor),
        share=share[owner], cells=cells[owner], differences=embedding.differences,
        nonnegative=nonnegative, group=owner,
    )  # fmt: skip


_SCALES = (1.0, 4.0, 0.25, 16.0, 1 / 16, 64.0, 1 / 64)
_SHARED = ", the ceiling shared out among the groups as a weighted L1 distance has it"
_ROUNDING = 1e-9  # a learned distance may miss a constraint by this fraction of the terms of a row: it is rounding


def constrained(
    recipe: Recipe, structure: Structure, program: ConvexProgram, unseen: Floats, unit: float = 1.0
) -> ConvexProgram:
    """The program with the inequalities of the recipe; ``unseen`` are weights of the tables, > 0 between different values."""
    if not recipe.needs_inequalities:
        return program
    embedding, n = structure.embedding, len(program.lower)
    layout = TableLayout(embedding, structure.names, structure.directions, unseen, unit, recipe.row_power)
    triangles = Triangles.of(embedding) if recipe.asks_triangle else None
    triangles = None if triangles is None or not triangles.binding else triangles
    shapes = [(type(shape).__name__, _widened(shape.rows(layout), n)) for shape in recipe.constraints]
    known = np.append(inside(embedding, unseen), np.ones(n - len(unseen)))
    size = np.append(_largest(embedding, unseen), np.ones(n - len(unseen)))
    rows = sum((r for _, r in shapes[1:]), shapes[0][1]) if shapes else None
    known = _point(np.maximum(known, program.lower), program.lower, size, triangles, shapes)
    return replace(program, triangles=triangles, inequalities=rows, inside=known)


def _widened(rows: Inequalities, n: int) -> Inequalities:
    """Inequalities on the columns of the tables as inequalities on all n columns; the others have coefficients 0."""
    rows.matrix.resize((len(rows), n))
    return rows


def _point(
    known: Floats, lower: Floats, size: Floats, triangles: Triangles | None, shapes: Sequence[tuple[str, Inequalities]]
) -> Floats:
    """Weights that fulfil all inequalities: ``known`` times a number if one of some numbers does, else by a linear program.

    ``size``, of shape (n,), is how large weights of each table are.
    """
    for scale in _SCALES:
        w = np.maximum(scale * known, lower)
        if all((rows.slack(w) >= 0).all() for _, rows in shapes):
            return w
    found = _kept_by_some(lower, size, triangles, shapes)
    if found is not None:
        return found
    names = [name for name, _ in shapes]
    rest = [[s for s in shapes if s is not dropped] for dropped in shapes]
    blamed = [name for name, other in zip(names, rest, strict=True) if _kept_by_some(lower, size, triangles, other) is not None]
    raise InputError(
        f"no weights keep {', '.join(names)}{' and the triangle inequality' if triangles else ''}"
        f"{' at once' if len(names) > 1 or triangles else ''}{_SHARED if 'Bounded' in blamed else ''}; loosen "
        f"{' or '.join(dict.fromkeys(blamed or names))}, or use more knots"
    )


def _kept_by_some(
    lower: Floats, size: Floats, triangles: Triangles | None, shapes: Sequence[tuple[str, Inequalities]]
) -> Floats | None:
    """Weights that fulfil all inequalities with the most room, shape (n,); None if there are none."""
    rows = Inequalities.homogeneous(sparse.csr_array((0, len(lower))))
    for _, more in shapes:
        rows = rows + more
    if triangles is not None:
        rows = rows + _widened(Inequalities.homogeneous(triangles.rows()), len(lower))
    return feasible_weights(rows, lower, size)


def inside(embedding: PairMap, prior: Floats) -> Floats:
    """Weights sqrt(prior) plus a constant, shape (n_columns,), which fulfil every triangle inequality with room.

    A concave increasing function of a metric is a metric, a constant between different points widens every triangle, and the
    root is strictly concave where the prior is straight.
    """
    mean = float(prior.mean()) if len(prior) else 0.0
    return np.sqrt(prior * _largest(embedding, prior)) + mean


def _largest(embedding: PairMap, w: Floats) -> Floats:
    """The largest of the weights in the table of each column, shape (n_columns,)."""
    owner = embedding.group_of_column
    largest = np.zeros(len(embedding.groups))
    np.maximum.at(largest, owner, w)
    return largest[owner]


def metric_weights(embedding: PairMap, w: Floats) -> Floats:
    """The weights with those of new categories, under the triangle inequality.

    Where means over the other categories would break it, they are over all categories, which keeps it. Shortest paths mend what
    a solver left, where that is more than rounding.
    """
    triangles = Triangles.of(embedding)

    def holds(v: Floats) -> bool:
        return all(d.holds for d in triangles.worst(v))

    if holds(filled := embedding.with_unseen(w)):
        return filled
    w = embedding.with_unseen(w, over_all=True)
    return w if holds(w) else embedding.with_unseen(triangles.closed(w), over_all=True)


def proved(recipe: Recipe, d: Semimetric) -> Semimetric:
    """The model, if all that the recipe asks for holds by proof: its axioms, and every row of every constraint.

    The rows are made anew from the tables as they are in the model, in the user's unit, whatever was done to them since.
    """
    if recipe.asks_triangle and not (d.axioms.triangle and d.axioms.symmetric >= (recipe.axioms == "metric")):
        raise NotSupportedError(
            f"axioms={recipe.axioms!r} was asked, but what was learned is proved to be a {d.axioms.name} only; use "
            'axioms="semimetric", or other groups'
        )
    layout = TableLayout(d.embedding, d.feature_names, d.directions, d.weights, 1.0, recipe.row_power)
    for constraint in recipe.constraints:
        rows = constraint.proof(layout)
        missed = rows.missed(d.weights)
        if (missed > _ROUNDING).any():
            table = _where(d, rows.take(missed == missed.max()))
            raise NotSupportedError(
                f"{type(constraint).__name__} was asked, but what was learned misses it in {np.count_nonzero(missed)} of "
                f"{len(rows)} inequalities, by up to {missed.max():.3g} of the distances that they compare, worst in the table "
                f"of {table}; loosen it, or rescale the distances"
            )
    return d


def _where(d: Semimetric, rows: Inequalities) -> str:
    return ", ".join(dict.fromkeys(d.terms[g] for g in d.embedding.group_of_column[rows.matrix.indices]))


MOST_HELD = 64 << 20  # bytes of a program that a fitted model holds


@dataclass(frozen=True, eq=False)
class BuiltProgram:
    """A program that was solved, and the distance that weights of it make."""

    program: ConvexProgram  # with all constraints
    assemble: Callable[[Floats], Semimetric]  # of weights of shape (n,) that fulfil the constraints

    def semimetric(self, weights: Floats) -> Semimetric:
        """Return the distance of weights of shape (n,) that a solver found, moved into the constraints by its tolerance.

        Weights that violate a bound or an inequality by more than a solver does are refused.
        """
        program, w = self.program, as_vector(weights, "weights")
        if len(w) != len(program.lower):
            raise InputError(f"weights have shape {w.shape}; one for each of {len(program.lower)} columns is required")
        allowed = _TOLERANCE * float(np.abs(w).max(initial=0.0))
        low = program.lower - w
        if (low > allowed).any():
            k = int(np.argmax(low))
            raise InputError(f"weight {k} is {w[k]:g}; at least {program.lower[k]:g} is required: keep the lower bounds")
        w = np.maximum(w, program.lower)
        rows = program.inequalities
        if rows is not None and (rows.slack(w) < -allowed * np.abs(rows.matrix).sum(axis=1)).any():
            raise InputError("the weights violate the inequalities of constraints=; keep these in the problem")
        return self.assemble(program.feasible(w))


def held(built: BuiltProgram) -> BuiltProgram | str:
    """Return what a fitted model holds: the program, or why it does not, as a message says it."""
    if isinstance(built.program.design, PartDesign):
        return "it was learned from parts, whose rows are not in this process; fit to data in memory"
    size = _bytes_of(built.program, set())
    if size > MOST_HELD:
        most = MOST_HELD / 1e6
        return f"its program takes {size / 1e6:,.0f} MB, and a model holds one of up to {most:,.0f} MB; fit to fewer rows"
    return built


def _bytes_of(value: Any, seen: set[int]) -> int:
    """Return the bytes of all arrays that an object of data classes leads to."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, (list, tuple, dict)):
        parts = value.values() if isinstance(value, dict) else value
        return sum(_bytes_of(part, seen) for part in parts)
    slots = [getattr(value, name, None) for name in getattr(type(value), "__slots__", ())]
    return sum(_bytes_of(part, seen) for part in [*getattr(value, "__dict__", {}).values(), *slots])


_TOLERANCE = 1e-4  # of the largest weight: by how much solvers violate bounds
_MANY_ROWS = 50_000  # triangle rows: rounds that add some of so many may take minutes


def solve(
    recipe: Recipe,
    structure: Structure,
    terms: Terms,
    program: ConvexProgram,
    *,
    norms: Callable[[], Floats],
    unit: float = 1.0,
    start: Floats | None = None,
    note: str = "",
) -> tuple[Solution, ConvexProgram]:
    """Solve a program under what the recipe asks for; the solution, and the program with all constraints.

    ``terms``: the terms that the program was made with. ``norms``: gives any norm of every column, shape (n,); called only
    where the penalty leaves columns alone. ``unit``: the unit of the distance in the program, in the user's unit, which is
    that of constraints. ``start``: shape (n,) or None; weights to begin from. ``note``: what the solution says of itself
    behind the reason for its solver.
    """
    program = constrained(recipe, structure, program, terms.unseen, unit)
    _announce_rows(program, recipe.verbose)
    solution, reason = auto.solve(recipe.solver, program, start=start, verbose=recipe.verbose)
    weights = determined(terms, program, solution.weights, norms)
    return replace(solution, weights=weights, solver=f"{solution.solver} ({reason}{note})"), program


def determined(terms: Terms, program: ConvexProgram, weights: Floats, norms: Callable[[], Floats]) -> Floats:
    """The weights, with those that nothing determines from the prior; rows decide of columns that no example touches too."""
    if program.triangles is None and program.inequalities is None:
        return terms.with_prior_where_undetermined(weights, program.penalty, norms)
    return weights


def _announce_rows(program: ConvexProgram, verbose: bool | None) -> None:
    """Say how many triangle rows there are, where they are so many that they may take minutes."""
    n_rows = 0 if program.triangles is None else program.triangles.n_rows
    if n_rows > _MANY_ROWS:
        announce(
            f"the triangle inequality asks for {n_rows:,} rows on {len(program.lower):,} weights, which may take minutes; "
            'fewer knots, smaller groups or no directions ask for fewer, tables="warped" for none, and '
            "Program(solver=CuttingPlane(max_rounds=)) and the max_iter of the solver in it are limits",
            verbose=verbose,
        )


SUMS = "it was learned from sums of second moments, which hold no rows; fit to pairs in memory at once"


class Learned(NamedTuple):
    """A distance that was learned, its solution, and the program, or why the model holds none."""

    semimetric: Semimetric
    solution: Solution
    built: BuiltProgram | str


def solve_second_moments(recipe: Recipe, structure: Structure, terms: Terms, moments: Moments) -> Solution:
    """`solve` by least squares, from second moments whose total weight is 1; nothing ties weights to one another."""
    penalty = total(recipe.penalties(structure.embedding), terms.columns)
    given = auto.resolve_solver(recipe.solver)
    solution = solve_moments(given if isinstance(given, Gram) else Gram(), moments, penalty, terms.lower)
    solution.warn_unless_solved()
    weights = terms.with_prior_where_undetermined(solution.weights, penalty, moments.norms)
    how = f"{solution.solver} (sums of second moments, {len(weights)} weights)"
    return replace(solution, weights=weights, solver=how)
