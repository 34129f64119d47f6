"""A distance in a few lines of text, and as a table of its features for notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._foundation.printed_tables import html_table
from ..embeddings.pairs.monotone_scales import WarpedEmbedding
from ..embeddings.pairs.scales_and_tables import MixedEmbedding

__all__ = ["summary", "summary_html"]

_KINDS: dict[type, str] = {WarpedEmbedding: "warped scales", MixedEmbedding: "warped scales and tables"}
_MOST_FEATURES = 20  # that have a row
_MOST_CATEGORIES = 4  # that are named


def summary(d: Any) -> str:
    """What a `Semimetric` guarantees, and what it consists of, in three lines."""
    sizes = sorted({len(g) for g in d.embedding.groups})
    knots = dict.fromkeys(map(int, np.sort(d.embedding.grid.sizes)[[0, -1]]))
    n_linear, n_trees = (d.directions.n_linear, d.directions.n_trees) if d.directions else (0, 0)
    extra = f" + {n_linear} directions" * (n_linear > 0) + f" + {n_trees} trees" * (n_trees > 0)
    base = "".join(f" + {b.weight:.3g} {b.name}" for b in d.base_distances)
    return (
        f"Semimetric: {d.axioms}\n"
        f"  {d.n_features} features{extra}, {len(d.embedding.groups)} {_KINDS.get(type(d.embedding), 'tables')} over groups of "
        f"{' and '.join(map(str, sizes))}{base}\n"
        f"  {' to '.join(map(str, knots))} knots a feature, {len(d.weights)} weights, link {d.link}"
    )


def summary_html(d: Any) -> str:
    """`summary` with a table of the raw features: their kinds, their ranges or categories, and their numbers of knots."""
    title, *notes = summary(d).splitlines()
    rows = [("feature", "kind", "range", "knots")]
    rows += [(name, d.schema.kinds[f], _range(d, f), str(d.embedding.grid.sizes[f])) for f, name in _first_features(d)]
    if d.n_features > _MOST_FEATURES:
        rows.append((f"{d.n_features - _MOST_FEATURES} others", "", "", ""))
    return html_table(rows, title=title, notes=notes)


def _first_features(d: Any) -> list[tuple[int, str]]:
    """The numbers and names of the features that have a row."""
    return list(enumerate(d.feature_names[:_MOST_FEATURES]))


def _range(d: Any, f: int) -> str:
    """The range of a feature in the fit, or its first categories."""
    feature, grid = d.schema.features[f], d.embedding.grid
    if feature.kind == "categorical":
        text = ", ".join(map(str, feature.categories[:_MOST_CATEGORIES]))
        text += ", ..." if len(feature.categories) > _MOST_CATEGORIES else ""
    else:
        text = f"period {feature.period:g}" if feature.kind == "periodic" else f"{grid.low[f]:.4g} to {grid.high[f]:.4g}"
    return text + ", or missing" * feature.missing
