"""A first guess of how many planes there are: many small groups of boundary points, merged while that is more probable.

Chains that start at random rarely find planes that are thin, because a candidate for a new component is drawn from a vague
prior. Merging finds them from below: of all pairs of groups the one is merged that raises

    log p(points, planes | labels) + log p(labels)

most, every group with the plane of highest posterior, until no pair raises it. This is Ward's scheme of agglomeration with the
joint density of the mixture in the place of the sum of squares.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from ..._foundation.types import Integers
from ..._kernels.mixture import Points, Prior
from .mixture_em import fine_labels, planes_of_labels

_M_STEPS = 1  # of the plane of a pair of groups


def merged_labels(
    points: Points, prior: Prior, alpha: float, n_start: int, random_state: int, *, n_components: int | None = None
) -> Integers:
    """Return the component of every point, shape (m,), from ``n_start`` groups merged to ``n_components`` or a maximum."""
    groups = _Groups(points, prior, alpha, fine_labels(points, n_start, random_state))
    while len(groups.alive) > (n_components or 1):
        pair = max(groups.gains, key=lambda p: groups.gains[p])
        if n_components is None and groups.gains[pair] <= 0:
            break
        groups.merge(*pair)
    labels = np.empty(len(points.x), np.int64)
    for k, group in enumerate(sorted(groups.alive)):
        labels[groups.rows[group]] = k
    return labels


class _Groups:
    """Groups of points, their log joint densities, and what merging each pair of those alive would gain."""

    def __init__(self, points: Points, prior: Prior, alpha: float, labels: Integers) -> None:
        self.points = points
        self.prior = prior
        self.log_alpha = float(np.log(alpha))
        self.rows = [np.flatnonzero(labels == k) for k in np.unique(labels)]
        self.scores = [self._score(rows) for rows in self.rows]
        self.alive = set(range(len(self.rows)))
        self.gains = {(a, b): self._gain(a, b) for b in self.alive for a in range(b)}

    def merge(self, a: int, b: int) -> None:
        """Put the groups a and b together, as a new one."""
        new = len(self.rows)
        self.rows.append(np.concatenate([self.rows[a], self.rows[b]]))
        self.scores.append(self.scores[a] + self.scores[b] + self.gains[a, b])
        self.alive -= {a, b}
        self.gains = {pair: gain for pair, gain in self.gains.items() if not {a, b} & set(pair)}
        self.gains |= {(other, new): self._gain(other, new) for other in self.alive}
        self.alive.add(new)

    def _gain(self, a: int, b: int) -> float:
        return self._score(np.concatenate([self.rows[a], self.rows[b]])) - self.scores[a] - self.scores[b]

    def _score(self, rows: Integers) -> float:
        """Return the log joint density of the points in these rows as one component, with its plane of highest posterior."""
        points = Points(self.points.x[rows], self.points.v[rows], self.points.weight[rows])
        plane = planes_of_labels(points, np.zeros(len(rows), np.int64), 1, self.prior, n_steps=_M_STEPS)
        of_points = points.weight @ plane.log_density(points)[:, 0] + plane.log_prior(self.prior)[0]
        return float(of_points + self.log_alpha + gammaln(points.weight.sum()))
