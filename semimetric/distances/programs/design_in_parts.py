"""The design matrix A of pairs that are read part by part: weights go out to the parts, sums of their products come back.

Arrays of one entry a pair (targets, dual weights) stay with the solver. A product with A sends n_columns numbers to every part
and gets one number a pair back; a product with Aᵀ sends one number a pair and gets n_columns back from every part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._foundation.errors import InputError
from ..._foundation.types import Floats
from ...data.parts.engine import Engine
from ...data.parts.row_parts import format_memory
from .design_matrix import Design, Moments


def check_room(engine: Engine, n: int, n_parts: int) -> None:
    """Refuse second moments of ``n`` weights if half of the limit cannot hold those of one part and the sums along the tree."""
    n_held = n_parts.bit_length() + 3
    taken = 8 * n * n * n_held
    if engine.limit is not None and taken > engine.limit // 2:
        raise InputError(
            f"second moments of {n} weights, {n_held} times, take {format_memory(taken)}; half of memory_limit, "
            f"{format_memory(engine.limit / 2)}, must hold them: raise it, use fewer knots or groups, or FirstOrder()"
        )


class PartRows(NamedTuple):
    """The rows of one part as a design matrix of shape (m_part, n), with targets and weights of shape (m_part,)."""

    design: Design
    target: Floats
    weight: Floats


def _matvec(rows: PartRows, w: Floats) -> Floats:
    return rows.design.matvec(w)


def _rmatvec(task: tuple[PartRows, Floats]) -> Floats:
    rows, r = task
    return rows.design.rmatvec(r)


def _moments(task: tuple[PartRows, Floats, Floats]) -> Moments:
    rows, y, weights = task
    return rows.design.moments(y, weights)


def _csr(rows: PartRows) -> sparse.csr_array:
    return rows.design.csr()


def _nonnegative(rows: PartRows) -> bool:
    return rows.design.nonnegative


def _absolute(rows: PartRows) -> PartRows:
    return rows._replace(design=rows.design.absolute)


@dataclass(frozen=True, eq=False)
class PartDesign(Design):
    """A of shape (m, n), its rows in parts of ``sizes`` rows."""

    engine: Engine
    parts: Sequence[Any]  # stand-ins for the `PartRows` of each part, as `Engine.kept` gives them
    sizes: tuple[int, ...]  # the number of rows of each part
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return sum(self.sizes), self.n_columns

    def _divided(self, *arrays: Floats) -> list[tuple[Any, ...]]:
        """Return each part with its entries of the arrays, which have one entry for each row of A."""
        entries = (np.split(a, np.cumsum(self.sizes)[:-1]) for a in arrays)
        return list(zip(self.parts, *entries, strict=True))

    def matvec(self, w: Floats) -> Floats:
        return np.concatenate(list(self.engine.each(_matvec, self.parts, w)))

    def rmatvec(self, r: Floats) -> Floats:
        return self.engine.total(_rmatvec, add, self._divided(r))

    def moments(self, y: Floats, weights: Floats) -> Moments:
        check_room(self.engine, self.n_columns, len(self.sizes))
        return self.engine.total(_moments, add, self._divided(y, weights))

    def csr(self) -> sparse.csr_array:
        return sparse.csr_array(sparse.vstack(list(self.engine.each(_csr, self.parts)), format="csr"))

    @cached_property
    def nonnegative(self) -> bool:
        return all(self.engine.each(_nonnegative, self.parts))

    @cached_property
    def absolute(self) -> Design:
        if self.nonnegative:
            return self
        return replace(self, parts=self.engine.persist(_absolute, self.parts))
