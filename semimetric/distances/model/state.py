"""The parts of a distance as JSON values and arrays for a saved file, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import StorageError
from ..._foundation.files import State
from ..._foundation.stored import Members, split_vectors
from ..._foundation.types import Floats
from ..._foundation.validation import check_choice
from ...data.feature_groups import resolve_groups
from ...data.grid import Grid
from ...data.schema import Schema
from ..features.linear_directions import Directions
from ..features.partitions import Partitions
from ..pairs.base import PairMap
from ..pairs.full_tables import PairEmbedding
from ..pairs.monotone_scales import WarpedEmbedding
from ..pairs.scales_and_tables import MixedEmbedding, scales_of
from ..pairs.vertices import Vertices
from .axioms import check_probe
from .base_distances import BaseDistance
from .links import read_link

Parts = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def map_state(embedding: PairMap) -> Parts:
    """Return the JSON values and arrays of an embedding of pairs."""
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


def read_map(members: Members, values: Members, n_features: int, n_weights: int) -> PairMap:
    """Return the embedding of pairs of a `map_state`; refuse it before it takes memory that ``n_weights`` do not explain."""
    counts = members.array("knot_counts", np.int64, n_features)
    flat = members.array("knots", np.float64, None)
    kinds = values.list_of("kinds", str) if "kinds" in values else ()
    missing = values.list_of("missing", bool) if "missing" in values else ()
    grid = Grid(split_vectors("knot_counts", flat, counts), kinds, missing)
    groups = resolve_groups(values.lists_of("groups", int), n_features)
    kind = values.text("kind")
    check_choice("kind", kind, ("pairs", "warped", "mixed"))
    if kind == "warped":
        return WarpedEmbedding(grid, groups)
    if kind == "mixed":
        _check_columns(
            [Vertices.of(grid, g, tied=True, zero_diagonal=True) for g in groups if not grid.extends[g[0]]], n_weights
        )
        return scales_of(grid, groups)
    whole = PairEmbedding(grid, groups, symmetry=values.text("symmetry"), zero_diagonal=values.flag("zero_diagonal"))
    touched = {g: members.array(f"touched_{g}", np.int64, None) for g in range(len(groups)) if f"touched_{g}" in members}
    _check_columns([v for g, v in enumerate(whole.vertices) if g not in touched], n_weights)
    slopes = members.array("unseen_slopes", np.float64, n_features) if "unseen_slopes" in members else None
    if slopes is not None and (slopes < 0).any():
        raise StorageError(f"the array 'unseen_slopes' has {slopes.min():g}; slopes >= 0 are required: restore the file")
    if not touched and slopes is None:
        return whole
    return PairEmbedding(  # whole tables that were learned with few columns have slopes too, of which they make no use
        grid, groups, symmetry=whole.symmetry, zero_diagonal=whole.zero_diagonal,
        vertices=[v.restricted(touched[g]) if g in touched else v for g, v in enumerate(whole.vertices)],
        unseen_slopes=slopes,
    )  # fmt: skip


def _check_columns(vertices: Sequence[Vertices], n_weights: int) -> None:
    if large := [v.group for v in vertices if not v.fits]:
        raise StorageError(f"the table of group {large[0]} is too large to be whole; its touched vertices are missing")
    if (n := sum(v.n_whole for v in vertices)) > n_weights:
        raise StorageError(f"the array 'weights' has {n_weights} numbers for {n} columns; restore the file")


def directions_state(directions: Directions | None) -> Parts:
    """Return the JSON values and arrays of directions."""
    if directions is None:
        return {"directions": None}, {}
    arrays = {"directions": directions.matrix}
    if directions.bends:
        arrays |= {"bends": np.concatenate(directions.bends), "bend_counts": np.array([len(b) for b in directions.bends])}
    values: dict[str, Any] = {"directions": list(directions.names)}
    if directions.partitions is not None:
        values |= {"leaf_tables": "tied" if directions.partitions.tied else "full"}
        arrays |= directions.partitions.arrays()
    return values, arrays


def read_directions(members: Members, names: list[str] | None, n_features: int) -> Directions | None:
    """Return the directions called ``names`` whose `directions_state` is given."""
    if names is None:
        return None
    trees = _read_partitions(members, n_features) if "leaf_tables" in members else None
    n_linear = len(names) - (0 if trees is None else len(trees))
    if n_linear < 0:
        raise StorageError(f"there are {len(names)} names for more trees than that; restore the file")
    if "bends" not in members:
        return Directions(members.array("directions", np.float64, n_linear, n_features), tuple(names), (), trees)
    counts, flat = members.array("bend_counts", np.int64, n_features), members.array("bends", np.float64, None)
    bends = tuple(split_vectors("bend_counts", flat, counts))
    return Directions(members.array("directions", np.float64, n_linear, None), tuple(names), bends, trees)


def _read_partitions(members: Members, n_features: int) -> Partitions:
    tables = members.text("leaf_tables")
    check_choice("leaf_tables", tables, ("tied", "full"))
    return Partitions(
        n_features,
        members.array("tree_start", np.int64, None),
        members.array("tree_feature", np.int64, None),
        members.array("tree_threshold", np.float64, None),
        members.array("tree_children", np.int64, None, 2),
        members.array("tree_missing_left", np.bool_, None),
        tables == "tied",
    )


def base_distances_state(base_distances: Sequence[BaseDistance]) -> Parts:
    """Return the JSON values and arrays of base distances, without their functions."""
    arrays: dict[str, NDArray[Any]] = {}
    for k, base in enumerate(base_distances):
        arrays |= {f"probe_{k}": base.probe, f"probe_values_{k}": base.values}
    return {"base_distances": [base.state() for base in base_distances]}, arrays


def read_base_distances(members: Members, functions: Sequence[object], schema: Schema) -> tuple[BaseDistance, ...]:
    """Return the base distances whose `base_distances_state` is given, with their functions."""
    stored, bases = members.parts("base_distances"), []
    names = [part.text("name") for part in stored]
    if len(stored) != len(functions):
        raise StorageError(
            f"the model has {len(stored)} base distances ({', '.join(names) or 'none'}), which are "
            f"Python functions, but {len(functions)} were given; in Python, give the same callables, in the same "
            "order: semimetric.load(path, base_distances=[...])"
        )
    n = len(schema.names)
    for k, (part, name, function) in enumerate(zip(stored, names, functions, strict=True)):
        state = {"name": name, "weight": part.number("weight"), "batch": part.flag("batch"), "power": part.number("power")}
        part.done()
        probe = members.array(f"probe_{k}", np.float64, None, 2, n, missing=True)
        values = members.array(f"probe_values_{k}", np.float64, len(probe))
        check_probe(schema, probe.reshape(-1, n), f"the array 'probe_{k}'")
        bases.append(BaseDistance.read(state, function, probe, values, None if schema.plain else schema))
    return tuple(bases)


def slopes_state(epsilon: Floats) -> dict[str, NDArray[Any]]:
    """Return the slopes outside the range as arrays: those below it, and those above it where they differ."""
    below, above = epsilon.T
    return {"epsilon": below} | ({} if np.array_equal(below, above) else {"epsilon_above": above})


def _read_slopes(members: Members) -> Floats:
    """Return the slopes below and above the range, shape (n, 2)."""
    below = members.array("epsilon", np.float64, None)
    above = members.array("epsilon_above", np.float64, len(below)) if "epsilon_above" in members else below
    return np.column_stack([below, above])


def read_parts(state: State, functions: Sequence[object]) -> dict[str, Any]:
    """Return parts of a distance by the names of its parameters, from what `Semimetric.to_state` gives, and base distances."""
    members = Members(state.values, state.arrays)
    names = tuple(members.list_of("feature_names", str))
    schema = Schema.read(members.parts("schema")) if "schema" in members else Schema.numeric(names)
    directions = members.any("directions")
    titles = None if directions is None else Members({"directions": directions}).list_of("directions", str)
    weights, epsilon = members.array("weights", np.float64, None), _read_slopes(members)
    if len(schema.names) != len(names) or not names:
        raise StorageError(f"the schema has {len(schema.names)} features for {len(names)} names; restore the file")
    values = Members(members.any("embedding"))
    parts = {
        "embedding": read_map(members, values, len(names) + len(titles or ()), len(weights)),
        "weights": weights,
        "epsilon": epsilon,
        "feature_names": names,
        "directions": read_directions(members, titles, len(names)),
        "base_distances": read_base_distances(members, functions, schema),
        "link": read_link(members.any("link")),
        "schema": schema,
    }
    values.done()
    members.done()
    return parts
