"""The schema of a table: which columns are numbers, angles or categories, and whether values may be missing.

A schema encodes a table, which is an array, or a frame of any library that narwhals reads, as the float64 matrix that
everything else uses:

    numeric      the number
    periodic     the number modulo its period, in [0, period)
    categorical  the place of the category among those of the fit, 0 to K - 1, or K for a new category
    missing      NaN, where the schema has a level for missing values

Example: a table of an hour with the period 24 and a colour with the categories blue and red turns (25, "red") into (1, 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.input_arrays import as_cells, as_floats, check_finite, n_axes
from .._foundation.members import Members
from .._foundation.tables import read_table
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_choice, check_items, check_shape
from .columns import (
    Category,
    as_table,
    categories_of,
    cells_of,
    check_categories,
    codes_of,
    column_of,
    numbers_of,
)
from .feature_parameters import check_period, chosen_columns, column_number

__all__ = ["Feature", "Names", "Schema", "feature_names"]

KINDS = ("numeric", "periodic", "categorical")
_MOST_COORDINATES = 30  # a feature with more categories than this has no coordinates


@dataclass(frozen=True)
class Feature:
    """One column of a table.

    Parameters
    ----------
    name : str
    kind : {"numeric", "periodic", "categorical"}
    categories : tuple of str, bool, int or float
        The categories of a categorical feature, in the order of their codes.
    period : float
        The period of a periodic feature.
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
        if self.kind == "periodic":
            check_period(self.name, self.period)
        if self.kind == "categorical":
            check_categories(self.categories, f"{self.name!r}")

    def encode(self, column: Any, source: str) -> Floats:
        """The encoded column, float64 of shape (n_items,), NaN where a value is missing; ``source`` names the table."""
        if self.kind == "categorical":
            return codes_of(cells_of(column), self.categories, f"column {self.name!r} of {source}")
        numbers = numbers_of(column, self.name, source)
        if self.kind == "periodic":
            finite = np.isfinite(numbers)
            numbers[finite] = np.mod(numbers[finite], self.period)  # infinity stays, and is refused later
            numbers[numbers == self.period] = 0.0  # np.mod rounds a tiny negative number up to the period
        return numbers

    def whole_knots(self, knots: ArrayLike) -> ArrayLike:
        """The knots of the feature, made of those that a user gives: its kind adds the codes of categories, or the seam."""
        if self.kind == "categorical":
            return np.arange(len(self.categories) + 1.0)
        if self.kind == "numeric":
            return knots
        turn = np.unique(np.mod(np.asarray(knots, dtype=np.float64), self.period))
        return np.append(turn, turn[0] + self.period)

    def decode(self, codes: Floats) -> NDArray[Any]:
        """The values that ``codes`` stand for, as objects; None for a category that is missing or was not in the fit."""
        if self.kind != "categorical":
            return codes.astype(object)
        values = np.array([*self.categories, None], dtype=object)
        return values[np.where(np.isnan(codes), len(self.categories), codes).astype(np.int64)]

    def labels(self, codes: Floats) -> list[Any]:
        """`decode` of one level each: "(other)" for a category that was not in the fit, "(missing)" for a missing value."""
        cells = zip(codes, self.decode(codes).tolist(), strict=True)
        return ["(missing)" if np.isnan(code) else "(other)" if cell is None else cell for code, cell in cells]


