"""All tables of a distance as one long frame, a row for each of their cells."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from .._foundation.optional_imports import optional
from ..embeddings.pairs.base import Table

__all__ = ["long_frame"]


def long_frame(tables: Mapping[str, Table]) -> Any:
    """The cells of tables as a frame of pandas with the columns ``feature``, ``a``, ``b`` and ``distance``.

    Parameters
    ----------
    tables : mapping of str to Table
        The tables by the names of their terms, which become the column ``feature``. ``a`` and ``b`` are the levels of the two
        vectors, for the table of several features a tuple each.
    """
    feature: list[str] = []
    a: list[Any] = []
    b: list[Any] = []
    for name, table in tables.items():
        levels = [list(level) for level in table.levels or table.knots]
        points = levels[0] if len(levels) == 1 else list(product(*levels))
        feature += [name] * table.values.size
        a += [point for point in points for _ in points]
        b += points * len(points)
    values = [table.values.ravel() for table in tables.values()]
    distance = np.concatenate(values) if values else np.empty(0)
    return optional("pandas").DataFrame({"feature": feature, "a": a, "b": b, "distance": distance})
