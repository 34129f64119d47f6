"""The distance that an index searches under: given, learned by a fitted model, or made of the items by its name."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

from sklearn.base import BaseEstimator

from .._foundation.errors import InputError
from .._foundation.types import Floats
from ..distances.semimetric import Semimetric

__all__ = ["SearchesUnderLearned", "encoder_of", "searched_distance"]

_MADE = {"gower": Semimetric.gower, "l1": Semimetric.l1}
_L1 = ("cityblock", "manhattan")
_L2 = ("l2", "euclidean", "sqeuclidean")


class SearchesUnderLearned(BaseEstimator):
    """An estimator with a parameter ``semimetric``, which may be a fitted learner: it searches under what that has learned.

    `sklearn.base.clone` makes estimators anew, unfitted, and those among their parameters too, because most of them fit these.
    Here nobody would fit the learner again, so a clone has one that has learned the same, as if it were frozen.
    """

    semimetric: Any

    def __sklearn_clone__(self) -> Self:
        other: Self = super().__sklearn_clone__()
        if isinstance(getattr(self.semimetric, "semimetric_", None), Semimetric) and other.semimetric is not self.semimetric:
            parameters = self.semimetric.get_params(deep=False)
            learned = {name: value for name, value in vars(self.semimetric).items() if name not in parameters}
            vars(other.semimetric).update(learned)
        return other


def searched_distance(given: Any, X: Any = None) -> Semimetric:
    """The distance that ``given`` stands for: a distance, a fitted model that has learned one, or a name.

    Parameters
    ----------
    given : Semimetric, fitted estimator with ``semimetric_``, or {"gower", "l1"}
    X : array-like or frame, or None
        The items that a distance with a name is made of; None where there are none yet.

    Raises
    ------
    InputError
        If it is none of these, or the distance cannot be made of the items. What is given is not printed.
    """
    if isinstance(given, Semimetric):
        return given
    if isinstance(given, str):
        return _made(given, X)
    learned = getattr(given, "semimetric_", None)
    if isinstance(learned, Semimetric):
        return learned
    kind = type(given).__name__
    if hasattr(given, "fit"):
        raise InputError(
            f"semimetric= is a {kind} that has learned no distance yet, as after sklearn.base.clone; fit it first, then "
            "give it or its semimetric_"
        )
    raise InputError(
        f"semimetric= is a {kind}, which is no distance; give a Semimetric, a fitted learner, or "
        f"{' or '.join(map(repr, _MADE))}, which are made of the items"
    )


def encoder_of(given: Any) -> Callable[[Any], Floats] | None:
    """What makes features of objects for the distance that ``given`` has learned: of a fitted model with ``features=``.

    It stays what it is where the model is fitted again. None for what learned from vectors.
    """
    if getattr(given, "features", None) is None or not hasattr(given, "encode"):
        return None
    return copy(given).encode  # type: ignore[no-any-return]


def _made(name: str, X: Any) -> Semimetric:
    """The distance of this name, of the items X."""
    if name in _L2:
        raise InputError(
            f"semimetric={name!r}: the Euclidean distance is no sum over features, only its square is, so it has no tables to "
            'explain or to search here; use faiss.IndexFlatL2 or sklearn.neighbors.NearestNeighbors, or semimetric="l1"'
        )
    if name not in _MADE:
        hint = "; that is called 'l1' here" if name in _L1 else ""
        raise InputError(
            f"semimetric={name!r} is not known{hint}; use {' or '.join(map(repr, _MADE))}, which are made of the items, a "
            "Semimetric, or a fitted learner"
        )
    if X is None:
        raise InputError(
            f"semimetric={name!r} is made of the items, which are not at hand here; give Semimetric.{name}(X) of items that "
            "show the range of every column"
        )
    try:
        return _MADE[name](X)
    except InputError as error:
        raise type(error)(
            f"{error} (semimetric={name!r} makes Semimetric.{name}(X); to say more of the columns, give that distance itself)"
        ) from error
