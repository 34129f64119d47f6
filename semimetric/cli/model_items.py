"""Items as a model takes them: the columns of a table that are its features, be they numbers or categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._foundation.errors import InputError, warn
from .._foundation.types import Floats
from ..data.schema import Schema
from ..distances.model.item_statistics import warn_outside
from ..distances.model.semimetric import Semimetric
from .mixed_tables import MixedTable, read_categorical, read_features_of
from .numeric_tables import NamedRows, frame_of, read_items, warn_of_likely_id
from .periods import Period, periods_of


@dataclass(frozen=True, eq=False)
class ModelItems(NamedRows):
    """The features of a model in the rows of a table.

    Parameters
    ----------
    path, ids, named : as in `NamedRows`
    features : DataFrame
        Numbers, and categories as the model has them.
    encoded : ndarray of shape (n_items, n_features)
        The same, as the distance computes with them.
    unused : tuple of str
        The columns of the table that the model does not use.
    """

    features: Any
    encoded: Floats
    unused: tuple[str, ...] = ()


def read_model_items(d: Semimetric, path: str, id_column: str | None = None, names: tuple[str, ...] = ()) -> ModelItems:
    """The items in a table, with a warning of those outside the range of the fit.

    Parameters
    ----------
    d : Semimetric
        The model, whose features must be columns of the table.
    path : str
    id_column : str or None
        The column of ids; rows are numbered without.
    names : tuple of str
        What the features are called in the table, if not as in the model.

    Raises
    ------
    InputError
        If a feature has no column, or a cell cannot be used, or an id is on two rows.
    """
    names = names or d.feature_names
    if not any(f.kind == "categorical" or f.missing or f.time for f in d.schema.features):
        numeric = read_items(path, id_column)
        X = numeric.features(names)
        others = numeric.names if X is not numeric.values else ()
        unused = tuple(name for name in (*others, *numeric.unused) if name not in names)
        items = ModelItems(path, numeric.ids, numeric.named, frame_of(X, names), X, unused)
    else:
        items = _mixed_items(read_features_of(d.schema, path, id_column), d.schema, id_column)
    warn_outside(d, items.encoded, source=path)
    return items


def read_new_items(
    path: str, id_column: str | None, categorical: Sequence[str], missing: str, periodic: Sequence[Period] = ()
) -> ModelItems:
    """The items in a table from which a model is to be learned: columns of numbers, and those that are named as categories.

    Parameters
    ----------
    path : str
    id_column : str or None
    categorical : sequence of str
    missing : {"error", "level"}
        Whether empty cells are refused.
    periodic : sequence of tuples of str and float or str
        Columns that are circles, and their periods.

    Raises
    ------
    InputError
        If a cell cannot be used, or an id is missing or on two rows.
    """
    if categorical or missing == "level":
        mixed = read_categorical(path, categorical, id_column, missing=missing == "level")
        periods = periods_of(periodic, list(mixed.features.columns), path)
        chosen = list(categorical)
        schema = Schema.fit(mixed.features, categorical_features=chosen, periodic=periods, missing=missing, name=path)
        return _mixed_items(mixed, schema, id_column)
    items = read_items(path, id_column)
    if items.unused:
        unused = ", ".join(items.unused)
        warn(f"columns of {path} that are not numeric are not used: {unused}; name categories by --categorical")
    if items.likely_id:
        warn_of_likely_id(items.likely_id, path)
    features, encoded = frame_of(items.values, items.names), items.values
    if periods := periods_of(periodic, items.names, path):
        encoded = Schema.fit(features, periodic=periods, name=path).encode(features, name=path)
    return ModelItems(path, items.ids, items.named, features, encoded)


def _mixed_items(table: MixedTable, schema: Schema, id_column: str | None) -> ModelItems:
    ids = table.ids
    if len(set(ids)) < len(ids):
        repeated = next(name for name in ids if ids.count(name) > 1)
        raise InputError(f"the id {repeated!r} is on more than one row of {table.path}; every item needs its own")
    return ModelItems(table.path, ids, id_column is not None, table.features, schema.encode(table.features), table.unused)
