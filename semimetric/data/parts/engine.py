"""Where work over parts is done, and in which order its results add up.

    ((0 + 1) + (2 + 3)) + 4

The tree depends on the number of parts alone: whoever adds them up, the same parts give the same bits.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

__all__ = ["Engine", "SerialEngine", "tree_sum"]

T = TypeVar("T")


def tree_sum(values: Iterable[T], add: Callable[[T, T], T]) -> T:
    """All values added along the tree as they come: of n values at most log2(n) + 1 sums are held at a time.

    Examples
    --------
    >>> tree_sum("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    held: list[tuple[int, T]] = []
    for value in values:
        level = 0
        while held and held[-1][0] == level:
            value, level = add(held.pop()[1], value), level + 1
        held.append((level, value))
    total = held.pop()[1]
    while held:
        total = add(held.pop()[1], total)
    return total


class Engine(ABC):
    """Calls of one function for many parts; what they ``share`` is handed to every call.

    Attributes
    ----------
    limit : int or None
        Bytes that blocks and sums may take together, if they have one memory.
    """

    limit: int | None = None

    @abstractmethod
    def each(self, function: Callable[..., T], parts: Sequence[Any], *share: Any) -> Iterator[T]:
        """``function(part, *share)`` of every part, in their order."""

    def each_near(self, function: Callable[..., T], parts: Sequence[Any], near: Sequence[int], *share: Any) -> Iterator[T]:
        """`each` of tuples; those of equal first members and numbers in ``near`` go where one was: its files are open."""
        return self.each(function, parts, *share)

    @property
    def width(self) -> int:
        """How many calls run at a time."""
        return 1

    @abstractmethod
    def total(self, function: Callable[..., T], add: Callable[[T, T], T], parts: Sequence[Any], *share: Any) -> T:
        """`tree_sum` of ``function(part, *share)``."""

    @abstractmethod
    def kept(self, function: Callable[..., Any], parts: Sequence[Any], *share: Any) -> Sequence[Any]:
        """Parts that stand for ``function(part, *share)``: kept where the engine has room for all, else made again."""

    def stored(self, function: Callable[..., Any], parts: Sequence[Any], *share: Any) -> Sequence[Any]:
        """`kept`, but never made again while the engine is whole: for what takes long to make and little to hold."""
        return self.kept(function, parts, *share)

    @abstractmethod
    def everywhere(self, function: Callable[..., Any], *args: Any) -> None:
        """One call in every process that works on parts, as far as these are there."""


class SerialEngine(Engine):
    """In the calling process, one part after the other, within ``limit`` bytes."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit

    def each(self, function: Callable[..., T], parts: Sequence[Any], *share: Any) -> Iterator[T]:
        """One call at a time, when its result is asked for."""
        return (function(evaluated(part), *share) for part in parts)

    def total(self, function: Callable[..., T], add: Callable[[T, T], T], parts: Sequence[Any], *share: Any) -> T:
        """Sums of few parts at a time."""
        return tree_sum(self.each(function, parts, *share), add)

    def kept(self, function: Callable[..., Any], parts: Sequence[Any], *share: Any) -> Sequence[Any]:
        """Nothing is kept: every part is made when it is asked for."""
        return [_LazyPart(function, part, share) for part in parts]

    def stored(self, function: Callable[..., Any], parts: Sequence[Any], *share: Any) -> Sequence[Any]:
        """In memory."""
        return list(self.each(function, parts, *share))

    def everywhere(self, function: Callable[..., Any], *args: Any) -> None:
        """In this one."""
        function(*args)


class _LazyPart:
    """A part that is made anew whenever it is asked for."""

    def __init__(self, function: Callable[..., Any], part: Any, share: tuple[Any, ...]) -> None:
        self.function, self.part, self.share = function, part, share


def evaluated(part: Any) -> Any:
    """The part itself, or what it stands for; of a tuple, all its members."""
    if isinstance(part, _LazyPart):
        return part.function(evaluated(part.part), *part.share)
    return tuple(map(evaluated, part)) if type(part) is tuple else part
