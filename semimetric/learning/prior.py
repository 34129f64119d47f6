"""The prior: the weighted L1 distance (with categories, periodic or missing values Gower's) that the examples ask for.

Penalties shrink towards it, and columns that no example determines take its weights. Everything is in units of the mean
target, or of the margin, until `assembly` puts the distance into the user's unit.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._foundation.types import Floats, Pairs
from ..distances.semimetric import Semimetric
from ..embeddings.pairs.base import PairMap
from ..programs.design_matrix import PairDesign
from ..programs.moments import Moments
from ..programs.quadratics import Quadratic
from ..solvers.base import Solution
from ..solvers.gram import Gram, solve_moments
from .given_prior import given_weights
from .structure import Structure

__all__ = ["L1Prior", "fit_l1_prior", "least_squares", "spread_from_moments", "spread_of_pairs"]

_LEAST_SPREAD = 0.25  # of the typical spread: a feature that hardly ever differs must not get a steep slope for it
_LEAST_SLOPE = 1e-3  # of the slope of an even distance: a vertex that no example touches never gets the weight 0


@dataclass(frozen=True, eq=False)
class L1Prior:
    """A weighted L1 distance, one entry for every feature of the grid.

    Parameters
    ----------
    slopes : ndarray of shape (n_features,)
        The weight of each feature: distance per unit of the feature.
    spread : ndarray of shape (n_features,)
        The root mean square difference of each feature in a pair, in the unit of the feature.
    given : Semimetric or None
        A distance that takes its place, see `given_prior`.
    multiple : float
        How many times the given distance is taken.
    """

    slopes: Floats
    spread: Floats
    given: Semimetric | None = None
    multiple: float = 1.0

    def weights(self, structure: Structure) -> Floats:
        """The weights of the prior on the columns of a structure, shape (n_columns,)."""
        if self.given is None:
            return structure.embedding.prior(self.slopes)
        return self.multiple * given_weights(self.given, structure.embedding, structure.schema)

    def unseen_slopes(self, n_groups: int) -> Floats:
        """Slopes for vertices that no example touches: those of the prior, and never 0."""
        return np.maximum(self.slopes, _LEAST_SLOPE / (self.spread * n_groups))


def least_squares(moments: Moments, penalty: Quadratic, lower: Floats, start: Floats | None = None) -> Solution:
    """Solve a least-squares problem from its second moments, of any total weight; Ctrl-C raises KeyboardInterrupt."""
    return solve_moments(Gram(), moments.mean, penalty, lower, start).raise_if_interrupted()


def fit_l1_prior(structure: Structure, moments: Moments) -> L1Prior:
    """Fit the weighted L1 distance to the targets by least squares.

    Features are brought to equal spread, and a ridge of 1 % of the mean curvature pulls them to the best common scale, so
    that features that the pairs cannot tell apart share the distance.

    Parameters
    ----------
    structure : Structure
    moments : Moments
        Second moments of the columns of `l1_embedding`, followed by those of the base distances.
    """
    grid, n_base = structure.embedding.grid, len(structure.bases)
    n, total = len(moments.cross), moments.total
    varies, width = grid.varies, grid.widths
    rms = _floored(np.sqrt(np.diag(moments.gram) / total))
    gram, cross = moments.gram / np.outer(rms, rms), moments.cross / rms
    common = np.append(np.ones(n - n_base), np.zeros(n_base))
    level = max(float(common @ cross), 0.0) / max(float(common @ gram @ common), 1e-300)
    pull = np.append(np.full(n - n_base, 1e-2 * float(np.trace(gram)) / total / n), np.full(n_base, 1e-12))
    penalty = Quadratic(sparse.csr_array(sparse.diags_array(pull)), pull * level * common)
    rise = least_squares(Moments(gram, cross, moments.square, total), penalty, np.zeros(n)).weights / rms
    slopes, spread = np.zeros(grid.n_features), np.ones(grid.n_features)
    slopes[varies] = rise[: n - n_base] / width[varies]
    spread[varies] = rms[: n - n_base] * width[varies]
    return L1Prior(slopes, spread)


def spread_of_pairs(
    structure: Structure, embedding: PairMap, pairs: Pairs, weight: Floats, n_jobs: int | None, *, least: float = _LEAST_SPREAD
) -> Floats:
    """The root mean square difference of every feature in a pair, shape (n_features,).

    Parameters
    ----------
    structure : Structure
    embedding : PairMap
        The `l1_embedding` of the structure.
    pairs : Pairs
    weight : ndarray of shape (n_pairs,)
        Weights of the pairs, which sum to 1.
    n_jobs : int or None
    least : float
        The smallest spread that a feature can have, as a share of the typical one; a constant feature has the spread 1.
    """
    design = PairDesign(embedding, pairs, structure.directions, n_jobs=n_jobs)
    return spread_from_moments(structure, design.moments(np.zeros(len(weight)), weight), least)


def spread_from_moments(structure: Structure, moments: Moments, least: float = _LEAST_SPREAD) -> Floats:
    """`spread_of_pairs` from the second moments of the columns of `l1_embedding`, whose total weight is 1."""
    grid = structure.embedding.grid
    spread = np.ones(grid.n_features)
    spread[grid.varies] = _floored(moments.norms(), least) * grid.widths[grid.varies]
    return spread


def _floored(rms: Floats, least: float = _LEAST_SPREAD) -> Floats:
    """Spreads of at least ``least`` times the typical one, so that no slope is steep; the typical one where no pair differs."""
    typical = float(np.median(rms[rms > 0])) if (rms > 0).any() else 1.0
    return np.where(rms > 0, np.maximum(rms, least * typical), typical)
