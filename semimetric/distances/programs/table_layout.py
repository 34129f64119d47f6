"""The tables of a distance as a constraint needs them: which features it can be guaranteed for, and their columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError, NotSupportedError
from ..._foundation.types import Floats
from ..features.linear_directions import Directions
from ..pairs.base import PairMap
from ..pairs.triangle_inequality import Triangles

Features: TypeAlias = Sequence[int | str] | None


@dataclass(frozen=True, eq=False)
class TableLayout:
    """The columns of the design matrix as a constraint needs them."""

    embedding: PairMap
    names: tuple[str, ...]  # the names of the raw features
    directions: Directions | None
    prior: Floats  # (n_columns,): the weights of a weighted L1 distance that is > 0 between different values
    unit: float  # the unit of the program: sums of targets, squares for the link "sqrt", are divided by it
    power: float = 1  # the power of a distance that the sum is: 2 for the link "sqrt", 1 / p for the power p

    def scaled(self, distances: Floats, kind: str) -> Floats:
        """Return distances in the unit of the program; refuse those that overflow as those of a constraint ``kind``."""
        with np.errstate(over="ignore"):
            scaled = (distances / self.unit ** (1.0 / self.power)) ** self.power
        if not np.isfinite(scaled).all():
            raise InputError(
                f"{kind} has the distance {np.max(distances):g}, beyond floating point beside targets of mean size "
                f"{self.unit ** (1.0 / self.power):g}; give distances on the scale of the targets"
            )
        return scaled

    def numbers(self, features: Features, kind: str) -> list[int]:
        """Return the numbers of the given features, for each of which a constraint can be guaranteed: see `numeric`."""
        return numeric(self.embedding, self.names, self.directions, features, kind)

    def tables(self, feature: int) -> list[tuple[NDArray[np.int64], int]]:
        """Return the tables of the groups that contain the feature, each with the number of its group.

        A table holds the column of every vertex (a, b). Its first axis is the position of a along the feature, its second axis
        that of b; the positions along the other features of the group follow.
        """
        found = []
        triangles = Triangles.of(self.embedding)
        for owner, columns in zip(triangles.owners, triangles.tables, strict=True):
            group = self.embedding.groups[owner]
            if feature in group:
                sizes = [int(self.embedding.grid.sizes[f]) for f in group]
                axis = group.index(feature)
                table = np.moveaxis(columns.reshape(*sizes, *sizes), (axis, axis + len(group)), (0, 1))
                found.append((table, owner))
        return found


def numeric(
    embedding: PairMap, names: Sequence[str], directions: Directions | None, features: Features, kind: str
) -> list[int]:
    """Return the numbers of the given features for a constraint ``kind``; None stands for all that qualify.

    A feature qualifies if it is numeric, is never missing, and no direction uses it; others are refused.
    """
    grid, n = embedding.grid, len(names)
    used = np.zeros(n, dtype=bool) if directions is None else np.atleast_1d(directions.uses.any(axis=0))
    qualifies = [grid.kinds[f] == "numeric" and not grid.missing[f] and not used[f] for f in range(n)]
    if isinstance(features, str) or (features is not None and not isinstance(features, Iterable)):
        raise InputError(f"{kind} has features={features!r}; a list of names or numbers is required: write [{features!r}]")
    if features is None and not any(qualifies):
        raise NotSupportedError(
            f"{kind} would hold of no feature: it is guaranteed of numbers that are always there and that no direction uses, "
            'and there are none; use directions=None and missing="error", or leave it out'
        )
    if features is None:
        return [f for f in range(n) if qualifies[f]]
    chosen = []
    for feature in features:
        number = list(names).index(feature) if isinstance(feature, str) and feature in names else feature
        if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or not 0 <= number < n:
            raise InputError(f"{kind} names the feature {feature!r}; a name of a feature or a number below {n} is required")
        if not qualifies[number]:
            reason = "a direction uses it" if used[number] else f"it is {grid.kinds[number]}"
            reason = "missing values have a level in its table" if grid.missing[number] else reason
            raise NotSupportedError(
                f"{kind} cannot be guaranteed of feature {names[number]!r}: {reason}; leave the feature out, or use "
                'directions=None and missing="error"'
            )
        chosen.append(int(number))
    return chosen
