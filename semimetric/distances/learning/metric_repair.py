"""A metric from a learned distance that is none: the largest below it, or the nearest (docs/mathematics.md, section 2)."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.types import Floats
from ..._foundation.validation import check_choice
from ..model.semimetric import Semimetric
from ..pairs.triangle_inequality import Triangles
from ..programs.design_matrix import MatrixDesign
from ..programs.losses import Squared
from ..programs.penalties import PenaltyColumns
from ..programs.program import ConvexProgram
from ..solvers.cutting_plane import CuttingPlane
from .program import inside


def metric_repair(model: Semimetric, method: str = "closure") -> Semimetric:
    """The model with tables that obey the triangle inequality; a quasimetric if it is not symmetric.

    "closure": every table replaced by its shortest paths, the largest table below it that does; weights only fall, the least
    bound and ceilings stay. "nearest": the weights that are nearest in least squares and no smaller than the smallest now,
    ``min sum_j (w'_j - w_j)²`` (metric nearness: Brickell, Dhillon, Sra & Tropp 2008), by a program with a certified gap.
    Tables are repaired one by one: where groups share features, their sum may have obeyed the inequality before.

    Parameters
    ----------
    model : Semimetric
    method : {"closure", "nearest"}, default "closure"

    Raises
    ------
    InputError
        If model is no `Semimetric`.
    NotSupportedError
        If tables are not whole, jump (the swap), or base distances are in the sum.

    Examples
    --------
    >>> from semimetric import Grid, PairEmbedding
    >>> d = Semimetric(PairEmbedding(Grid([[0.0, 1.0, 2.0]])), np.array([1.0, 4.0, 1.0]), np.ones(1), ("x",))
    >>> d.axioms.name, d([0.0], [2.0])
    ('semimetric', 4.0)
    >>> metric = metric_repair(d)
    >>> metric.axioms.name, metric([0.0], [2.0])
    ('metric', 2.0)
    >>> round(metric_repair(d, method="nearest")([0.0], [2.0]), 6)
    3.333333
    """
    check_choice("method", method, ("closure", "nearest"))
    if not isinstance(model, Semimetric):
        raise InputError(f"metric_repair was given a {type(model).__name__}; a Semimetric is required: give model.semimetric_")
    if not all(base.metric for base in model.base_distances):
        raise NotSupportedError(
            "the triangle inequality cannot be claimed with base distances of which it is not known; learn without them, or "
            "with divergences that are metrics"
        )
    if not model.axioms.nonnegative:
        raise NotSupportedError('weights below 0 have no shortest paths; learn with axioms="semimetric" or stronger')
    triangles = Triangles.of(model.embedding)
    closed = triangles.closed(model.weights)
    if method == "closure" or np.array_equal(closed, model.weights):
        return replace(model, weights=closed)
    return replace(model, weights=_nearest(model, triangles))


def _nearest(model: Semimetric, triangles: Triangles) -> Floats:
    """The weights of the nearest metric in least squares, shape (n_columns,)."""
    w, n = model.weights, len(model.weights)
    size, ones = max(float(w.mean()), 1e-300), np.ones(n)
    columns = PenaltyColumns(n, ones, ones, ones, ones, ones, differences=lambda kind: sparse.csr_array((0, n)))
    known = inside(model.embedding, np.maximum(triangles.closed(w), float(w.min())) / size)
    program = ConvexProgram(
        MatrixDesign(sparse.csr_array(sparse.identity(n, format="csr"))), w / size, ones / n, Squared(), (), columns,
        np.full(n, float(w.min()) / size), triangles=triangles, inside=known,
    )  # fmt: skip
    return size * CuttingPlane().solve(program).raise_if_interrupted().weights
