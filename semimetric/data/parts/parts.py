"""Data in parts, of which memory is one part."""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .engine import Engine, SerialEngine

P = TypeVar("P")
Q = TypeVar("Q")


@dataclass(frozen=True, eq=False)
class Parts(Generic[P]):
    """Parts that are read where they are in work, or one block that is in memory."""

    engine: Engine
    parts: Sequence[Any]  # what ``read`` takes; the block itself if it is in memory
    read: Callable[..., P]  # gives a block for a part and ``shared``
    shared: tuple[Any, ...] = ()

    @classmethod
    def of(cls, block: P) -> "Parts[P]":
        """The parts of data in memory: one block."""
        return cls(SerialEngine(), [block], _itself)

    @property
    def in_memory(self) -> P | None:
        """The block if it is in memory, else None."""
        return self.parts[0] if self.read is _itself else None

    def map(self, function: Callable[..., Q], *arguments: Any) -> "Parts[Q]":
        """Parts whose blocks are ``function(block, *arguments)``, which is called at once for a block in memory."""
        if self.in_memory is not None:
            return Parts.of(function(self.in_memory, *arguments))
        return Parts(self.engine, self.parts, _applied, (self.read, self.shared, function, arguments))

    def each(self, function: Callable[..., Q], *arguments: Any) -> Iterator[Q]:
        """Return ``function(block, *arguments)`` for every part, in order."""
        return self.engine.each(_applied, self.parts, self.read, self.shared, function, arguments)

    def total(self, function: Callable[..., Q], *arguments: Any, add: Callable[[Q, Q], Q] = operator.add) -> Q:
        """Return the sum of ``function(block, *arguments)`` along the tree of `tree_sum`; of one part it is that value."""
        return self.engine.total(_applied, add, self.parts, self.read, self.shared, function, arguments)

    def persist(self, function: Callable[..., Any], *arguments: Any) -> Sequence[Any]:
        """Stand-ins for ``function(block, *arguments)`` of every part, see `Engine.persist`."""
        return self.engine.persist(_applied, self.parts, self.read, self.shared, function, arguments)


def _itself(block: P) -> P:
    return block


def _applied(
    part: Any, read: Callable[..., Any], shared: tuple[Any, ...], function: Callable[..., Q], arguments: tuple[Any, ...]
) -> Q:
    return function(read(part, *shared), *arguments)
