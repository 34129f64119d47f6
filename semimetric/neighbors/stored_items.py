"""An index inside of an estimator that is saved: its items and parameters alone, from which it is built again.

Building is what proves it: cells, codes and lists follow from the items, so a file cannot say anything wrong of them.
"""

from typing import Any

import numpy as np

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.members import Members
from .._foundation.types import Floats
from ..data.schema import Schema
from ..distances.agreement import check_probe
from ..distances.semimetric import Semimetric
from .index import NeighborIndex
from .query_tables import QueryView

__all__ = ["index_of_stored", "stored_index"]


def stored_index(index: NeighborIndex, n_items: int) -> dict[str, Any]:
    """The parameters and the encoded items of an index whose ids are the row numbers of ``n_items`` items.

    Raises
    ------
    NotSupportedError
        If items were added to the index, or removed, after it was fitted.
    """
    if not np.array_equal(index.ids_, np.arange(n_items)):
        raise NotSupportedError(
            f"index_ has {index.n_samples_fit_} items, which are not the {n_items} that were fitted, in their order; fit again "
            "with the items that it shall have, and save index_ by itself where it has others"
        )
    return {"index": index.parameter_values, "items": index._queries(None)}


def index_of_stored(semimetric: Semimetric, stored: dict[str, Any], names: Any) -> NeighborIndex:
    """The index that `stored_index` gives, under a distance; ``names`` are those of its features, or None."""
    items, values = stored["items"], Members(stored["index"])
    _check_items(semimetric.schema, items)
    index = NeighborIndex.of_values(semimetric, values.text("side"), values)
    values.done()
    index.n_features_in_ = semimetric.n_features
    if names is not None:
        index.feature_names_in_ = names
    index._view = QueryView(semimetric, index.side)
    return index.fit_encoded(items, np.arange(len(items)))


def _check_items(schema: Schema, items: Floats) -> None:
    """Refuse items that are no encoded vectors of this schema, shape (n_items, n_features)."""
    n = len(schema.features)
    if items.ndim != 2 or items.shape[1] != n or not len(items) or items.dtype not in (np.float64, np.float32):
        raise InputError(f"items are {items.dtype} of shape {items.shape}; floating-point numbers (n_items, {n}) are required")
    if items.dtype == np.float32 and not schema.plain:
        raise InputError("items with categories, periods or missing values are float32, but float64 is required")
    if np.isinf(items).any():
        raise InputError("items hold infinity, but finite values are required")
    check_probe(schema, items, "items")
    for feature, column in zip(schema.features, items.T, strict=True):
        if feature.kind == "periodic" and not (np.isnan(column) | ((column >= 0) & (column < feature.period))).all():
            raise InputError(f"items have values of {feature.name!r} outside of its period")
