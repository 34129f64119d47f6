"""What the columns of a table are: numbers, angles or categories, and whether values may be missing.

A schema turns a table, a frame of pandas or polars or an array, into the float64 matrix that everything else works on:

    numeric      the number
    periodic     the number modulo its period, in [0, period)
    categorical  the place of the category among those of the fit, 0 to K - 1, or K for one that is none of them
    missing      NaN, where the schema has a level for it

Example: a table of an hour with the period 24 and a colour with the categories blue and red turns (25, "red") into (1, 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_choice, check_items, check_shape
from .columns import Category, as_table, categories_of, cells_of, codes_of, column_of, is_categorical, numbers_of

__all__ = ["Feature", "Names", "Schema", "feature_names"]

KINDS = ("numeric", "periodic", "categorical")
_FEW = 30  # categories that get coordinates


@dataclass(frozen=True)
class Feature:
    """One column of a table.

    Parameters
    ----------
    name : str
    kind : {"numeric", "periodic", "categorical"}
    categories : tuple of str, bool, int or float
        Of a categorical feature, in the order of their codes.
    period : float
        Of a periodic feature.
    missing : bool
        Whether a missing value is a level of its own; else it is an error.
    """

    name: str
    kind: str = "numeric"
    categories: tuple[Category, ...] = ()
    period: float = 0.0
    missing: bool = False

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)

    def encode(self, column: Any, source: str) -> Floats:
        """A column as float64, NaN where a value is missing."""
        if self.kind == "categorical":
            return codes_of(cells_of(column), self.categories, f"column {self.name!r} of {source}")
        numbers = numbers_of(column, self.name, source)
        if self.kind == "periodic":
            numbers = np.mod(numbers, self.period)
            numbers[numbers == self.period] = 0.0  # the rest of -1e-20
        return numbers

    def whole_knots(self, knots: ArrayLike) -> ArrayLike:
        """Knots that are given for the feature, with those that its kind adds: codes of categories, the end of a turn."""
        if self.kind == "categorical":
            return np.arange(len(self.categories) + 1.0)
        if self.kind == "numeric":
            return knots
        turn = np.unique(np.mod(np.asarray(knots, dtype=np.float64), self.period))
        return np.append(turn, turn[0] + self.period)

    def decode(self, codes: Floats) -> NDArray[Any]:
        """The values of encoded ones as objects: None for a category that is missing or was not in the fit."""
        if self.kind != "categorical":
            return codes.astype(object)
        values = np.array([*self.categories, None], dtype=object)
        return values[np.where(np.isnan(codes), len(self.categories), codes).astype(np.int64)]


@dataclass(frozen=True)
class Schema:
    """The features of a table, in the order of its columns: a value, made by `fit` or from given features.

    Parameters
    ----------
    features : tuple of Feature

    Examples
    --------
    >>> table = [["red", 23.0], ["blue", 1.0]]
    >>> schema = Schema.fit(table, categorical_features=[0], periodic={1: 24})
    >>> schema.encode([["blue", 25.0], ["green", -1.0]])
    array([[ 0.,  1.],
           [ 2., 23.]])
    """

    features: tuple[Feature, ...]

    @classmethod
    def numeric(cls, names: Sequence[str]) -> Schema:
        """Numbers only, none of them missing."""
        return cls(tuple(Feature(name) for name in names))

    @classmethod
    def of(cls, given: Names) -> Schema:
        """A schema as it is; names are those of numeric features."""
        return given if isinstance(given, Schema) else cls.numeric(given)

    @classmethod
    def fit(
        cls,
        X: Any,
        *,
        categorical_features: str | Sequence[int | str] | None = "auto",
        periodic: Mapping[int | str, float] | None = None,
        missing: str = "error",
        name: str = "X",
    ) -> Schema:
        """What the columns of X are, by the dtypes of a frame or as told.

        Parameters
        ----------
        X : frame of pandas or polars, or array-like of shape (n_items, n_features)
        categorical_features : "auto" (default), None, or sequence of int or str
            Columns that hold categories, by number or name. "auto" takes those of a frame whose dtype says so: ``category``
            of pandas, ``Categorical`` and ``Enum`` of polars; of an array none. Columns of text are not taken for
            categories unless they are named here, since they are as often ids: undeclared they are an error. Truth values
            are numbers, 1 and 0. Categories are text, truth values or finite numbers, in the order of the dtype where it
            has one, else sorted.
        periodic : dict of int or str to float, or None
            The period of columns that wrap around: ``{"hour": 24}``.
        missing : {"error", "level"}
            Whether a missing value (NaN, None, NA) is refused, or a level of its own in every feature.
        name : str
            Of X, for messages.

        Raises
        ------
        InputError
            If a column is named that is not there, is both categorical and periodic, holds nothing but missing values, or
            has categories that are neither text nor numbers.
        """
        check_choice("missing", missing, ("error", "level"))
        check_choice("categorical_features", categorical_features, ("auto",)) if isinstance(categorical_features, str) else None
        X = as_table(X)
        n = X.shape[1] if len(X.shape) == 2 else 0
        names = feature_names(X, n)
        periods = {_number(f, names, "periodic"): _period(f, p) for f, p in (periodic or {}).items()}
        chosen = _chosen(X, categorical_features, names)
        if both := chosen & set(periods):
            raise InputError(f"{names[min(both)]!r} is in categorical_features= and in periodic=; a feature is one of the two")
        features = []
        for k, title in enumerate(names):
            feature = Feature(title, missing=missing == "level")
            if k in periods:
                feature = replace(feature, kind="periodic", period=periods[k])
            elif k in chosen:
                feature = replace(
                    feature, kind="categorical", categories=categories_of(column_of(X, k), f"{title!r} of {name}")
                )
            if feature.missing and np.isnan(feature.encode(column_of(X, k), name)).all():
                raise InputError(f"column {title!r} of {name} holds nothing but missing values; drop it")
            features.append(feature)
        return cls(tuple(features))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f.name for f in self.features)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of every feature."""
        return tuple(f.kind for f in self.features)

    @property
    def missing(self) -> tuple[bool, ...]:
        """Whether every feature has a level for missing values."""
        return tuple(f.missing for f in self.features)

    @property
    def plain(self) -> bool:
        """Whether there are only numbers, none of them missing: tables are then matrices already."""
        return all(f.kind == "numeric" and not f.missing for f in self.features)

    def renamed(self, names: Sequence[str]) -> Schema:
        """The schema with other names."""
        if self.names == tuple(names):
            return self
        return Schema(tuple(replace(f, name=name) for f, name in zip(self.features, names, strict=True)))

    def reads_as(self, other: Schema) -> bool:
        """Whether the other encodes the same values alike, whatever the names of its features."""
        return len(self.names) == len(other.names) and self.renamed(other.names) == other

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Whether directions may combine each feature: numbers."""
        return np.array(self.kinds) == "numeric"

    def extended(self, names: Sequence[str], uses: NDArray[np.bool_]) -> Schema:
        """The schema of the features followed by directions: one of them is missing where a feature that it uses is.

        ``uses`` has shape (n_directions, n_features), as in `Directions`.
        """
        missing = (uses & np.array(self.missing)).any(axis=1)
        return Schema((*self.features, *(Feature(n, missing=bool(m)) for n, m in zip(names, missing, strict=True))))

    def encode(self, X: Any, *, name: str = "X", min_items: int = 1) -> Floats:
        """The table as a C-contiguous float64 matrix of shape (n_items, n_features).

        Raises
        ------
        InputError
            If X has other columns, text where numbers are required, infinite values, or missing ones without a level.
        """
        n = len(self.features)
        if self.plain:
            return check_items(X, name=name, n_features=n, names=self.names, min_items=min_items)
        table = as_table(X)
        if len(table.shape) != 2 or table.shape[0] < min_items:
            raise InputError(f"{name} has shape {table.shape}; (n_items, {n}) with n_items >= {min_items} is required")
        check_shape(table, X, name=name, n_features=n, names=self.names)
        out = np.empty((table.shape[0], n))
        for k, feature in enumerate(self.features):
            out[:, k] = feature.encode(column_of(table, k), name)
        self._check_values(out, name)
        return out

    def decode(self, X: Floats) -> NDArray[Any]:
        """The values of an encoded matrix, or of one encoded vector, as objects; of a plain schema X itself."""
        if self.plain:
            return X
        return np.stack([f.decode(X[..., k]) for k, f in enumerate(self.features)], axis=-1)

    def coordinates(self, X: Floats) -> Floats:
        """An encoded matrix as coordinates for a Euclidean distance, such as a sample of near pairs needs.

        A number is one, an angle two, on the circle, and a category one for each of at most 30; a missing one is at their mean.
        """
        parts = [np.zeros((len(X), 1))]
        for feature, column in zip(self.features, X.T, strict=True):
            if feature.kind == "categorical":
                known = np.arange(len(feature.categories)) if len(feature.categories) <= _FEW else np.arange(0)
                parts.append((column[:, None] == known).astype(np.float64))
                continue
            angle = 2 * np.pi * column / feature.period if feature.kind == "periodic" else column
            part = np.column_stack([np.cos(angle), np.sin(angle)] if feature.kind == "periodic" else [column])
            gone = np.isnan(part)
            mean = np.where(gone, 0.0, part).sum(axis=0) / np.maximum((~gone).sum(axis=0), 1)
            parts.append(np.where(gone, mean, part))
        return np.hstack(parts)

    def row(self, x: Any) -> NDArray[Any]:
        """One vector as a table of one row."""
        return np.asarray(x, dtype=np.float64 if self.plain else object)[None]

    def rows(self, x: Any) -> Any:
        """One vector as a table of one row; anything else as it is."""
        return self.row(x) if not hasattr(x, "columns") and np.ndim(x) == 1 else x

    def unseen(self, X: Floats) -> NDArray[np.bool_]:
        """Whether each encoded value is a category that was not in the fit."""
        counts = [len(f.categories) if f.kind == "categorical" else np.inf for f in self.features]
        return np.asarray(counts) == X

    def state(self) -> list[dict[str, Any]]:
        """What JSON can hold of it: all."""
        return [asdict(f) | {"categories": list(f.categories)} for f in self.features]

    @classmethod
    def read(cls, state: Sequence[Mapping[str, Any]]) -> Schema:
        """The schema of `state`."""
        return cls(tuple(Feature(**{**f, "categories": tuple(f["categories"])}) for f in state))

    def _check_values(self, items: Floats, name: str) -> None:
        bad = np.argwhere(np.isinf(items) | (np.isnan(items) & ~np.array(self.missing)))
        if len(bad):
            row, k = bad[0].tolist()
            given = "an infinite" if np.isinf(items[row, k]) else "a missing"
            advice = "correct it" if np.isinf(items[row, k]) else 'fill them in, drop those rows, or use missing="level"'
            raise InputError(
                f"row {row} of {name} has {given} value (NaN or infinity) in {self.names[k]!r} ({len(bad)} such values in "
                f"all); finite values are required: {advice}"
            )


Names: TypeAlias = Schema | Sequence[str]


def feature_names(X: Any, n_features: int) -> tuple[str, ...]:
    """Column names of a frame, or x0, x1, ..."""
    columns = getattr(X, "columns", None)
    if columns is not None and all(isinstance(c, str) for c in columns) and len(columns) == n_features:
        return tuple(columns)
    return tuple(f"x{k}" for k in range(n_features))


def _chosen(X: Any, given: Any, names: Sequence[str]) -> set[int]:
    """Numbers of the categorical columns."""
    if given is None:
        return set()
    if isinstance(given, str):
        if not hasattr(X, "columns"):
            return set()
        return {k for k in range(len(names)) if is_categorical(column_of(X, k))}
    return {_number(f, names, "categorical_features") for f in given}


def _number(feature: object, names: Sequence[str], parameter: str) -> int:
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    whole = isinstance(feature, (int, np.integer)) and not isinstance(feature, bool)
    if whole and 0 <= feature < len(names):  # type: ignore[operator]
        return int(feature)  # type: ignore[call-overload]
    known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise InputError(
        f"{parameter}= names the feature {feature!r}; a name ({known}) or a number below {len(names)} is required: correct it"
    )


def _period(feature: object, period: object) -> float:
    number = isinstance(period, (int, float, np.number)) and not isinstance(period, bool)
    if not number or not 0 < period < np.inf:  # type: ignore[operator]
        raise InputError(f"periodic= gives {feature!r} the period {period!r}; a finite number > 0 is required")
    return float(period)  # type: ignore[arg-type]
