"""The parts of a distance as JSON values and arrays for a saved file, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import StorageError
from ..data.grid import Grid
from ..data.schema import Schema
from ..embeddings.directions.linear_directions import Directions
from ..embeddings.pairs.base import PairMap
from ..embeddings.pairs.full_tables import PairEmbedding
from ..embeddings.pairs.monotone_scales import WarpedEmbedding
from ..embeddings.pairs.scales_and_tables import MixedEmbedding, scales_of
from .base_distances import BaseDistance

__all__ = [
    "base_distances_state",
    "directions_state",
    "map_state",
    "read_base_distances",
    "read_directions",
    "read_map",
]

Parts = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def map_state(embedding: PairMap) -> Parts:
    """The JSON values and arrays of an embedding of pairs."""
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
        if vertices.kept is not None:
            arrays[f"touched_{g}"] = vertices.kept
    if embedding.unseen_slopes is not None:
        arrays["unseen_slopes"] = embedding.unseen_slopes
    return values, arrays


def read_map(values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PairMap:
    """The embedding of pairs whose `map_state` is given."""
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
    """The JSON values and arrays of directions."""
    if directions is None:
        return {"directions": None}, {}
    arrays = {"directions": directions.matrix}
    if directions.bends:
        arrays |= {"bends": np.concatenate(directions.bends), "bend_counts": np.array([len(b) for b in directions.bends])}
    return {"directions": list(directions.names)}, arrays


def read_directions(values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Directions | None:
    """The directions whose `directions_state` is given."""
    if values["directions"] is None:
        return None
    bends = np.split(arrays["bends"], np.cumsum(arrays["bend_counts"])[:-1]) if "bends" in arrays else ()
    return Directions(arrays["directions"], tuple(values["directions"]), tuple(bends))


def base_distances_state(base_distances: Sequence[BaseDistance]) -> Parts:
    """The JSON values and arrays of base distances, without their functions."""
    arrays: dict[str, NDArray[Any]] = {}
    for k, base in enumerate(base_distances):
        arrays |= {f"probe_{k}": base.probe, f"probe_values_{k}": base.values}
    return {"base_distances": [base.state() for base in base_distances]}, arrays


def read_base_distances(
    stored: Sequence[Mapping[str, Any]],
    arrays: dict[str, NDArray[Any]],
    functions: Sequence[object],
    schema: Schema | None,
) -> tuple[BaseDistance, ...]:
    """The base distances whose `base_distances_state` is given, with their functions.

    Raises
    ------
    StorageError
        If there are too few or too many functions, or one does not return the stored values.
    """
    if len(stored) != len(functions):
        raise StorageError(
            f"the model has {len(stored)} base distances ({', '.join(s['name'] for s in stored) or 'none'}), which are "
            f"Python functions, but {len(functions)} were given; in Python, give the same callables, in the same "
            "order: semimetric.load(path, base_distances=[...])"
        )
    return tuple(
        BaseDistance.read(s, function, arrays[f"probe_{k}"], arrays[f"probe_values_{k}"], schema)
        for k, (s, function) in enumerate(zip(stored, functions, strict=True))
    )
