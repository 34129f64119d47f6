"""Requirements of a recipe beyond bounds, as inequalities of a program, and the check that the model fulfils them.

The triangle inequality needs every vertex of a table as a column: it ties the vertices that no pair touches to the others, so
that they cannot take the weights of the prior.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import Floats
from ..distances.semimetric import Semimetric
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.triangle_inequality import Triangles
from ..programs.inequalities import Inequalities
from ..programs.program import ConvexProgram
from ..programs.table_layout import TableLayout
from .recipe import Recipe
from .structure import Structure

__all__ = ["constrained", "inside", "metric_weights", "proved"]

_SCALES = (1.0, 4.0, 0.25, 16.0, 1 / 16, 64.0, 1 / 64)
_SHARED = ", the ceiling shared out among the groups as a weighted L1 distance has it"
_FEASIBLE = 1e-9  # of the largest bound


def constrained(
    recipe: Recipe, structure: Structure, program: ConvexProgram, unseen: Floats, unit: float = 1.0
) -> ConvexProgram:
    """The program with the inequalities of the recipe; ``unseen`` are weights of the tables, > 0 between different values.

    Raises
    ------
    InputError
        If no weights fulfil all inequalities, naming the constraints that are in the way.
    """
    if not recipe.asks_rows:
        return program
    embedding, n = structure.embedding, len(program.lower)
    power = 2 if recipe.link == "sqrt" else 1
    layout = TableLayout(embedding, structure.names, structure.directions, unseen, unit, power)
    triangles = Triangles.of(embedding) if recipe.asks_triangle else None
    triangles = None if triangles is None or not triangles.tables else triangles
    shapes = [(type(shape).__name__, _widened(shape.rows(layout), n)) for shape in recipe.constraints]
    known = np.append(inside(embedding, unseen), np.ones(n - len(unseen)))
    rows = sum((r for _, r in shapes[1:]), shapes[0][1]) if shapes else None
    known = _point(np.maximum(known, program.lower), program.lower, triangles, shapes)
    return replace(program, triangles=triangles, inequalities=rows, inside=known)


def _widened(rows: Inequalities, n: int) -> Inequalities:
    """Inequalities on the columns of the tables as inequalities on all n columns; the others have coefficients 0."""
    rows.matrix.resize((len(rows), n))
    return rows


def _point(known: Floats, lower: Floats, triangles: Triangles | None, shapes: Sequence[tuple[str, Inequalities]]) -> Floats:
    """Weights that fulfil all inequalities: ``known`` times a number if one of some numbers does, else by a linear program."""
    for scale in _SCALES:
        w = np.maximum(scale * known, lower)
        if all((rows.slack(w) >= 0).all() for _, rows in shapes):
            return w
    found = _by_linear_program(lower, triangles, shapes)
    if found is not None:
        return found
    names = [name for name, _ in shapes]
    rest = [[s for s in shapes if s is not dropped] for dropped in shapes]
    blamed = [name for name, other in zip(names, rest, strict=True) if _by_linear_program(lower, triangles, other) is not None]
    raise InputError(
        f"no weights keep {', '.join(names)}{' and the triangle inequality' if triangles else ''}"
        f"{' at once' if len(names) > 1 or triangles else ''}{_SHARED if 'Bounded' in blamed else ''}; loosen "
        f"{' or '.join(dict.fromkeys(blamed or names))}, or use more knots"
    )


def _by_linear_program(lower: Floats, triangles: Triangles | None, shapes: Sequence[tuple[str, Inequalities]]) -> Floats | None:
    """Weights that fulfil all inequalities with the most room, shape (n,); None if there are none."""
    rows = Inequalities.homogeneous(sparse.csr_array((0, len(lower))))
    for _, more in shapes:
        rows = rows + more
    if triangles is not None:
        rows = rows + _widened(Inequalities.homogeneous(triangles.rows()), len(lower))
    size = max(float(np.abs(rows.bound).max(initial=0.0)), 1e-300)
    G = sparse.hstack([-rows.matrix, sparse.csr_array(np.ones((len(rows), 1)))], format="csr")
    bounds = [(float(v) if np.isfinite(v) else None, None) for v in lower]
    found = linprog(
        np.append(np.zeros(len(lower)), -1.0), A_ub=G, b_ub=-rows.bound, bounds=[*bounds, (-size, size)], method="highs"
    )  # fmt: skip
    if found.x is None or found.x[-1] < -_FEASIBLE * size:
        return None
    return np.maximum(found.x[:-1], lower)


def inside(embedding: PairMap, prior: Floats) -> Floats:
    """Weights that fulfil every triangle inequality with room, shape (n_columns,): sqrt(prior) plus a constant, table by table.

    A concave increasing function of a metric is a metric, a constant between different points widens every triangle, and the
    root is strictly concave where the prior is straight.
    """
    owner = embedding.group_of_column
    largest = np.zeros(len(embedding.groups))
    np.maximum.at(largest, owner, prior)
    mean = float(prior.mean()) if len(prior) else 0.0
    return np.sqrt(prior * largest[owner]) + mean


def metric_weights(embedding: PairMap, w: Floats) -> Floats:
    """The weights, with shortest paths wherever a triangle is violated by more than rounding."""
    triangles = Triangles.of(embedding)
    return w if all(d.holds for d in triangles.worst(w)) else triangles.closed(w)


def proved(recipe: Recipe, d: Semimetric) -> Semimetric:
    """The model, if its axioms hold by proof where the recipe asks for the triangle inequality.

    Raises
    ------
    NotSupportedError
        If less is proved than the recipe asks for.
    """
    if recipe.asks_triangle and not (d.axioms.triangle and d.axioms.symmetric >= (recipe.axioms == "metric")):
        raise NotSupportedError(
            f"axioms={recipe.axioms!r} was asked, but what was learned is proved to be a {d.axioms.name} only; use "
            'axioms="semimetric", or other groups'
        )
    return d
