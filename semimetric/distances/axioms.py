"""What a distance guarantees, and the strongest name for it."""

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
    """What holds for every pair of points, by the weights and columns of the model.

    With base distances it holds if each base distance is itself a semimetric: symmetry and zeros on the diagonal are checked
    on a few pairs of the training, and not claimed if they fail there; the triangle inequality is never claimed.
    ``triangle=False`` means "not proved", not "violated": it is proved by the columns of monotone scales, and by a check of all
    grid points of every table, up to a rounding of 1e-12 of its largest weight; links that are concave, slopes outside the
    range and clipping keep it. Values are as a `Schema` encodes them: an angle is itself one turn
    on, all categories that were not in the fit are one, and so are all missing values.

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
    """

    nonnegative: bool
    zero_on_diagonal: bool
    symmetric: bool
    positive: bool
    triangle: bool
    continuous: bool

    @classmethod
    def of(
        cls, embedding: PairMap, weights: Floats, epsilon: Floats, n_raw: int, base_distances: Sequence[BaseDistance]
    ) -> Axioms:
        """What is guaranteed, from the columns and the signs of the weights; the first ``n_raw`` features are raw ones."""
        e, grid = embedding, embedding.grid
        outside = bool((((epsilon > 0) | ~grid.extends) & (grid.seams != 1))[:n_raw].all())  # a circle with one knot is a point
        covered = {f for group, holds in zip(e.groups, e.positive_groups(weights), strict=True) if holds for f in group}
        nonnegative = bool((weights >= 0).all() and (epsilon >= 0).all())
        return cls(
            nonnegative=nonnegative,
            zero_on_diagonal=e.zero_diagonal and all(base.zero_on_diagonal for base in base_distances),
            symmetric=e.symmetric and all(base.symmetric for base in base_distances),
            positive=nonnegative and outside and covered >= set(range(n_raw)),
            triangle=nonnegative and not base_distances and (e.metric or _on_the_grid(e, weights)),
            continuous=e.continuous,
        )

    @property
    def name(self) -> str:
        """The strongest name that all of these give.

        none: negative, or not 0 from a point to itself; premetric: not symmetric; quasimetric: not symmetric, with the
        triangle inequality; semimetric: symmetric; metric: both. Where different points can be at distance 0,
        pseudoquasimetric, pseudosemimetric and pseudometric stand for the last three, and "premetric, not positive" for the
        second.
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


def _on_the_grid(embedding: PairMap, weights: Floats) -> bool:
    """Whether every table obeys the triangle inequality on its grid points (docs/mathematics.md, section 2)."""
    try:
        triangles = Triangles.of(embedding)
    except NotSupportedError:
        return False
    return all(d.holds for d in triangles.worst(weights))
