"""Checks of user input that scikit-learn lacks: of pairs, distances, tuples by row number, and parameters."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import has_fit_parameter

from .arrays import as_array, as_cells, as_floats, check_finite, input_errors, is_ready
from .errors import InputError
from .real_numbers import real_number, shown
from .tables import check_numbers, texts_of
from .types import ArrayLike, Floats, Integers, Tuples

T = TypeVar("T", bound=Tuples)

_MOST_THREADS = 1024
_NEW = "new points are given as tuples of points, or to model.semimetric_.paired(X, Y)"


def check_items(
    X: ArrayLike,
    *,
    name: str = "X",
    n_features: int | None = None,
    names: Sequence[str] = (),
    min_items: int = 1,
    advice: str = "",
) -> Floats:
    """Return X as a finite, C-contiguous float64 matrix of shape (n_items, n_features); a frame must have ``names``."""
    array = as_array(X, name, ndim=2, names=names)
    items = array if is_ready(array) and len(array) >= min_items and array.shape[1] else _as_matrix(array, name, min_items)
    check_finite(items, name, names=names or getattr(array, "columns", ()), advice=advice)
    check_shape(items, array, name=name, n_features=n_features, names=names)
    return items


def _as_matrix(array: Any, name: str, min_items: int) -> Floats:
    """Return a C-contiguous float64 matrix as scikit-learn checks it, finite or not."""
    options: Any = {"order": "C", "ensure_min_samples": min_items, "ensure_all_finite": False, "input_name": name}
    try:
        with input_errors():
            return check_array(array, dtype=np.float64, **options)
    except InputError:
        check_numbers(array, name)
        raise


def check_shape(
    items: Floats, X: ArrayLike, *, name: str = "X", n_features: int | None = None, names: Sequence[str] = ()
) -> None:
    """Refuse ``items`` with another number of features, or from a frame ``X`` with other columns than ``names``."""
    if n_features is not None and items.shape[1] != n_features:
        raise InputError(
            f"{name} has {items.shape[1]} features, but {n_features} features are required; "
            f"give the same columns, in the same order, as in fit{_difference(X, names)}"
        )
    if names:
        _check_names(getattr(X, "columns", ()), names, name)


def _difference(X: ArrayLike, names: Sequence[str]) -> str:
    """Return the columns that a frame lacks, and those that it has too many, in words."""
    given = tuple(getattr(X, "columns", ()))
    if not given or not names or not all(isinstance(column, str) for column in given):
        return ""
    parts = (("missing", [n for n in names if n not in given]), ("unknown", [c for c in given if c not in names]))
    return "".join(f"; {what}: {_listed(found)}" for what, found in parts if found)


def _check_names(given: Sequence[object], names: Sequence[str], name: str) -> None:
    columns = tuple(given)
    if not columns or columns == tuple(names) or not all(isinstance(c, str) for c in columns):
        return
    unknown = [c for c in columns if c not in names]
    if unknown and list(names) == [f"x{k}" for k in range(len(names))]:  # the model was fitted on an array, without names
        return
    wrong = f"{unknown[0]!r} is not among them" if unknown else "their order differs"
    raise InputError(
        f"{name} has the columns {_listed(columns)}, but {_listed(names)} are required: {wrong}; "
        f"give the columns of the fit in its order, {name}[list(d.feature_names)] for a distance d"
    )


def _listed(names: Sequence[object]) -> str:
    return ", ".join(map(str, names[:8])) + (", ..." if len(names) > 8 else "")


def check_same_length(x: Floats, y: Floats, *, repeat: bool = False) -> tuple[Floats, Floats]:
    """Return x and y with equally many rows; ``repeat`` repeats a single row of one for each of the other."""
    if repeat and 1 in (len(x), len(y)):
        x, y = (np.ascontiguousarray(side) for side in np.broadcast_arrays(x, y))
    if len(x) != len(y):
        raise InputError(f"X has {len(x)} rows and Y {len(y)}; the same number is required: use pairwise for all pairs")
    return x, y


def _check_index(index: ArrayLike, n_items: int, name: str) -> Integers:
    array = _row_numbers(index, name)
    if array.dtype.kind not in "iu":
        raise InputError(
            f"{name}s by index must be integers, but have dtype {array.dtype}; "
            "give row numbers of the items, or labels of the index of a pandas frame as preprocessor=, or drop preprocessor= "
            f"and give the points themselves; {_NEW}"
        )
    if array.size and (array.min() < 0 or array.max() >= n_items):
        bad = np.flatnonzero((array < 0) | (array >= n_items))[0] // array.shape[1]
        raise InputError(
            f"{name} {bad} is {tuple(array[bad].tolist())}, but there are {n_items} items; "
            f"row numbers must lie between 0 and {n_items - 1}"
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def _row_numbers(index: ArrayLike, name: str) -> Any:
    with input_errors():
        array = np.asanyarray(index)
    if np.ma.is_masked(array):
        raise InputError(f"{name}s by index have masked entries; a row number is required everywhere: drop these {name}s")
    return np.asarray(array)


def check_tuples(
    tuples: ArrayLike,
    kind: type[T],
    preprocessor: ArrayLike | None = None,
    *,
    n_features: int | None = None,
    names: Sequence[str] = (),
    encode: Callable[..., Floats] | None = None,
    advice: str = "",
) -> T:
    """Return tuples as an object of the class ``kind``, from points (m, size, n_features) or rows (m, size) of items.

    ``preprocessor`` holds the items, and ``encode(table, name=...)`` makes the matrix of a table that is not of numbers alone.
    """
    name, size = kind.name[:-1], kind.size
    if preprocessor is not None:
        index = _row_numbers(tuples, name)
        if index.ndim != 2 or index.shape[1] != size:
            raise InputError(
                f"{name}s have shape {index.shape}{_wrong_axes(index, 2)}; with preprocessor= they must be row numbers "
                f"(n_{name}s, {size}); {_NEW}"
            )
        check_some(len(index), f"{name}s")
        if encode is not None:
            items = encode(preprocessor, name="preprocessor")
        else:
            items = check_items(preprocessor, name="preprocessor", n_features=n_features, names=names, advice=advice)
        return kind(items, _check_index(index, len(items), name))
    try:
        points = as_floats(tuples, f"{name}s") if encode is None else as_cells(tuples, f"{name}s")
    except InputError as error:
        raise InputError(
            f"{name}s cannot be read as numbers of shape (n_{name}s, {size}, n_features): give all {size} items of every "
            f"{name} the same number of features, all numeric ({error})"
        ) from error
    if points.ndim != 3 or points.shape[1] != size or not points.shape[2]:
        raise InputError(
            f"{name}s have shape {points.shape}{_wrong_axes(points, 3)}; (n_{name}s, {size}, n_features) is required: reshape "
            f"them, or to give {name}s as row numbers, pass the items as preprocessor=X"
        )
    check_some(len(points), f"{name}s")
    if encode is None:
        check_finite(points, f"{name}s", names=names, advice=advice)
    flat = points.reshape(-1, points.shape[2])
    items = check_items(flat, name=f"{name}s", n_features=n_features) if encode is None else encode(flat, name=f"{name}s")
    return kind(items, np.arange(len(items), dtype=np.int64).reshape(-1, size))


def _wrong_axes(array: NDArray[Any], ndim: int) -> str:
    return "" if array.ndim == ndim else f": Expected {ndim}D array, got {array.ndim}D array instead"


def check_some(n: int, called: str) -> None:
    """Refuse data, called so, of which there are none."""
    if not n:
        raise InputError(f"Found array with 0 sample(s): there are 0 {called}, and at least one is required; give some")


def check_judgements(y: ArrayLike, n_pairs: int, *, both: bool = True) -> Floats:
    """Return y as float64, +1 (similar) or -1 (dissimilar) for each pair; with ``both``, each of the two must occur."""
    cells: Any = y if isinstance(y, list | tuple | np.ndarray) or hasattr(y, "iloc") else ()
    if texts := texts_of(np.ravel(y).tolist() if isinstance(y, np.ndarray) else list(cells)):
        raise InputError(f"y holds text, such as {texts[0]!r:.40}; +1 (similar) and -1 (dissimilar) are required: recode it")
    labels = as_floats(y, "y")
    if labels.shape != (n_pairs,):
        raise InputError(f"y has shape {labels.shape} for {n_pairs} pairs; one label a pair is required: +1 or -1")
    found = np.unique(labels)
    if not np.isin(found, (-1, 1)).all():
        raise InputError(
            f"y has the values {_listed([f'{value:g}' for value in found])}; only +1 (similar) and -1 (dissimilar) are known: "
            "recode them; for measured distances use DistanceRegressor"
        )
    if both and len(found) < 2:
        raise InputError(
            f"y has one class only, {int(found[0]):+d}; similar (+1) and dissimilar (-1) pairs are required: add some, such as "
            "pairs drawn at random for dissimilar ones"
        )
    return labels


def check_distances(y: ArrayLike, n_pairs: int, *, minimum: float = 0.0) -> Floats:
    """Return y as float64, a finite distance >= ``minimum`` for each pair, of which not all may be 0."""
    distances = as_floats(y, "y")
    if distances.shape != (n_pairs,):
        raise InputError(f"y has shape {distances.shape} for {n_pairs} pairs; one distance a pair is required")
    check_finite(distances, "y")
    if (distances < minimum).any():
        bad = int(np.flatnonzero(distances < minimum)[0])
        raise InputError(
            f"y[{bad}] is {distances[bad]:g}; distances must be >= {minimum:g}. "
            "If y is a similarity, turn it into a distance first; for a signed target use axioms=None"
        )
    if not np.any(distances):
        raise InputError("all distances in y are 0; there is nothing to learn: give pairs that differ")
    return distances


def check_weights(sample_weight: ArrayLike | None, n: int) -> Floats:
    """Return the sample weights, >= 0, divided by their sum; uniform weights for None."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    weights = as_floats(sample_weight, "sample_weight")
    if weights.shape != (n,):
        raise InputError(f"sample_weight has shape {weights.shape}; one weight for each of the {n} pairs is required")
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise InputError("sample_weight must be finite, non-negative and not all zero; correct or drop it")
    return weights / weights.sum()


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse a parameter whose value is not among ``choices``."""
    if value not in choices:
        raise InputError(f"{name}={shown(value)} is not known; use one of {', '.join(repr(c) for c in choices)}")


def check_count(name: str, value: object, *, minimum: int = 1, most: int | None = None) -> int:
    """Return the value of a parameter, which must be an integer >= ``minimum``, and at most ``most`` where that is given."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise InputError(f"{name}={shown(value)}: an integer >= {minimum} is required")
    if most is not None and value > most:
        raise InputError(f"{name}={shown(value)}: an integer from {minimum} to {most} is required")
    return int(value)


