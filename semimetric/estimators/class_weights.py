"""How much the items of each class count: ``class_weight`` of scikit-learn's classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.types import ArrayLike, Floats, Integers

__all__ = ["class_factors", "weights_of_classes"]


def class_factors(class_weight: Mapping[Any, float] | str | None, classes: NDArray[Any], total: Floats) -> Floats | None:
    """How much an item of each class counts, shape (n_classes,); None if all count alike.

    Parameters
    ----------
    class_weight : None, "balanced" or mapping of class to number
    classes : ndarray of shape (n_classes,)
    total : ndarray of shape (n_classes,)
        The sum of the weights of the items of each class.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return total.sum() / (len(classes) * total)
    if not isinstance(class_weight, Mapping):
        raise InputError(f'class_weight={class_weight!r} is not known; use None, "balanced", or a dict of classes and numbers')
    names = classes.tolist()
    if unknown := [name for name in class_weight if name not in names]:
        raise InputError(f"class_weight= names {unknown[0]!r}, but the classes are {names}; name only these")
    factors = np.array([class_weight.get(name, 1.0) for name in names], dtype=np.float64)
    if not np.isfinite(factors).all() or (factors <= 0).any():
        raise InputError(
            f"class_weight={dict(class_weight)!r}: finite numbers > 0 are required; leave items of a class out instead"
        )
    return factors


def weights_of_classes(learner: Any, sample_weight: ArrayLike | None, factors: Floats | None, codes: Integers) -> Floats | None:
    """What the learner is given as weights of the items: their own times those of their classes; None if there are neither."""
    if factors is None:
        return None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if not has_fit_parameter(learner, "sample_weight"):
        raise NotSupportedError(
            f"class_weight= weighs items, and {type(learner).__name__}.fit takes no weights; drop it, or give another learner"
        )
    return factors[codes] if sample_weight is None else np.asarray(sample_weight, dtype=np.float64) * factors[codes]
