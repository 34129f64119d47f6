"""Which two features act together: a score test of joint tables at a model without them.

With residuals r_i of the model, the score of a pair of features (f, g) is what its joint table could lower the loss by,

    sum_i s_i [ l(r_i) - l(r_i + b_i·v) ],     v = argmin_v  sum_i s_i l(r_i + b_i·v) + (ridge / 2) |v|²,

where b are the rows of the joint embedding of f and g on a coarse grid. The table v is fitted to half of the items and judged
on the other, both ways, so that chance and large tables gain nothing; and what v gains by f and g each alone is taken off.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy import sparse

from ..._foundation.errors import SemimetricWarning
from ..._foundation.types import Floats, Integers, Tuples
from ...data.grid import Grid
from ...data.splits import tuple_identities
from ...embeddings.pairs.full_tables import PairEmbedding
from ...programs.losses import Loss
from ..held_out import FittedModel
from ..recipe import Recipe
from ..structure import Structure, build_structure

__all__ = ["coarse_grid", "joint_columns", "paired_features", "scores"]

_COARSE = 4  # knots
_ROWS = 4_000
_RIDGE = 0.3  # of the mean curvature
_STEPS = 4  # of Newton's method, where the loss is a hinge


def coarse_grid(recipe: Recipe, structure: Structure, items: Floats, n_knots: int = _COARSE) -> Grid:
    """The grid of the raw features that pairs are scored on; that of the model, where knots are given."""
    if not isinstance(recipe.knots, str):
        return structure.embedding.grid.select(np.arange(structure.n_raw))
    plain = replace(recipe, groups="singles", directions=None, base_distances=(), n_knots=n_knots)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # the final fit warns of ties and constants once
        return build_structure(plain, items, structure.schema).embedding.grid


def joint_columns(grid: Grid, pair: Sequence[int], *, tied: bool) -> int:
    """Weights of the joint table of two features, its diagonal left out."""
    points = int(np.prod([int(grid.sizes[f]) - int(grid.seams[f] > 0) for f in pair]))
    return points * (points - 1) // (2 if tied else 1)


def paired_features(fitted: FittedModel, usable: Sequence[int], most: int) -> list[tuple[int, int]]:
    """All pairs of usable raw features, of as many of those with the largest shares of the distance as gives ``most``."""
    n = int((1 + np.sqrt(1 + 8 * most)) / 2)
    share = np.zeros(fitted.structure.embedding.grid.n_features)
    if len(usable) > n:
        embedding = fitted.structure.embedding
        spread = (fitted.design.absolute.rmatvec(fitted.part.weight) * np.abs(fitted.weights))[: embedding.n_columns]
        for group, part in zip(embedding.groups, np.bincount(embedding.group_of_column, spread), strict=False):
            share[list(group)] += part / len(group)
    order = sorted(usable, key=lambda f: -share[f])
    return list(combinations(sorted(order[:n]), 2))


def scores(fitted: FittedModel, recipe: Recipe, grid: Grid, pairs: Sequence[tuple[int, int]]) -> Floats:
    """What the joint table of each pair could lower the loss by, relative to the loss; shape (n_pairs,)."""
    rng = np.random.default_rng(recipe.random_state)
    part, n = fitted.part, len(fitted.part.weight)
    if n > _ROWS:
        fitted = replace(fitted, part=part.take(np.sort(rng.choice(n, _ROWS, replace=False))))
    loss = part.quick_loss
    r, weight = fitted.residuals, fitted.part.weight
    half = _halves(fitted.part.tuples, rng)
    total_loss = max(loss.value(r, weight), 1e-300)
    sides = [(half, ~half), (~half, half)]
    out = np.zeros(len(pairs))
    for k, pair in enumerate(pairs):
        joint, alone = (_rows(fitted, recipe, grid, pair, groups) for groups in ([(0, 1)], [(0,), (1,)]))
        out[k] = sum(
            _gain(joint, r, weight, loss, a, b) - max(_gain(alone, r, weight, loss, a, b), 0.0) for a, b in sides
        ) / total_loss  # fmt: skip
    return out


def _halves(tuples: Tuples, rng: np.random.Generator) -> Integers:
    """Whether each tuple is in the first half, shape (n_tuples,); tuples that begin with the same item are in the same half."""
    first = tuple_identities(tuples)[:, 0]
    return rng.permutation(int(first.max()) + 1)[first] % 2 == 0


def _rows(
    fitted: FittedModel, recipe: Recipe, grid: Grid, pair: tuple[int, int], groups: Sequence[tuple[int, ...]]
) -> sparse.csr_array:
    """Rows of groups among two features, of the pairs or comparisons that the model was fitted to."""
    features = np.array(pair)
    part = fitted.part.over(np.ascontiguousarray(fitted.part.tuples.items[:, features]))
    embedding = PairEmbedding(
        grid.select(features), groups, symmetry=recipe.symmetry_of_columns, zero_diagonal=recipe.axioms is not None
    )
    return part.design(replace(fitted.structure, directions=None), embedding, recipe.n_jobs).csr()


def _gain(B: sparse.csr_array, r: Floats, weight: Floats, loss: Loss, train: Integers, test: Integers) -> float:
    """How much v, fitted to the rows ``train`` by Newton's method, lowers the loss of the rows ``test``."""
    A, s, start = B[train], weight[train], r[train]
    v, last = np.zeros(B.shape[1]), start
    for _ in range(1 if loss.quadratic else _STEPS):
        curved = s * loss.curved(last)
        H = (A.T @ (A * curved[:, None])).toarray()
        ridge = _RIDGE * max(float(np.trace(H)) / len(v), 1e-300)
        H[np.diag_indices_from(H)] += ridge
        v = v - np.linalg.solve(H, A.T @ (s * loss.slope(last)) + ridge * v)
        last = start + A @ v
    return loss.value(r[test], weight[test]) - loss.value(r[test] + B[test] @ v, weight[test])
