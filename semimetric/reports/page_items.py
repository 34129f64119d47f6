"""The items of a page, and what every report says of them and of the shares of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .packed_numbers import packed
from .shares import Shares
from .subjects import ReportItems

_MOST_VALUES = 50_000  # of all items in a page
_FEWEST = 20  # items in a page, however many columns they have


def sample(
    items: ReportItems | None, n_features: int, max_items: int, rng: np.random.Generator, *, most: int | None = None
) -> ReportItems | None:
    """The items of the page: all, or so many that they fit into it, and at most ``most``."""
    if items is None or not len(items):
        return None
    fits = min(max_items, max(_MOST_VALUES // n_features, _FEWEST), len(items) if most is None else most)
    return items if len(items) <= fits else items.take(np.sort(rng.choice(len(items), fits, replace=False)))


def importances(shares: Shares, terms: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """The shares by name, and what they are."""
    of_columns = [] if shares.features is None else shares.features.tolist()
    return {
        "note": shares.note, "terms": dict(zip(terms, shares.terms.tolist(), strict=True)),
        "features": dict(zip(names, of_columns, strict=False)) or None,
    }  # fmt: skip


def data_facts(
    items: ReportItems | None,
    shown: ReportItems | None,
    outside: NDArray[np.bool_] | None,
    columns: list[dict[str, Any]],
    outside_note: str,
) -> dict[str, Any]:
    """The columns, and how many items there are and which of them are in the page."""
    notes = []
    if items is None or shown is None:
        text = "The report was made without items."
    else:
        text = f"{len(items):,} items."
        if len(shown) < len(items):
            text += f" The page holds a random sample of {len(shown):,} of them; counts and medians below are of all."
        n_outside = 0 if outside is None else int(outside.any(axis=1).sum())
        if n_outside:
            notes.append(f"{n_outside:,} items lie outside the range of the fit in some column.")
    return {
        "how_many": text, "notes": notes, "has_items": items is not None, "columns": columns, "outside_note": outside_note,
    }  # fmt: skip


def shares_of_page(shares: Shares, names: Sequence[str]) -> dict[str, Any]:
    """The shares as the page reads them."""
    of_columns = None if shares.features is None else shares.features.tolist()
    return {"terms": shares.terms.tolist(), "features": of_columns, "names": list(names), "of": shares.of, "note": shares.note}


def items_of_page(shown: ReportItems | None, items: ReportItems | None) -> dict[str, Any] | None:
    """Values, names and classes of the items that are shown; None without any."""
    if shown is None or items is None:
        return None
    targets = None if shown.targets is None else shown.targets.tolist()
    return {
        "n": len(shown), "names": list(shown.names), "values": packed(shown.values.ravel()), "targets": targets,
        "targetName": shown.target_name, "sampled": len(shown) < len(items),
    }  # fmt: skip
