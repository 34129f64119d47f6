"""Weights that keep linear inequalities with the most room, by linear programs refined until only rounding is left.

    max t   over  w >= lower,  G w - h >= t r,  t <= 1,      r the size of each row

Linear programming keeps its rows to about 1e-7 of the numbers that it sees, and bounds may lie many powers of ten apart. So the
columns are measured in units of their own and every row is divided by its largest number. What is still violated is corrected
by the same program around the last solution, magnified until the violation is as large as 1.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from ..._foundation.errors import NotSupportedError
from ..._foundation.types import Floats
from .inequalities import Inequalities

_REFINEMENTS = 6
_KEPT = 1e-12  # a violation of this share of a row's terms needs no refinement
_FEASIBLE = 1e-9  # a violation of this share of a row's terms, which is left after all refinements, is rounding
_LACKING = 1e-5  # room below this is lacking for certain: linear programming is 100 times as accurate
_FAR = 1e6  # a row with more slack than this, in the unit of a refinement, cannot bind


def feasible_weights(rows: Inequalities, lower: Floats, unit: Floats) -> Floats | None:
    """Return weights (n,) that satisfy every row; None if there are none. ``unit`` (n,) is their typical size, > 0."""
    G = sparse.csr_array(rows.matrix @ sparse.diags_array(unit))
    if not G.nnz and not rows.bound.any():
        return np.where(np.isfinite(lower), lower, 0.0)
    largest = max(float(np.abs(rows.bound).max()) / max(float(np.abs(G.data).max(initial=0.0)), 1e-300), 1.0)
    unit, G = largest * unit, largest * G
    size = np.maximum(abs(G).max(axis=1).toarray().ravel(), np.abs(rows.bound))
    size[size == 0] = 1.0
    scaled = Inequalities(sparse.csr_array(sparse.diags_array(1.0 / size) @ G), rows.bound / size)
    least, finite = lower / unit, np.isfinite(lower)
    x, magnified = np.where(finite, least, 0.0), 1.0
    for _ in range(_REFINEMENTS):
        slack = np.clip(scaled.slack(x) * magnified, -_FAR, _FAR)
        step, room = _step(scaled.matrix, slack, (least - x) * magnified)
        if room < -_LACKING:  # what is missing, 1 in this unit, is no rounding
            return None
        x = x + step / magnified
        x = np.where(finite, np.maximum(x, least), x)
        missed = float(scaled.missed(x).max(initial=0.0))
        if missed <= _KEPT:
            break
        magnified = 1.0 / max(scaled.excess(x), 1e-300)
    return x * unit if missed <= _FEASIBLE else None


def _step(G: sparse.csr_array, slack: Floats, least: Floats) -> tuple[Floats, float]:
    """Return the step that gives the rows the most room, no entry below ``least``, and that room.

    Interior points are used: with 18,000 triangle inequalities they took 0.2 s, and the simplex method 5 s.
    """
    k, n = G.shape
    room = sparse.hstack([-G, sparse.csr_array(np.ones((k, 1)))], format="csr")
    bounds = [(float(v) if np.isfinite(v) else None, None) for v in least]
    found = linprog(np.append(np.zeros(n), -1.0), A_ub=room, b_ub=slack, bounds=[*bounds, (None, 1.0)], method="highs-ipm")
    if found.x is None:
        raise NotSupportedError(f"no weights that keep the constraints could be looked for: {found.message}; loosen them")
    return found.x[:n], float(found.x[n])
