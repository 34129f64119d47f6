"""Pair maps and directions as JSON and arrays, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import StorageError
from ..data.grid import Grid
from ..embeddings.directions.linear_directions import Directions
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.full_tables import PairEmbedding
from ..embeddings.pairs.monotone_scales import WarpedEmbedding
from ..embeddings.pairs.scales_and_tables import MixedEmbedding, scales_of

__all__ = ["directions_state", "map_state", "read_directions", "read_map"]

Parts = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def map_state(embedding: PairMap) -> Parts:
    """JSON values and arrays of a pair map."""
    values: dict[str, Any] = {"groups": [list(g) for g in embedding.groups]}
    grid = embedding.grid
    arrays: dict[str, NDArray[Any]] = {"knots": grid.flat, "knot_counts": grid.counts}
    if not grid.plain:
        values |= {"kinds": list(grid.kinds), "missing": list(grid.missing)}
    if isinstance(embedding, MixedEmbedding):
        return values | {"kind": "mixed"}, arrays
    if isinstance(embedding, WarpedEmbedding):
        return values | {"kind": "warped"}, arrays
    if not isinstance(embedding, PairEmbedding):
        raise StorageError(f"{type(embedding).__name__} cannot be saved; only the package's own pair maps can")
    values |= {"kind": "pairs", "symmetry": embedding.symmetry, "zero_diagonal": embedding.zero_diagonal}
    for g, vertices in enumerate(embedding.vertices):
        if vertices.touched is not None:
            arrays[f"touched_{g}"] = vertices.touched
    if embedding.unseen_slopes is not None:
        arrays["unseen_slopes"] = embedding.unseen_slopes
    return values, arrays


def read_map(values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PairMap:
    """The pair map of `map_state`."""
    knots = np.split(arrays["knots"], np.cumsum(arrays["knot_counts"])[:-1])
    grid = Grid(knots, values.get("kinds", ()), values.get("missing", ()))
    groups = [tuple(g) for g in values["groups"]]
    if values["kind"] == "warped":
        return WarpedEmbedding(grid, groups)
    if values["kind"] == "mixed":
        return scales_of(grid, groups)
    whole = PairEmbedding(grid, groups, symmetry=values["symmetry"], zero_diagonal=values["zero_diagonal"])
    touched = {g: arrays[f"touched_{g}"] for g in range(len(groups)) if f"touched_{g}" in arrays}
    if not touched:
        return whole
    return PairEmbedding(
        grid, groups, symmetry=whole.symmetry, zero_diagonal=whole.zero_diagonal,
        vertices=[v.restricted(touched[g]) if g in touched else v for g, v in enumerate(whole.vertices)],
        unseen_slopes=arrays["unseen_slopes"],
    )  # fmt: skip


def directions_state(directions: Directions | None) -> Parts:
    """JSON values and arrays of directions."""
    if directions is None:
        return {"directions": None}, {}
    arrays = {"directions": directions.matrix}
    if directions.bends:
        arrays |= {"bends": np.concatenate(directions.bends), "bend_counts": np.array([len(b) for b in directions.bends])}
    return {"directions": list(directions.names)}, arrays


def read_directions(values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Directions | None:
    """The directions of `directions_state`."""
    if values["directions"] is None:
        return None
    bends = np.split(arrays["bends"], np.cumsum(arrays["bend_counts"])[:-1]) if "bends" in arrays else ()
    return Directions(arrays["directions"], tuple(values["directions"]), tuple(bends))
