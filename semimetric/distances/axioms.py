"""The axioms that a distance is proved to satisfy, and the strongest name that they give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._foundation.errors import NotSupportedError
from .._foundation.types import Floats
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.triangle_inequality import Triangles
from .base_distances import BaseDistance

__all__ = ["Axioms"]


@dataclass(frozen=True)
class Axioms:
    """The axioms that hold for every pair of points, by the weights and columns of the model.

    With base distances, they hold if each base distance is itself a semimetric. Symmetry and zeros on the diagonal are checked
    on a few pairs of the training set and not claimed if they fail there; the triangle inequality is never claimed then.

    ``triangle=False`` means "not proved", not "violated". The triangle inequality is proved by the columns of monotone scales,
    and by a check of all grid points of every table, up to a rounding of 1e-12 of its largest weight. Concave links, slopes
    outside the range and clipping preserve it.

    Points are equal if a `Schema` encodes them alike: an angle equals itself one turn on, all categories that were not in the
    fit are equal, and so are all missing values.

    Parameters
    ----------
    nonnegative : bool
        d(x, y) >= 0.
    zero_on_diagonal : bool
        d(x, x) = 0.
    symmetric : bool
        d(x, y) = d(y, x).
    positive : bool
        d(x, y) > 0 for different x and y.
    triangle : bool
        d(x, z) <= d(x, y) + d(y, z).
    continuous : bool
        d has no jumps.

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor
    >>> pairs = np.random.default_rng(0).random((200, 2, 2))
    >>> y = np.abs(pairs[:, 0] - pairs[:, 1]) @ [1.0, 3.0]
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3, tables="warped").fit(pairs, y)
    >>> axioms = model.semimetric_.axioms
    >>> axioms.triangle, axioms.symmetric, axioms.name
    (True, True, 'metric')
    """

    nonnegative: bool
    zero_on_diagonal: bool
    symmetric: bool
    positive: bool
    triangle: bool
    continuous: bool

    @classmethod
    def of(
        cls,
        embedding: PairMap,
        weights: Floats,
        epsilon: Floats,
        n_raw: int,
        base_distances: Sequence[BaseDistance],
        *,
        jumps: bool = False,
        concave: bool = True,
    ) -> Axioms:
        """The axioms that the columns and the signs of the weights guarantee; the first ``n_raw`` features are raw ones.

        With ``jumps`` the others are no continuous functions of the raw ones; ``concave`` says whether the link is.
        """
        grid = embedding.grid
        # a circle with one knot is a single point, so it cannot tell different values apart
        positive_outside = bool((((epsilon > 0).all(axis=1) | ~grid.extends) & (grid.seams != 1))[:n_raw].all())
        positive_groups = embedding.positive_groups(weights)
        covered = {f for group, holds in zip(embedding.groups, positive_groups, strict=True) if holds for f in group}
        nonnegative = bool((weights >= 0).all() and (epsilon >= 0).all())
        return cls(
            nonnegative=nonnegative,
            zero_on_diagonal=embedding.zero_diagonal and all(base.zero_on_diagonal for base in base_distances),
            symmetric=embedding.symmetric and all(base.symmetric for base in base_distances),
            positive=nonnegative and positive_outside and covered >= set(range(n_raw)),
            triangle=nonnegative
            and concave
            and not base_distances
            and (embedding.metric or _holds_on_grid(embedding, weights)),
            continuous=embedding.continuous and not jumps,
        )

    @property
    def name(self) -> str:
        """The strongest name of a distance with these axioms.

        A "metric" is symmetric and satisfies the triangle inequality; a "semimetric" is symmetric, a "quasimetric" satisfies
        the triangle inequality, and a "premetric" does neither. If different points can be at distance 0, these are called
        "pseudometric", "pseudosemimetric", "pseudoquasimetric" and "premetric, not positive". The name is "none" if a distance
        can be negative, or is not 0 from a point to itself.
        """
        if not (self.nonnegative and self.zero_on_diagonal):
            return "none"
        if not self.symmetric and self.triangle:
            return f"{'' if self.positive else 'pseudo'}quasimetric"
        if not self.symmetric:
            return "premetric" if self.positive else "premetric, not positive"
        return f"{'' if self.positive else 'pseudo'}{'metric' if self.triangle else 'semimetric'}"

    def __str__(self) -> str:
        held = [name.replace("_", " ") for name, holds in vars(self).items() if holds]
        return f"{self.name} ({', '.join(held)})" if held else "none"


def _holds_on_grid(embedding: PairMap, weights: Floats) -> bool:
    """Whether every table satisfies the triangle inequality on its grid points (docs/mathematics.md, section 2)."""
    try:
        triangles = Triangles.of(embedding)
    except NotSupportedError:
        return False
    return all(d.holds for d in triangles.worst(weights))
