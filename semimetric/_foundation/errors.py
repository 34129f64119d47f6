"""The exceptions and warnings of the package.

Every message has three parts: what was given, what is required, what to do.
"""

import sys
import warnings
from pathlib import Path

__all__ = [
    "ConvergenceWarning",
    "DistanceCallError",
    "InputError",
    "MissingExtraError",
    "NotSupportedError",
    "SemimetricError",
    "SemimetricWarning",
    "StorageError",
    "warn",
]

_PACKAGE = str(Path(__file__).parents[1] / "_")[:-1]  # with the separator


class SemimetricError(Exception):
    """Base of every error that semimetric raises on purpose."""


class InputError(SemimetricError, ValueError):
    """The data or a parameter cannot be used as given."""


class NotSupportedError(SemimetricError, ValueError):
    """The parts are valid one by one, but do not go together."""


class StorageError(SemimetricError, ValueError):
    """A file is truncated, altered, foreign or newer than this package."""


class MissingExtraError(SemimetricError, ImportError):
    """An optional package is needed; the message names the pip extra."""


class DistanceCallError(SemimetricError, RuntimeError):
    """A user's distance raised, or returned something that is no distance.

    Parameters
    ----------
    message : str
        What went wrong, and for which pair.
    pair : tuple of int
        Rows of the two items on which the callable failed (of ``vertices_`` with ``method="vertices"``).
    pairs, distances : ndarray
        The pairs evaluated before the failure, shape (k, 2), and their distances, shape (k,).

    Attributes
    ----------
    pair, pairs, distances
        As they were given.
    """

    def __init__(self, message, pair, pairs, distances):
        super().__init__(message)
        self.pair, self.pairs, self.distances = pair, pairs, distances

    def __reduce__(self):
        return type(self), (self.args[0], self.pair, self.pairs, self.distances)


class SemimetricWarning(UserWarning):
    """Something was adapted to the data; the message says what."""


class ConvergenceWarning(SemimetricWarning):
    """A solver stopped before its tolerance; the message gives the gap that it certifies."""


def warn(message: str, category: type[Warning] = SemimetricWarning) -> None:
    """Warn at the line outside the package that called it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
