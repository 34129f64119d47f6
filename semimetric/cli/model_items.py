"""Items as a model takes them: the columns of a table that are its features, be they numbers or categories."""

from dataclasses import dataclass
from typing import Any

from .._foundation.errors import InputError
from .._foundation.types import Floats
from ..distances.out_of_range import warn_outside
from ..distances.semimetric import Semimetric
from .mixed_tables import read_features_of
from .numeric_tables import NamedRows, frame_of, read_items

__all__ = ["ModelItems", "read_model_items"]


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
    """

    features: Any
    encoded: Floats


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
    if not any(f.kind == "categorical" or f.missing for f in d.schema.features):
        numeric = read_items(path, id_column)
        X = numeric.features(names)
        items = ModelItems(path, numeric.ids, numeric.named, frame_of(X, names), X)
    else:
        mixed = read_features_of(d, path, id_column)
        if len(set(mixed.ids)) < len(mixed.ids):
            repeated = next(name for name in mixed.ids if mixed.ids.count(name) > 1)
            raise InputError(f"the id {repeated!r} is on more than one row of {path}; every item needs its own")
        encoded = d.schema.encode(mixed.features)
        items = ModelItems(path, mixed.ids, id_column is not None, mixed.features, encoded)
    warn_outside(d, items.encoded, source=path)
    return items
