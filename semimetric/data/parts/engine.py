"""The engines that work over parts, and the order in which results add up.

    ((0 + 1) + (2 + 3)) + 4

The tree depends on the number of parts alone, so the same parts give the same bits on every engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


def tree_sum(values: Iterable[T], add: Callable[[T, T], T]) -> T:
    """Return the sum of n values along the tree, added up as they come: at most log2(n) + 1 sums are held at a time.

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


class Call(NamedTuple):
    """A part, what to do with the result for it, and the process that has the files of its first member, see `each_near`."""

    part: tuple[Any, ...]
    then: Callable[[Any], None]
    near: int = 0


class Engine(ABC):
    """Calls one function for many parts; the arguments ``shared`` are the same in every call."""

    limit: int | None = None  # bytes that parts and sums may take together where all are in one memory; None for no limit

    @abstractmethod
    def each(self, function: Callable[..., T], parts: Sequence[Any], *shared: Any) -> Iterator[T]:
        """Return the results of ``function(part, *shared)``, one for each part, in the order of the parts."""

    def each_near(self, function: Callable[..., T], parts: Sequence[Any], near: Sequence[int], *shared: Any) -> Iterator[T]:
        """Do the same as `each`, for parts that are tuples, of which some may belong together.

        Parts with the same first member and the same number in ``near`` are best sent to one process. It has the files of that
        member open already.
        """
        return self.each(function, parts, *shared)

    @abstractmethod
    def drain(self, function: Callable[..., Any], following: Callable[[], Call | None], *shared: Any) -> None:
        """Call ``function(part, *shared)`` for parts as ``following`` gives them, of which some run at the same time.

        It is asked for one whenever there is room, and after every result, until it gives None while nothing runs. So a result
        may lead to further calls, and nothing waits for others. Results come in any order, in the calling thread.
        """

    @property
    def width(self) -> int:
        """The number of calls that run at the same time."""
        return 1

    @abstractmethod
    def total(self, function: Callable[..., T], add: Callable[[T, T], T], parts: Sequence[Any], *shared: Any) -> T:
        """Return the sum of ``function(part, *shared)`` over all parts, added up by ``add`` along the tree of `tree_sum`."""

    @abstractmethod
    def persist(self, function: Callable[..., Any], parts: Sequence[Any], *shared: Any) -> Sequence[Any]:
        """Return stand-ins for ``function(part, *shared)``, one for each part, which can be given to this engine as parts.

        The results are held where the engine has memory for all of them, else each is made again whenever it is needed.
        """

    def stored(self, function: Callable[..., Any], parts: Sequence[Any], *shared: Any) -> Sequence[Any]:
        """Do the same as `persist`, but make results once unless a worker is lost: they are slow to make and small to hold."""
        return self.persist(function, parts, *shared)

    @abstractmethod
    def everywhere(self, function: Callable[..., Any], *args: Any) -> None:
        """Call ``function(*args)`` once in every process that works on parts and can be reached."""


class SerialEngine(Engine):
    """Works in the calling process on one part after the other, within ``limit`` bytes."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit

    def each(self, function: Callable[..., T], parts: Sequence[Any], *shared: Any) -> Iterator[T]:
        """Return the results one after the other; each call is made when its result is taken from the iterator."""
        return (function(evaluated(part), *shared) for part in parts)

    def drain(self, function: Callable[..., Any], following: Callable[[], Call | None], *shared: Any) -> None:
        while (call := following()) is not None:
            call.then(function(evaluated(call.part), *shared))

    def total(self, function: Callable[..., T], add: Callable[[T, T], T], parts: Sequence[Any], *shared: Any) -> T:
        """Return the sum along the tree, for which one part and at most log2(n_parts) + 1 sums are held at a time."""
        return tree_sum(self.each(function, parts, *shared), add)

    def persist(self, function: Callable[..., Any], parts: Sequence[Any], *shared: Any) -> Sequence[Any]:
        """Return stand-ins that hold no result: each is evaluated again whenever it is given to this engine."""
        return [_LazyPart(function, part, shared) for part in parts]

    def stored(self, function: Callable[..., Any], parts: Sequence[Any], *shared: Any) -> Sequence[Any]:
        return list(self.each(function, parts, *shared))

    def everywhere(self, function: Callable[..., Any], *args: Any) -> None:
        function(*args)


class _LazyPart:
    """A part that is a call: `evaluated` makes it whenever the part is needed."""

    def __init__(self, function: Callable[..., Any], part: Any, shared: tuple[Any, ...]) -> None:
        self.function, self.part, self.shared = function, part, shared


def evaluated(part: Any) -> Any:
    """Return the part itself, or the result of its call if it is lazy; of a tuple, all members are evaluated."""
    if isinstance(part, _LazyPart):
        return part.function(evaluated(part.part), *part.shared)
    return tuple(map(evaluated, part)) if type(part) is tuple else part
