"""The schema of a table: which columns are numbers, angles or categories, and whether values may be missing.

A schema encodes a table, an array or a frame of any library that narwhals reads, as the float64 matrix used everywhere else:

    numeric      the number, of times the days since 1970
    periodic     the number modulo its period, in [0, period)
    categorical  the place of the category among those of the fit, 0 to K - 1, or K for a new category
    missing      NaN, where the schema has a level for missing values

Columns of a frame that say nothing of likeness are left out: names and free text, ids, and what is the same on every row. A
warning lists them.

Example: a table of an hour with the period 24 and a colour with the categories blue and red turns (25, "red") into (1, 1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._foundation.arrays import as_cells, as_floats, check_finite, dense_table, n_axes
from .._foundation.errors import InputError, warn
from .._foundation.optional_imports import optional
from .._foundation.real_numbers import real_number, shown
from .._foundation.stored import storable
from .._foundation.tables import is_number, is_time, kind_of_texts, named_rows, no_numbers, read_table, without_columns
from .._foundation.text import cell_text, html_table
from .._foundation.types import ArrayLike, FeatureChoice, Floats
from .._foundation.validation import check_choice, check_items, check_shape
from .columns import (
    Category,
    Slips,
    are_histograms,
    as_table,
    categories_of,
    cells_of,
    check_categories,
    codes_of,
    column_of,
    column_texts,
    holds_numbers,
    holds_truth,
    is_categorical,
    numbers_of,
    slips_of,
)
from .times import PERIODS, SCALE, clock_zone, days_or_hours, holds_times, times_of, with_texts_read, zone_of

T = TypeVar("T")

LEFT_OUT = "columns left out"  # the cause of the warning
_ENOUGH = 20  # rows, of which a column says whether it is constant, or numbers the rows
_IDS = re.compile(r"(?i:(^|[\W_])(id|uuid|guid|key)|^(row[\W_]?)?(index|nr|no|number)|^unnamed: 0)$|[a-z](ID|Id)$")
_WRITTEN_NUMBER = re.compile(r"[$€£¥]?\s*[-+]?(\d{1,3}([,.' ]\d{3})+|\d+)([.,]\d+)?\s*[%€$£¥]?")  # $1,234.00, 17 %, 3,14
_MOST_LISTED = 10  # columns of a message or a line
_MOST_ROWS, _MOST_VALUES = 50, 6  # columns, and categories of one, in the table of a notebook


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
    number = real_number(period)
    if number is None or not 0 < number < np.inf:
        raise InputError(f"periodic= gives {feature!r} the period {shown(period)}; a finite number > 0 is required")
    return number


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
    truth: bool = field(default=False, compare=False)  # True for a number that is a truth value, which it is shown as

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
        if self.truth and (self.kind != "numeric" or self.time):
            raise InputError(f"feature {self.name!r} is {self.kind}, and has truth values; numeric is required")
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

    @property
    def kind_in_words(self) -> str:
        """The kind of the column, as a line about the table says it: such as "numbers" or "times"."""
        if self.time:
            return "times" if self.time == SCALE else f"times of the {self.time}"
        if self.truth:
            return "yes or no"
        return {"numeric": "numbers", "periodic": "angles", "categorical": "categories"}[self.kind]

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
        turn = np.unique(np.mod(as_floats(knots, f"knots of {self.name!r}"), self.period))
        return np.append(turn, turn[0] + self.period)

    def decode(self, codes: Floats) -> NDArray[Any]:
        """Return the values that ``codes`` stand for, as objects; None for a category that is missing or was not in the fit."""
        if self.kind != "categorical":
            return codes.astype(object)
        values = np.array([*self.categories, None], dtype=object)
        return values[np.where(np.isnan(codes), len(self.categories), codes).astype(np.int64)]

    @property
    def unseen_name(self) -> str:
        """The text for a category that was not in the fit: "(other)", or in more brackets if that is a category itself."""
        name = "(other)"
        while name in self.categories:
            name = f"({name})"
        return name

    def labels(self, codes: Floats) -> list[Any]:
        """`decode` of one level each: `unseen_name` for a category not in the fit, "(missing)" for a missing value."""
        cells = zip(codes, self.decode(codes).tolist(), strict=True)
        return ["(missing)" if np.isnan(code) else self.unseen_name if cell is None else cell for code, cell in cells]


MISSING_ADVICE = (
    'fill them in, drop these rows, or give missing="level" to what makes the distance (to a learner, classifier or regressor '
    'by columns=Columns(missing="level")); a frame that has gaps in these columns when it is fitted needs no more'
)
_MOST_COORDINATES = 30  # a feature with more categories than this has no coordinates


@storable
@dataclass(frozen=True)
class Schema:
    """The features of a table, in the order of its columns; it is made by `fit` or from given features.

    Printed, it is one line that says what was understood of the columns.

    Parameters
    ----------
    features : tuple of Feature
    dropped : tuple of str, default ()
        Columns of the table of the fit that are no features. Frames, and rows by name, may have them or not.

    Examples
    --------
    >>> table = [["red", 23.0], ["blue", 1.0]]
    >>> schema = Schema.fit(table, categorical_features=[0], periodic={1: 24})
    >>> schema.encode([["blue", 25.0], ["green", -1.0]])
    array([[ 0.,  1.],
           [ 2., 23.]])
    """

    features: tuple[Feature, ...]
    dropped: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        object.__setattr__(self, "dropped", tuple(self.dropped))
        if both := {*self.names} & {*self.dropped}:
            raise InputError(f"the column {min(both)!r} is a feature, and it is dropped; one of the two is required")

    def __str__(self) -> str:
        kinds: dict[str, list[str]] = {}
        for feature in self.features:
            kinds.setdefault(feature.kind_in_words, []).append(feature.name)
        parts = [f"{words} {_listed(names)}" for words, names in kinds.items()]
        gaps = [f.name for f in self.features if f.missing]
        parts += [f"gaps in {'all' if len(gaps) == len(self.features) else _listed(gaps)}"] if gaps else []
        parts += [f"left out {_listed(self.dropped)}"] if self.dropped else []
        return f"{len(self.features)} columns: {'; '.join(parts)}"

    def _repr_html_(self) -> str:
        rows = [("column", "read as", "values", "gaps")]
        for feature in self.features[:_MOST_ROWS]:
            shown = ", ".join(map(cell_text, feature.categories[:_MOST_VALUES]))
            shown += ", ..." if len(feature.categories) > _MOST_VALUES else ""
            period = f"period {feature.period:g}" if feature.kind == "periodic" else shown
            rows.append((feature.name, feature.kind_in_words, period, "yes" if feature.missing else ""))
        more = len(self.features) - _MOST_ROWS
        notes = [f"{more:,} more columns"] if more > 0 else []
        notes += [f"left out: {_listed(self.dropped)}"] if self.dropped else []
        return html_table(rows, title=f"{len(self.features)} columns", notes=notes)

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
        missing: str | Sequence[int | str] = "error",
        drop: str | Sequence[int | str] | None = None,
        name: str = "X",
    ) -> Schema:
        """Return the schema of the columns of X, by the parameters, and by the dtypes and the cells of a table.

        Parameters
        ----------
        X : frame of pandas, polars or pyarrow, or of what else narwhals reads, or array-like of shape (n_items, n_features)
        categorical_features : "auto" (default), None, or sequence of int or str
            The columns that hold categories, by number or name. "auto" takes the columns of a frame whose dtype is
            ``category`` of pandas, or ``Categorical`` or ``Enum`` of polars, and columns of text of which at most 20 cells, or
            a tenth, differ (of 20 rows or more also not over half), but for dates and times. Numbers that are no text, with up
            to a twentieth of text among them, are refused if more than 20 cells differ. A sequence names others beside these;
            None is none at all. Truth values are the numbers 1 and 0. Categories are text, truth values or finite
            numbers, in the order of the dtype where it has one, else sorted.
        periodic : dict of int or str to float or {"day", "week", "year"}, or None
            The periods of columns that wrap around, such as ``{"hour": 24}``. For a column of times (datetime or date, with a
            time zone or without, or text such as "2024-05-01" or "2024-05-01T12:30") name its period: ``{"when": "day"}`` takes
            the hour that clocks show, "week" the day since Monday, and "year" the day since 1 January. A column of times
            without a period is a scale, in days; for several of these give the column several times.
        missing : {"error", "level", "auto"}, or sequence of int or str
            "error" refuses a missing value (NaN, None, NA); "level" makes it a level of its own in every feature, "auto" in
            those that have some, and a sequence in those that it names.
        drop : "auto", None (default), or sequence of int or str
            Columns that are no features. "auto" drops those of a frame with names that are text of which more cells differ
            than in categories, ids (whole numbers that all differ in a column called id, customer_id, RowNumber or the like),
            and, of 20 rows or more, what is the same on every row, unless all columns are the bins of histograms; a
            `SemimetricWarning` lists them. A column that another parameter names is never dropped, nor one of a dtype of
            categories.
        name : str
            The name of X in messages.

        Raises
        ------
        InputError
            If a given column does not exist, is both categorical and periodic, holds nothing but missing values, or has
            categories that are neither text nor numbers, or if all columns would be dropped.
        """
        if isinstance(missing, str):
            check_choice("missing", missing, ("error", "level", "auto"))
        if isinstance(categorical_features, str):
            check_choice("categorical_features", categorical_features, ("auto",))
        if isinstance(drop, str):
            check_choice("drop", drop, ("auto",))
        X = as_table(X, name)
        n = X.shape[1] if len(X.shape) == 2 else 0
        names = feature_names(X, n)
        periods = by_column(periodic or {}, names, "periodic")
        chosen = _numbers_of("categorical_features", categorical_features, names)
        may_miss, dropped = _numbers_of("missing", missing, names), _numbers_of("drop", drop, names)
        if both := chosen & set(periods):
            raise InputError(f"{names[min(both)]!r} is in categorical_features= and in periodic=; a feature is one of the two")
        if both := dropped & (chosen | set(periods) | may_miss):
            raise InputError(f"{names[min(both)]!r} is in drop=, and another parameter names it; leave it out of one")
        texts = {} if categorical_features is None else {k: column_texts(column_of(X, k)) for k in range(n)}
        kinds = {k: kind_of_texts(cells) for k, cells in texts.items() if cells and k not in chosen}
        listed = {k for k in range(n) if categorical_features is not None and is_categorical(column_of(X, k))}
        chosen |= listed | {k for k, kind in kinds.items() if kind == "categories" and k not in periods}
        drops = isinstance(drop, str) and hasattr(X, "columns") and all(isinstance(column, str) for column in X.columns)
        named = listed | set(periods) | may_miss | _numbers_of("categorical_features", categorical_features, names)
        features, reasons = [], {}
        for k, title in enumerate(names):
            if k in dropped:
                continue
            column = column_of(X, k)
            if k not in named and kinds.get(k) in ("categories", "names"):
                slips = _checked_slips(column, title, name, is_read_so=kinds[k] == "categories")
                if drops and kinds[k] == "names":
                    reasons[title] = _why_no_categories(texts[k]) + (f", but {slips.first}" if slips else "")
                    continue
            feature = Feature(title, missing=missing == "level" or k in may_miss)
            if k in chosen:
                categories = categories_of(column, f"{title!r} of {name}")
                feature = replace(feature, kind="categorical", categories=categories)
            else:
                feature = replace(feature, **_kind_of(column, title, periods.get(k)))
            is_read = drops or feature.missing or missing == "auto"
            codes = feature.encode(column, name) if is_read else np.zeros(1)
            gaps = np.isnan(codes)
            if drops and k not in named and (reason := _why_of_no_use(title, codes)):
                drops = bool(reasons) or not _has_histograms(X, n)  # which are looked for once
                if drops:
                    reasons[title] = reason
                    continue
            if gaps.all():
                raise InputError(f"column {title!r} of {name} holds nothing but missing values; drop it")
            features.append(replace(feature, missing=True) if missing == "auto" and gaps.any() else feature)
        if reasons:
            _warn_of_dropped(reasons, name, any_left=bool(features))
        return cls(tuple(features), (*(names[k] for k in sorted(dropped)), *reasons))

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

    @property
    def known_by_names(self) -> bool:
        """True if all columns are features, plain, not of a model and no truth values, so that the names say all."""
        return self.plain and not self.dropped and not self.encoded and not any(f.truth for f in self.features)

    def renamed(self, names: Sequence[str]) -> Schema:
        """Return the schema with other names of the features."""
        if self.names == tuple(names):
            return self
        return Schema(tuple(replace(f, name=name) for f, name in zip(self.features, names, strict=True)), self.dropped)

    def reads_as(self, other: Schema) -> bool:
        """Return True if both schemas encode the same values alike; the names of their features may differ."""
        return len(self.names) == len(other.names) and self.renamed(other.names).features == other.features

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
        if self.plain and (not self.dropped or type(X) is np.ndarray):
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

        A category that was not in the fit is "(other)", or `Feature.unseen_name` where a category is called so. A time on a
        scale is a `datetime`, and a truth value True or False.
        """
        if self.plain and not any(feature.truth for feature in self.features):
            return X
        names = np.array([feature.unseen_name for feature in self.features], dtype=object)
        cells = np.where(self.unseen(X), names, self.decode(X).astype(object))
        for k, feature in enumerate(self.features):
            if feature.time == SCALE:
                cells[:, k] = times_of(X[:, k], feature.zone)
            for row in np.flatnonzero(np.isin(X[:, k], (0.0, 1.0))) if feature.truth else ():
                cells[row, k] = bool(X[row, k])
        return cells

    def arguments(self, X: Floats, given: Any = None) -> NDArray[Any]:
        """Return an encoded matrix as functions of a user take its rows: numbers where all are; else as `display`.

        A category that was not in the fit is as the table ``given`` has it, of which X is encoded.
        """
        if all(feature.kind != "categorical" and not feature.time for feature in self.features):
            return X
        cells = self.display(X)
        for k, feature in enumerate(self.features):
            if feature.truth:
                cells[np.isnan(X[:, k]), k] = None
        if given is not None and (unseen := self.unseen(X)).any():
            table = as_table(self.table(given))
            for k in np.flatnonzero(unseen.any(axis=0)).tolist():
                column = cells_of(column_of(table, k))
                for row in np.flatnonzero(unseen[:, k]).tolist():
                    cells[row, k] = column[row]
        return cells

    def frame(self, cells: NDArray[Any], labels: NDArray[Any]) -> Any:
        """Return rows as `display` gives them as a frame of pandas with these labels, each column of the dtype of its kind.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        pandas = optional("pandas")
        columns = {
            f.name: pandas.Categorical(column, dict.fromkeys([*f.categories, *column[column == f.unseen_name]]))
            if f.kind == "categorical"
            else pandas.Series(column).infer_objects()
            for f, column in zip(self.features, cells.T, strict=True)
        }
        frame = pandas.DataFrame(columns)
        frame.index = pandas.Index(labels)
        return frame

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
        """Return a table whose rows are dicts, or a dict, or that is sparse, as an array; anything else as it is.

        Columns that the schema has dropped are left out of frames and of rows by name.
        """
        X = without_columns(dense_table(X, name), self.dropped)
        found = named_rows(X, self.names, name=name)
        return found[None] if found is not X and found.ndim == 1 else found

    def row(self, x: Any) -> NDArray[Any]:
        """Return one vector, or dict, as a table of one row."""
        x = x if type(x) is np.ndarray else named_rows(without_columns(x, self.dropped), self.names, name="x")
        return as_floats(x, "x", ndim=1, names=self.names)[None] if self.plain else as_cells(x, "x")[None]

    def rows(self, x: Any, name: str = "x") -> Any:
        """Return one vector, or dict, as a table of one row; a table, or a list of dicts, as a table."""
        x = named_rows(without_columns(x, self.dropped), self.names, name=name)
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


def _numbers_of(parameter: str, given: Any, names: Sequence[str]) -> set[int]:
    """Return the numbers of the columns that a parameter names; none for None and for a text."""
    return set() if given is None or isinstance(given, str) else set(column_numbers(given, names, parameter))


def _checked_slips(column: Any, title: str, name: str, *, is_read_so: bool) -> Slips | None:
    """Return the slips of a column of text; refuse those among typed numbers, and warn of those by which it is categories."""
    slips = slips_of(cells_of(column))
    if slips is None:
        return None
    if slips.typed:
        raise no_numbers(cells_of(column), f"{title!r}", name, ValueError())
    if is_read_so:
        warn(
            f"column {title!r} of {name} is of {slips.kind}, but {slips.first}, so that it is read as categories: correct or "
            "empty such cells, or name the column in Columns(categorical=) if it holds categories",
            cause="slips",
        )
    return slips


def _why_no_categories(texts: Sequence[str]) -> str:
    of = f"{len(set(texts)):,} different texts in {len(texts):,} rows"
    for called, is_one in (("numbers", is_number), ("times", is_time)):
        if 2 * (n := sum(map(is_one, texts))) > len(texts):
            return f"{of}, {n:,} of them {called}"
    written = [text for text in texts if _WRITTEN_NUMBER.fullmatch(text.strip())]
    if 2 * len(written) > len(texts):
        return f"{of}, {len(written):,} of them numbers as people write them, such as {written[0]!r}: make numbers of them"
    return of


def _has_histograms(X: Any, n: int) -> bool:
    """Return True for a frame of ``n`` columns whose rows are histograms: bins that are always empty belong to them."""
    columns = [column_of(X, k) for k in range(n)]
    if not all(holds_numbers(column) and not holds_truth(column) for column in columns):
        return False
    return are_histograms(np.column_stack([np.asarray(column, dtype=np.float64) for column in columns]))


def _why_of_no_use(title: str, codes: Floats) -> str:
    """Return why an encoded column says nothing of the rows; "" if it may."""
    gaps = np.isnan(codes)
    if len(codes) < _ENOUGH or gaps.any():
        return "empty" if gaps.all() else ""
    if (codes == codes[0]).all():
        return "the same on every row"
    is_id = _IDS.search(title) and (codes % 1 == 0).all() and len(np.unique(codes)) == len(codes)
    return "an id, another number on every row" if is_id else ""


def _warn_of_dropped(reasons: Mapping[str, str], name: str, *, any_left: bool) -> None:
    found = "; ".join(f"{title!r} ({reason})" for title, reason in list(reasons.items())[:_MOST_LISTED])
    found += f"; and {len(reasons) - _MOST_LISTED} more" if len(reasons) > _MOST_LISTED else ""
    if not any_left:
        raise InputError(
            f"{name} has no column to compare rows by, for all are left out: {found}; name some in Columns(categorical=)"
        )
    warn(
        f"columns of {name} are left out: {found}. To use one as categories, name it in Columns(categorical=), "
        "categorical_features= or --categorical; Columns(drop=) leaves them out without a warning",
        cause=LEFT_OUT,
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def _kind_of(column: Any, title: str, period: Any) -> dict[str, Any]:
    column = with_texts_read(column)
    if not holds_times(column):
        if isinstance(period, str):
            raise InputError(
                f"periodic= gives {title!r} the period {period!r}, which is one of times, but the column holds none; give a "
                "number, or make its dtype datetime"
            )
        return {"truth": holds_truth(column)} if period is None else {"kind": "periodic", "period": check_period(title, period)}
    if period is None:
        return {"time": SCALE, "zone": "UTC" if zone_of(column) else ""}
    if period not in PERIODS:
        raise InputError(
            f"periodic= gives {title!r} the period {period!r}, but the column holds times; one of "
            f"{', '.join(map(repr, PERIODS))} is required, or nothing for a scale in days"
        )
    return {"kind": "periodic", "period": PERIODS[period], "time": period, "zone": zone_of(column)}
