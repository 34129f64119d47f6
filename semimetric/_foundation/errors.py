"""The exceptions and warnings of the package.

Every message has three parts: it says what was given, what is required, and what to do.
"""

import sys
import warnings
from pathlib import Path

__all__ = [
    "ClusterError",
    "ConvergenceWarning",
    "DistanceCallError",
    "InputError",
    "InputTypeError",
    "MissingExtraError",
    "NotSupportedError",
    "SemimetricError",
    "SemimetricWarning",
    "SignedFileError",
    "StorageError",
    "TooFewError",
    "warn",
]

_PACKAGE = str(Path(__file__).parents[1] / "_")[:-1]  # the folder of the package, with the separator at its end


class SemimetricError(Exception):
    """The base class of every error that semimetric raises on purpose."""


class InputError(SemimetricError, ValueError):
    """The data or a parameter cannot be used as given."""


class TooFewError(InputError):
    """There are too few items or tuples to hold some out, so that settings cannot be compared."""


class InputTypeError(InputError, TypeError):
    """The data hold something of which no number can be made, such as a dict; scikit-learn's checks ask for a TypeError."""


class NotSupportedError(SemimetricError, ValueError):
    """Data and parameters that are valid one by one, but cannot be combined."""


class StorageError(SemimetricError, ValueError):
    """A file is truncated, altered, foreign or newer than this package."""


class SignedFileError(StorageError):
    """A signed file was opened without the key to check it."""


class MissingExtraError(SemimetricError, ImportError):
    """An optional package is needed; the message names the pip extra."""


class ClusterError(SemimetricError, RuntimeError):
    """Workers of a cluster, or its scheduler, were lost in the middle of the work."""


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
    """

    def __init__(self, message, pair, pairs, distances):
        super().__init__(message)
        self.pair = pair
        self.pairs = pairs
        self.distances = distances

    def __reduce__(self):
        return type(self), (self.args[0], self.pair, self.pairs, self.distances)


class SemimetricWarning(UserWarning):
    """The package has adapted something to the data; the message says what."""


class ConvergenceWarning(SemimetricWarning):
    """A solver stopped before its tolerance; the message gives the gap that it certifies."""


def warn(message: str, category: type[Warning] = SemimetricWarning) -> None:
    """Issue a warning that points to the line outside the package from which the package was called."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