def check_n_jobs(n_jobs: int | None) -> None:
    """Refuse a number of threads that is neither None nor an integer other than 0, or more than any machine runs."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise InputError(f"n_jobs={shown(n_jobs)}: a number of threads is required; give 1 or more, -1 for all cores, or None")
    if n_jobs is not None and abs(n_jobs) > _MOST_THREADS:
        raise InputError(
            f"n_jobs={shown(n_jobs)}: at most {_MOST_THREADS} threads are started; give fewer, or -1 for all cores"
        )


def check_finite_number(name: str, value: float) -> float:
    """Return the value of a parameter, which must be a finite number."""
    number = real_number(value)
    if number is None or not np.isfinite(number):
        raise InputError(f"{name}={shown(value)} must be a finite number")
    return number


def check_alpha(name: str, value: float, *, strict: bool = False) -> float:
    """Return the value of a parameter, which must be a finite number >= 0, or > 0 if ``strict``."""
    number = check_finite_number(name, value)
    if number < 0 or (strict and number == 0):
        raise InputError(f"{name}={shown(value)} must be {'> 0' if strict else '>= 0'}")
    return number


def weight_option(learner: Any, sample_weight: ArrayLike | None) -> dict[str, Any]:
    """Return the weights, if there are any, as an argument for ``fit`` of a learner, which must take them."""
    if sample_weight is None:
        return {}
    if not has_fit_parameter(learner, "sample_weight"):
        raise InputError(
            f"sample_weight is given, but {type(learner).__name__}.fit takes none; drop it, or give another learner"
        )
    return {"sample_weight": sample_weight}


def check_cost_matrix(cost_matrix: ArrayLike) -> Floats:
    """Return a symmetric cost matrix >= 0 with 0 on the diagonal, as an array of shape (n_bins, n_bins)."""
    cost = check_items(cost_matrix, name="cost_matrix")
    if cost.shape[0] != cost.shape[1]:
        raise InputError(f"cost_matrix has shape {cost.shape}; a square matrix is required, with a row for every bin")
    if (cost < 0).any():
        i, j = np.argwhere(cost < 0)[0].tolist()
        raise InputError(f"cost_matrix[{i}, {j}] is {cost[i, j]:g}; costs >= 0 are required: correct it")
    if np.diagonal(cost).any():
        i = int(np.flatnonzero(np.diagonal(cost))[0])
        raise InputError(f"cost_matrix[{i}, {i}] is {cost[i, i]:g}; 0 is required, as mass that stays costs nothing")
    if (cost != cost.T).any():
        i, j = np.argwhere(cost != cost.T)[0].tolist()
        raise InputError(
            f"cost_matrix[{i}, {j}] is {cost[i, j]!r} and cost_matrix[{j}, {i}] is {cost[j, i]!r}; a symmetric ground "
            "distance is required: give (C + C.T) / 2 if they differ by rounding"
        )
    return cost
