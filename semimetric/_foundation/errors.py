"""The exceptions and warnings of the package.

Every message has three parts: it says what was given, what is required, and what to do.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, Self

_PACKAGE = str(Path(__file__).parents[1] / "_")[:-1]  # the folder of the package, with the separator at its end
_LIBRARIES = ("sklearn", "joblib")  # that call the package for someone, to whose line a warning points
_FOLDS = "sklearn.model_selection"
_WARNED: set[tuple[str, int, str]] = set()  # file, line and cause of warnings that were issued in folds
_SILENT: ContextVar[frozenset[str]] = ContextVar("causes that are no news", default=frozenset())


class SemimetricError(Exception):
    """The base class of every error that semimetric raises on purpose.

    Examples
    --------
    >>> from semimetric import DistanceRegressor, SemimetricError
    >>> try:
    ...     DistanceRegressor(tables="flat").fit([[[0.0], [1.0]]], [1.0])
    ... except SemimetricError as error:
    ...     print(error)
    tables='flat' is not known; use one of 'full', 'warped', 'shared', 'auto'
    """


class InputError(SemimetricError, ValueError):
    """The data or a parameter cannot be used as given.

    Examples
    --------
    >>> from semimetric import Ridge
    >>> try:
    ...     Ridge(alpha=-1.0)
    ... except InputError as error:
    ...     print(error)
    alpha=-1.0 must be >= 0
    """


class TooFewError(InputError):
    """There are too few items or tuples to hold some out, so that settings cannot be compared."""


class InputTypeError(InputError, TypeError):
    """The data hold something of which no number can be made, such as a dict; scikit-learn's checks ask for a TypeError."""


class NotSupportedError(SemimetricError, ValueError):
    """Data and parameters that are valid one by one, but cannot be combined.

    Examples
    --------
    >>> from semimetric import DistanceRegressor
    >>> try:
    ...     DistanceRegressor(tables="warped", axioms=None).fit([[[0.0], [1.0]]], [1.0])
    ... except NotSupportedError as error:
    ...     print(error)
    tables="warped" is a metric by construction; axioms=None needs tables="full"
    """


class StorageError(SemimetricError, ValueError):
    """A file is truncated, altered, foreign or newer than this package.

    Examples
    --------
    >>> import tempfile
    >>> from semimetric import load
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     try:
    ...         load(file.name)
    ...     except StorageError as error:
    ...         print("no semimetric file" in str(error))
    True
    """


class SignedFileError(StorageError):
    """A signed file was opened without the key to check it."""


class MissingExtraError(SemimetricError, ImportError):
    """An optional package is needed; the message names the pip extra.

    Examples
    --------
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


class ClusterError(SemimetricError, RuntimeError):
    """Workers of a cluster, or its scheduler, were lost in the middle of the work.

    Examples
    --------
    >>> issubclass(ClusterError, RuntimeError)
    True
    """


class ObjectError(InputError):
    """An object among some cannot be used, such as a string that is missing.

    Parameters
    ----------
    position : int
        Its place among the objects X.
    problem : str
        What is wrong with it, after its name.
    """

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(f"X[{position}] {problem}")
        self.position, self.problem = position, problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.position, self.problem)

    def at(self, position: int) -> Self:
        """Return the error of the same object at another place."""
        return type(self)(position, self.problem)


class DistanceCallError(SemimetricError, RuntimeError):
    """A user's distance raised an error, or returned something that is no distance.

    Parameters
    ----------
    message : str
        What went wrong, and for which pair.
    pair : tuple of int
        The rows of the two items on which the callable failed (rows of ``vertices_`` with ``method="vertices"``).
    pairs, distances : ndarray
        The pairs evaluated before the failure, shape (k, 2), and their distances, shape (k,).

    Attributes
    ----------
    pair, pairs, distances
        As they were given.

    Examples
    --------
    >>> from semimetric import DistanceApproximator
    >>> def broken(x, y):
    ...     return abs(x[0] - y[0]) if max(x[0], y[0]) < 39 else 1 / 0
    >>> try:
    ...     DistanceApproximator(broken).fit([[float(k)] for k in range(40)])
    ... except DistanceCallError as error:
    ...     print(39 in error.pair, len(error.distances) == len(error.pairs))
    True True
    """

    def __init__(self, message: str, pair: tuple[int, int], pairs: Any, distances: Any) -> None:
        super().__init__(message)
        self.pair = pair
        self.pairs = pairs
        self.distances = distances

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.pair, self.pairs, self.distances)


class SemimetricWarning(UserWarning):
    """The package has adapted something to the data; the message says what.

    Examples
    --------
    >>> issubclass(SemimetricWarning, UserWarning)
    True
    """


class ConvergenceWarning(SemimetricWarning):
    """A solver stopped before its tolerance; the message gives the gap that it certifies.

    Examples
    --------
    >>> issubclass(ConvergenceWarning, SemimetricWarning)
    True
    """


def warn(message: str, category: type[Warning] = SemimetricWarning, *, cause: str = "") -> None:
    """Issue a warning at the line outside the package, and outside scikit-learn, that called it.

    Where a cross-validation or search fits a model anew, each ``cause`` is warned of once for a line of the caller in each
    process. Python's own filter compares whole messages, and forgets them whenever code enters `warnings.catch_warnings`.
    """
    if cause in _SILENT.get():
        return
    frame: FrameType | None = sys._getframe(1)
    outside, level, n_frames, in_folds = None, 2, 1, False
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        in_folds |= module.startswith(_FOLDS)
        n_frames += 1
        inside = frame.f_code.co_filename.startswith(_PACKAGE) or module.partition(".")[0] in _LIBRARIES
        if outside is None and (not inside or frame.f_back is None):
            outside, level = (frame.f_code.co_filename, frame.f_lineno, cause), n_frames
        frame = frame.f_back
    if cause and in_folds and outside in _WARNED:
        return
    warnings.warn(message, category, stacklevel=level)
    if in_folds and outside is not None:
        _WARNED.add(outside)  # after the warning: where a filter makes it an error, every fold raises it


@contextmanager
def silent(*causes: str) -> Iterator[None]:
    """Inside of it, warnings of these causes are not issued by this thread: they are no news to the caller."""
    token = _SILENT.set(_SILENT.get() | frozenset(causes))
    try:
        yield
    finally:
        _SILENT.reset(token)
