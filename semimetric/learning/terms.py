"""Bounds of the columns of a structure, and the numbers by which penalties measure them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .._foundation.types import Floats
from ..embeddings.pairs.base import PairMap
from ..programs.penalties import Columns
from ..programs.quadratics import Quadratic
from .prior import L1Prior
from .recipe import Recipe
from .structure import Structure

__all__ = ["Terms", "columns_of", "least_weight", "make_terms"]

_ROUNDING = 1e-12  # of the largest norm: a column of less is touched by rounding, not by examples


@dataclass(frozen=True, eq=False)
class Terms:
    """Penalties and bounds on the columns of one structure.

    Parameters
    ----------
    columns : Columns
        What penalties may ask of the columns.
    lower : ndarray of shape (n,)
        Lower bounds of the weights: of tables with raw features ``delta``, else 0; -inf with ``axioms=None``.
    delta : float
        The lower bound that makes the distance positive, in units of the mean target.
    unseen : ndarray of shape (n_columns,)
        Weights for columns of the tables that nothing determines.
    """

    columns: Columns
    lower: Floats
    delta: float
    unseen: Floats

    def followed_by(self, n_extra: int) -> "Terms":
        """The same terms with ``n_extra`` columns more, at the end, which are >= 0 and are not penalised."""
        columns = replace(self.columns, n=len(self.columns.prior) + n_extra)
        return replace(self, columns=columns, lower=np.append(self.lower, np.zeros(n_extra)))

    def with_prior_where_undetermined(self, weights: Floats, penalty: Quadratic, norms: Callable[[], Floats]) -> Floats:
        """The weights, with ``unseen`` at columns of the tables that neither an example nor the penalty touches.

        Parameters
        ----------
        weights : ndarray of shape (n,)
        penalty : Quadratic
        norms : callable
            Gives any norm of every column, shape (n,); called only if the penalty leaves some columns alone.
        """
        n = len(self.unseen)
        unpenalized = (penalty.P.diagonal()[:n] == 0) & (penalty.q[:n] == 0)
        if not unpenalized.any():
            return weights
        size = norms()
        undetermined = unpenalized & (size[:n] <= _ROUNDING * size.max())
        return np.append(np.where(undetermined, self.unseen, weights[:n]), weights[n:])


def least_weight(recipe: Recipe, weights: Floats) -> float:
    """The ``delta`` of `Terms`, from the weights of the prior, shape (n_columns,)."""
    return recipe.delta * float(weights.mean()) if recipe.axioms is not None and len(weights) else 0.0


def make_terms(recipe: Recipe, structure: Structure, prior: L1Prior) -> Terms:
    """The terms of a recipe on the columns of a structure, those of base distances last."""
    embedding, n_base = structure.embedding, len(structure.bases)
    weights = prior.weights(structure)
    delta = least_weight(recipe, weights)
    lower = np.where(structure.is_raw[embedding.group_of_column], delta, 0.0)
    if recipe.axioms is None:
        lower = np.full(len(weights), -np.inf)
    unseen = embedding.prior(prior.unseen_slopes(len(embedding.groups))) if prior.given is None else weights
    shares = recipe.joint.shares(structure.names)
    columns = columns_of(embedding, prior, n_base, nonnegative=recipe.axioms is not None, shares=shares)
    columns = replace(columns, prior=weights, given=prior.given is not None)
    return Terms(columns, np.append(lower, np.zeros(n_base)), delta, np.maximum(unseen, lower))


def columns_of(
    embedding: PairMap,
    prior: L1Prior,
    n_base: int = 0,
    *,
    nonnegative: bool = True,
    shares: Mapping[tuple[int, ...], float] | None = None,
) -> Columns:
    """What penalties may ask of the columns of an embedding, followed by ``n_base`` that are not penalised.

    Columns of the groups in ``shares`` count so many times as much as others.
    """
    weights = embedding.prior(prior.slopes)
    grid, owner, cells = embedding.grid, embedding.group_of_column, embedding.cells
    n_groups = max(len(np.unique(owner)), 1)
    even = 1.0 / (prior.spread * n_groups)
    unit = embedding.prior(even)
    floor = 1e-6 * float(unit[unit > 0].mean()) if (unit > 0).any() else 1.0
    rise = np.array([sum(float(grid.widths[f] * even[f]) * grid.varies[f] for f in g) for g in embedding.groups])
    share = np.array([(shares or {}).get(g, 1.0) for g in embedding.groups]) / (n_groups * cells)
    return Columns(
        n=len(weights) + n_base, prior=weights, unit=np.maximum(unit, floor), step=np.maximum((rise / cells)[owner], floor),
        share=share[owner], cells=cells[owner], differences=embedding.differences,
        nonnegative=nonnegative,
    )  # fmt: skip
