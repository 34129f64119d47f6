"""The functions of an additive machine as a frame, a row for each of their knots."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from .._foundation.optional_imports import optional
from .._foundation.types import Floats

__all__ = ["ShapesInFrames"]


class ShapesInFrames:
    """The part of `Shapes` that shows them as a frame of pandas."""

    knots: Mapping[int, Floats]
    curves: Mapping[int, Floats]
    tables: Mapping[tuple[int, int], Floats]
    feature_names: Any

    def to_frame(self) -> Any:
        """The values of all functions at their knots as a frame of pandas, a row for each.

        Returns
        -------
        DataFrame with the columns "feature", "value" and "score"
            The name of the feature, or of two joined by " * "; a knot, or a tuple of two; and what is added there.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        Examples
        --------
        >>> from semimetric import PL1Embedding
        >>> from semimetric.linear_models import Shapes
        >>> Shapes.of(PL1Embedding(2).fit([[0.0], [1.0]]), [-1.0, 1.0]).to_frame()
          feature  value  score
        0      x0    0.0   -1.0
        1      x0    1.0    1.0
        """
        names = list(self.feature_names)
        rows: list[tuple[str, Any, float]] = [
            (names[f], float(v), float(s))
            for f, curve in self.curves.items()
            for v, s in zip(self.knots[f], curve, strict=True)
        ]
        rows += [
            (f"{names[f]} * {names[g]}", point, float(s))
            for (f, g), table in self.tables.items()
            for point, s in zip(product(self.knots[f].tolist(), self.knots[g].tolist()), np.ravel(table), strict=True)
        ]
        return optional("pandas").DataFrame(rows, columns=["feature", "value", "score"])
