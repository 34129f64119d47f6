"""The schema of a table: which columns are numbers, angles or categories, and whether values may be missing.

A schema encodes a table, an array or a frame of any library that narwhals reads, as the float64 matrix used everywhere else:

    numeric      the number, of times the days since 1970
    periodic     the number modulo its period, in [0, period)
    categorical  the place of the category among those of the fit, 0 to K - 1, or K for a new category
    missing      NaN, where the schema has a level for missing values

Example: a table of an hour with the period 24 and a colour with the categories blue and red turns (25, "red") into (1, 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._foundation.arrays import as_cells, as_floats, check_finite, dense_table, n_axes
from .._foundation.errors import InputError
from .._foundation.stored import storable
from .._foundation.tables import named_rows, read_table
from .._foundation.types import ArrayLike, FeatureChoice, Floats
from .._foundation.validation import check_choice, check_items, check_shape
from .columns import (
    Category,
    as_table,
    categories_of,
    cells_of,
    check_categories,
    codes_of,
    column_of,
    is_categorical,
    is_text,
    numbers_of,
)
from .times import PERIODS, SCALE, clock_zone, days_or_hours, holds_times, times_of, zone_of

T = TypeVar("T")


def chosen_columns(X: Any, given: Any, names: Sequence[str]) -> set[int]:
    """Return the numbers of the categorical columns of X, given as the parameter ``categorical_features``."""
    if given is None:
        return set()
    if given == "text":
        return {k for k in range(len(names)) if is_categorical(column_of(X, k)) or is_text(column_of(X, k))}
    if isinstance(given, str):
        if not hasattr(X, "columns"):
            return set()
        return {k for k in range(len(names)) if is_categorical(column_of(X, k))}
    return {column_number(f, names, "categorical_features") for f in given}


def column_number(feature: object, names: Sequence[str], parameter: str) -> int:
    """Return the number of a column that is given by number or by name."""
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return int(feature)
    known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise InputError(
        f"{parameter}= names the feature {feature!r}; a name ({known}) or a number below {len(names)} is required: correct it"
    )


def column_numbers(features: object, names: Sequence[str], parameter: str) -> list[int]:
    """Return the numbers of some columns, each once, in the order in which they are given; one name or number is one column."""
    if isinstance(features, str) or not isinstance(features, Iterable):
        features = (features,)
    return list(dict.fromkeys(column_number(feature, names, parameter) for feature in features))


def by_column(given: Mapping[Any, T], names: Sequence[str], parameter: str) -> dict[int, T]:
    """Return the values that a dict has for columns, by their numbers; refuse a column that it names twice."""
    found: dict[int, T] = {}
    keys: dict[int, object] = {}
    for feature, value in given.items():
        k = column_number(feature, names, parameter)
        if k in found:
            raise InputError(
                f"{parameter}= names the column {names[k]!r} twice, as {keys[k]!r} and as {feature!r}; once is required: "
                "leave one out"
            )
        found[k], keys[k] = value, feature
    return found


def check_period(feature: object, period: Any) -> float:
    """Return the valid period of a feature."""
    number = isinstance(period, (int, float, np.number)) and not isinstance(period, bool)
    if not number or not 0 < period < np.inf:
        raise InputError(f"periodic= gives {feature!r} the period {period!r}; a finite number > 0 is required")
    return float(period)


KINDS = ("numeric", "periodic", "categorical")


@storable
@dataclass(frozen=True)
class Feature:
    """One column of a table."""

    name: str
    kind: str = "numeric"  # "numeric", "periodic" or "categorical"
    categories: tuple[Category, ...] = ()  # of a categorical feature, in the order of their codes
    period: float = 0.0  # of a periodic feature
    missing: bool = False  # True if a missing value is a level of its own, not an error
    time: str = ""  # the unit of times, "scale", "day", "week" or "year"; "" without times
    zone: str = ""  # the time zone of the clocks that are read, by name or offset from UTC; "" for times without a zone
    encoded: bool = False  # True if a model made the number of an object, such as a string, which is compared otherwise

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(self.categories))
        check_choice("kind", self.kind, KINDS)
        check_choice("time", self.time, ("", SCALE, *PERIODS))
        if self.time and (self.kind, self.period) != (
            ("numeric", 0.0) if self.time == SCALE else ("periodic", PERIODS[self.time])
        ):
            raise InputError(
                f"feature {self.name!r} is {self.kind} and counts the {self.time} of times; its kind and period are required"
            )
        if self.zone and clock_zone(self.zone) is None:
            raise InputError(
                f"feature {self.name!r} has the time zone {self.zone!r}, which is not known here; a name such as "
                "Europe/Berlin, or an offset such as +02:00, is required: correct it, or install the package tzdata"
            )
        if self.kind == "periodic":
            check_period(self.name, self.period)
        elif not np.isfinite(self.period):
            raise InputError(f"feature {self.name!r} is {self.kind} and has the period {self.period}; leave the period out")
        if self.kind == "categorical":
            check_categories(self.categories, f"{self.name!r}")

    def encode(self, column: Any, source: str) -> Floats:
        """Return the encoded column, float64 of shape (n_items,), NaN where a value is missing; ``source`` names the table."""
        if self.kind == "categorical":
            return codes_of(cells_of(column), self.categories, f"column {self.name!r} of {source}")
        if self.time:
            numbers = days_or_hours(column, self.time, self.zone, self.name, source)
        else:
            numbers = numbers_of(column, self.name, source)
        if self.kind == "periodic":
            finite = np.isfinite(numbers)
            numbers[finite] = np.mod(numbers[finite], self.period)  # infinity stays, and is refused later
            numbers[numbers == self.period] = 0.0  # np.mod rounds a tiny negative number up to the period
        return numbers

    def whole_knots(self, knots: ArrayLike) -> ArrayLike:
        """Return knots of the feature, made of those that a user gives: its kind adds the codes of categories, or the seam."""
        if self.kind == "categorical":
            return np.arange(len(self.categories) + 1.0)
        if self.kind == "numeric":
            return knots
        turn = np.unique(np.mod(np.asarray(knots, dtype=np.float64), self.period))
        return np.append(turn, turn[0] + self.period)

    def decode(self, codes: Floats) -> NDArray[Any]:
        """Return the values that ``codes`` stand for, as objects; None for a category that is missing or was not in the fit."""
        if self.kind != "categorical":
            return codes.astype(object)
        values = np.array([*self.categories, None], dtype=object)
        return values[np.where(np.isnan(codes), len(self.categories), codes).astype(np.int64)]

    def labels(self, codes: Floats) -> list[Any]:
        """`decode` of one level each: "(other)" for a category that was not in the fit, "(missing)" for a missing value."""
        cells = zip(codes, self.decode(codes).tolist(), strict=True)
        return ["(missing)" if np.isnan(code) else "(other)" if cell is None else cell for code, cell in cells]


MISSING_ADVICE = (
    'fill them in, drop these rows, or give missing="level" to what makes the distance (to a learner by columns='
    'Columns(missing="level"), to that of a classifier by set_params(learner__columns__missing="level"))'
)
_MOST_COORDINATES = 30  # a feature with more categories than this has no coordinates


@storable
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))

    @classmethod
    def numeric(cls, names: Sequence[str]) -> Schema:
        """Return the schema of numeric features that are never missing."""
        return cls(tuple(Feature(name) for name in names))

    @classmethod
    def of(cls, given: Names) -> Schema:
        """Return the given schema; for names, the schema of numeric features with these names."""
        return given if isinstance(given, Schema) else cls.numeric(given)

    @classmethod
    def fit(
        cls,
        X: Any,
        *,
        categorical_features: FeatureChoice = "auto",
        periodic: Mapping[int | str, float | str] | None = None,
        missing: str = "error",
        name: str = "X",
    ) -> Schema:
        """Return the schema of the columns of X, by the parameters and the dtypes of a frame.

        Parameters
        ----------
        X : frame of pandas, polars or pyarrow, or of what else narwhals reads, or array-like of shape (n_items, n_features)
        categorical_features : "auto" (default), "text", None, or sequence of int or str
            The columns that hold categories, by number or name. "auto" takes the columns of a frame whose dtype is
            ``category`` of pandas, or ``Categorical`` or ``Enum`` of polars, and none of an array. "text" takes these, and
            columns of text. Text is as often an identifier as a category, so it is an error otherwise. Truth values are the
            numbers 1 and 0. Categories are text, truth values or finite numbers, in the order of the dtype where it has one,
            else sorted.
        periodic : dict of int or str to float or {"day", "week", "year"}, or None
            The periods of columns that wrap around, such as ``{"hour": 24}``. For a column of times (datetime or date, with a
            time zone or without) name its period: ``{"when": "day"}`` takes the hour that clocks show, "week" the day since
            Monday, and "year" the day since 1 January. A column of times without a period is a scale, in days; for several of
            these give the column several times.
        missing : {"error", "level"}
            "error" refuses a missing value (NaN, None, NA); "level" makes it a level of its own in every feature.
        name : str
            The name of X in messages.

        Raises
        ------
        InputError
            If a given column does not exist, is both categorical and periodic, holds nothing but missing values, or has
            categories that are neither text nor numbers.
        """
        check_choice("missing", missing, ("error", "level"))
        check_choice("categorical_features", categorical_features, ("auto", "text")) if isinstance(
            categorical_features, str
        ) else None
        X = as_table(X, name)
        n = X.shape[1] if len(X.shape) == 2 else 0
        names = feature_names(X, n)
        periods = by_column(periodic or {}, names, "periodic")
        chosen = chosen_columns(X, categorical_features, names)
        if both := chosen & set(periods):
            raise InputError(f"{names[min(both)]!r} is in categorical_features= and in periodic=; a feature is one of the two")
        features = []
        for k, title in enumerate(names):
            column = column_of(X, k)
            feature = Feature(title, missing=missing == "level")
            if k in chosen:
                categories = categories_of(column, f"{title!r} of {name}")
                feature = replace(feature, kind="categorical", categories=categories)
            else:
                feature = replace(feature, **_kind_of(column, title, periods.get(k)))
            if feature.missing and np.isnan(feature.encode(column, name)).all():
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
        """True for each feature with a level for missing values."""
        return tuple(f.missing for f in self.features)

    @property
    def plain(self) -> bool:
        """True if all features are numbers that are never missing, so that a table needs no encoding."""
        return all(f.kind == "numeric" and not f.missing and not f.time for f in self.features)

    @property
    def encoded(self) -> bool:
        """True if a model made the features of objects, so that no vector of them is what a function of objects takes."""
        return any(f.encoded for f in self.features)

    def renamed(self, names: Sequence[str]) -> Schema:
        """Return the schema with other names of the features."""
        if self.names == tuple(names):
            return self
        return Schema(tuple(replace(f, name=name) for f, name in zip(self.features, names, strict=True)))

    def reads_as(self, other: Schema) -> bool:
        """Return True if both schemas encode the same values alike; the names of their features may differ."""
        return len(self.names) == len(other.names) and self.renamed(other.names) == other

    @property
    def usable(self) -> NDArray[np.bool_]:
        """True for each feature that directions may combine, which are the numeric ones: shape (n_features,)."""
        return np.array(self.kinds) == "numeric"

    def extended(self, names: Sequence[str], uses: NDArray[np.bool_], n_leaves: Sequence[int] = ()) -> Schema:
        """Return the schema of the features followed by directions called ``names``, of which the last are trees.

        A linear direction may be missing if a feature that it uses may be; ``uses``, of shape (n_directions, n_features), says
        which features each direction uses. The categories of a tree are the numbers of its leaves, ``n_leaves`` of each tree; a
        leaf is never missing.
        """
        n_linear = len(names) - len(n_leaves)
        missing = (uses[:n_linear] & np.array(self.missing)).any(axis=1)
        linear = (Feature(n, missing=bool(m)) for n, m in zip(names, missing, strict=False))
        trees = zip(names[n_linear:], n_leaves, strict=True)
        return Schema((*self.features, *linear, *(Feature(n, "categorical", tuple(range(count))) for n, count in trees)))

    def encode(self, X: Any, *, name: str = "X", min_items: int = 1) -> Floats:
        """Return the table X as a C-contiguous float64 matrix of shape (n_items, n_features).

        Raises
        ------
        InputError
            If X has other columns, text where numbers are required, infinite values, or missing values without a level.
        """
        n, X = len(self.features), X if type(X) is np.ndarray else self.table(X, name)
        if self.plain:
            return check_items(X, name=name, n_features=n, names=self.names, min_items=min_items, advice=MISSING_ADVICE)
        table = as_table(X, name)
        if len(table.shape) != 2 or table.shape[0] < min_items:
            found = f", n_samples = {table.shape[0]}" if len(table.shape) == 2 else ""
            raise InputError(f"{name} has shape {table.shape}{found}; (n_items, {n}) with n_items >= {min_items} is required")
        check_shape(table, table, name=name, n_features=n, names=self.names)
        out = np.empty((table.shape[0], n))
        for k, feature in enumerate(self.features):
            out[:, k] = feature.encode(column_of(table, k), name)
        check_finite(out, name, names=self.names, may_miss=self.missing, advice=MISSING_ADVICE)
        return out

    def decode(self, X: Floats) -> NDArray[Any]:
        """Return the values of an encoded matrix, or of one encoded vector, as objects; X itself if the schema is plain."""
        if self.plain:
            return X
        return np.stack([f.decode(X[..., k]) for k, f in enumerate(self.features)], axis=-1)

    def display(self, X: Floats) -> NDArray[Any]:
        """`decode` as a person says it, and as `encode` reads it again.

        A category that was not in the fit is "(other)", and a time on a scale is a `datetime`.
        """
        if self.plain:
            return X
        cells = np.where(self.unseen(X), "(other)", self.decode(X).astype(object))
        for k, feature in enumerate(self.features):
            if feature.time == SCALE:
                cells[:, k] = times_of(X[:, k], feature.zone)
        return cells

    def coordinates(self, X: Floats) -> Floats:
        """Return coordinates of an encoded matrix for a Euclidean distance, with which near pairs are sampled.

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

    def table(self, X: Any, name: str = "X") -> Any:
        """Return a table whose rows are dicts, or a dict, or that is sparse, as an array; anything else as it is."""
        found = named_rows(dense_table(X, name), self.names, name=name)
        return found[None] if found is not X and found.ndim == 1 else found

    def row(self, x: Any) -> NDArray[Any]:
        """Return one vector, or dict, as a table of one row."""
        x = x if type(x) is np.ndarray else named_rows(x, self.names, name="x")
        return as_floats(x, "x", ndim=1)[None] if self.plain else as_cells(x, "x")[None]

    def rows(self, x: Any, name: str = "x") -> Any:
        """Return one vector, or dict, as a table of one row; a table, or a list of dicts, as a table."""
        x = named_rows(x, self.names, name=name)
        if not hasattr(x, "columns") and n_axes(x) == 0:
            raise InputError(f"{name}={x!r} is no vector; one value for each of the {len(self.features)} features is required")
        return self.row(x) if not hasattr(x, "columns") and n_axes(x) == 1 else x

    def unseen(self, X: Floats) -> NDArray[np.bool_]:
        """Return True for each value of an encoded matrix that is a category not in the fit, shape (n_items, n_features)."""
        counts = [len(f.categories) if f.kind == "categorical" else np.inf for f in self.features]
        return np.asarray(counts) == X


Names: TypeAlias = Schema | Sequence[str]


def feature_names(X: Any, n_features: int) -> tuple[str, ...]:
    """Return the column names of a frame whose columns have names; else x0, x1, ..."""
    columns = getattr(read_table(X), "columns", None)
    if columns is not None and all(isinstance(c, str) for c in columns) and len(columns) == n_features:
        return tuple(columns)
    return tuple(f"x{k}" for k in range(n_features))


def _kind_of(column: Any, title: str, period: Any) -> dict[str, Any]:
    if not holds_times(column):
        if isinstance(period, str):
            raise InputError(
                f"periodic= gives {title!r} the period {period!r}, which is one of times, but the column holds none; give a "
                "number, or make its dtype datetime"
            )
        return {} if period is None else {"kind": "periodic", "period": check_period(title, period)}
    if period is None:
        return {"time": SCALE, "zone": "UTC" if zone_of(column) else ""}
    if period not in PERIODS:
        raise InputError(
            f"periodic= gives {title!r} the period {period!r}, but the column holds times; one of "
            f"{', '.join(map(repr, PERIODS))} is required, or nothing for a scale in days"
        )
    return {"kind": "periodic", "period": PERIODS[period], "time": period, "zone": zone_of(column)}
