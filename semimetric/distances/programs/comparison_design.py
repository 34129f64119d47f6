"""The design matrix of comparisons, A = A_near - A_far, for d_near + margin <= d_far (Weinberger & Saul 2009).

With targets y = -margin the residual A w - y is margin + d_near - d_far: it is > 0 where a comparison violates its margin. The
theory is in docs/mathematics.md, section 3.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from ..._foundation.errors import InputError
from ..._foundation.types import Comparisons, Floats, Integers
from ..features.linear_directions import Directions
from ..pairs.base import PairMap
from ..pairs.rows import PairRows
from .design_matrix import Design, PairDesign, RowsDesign


@dataclass(frozen=True, eq=False)
class ComparisonDesign(RowsDesign):
    """The rows A_near + sign A_far over the same items, made block by block as they are needed."""

    near: PairDesign  # the design matrices of m near pairs and of m far pairs, with the same embedding
    far: PairDesign
    sign: float = -1.0
    scale: Floats | None = None  # (m,) or None: the number that each row is multiplied by; None is 1

    def __post_init__(self) -> None:
        if self.near.shape != self.far.shape or self.near.scale is not None or self.far.scale is not None:
            raise InputError(
                f"near has shape {self.near.shape} and far {self.far.shape}; the same shape is required, and multipliers of "
                "rows of the difference only: give scale= here"
            )

    @classmethod
    def of(
        cls, embedding: PairMap, tuples: Comparisons, directions: Directions | None = None, n_jobs: int | None = None
    ) -> "ComparisonDesign":
        """Return the design matrix of triplets or quadruplets, whose items are located on the grid only once."""
        near = PairDesign(embedding, tuples.near, directions, n_jobs=n_jobs)
        return cls(near, near.like(tuples.far))

    @property
    def embedding(self) -> PairMap:  # type: ignore[override]  # the base declares an attribute; this one is read only
        """Embedding of the near pairs, and of the far ones."""
        return self.near.embedding

    @property
    def n_jobs(self) -> int | None:  # type: ignore[override]  # the base declares an attribute; this one is read only
        """Number of threads."""
        return self.near.n_jobs

    @cached_property
    def base(self) -> Floats | None:  # type: ignore[override]  # the base declares an attribute; this one is read only
        """Columns of base distances, or None."""
        if self.near.base is None or self.far.base is None:
            return None
        return self.near.base + self.sign * self.far.base

    def __len__(self) -> int:
        return len(self.near)

    def rows(self, block: slice | Integers) -> PairRows:
        return self.near.rows(block).minus(self.far.rows(block), self.sign)

    def take(self, rows: Integers) -> "ComparisonDesign":
        """Return the design matrix of some of the comparisons."""
        scale = None if self.scale is None else self.scale[rows]
        return replace(self, near=self.near.take(rows), far=self.far.take(rows), scale=scale)

    @property
    def nonnegative(self) -> bool:
        return self.sign >= 0 and self.near.nonnegative and self.far.nonnegative and self.scale is None

    @property
    def absolute(self) -> Design:
        """The rows |A_near| + |sign| |A_far|, which are no smaller than |A|."""
        scale = None if self.scale is None else abs(self.scale)
        return ComparisonDesign(self.near.absolute, self.far.absolute, abs(self.sign), scale)
