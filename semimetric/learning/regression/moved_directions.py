"""Directions that are moved to where a sum of few of them fits measured distances better.

    min_V  sum_p s_p (sum_k |v_k · (x_p - y_p)| - y_p)² / 2,      v_k of shape (n_features,)

from the directions that were screened, times their weights. For given signs of v_k · (x_p - y_p) this is least squares, in
which weights and directions move together; as signs change it is not convex. Steps are few (L-BFGS: Liu & Nocedal 1989); how
many, none at all included, is chosen on pairs that share no item with those fitted to. Whatever the directions, the sum is a
pseudometric, and the weights are learned anew by a convex program.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ..._foundation.threads import blocks
from ..._foundation.types import Floats
from .pair_targets import PairTargets
from .screening import Screened

__all__ = ["moved"]

_MOST_STEPS = 40
_PATIENCE = 6  # steps without a gain on held-out pairs, after which no further one is taken
_MEMORY = 8  # steps that L-BFGS remembers; its own tolerances, which are absolute, would end where the loss is small
_LEAST = 1e-10  # of the held-out loss, in units of the mean target: below, nothing but rounding is left to gain
_GAIN = 0.98  # of the held-out loss: moving must lower it to less, or nothing is moved
_MOST_NUMBERS = 1 << 26  # of differences of pairs, each of four bytes
_BLOCK = 4096

_Singles = NDArray[np.float32]


def moved(rows: Floats, data: PairTargets, screened: Screened) -> Floats | None:
    """The rows moved, shape (n_rows, n_features); None where moving gains nothing on held-out pairs, or none are held out.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The directions that were kept, in units in which their weights are those of ``screened``.
    data : PairTargets
        Pairs over raw features, which were screened.
    screened : Screened
    """
    if screened.split is None or data.tuples.items.shape[1] * len(data.targets) > _MOST_NUMBERS:
        return None
    train, held = screened.split
    of_all = _ItemDifferences(data)
    of_train, of_held = _ItemDifferences(data.take(train)), _ItemDifferences(data.take(held))
    path = _Path(of_held)
    if of_held.loss((rows * screened.trained[:, None]).astype(np.float32)) < _LEAST:
        return None
    of_train.stepped((rows * screened.trained[:, None]).astype(np.float32), _MOST_STEPS, path)
    if path.least > _GAIN * path.first:
        return None
    return of_all.stepped(path.best, path.n_best).astype(np.float64)  # which has more pairs, and so fits some more


class _Path:
    """The best of the points on the way, by held-out pairs; it ends where these have not gained for a while."""

    def __init__(self, held: "_ItemDifferences") -> None:
        self.held, self.n, self.n_best = held, 0, 0
        self.first = self.least = np.inf

    def begin(self, rows: _Singles) -> None:
        """Begin with the rows that nothing has moved."""
        self.best, self.first = rows, self.held.loss(rows)
        self.least = self.first

    def add(self, rows: _Singles) -> None:
        """Take one point more; StopIteration where the path is to end."""
        self.n += 1
        loss = self.held.loss(rows)
        if loss < self.least:
            self.best, self.least, self.n_best = rows, loss, self.n
        if self.n - self.n_best >= _PATIENCE:
            raise StopIteration


class _ItemDifferences:
    """The differences of pairs, with the targets; rows and targets are multiplied by the scale of their pair."""

    def __init__(self, data: PairTargets) -> None:
        pairs, scale = data.tuples, np.ones(len(data.targets)) if data.scale is None else data.scale
        self.values = np.empty((len(scale), pairs.items.shape[1]), np.float32)
        for block in blocks(len(scale), _BLOCK):
            self.values[block] = (pairs.items[pairs.left[block]] - pairs.items[pairs.right[block]]) * scale[block, None]
        self.target, self.weight = data.targets.astype(np.float32), data.weight.astype(np.float32)

    def loss(self, rows: _Singles) -> float:
        """The loss of the sum over these rows."""
        residual = np.abs(self.values @ rows.T).sum(axis=1) - self.target
        return float(self.weight @ (residual * residual)) / 2

    def stepped(self, rows: _Singles, n_steps: int, path: _Path | None = None) -> _Singles:
        """The rows after some steps; a path is told each of them."""
        if path is not None:
            path.begin(rows)

        def tell(flat: Floats) -> None:
            if path is not None:
                path.add(flat.reshape(rows.shape).astype(np.float32))

        found = minimize(
            self._loss_and_slopes, rows.ravel().astype(np.float64), args=(rows.shape,), jac=True, method="L-BFGS-B",
            callback=tell, options={"maxiter": n_steps, "maxcor": _MEMORY, "gtol": 0.0, "ftol": 0.0},
        )  # fmt: skip
        out: _Singles = found.x.reshape(rows.shape).astype(np.float32)
        return out

    def _loss_and_slopes(self, flat: Floats, shape: tuple[int, int]) -> tuple[float, Floats]:
        """The loss, and its gradient, flat: block by block, so that products of pairs and rows stay small."""
        rows = flat.reshape(shape).astype(np.float32)
        loss, slopes = 0.0, np.zeros(shape)
        for block in blocks(len(self.target), _BLOCK):
            values = self.values[block]
            along = values @ rows.T
            residual = np.abs(along).sum(axis=1) - self.target[block]
            weighted = self.weight[block] * residual
            loss += float(weighted @ residual) / 2
            slopes += (np.sign(along) * weighted[:, None]).T @ values
        return loss, slopes.ravel()