@dataclass(frozen=True)
class Schema:
    """The features of a table, in the order of its columns; it is made by `fit` or from given features.

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
        """The schema of numeric features that are never missing."""
        return cls(tuple(Feature(name) for name in names))

    @classmethod
    def of(cls, given: Names) -> Schema:
        """The given schema; for names, the schema of numeric features with these names."""
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
        """The schema of the columns of X, by the parameters and the dtypes of a frame.

        Parameters
        ----------
        X : frame of pandas, polars or pyarrow, or of what else narwhals reads, or array-like of shape (n_items, n_features)
        categorical_features : "auto" (default), None, or sequence of int or str
            The columns that hold categories, by number or name. "auto" takes the columns of a frame whose dtype is
            ``category`` of pandas, or ``Categorical`` or ``Enum`` of polars, and none of an array. Text is as often an
            identifier as a category, so columns of text that are not named here are an error. Truth values are the numbers 1
            and 0. Categories are text, truth values or finite numbers, in the order of the dtype where it has one, else
            sorted.
        periodic : dict of int or str to float, or None
            The periods of columns that wrap around, such as ``{"hour": 24}``.
        missing : {"error", "level"}
            Whether a missing value (NaN, None, NA) is refused, or a level of its own in every feature.
        name : str
            The name of X in messages.

        Raises
        ------
        InputError
            If a given column does not exist, is both categorical and periodic, holds nothing but missing values, or has
            categories that are neither text nor numbers.
        """
        check_choice("missing", missing, ("error", "level"))
        check_choice("categorical_features", categorical_features, ("auto",)) if isinstance(categorical_features, str) else None
        X = as_table(X, name)
        n = X.shape[1] if len(X.shape) == 2 else 0
        names = feature_names(X, n)
        periods = {column_number(f, names, "periodic"): check_period(f, p) for f, p in (periodic or {}).items()}
        chosen = chosen_columns(X, categorical_features, names)
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
        """The names of the features."""
        return tuple(f.name for f in self.features)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the features."""
        return tuple(f.kind for f in self.features)

    @property
    def missing(self) -> tuple[bool, ...]:
        """Whether each feature has a level for missing values."""
        return tuple(f.missing for f in self.features)

    @property
    def plain(self) -> bool:
        """Whether all features are numeric and never missing, so that a table needs no encoding."""
        return all(f.kind == "numeric" and not f.missing for f in self.features)

    def renamed(self, names: Sequence[str]) -> Schema:
        """The schema with other names of the features."""
        if self.names == tuple(names):
            return self
        return Schema(tuple(replace(f, name=name) for f, name in zip(self.features, names, strict=True)))

    def reads_as(self, other: Schema) -> bool:
        """Whether both schemas encode the same values alike; the names of their features may differ."""
        return len(self.names) == len(other.names) and self.renamed(other.names) == other

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Whether directions may combine each feature, which is true of numeric ones: shape (n_features,)."""
        return np.array(self.kinds) == "numeric"

    def extended(self, names: Sequence[str], uses: NDArray[np.bool_]) -> Schema:
        """The schema of the features followed by directions called ``names``.

        A direction may be missing if a feature that it uses may be; ``uses``, of shape (n_directions, n_features), says which
        features each direction uses.
        """
        missing = (uses & np.array(self.missing)).any(axis=1)
        return Schema((*self.features, *(Feature(n, missing=bool(m)) for n, m in zip(names, missing, strict=True))))

    def encode(self, X: Any, *, name: str = "X", min_items: int = 1) -> Floats:
        """The table X as a C-contiguous float64 matrix of shape (n_items, n_features).

        Raises
        ------
        InputError
            If X has other columns, text where numbers are required, infinite values, or missing values without a level.
        """
        n = len(self.features)
        if self.plain:
            return check_items(X, name=name, n_features=n, names=self.names, min_items=min_items)
        table = as_table(X, name)
        if len(table.shape) != 2 or table.shape[0] < min_items:
            found = f", n_samples = {table.shape[0]}" if len(table.shape) == 2 else ""
            raise InputError(f"{name} has shape {table.shape}{found}; (n_items, {n}) with n_items >= {min_items} is required")
        check_shape(table, table, name=name, n_features=n, names=self.names)
        out = np.empty((table.shape[0], n))
        for k, feature in enumerate(self.features):
            out[:, k] = feature.encode(column_of(table, k), name)
        self._check_values(out, name)
        return out

    def decode(self, X: Floats) -> NDArray[Any]:
        """The values of an encoded matrix, or of one encoded vector, as objects; X itself if the schema is plain."""
        if self.plain:
            return X
        return np.stack([f.decode(X[..., k]) for k, f in enumerate(self.features)], axis=-1)

    def told(self, X: Floats) -> NDArray[Any]:
        """`decode` with "(other)" for a category that was not in the fit, so that it is encoded as such again."""
        return X if self.plain else np.where(self.unseen(X), "(other)", self.decode(X))

    def coordinates(self, X: Floats) -> Floats:
        """Coordinates of an encoded matrix for a Euclidean distance, with which near pairs are sampled.

        A number has one coordinate, and an angle has two, those of its point on the circle. A category has one indicator for
        each of up to 30 categories, and none if there are more. A missing number or angle is at the mean of the others.
        """
        parts = [np.zeros((len(X), 1))]
        for feature, column in zip(self.features, X.T, strict=True):
            if feature.kind == "categorical":
                n = len(feature.categories)
                indicators = np.arange(n if n <= _MOST_COORDINATES else 0)
                parts.append((column[:, None] == indicators).astype(np.float64))
                continue
            angle = 2 * np.pi * column / feature.period if feature.kind == "periodic" else column
            part = np.column_stack([np.cos(angle), np.sin(angle)] if feature.kind == "periodic" else [column])
            missing = np.isnan(part)
            mean = np.where(missing, 0.0, part).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
            parts.append(np.where(missing, mean, part))
        return np.hstack(parts)

    def row(self, x: Any) -> NDArray[Any]:
        """One vector as a table of one row."""
        return as_floats(x, "x", ndim=1)[None] if self.plain else as_cells(x, "x")[None]

    def rows(self, x: Any) -> Any:
        """One vector as a table of one row; a table unchanged."""
        return self.row(x) if not hasattr(x, "columns") and n_axes(x) == 1 else x

    def unseen(self, X: Floats) -> NDArray[np.bool_]:
        """Whether each value of an encoded matrix is a category that was not in the fit, shape (n_items, n_features)."""
        counts = [len(f.categories) if f.kind == "categorical" else np.inf for f in self.features]
        return np.asarray(counts) == X

    def state(self) -> list[dict[str, Any]]:
        """The features as values that JSON can hold."""
        return [asdict(f) | {"categories": list(f.categories)} for f in self.features]

    @classmethod
    def read(cls, state: Sequence[Members]) -> Schema:
        """The schema whose `state` is given."""
        kinds = (str, bool, int, float)
        return cls(
            tuple(
                Feature(
                    f.text("name"), f.text("kind"), tuple(f.list_of("categories", kinds)), f.number("period"), f.flag("missing")
                )
                for f in state
            )
        )

    def _check_values(self, items: Floats, name: str) -> None:
        """Refuse infinite values, and missing values without a level."""
        advice = 'fill them in, drop those rows, or use missing="level"'
        check_finite(items, name, names=self.names, may_miss=self.missing, advice=advice)


Names: TypeAlias = Schema | Sequence[str]


def feature_names(X: Any, n_features: int) -> tuple[str, ...]:
    """The column names of a frame whose columns have names; else x0, x1, ..."""
    columns = getattr(read_table(X), "columns", None)
    if columns is not None and all(isinstance(c, str) for c in columns) and len(columns) == n_features:
        return tuple(columns)
    return tuple(f"x{k}" for k in range(n_features))
