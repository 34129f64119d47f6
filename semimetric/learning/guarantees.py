"""Requirements of a recipe beyond bounds, as inequalities of a program, and the check that the model fulfils them.

The triangle inequality needs every vertex of a table as a column: it ties the vertices that no pair touches to the others, so
that they cannot take the weights of the prior.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import Floats
from ..distances.semimetric import Semimetric
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.triangle_inequality import Triangles
from ..programs.feasible_weights import feasible_weights
from ..programs.inequalities import Inequalities
from ..programs.program import ConvexProgram
from ..programs.table_layout import TableLayout
from .recipe import Recipe
from .structure import Structure

__all__ = ["constrained", "inside", "metric_weights", "proved"]

_SCALES = (1.0, 4.0, 0.25, 16.0, 1 / 16, 64.0, 1 / 64)
_SHARED = ", the ceiling shared out among the groups as a weighted L1 distance has it"
_ROUNDING = 1e-9  # a learned distance may miss a constraint by this share of the terms of a row: it is rounding


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
    """Weights that fulfil every triangle inequality with room, shape (n_columns,): sqrt(prior) plus a constant, table by table.

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
    """The terms of the distance that rows are about."""
    return ", ".join(dict.fromkeys(d.terms[g] for g in d.embedding.group_of_column[rows.matrix.indices]))
