"""Building the graph of a segment: nearest items by approximate search, edges that none occludes, and no item left out.

1. Each item of a layer gets 32 items that are near by their bins, from near lists. Edges go to those that no nearer one
   occludes, and back.
2. Items are looked for by walks. Where one is not found, edges lead to it from the four nearest nodes that the walk found, and
   back. Otherwise groups of items that are nearest to one another alone would be out of reach. Items to which the fewest edges
   lead come first, a tenth of all after another, until the walks find all of a tenth.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import NotSupportedError
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.graph_search import add_edges, count_edges_back, edges_back, level_pairs, unoccluded, with_edges_back
from .neighbor_graph import DEGREE, LEVELS, GraphWalk, NeighborGraph, layer_starts
from .query_tables import ItemArrays, QueryView
from .segment import Segment

_NEAR = 32  # The nearest that an item asks for,
_LISTS = 192, 32  # in those of the nearest lists of its neighbourhood that are nearest to it.
_FACTOR = 1.1  # An item is occluded by one that is nearer to it by this factor than the item whose edges are chosen.
_WIDTH, _BRIDGES = 16, 4  # The nearest that the walk to an item looks for, and edges where it ends in vain.
_TENTHS = 10  # Parts of the items, from the fewest edges on; the first part whose items are all found is the last.
_BLOCK = 1_024
_SAMPLE = 20_000  # The number of items whose positions place the levels.
_ROWS = 1 << 14  # The number of items whose codes are found together.


def check_walkable(view: QueryView) -> None:
    """Refuse distances that are no sums over single features, of which at least one has a table."""
    if not view.simple or not view.n_tables:
        raise NotSupportedError(
            "algorithm='graph' needs a distance that is a sum over single features; this one has joint groups, base distances, "
            "or no feature with a table: use 'approximate' or 'exact'"
        )


def build_graph(segment: Segment, *, n_jobs: int | None, seed: int | None, done: Callable[[int], Any]) -> NeighborGraph:
    """Build the graph of all items of a segment; ``done`` gets the number of items that were handled, twice for every node."""
    view, n = segment.view, len(segment)
    segment = segment.with_alive(np.ones(n, dtype=bool))
    first, rng = layer_starts(n), np.random.default_rng(seed)
    sizes, rows, below = np.diff(first), [np.arange(n)], []
    for layer in range(1, len(sizes)):
        drawn = np.sort(rng.choice(sizes[layer - 1], sizes[layer], replace=False))
        below.append(first[layer - 1] + drawn)
        rows.append(rows[-1][drawn])
    levels = _levels(view, segment.points, rng)
    codes = _codes(levels, segment.points, int(first[-1]))
    for layer in range(1, len(rows)):
        codes[first[layer] : first[layer + 1]] = codes[rows[layer]]
    edges = np.full((first[-1], DEGREE), -1, np.int32)
    lower = np.concatenate(below).astype(np.int32)
    graph, pairs = NeighborGraph(levels, codes, edges, lower), _pairs(view, levels)
    walk = GraphWalk(view, graph)
    for layer in range(len(rows) - 2, -1, -1):
        own = segment
        if layer:
            items, layout = segment.points.raw[rows[layer]], segment.cells.layout
            own = Segment.build(view, layout, rows[layer], items, n_lists=1, n_jobs=n_jobs, seed=seed, storage=segment.storage)
        of_layer = slice(first[layer], first[layer + 1])
        chosen = _edges(own, codes[of_layer], pairs, n_jobs, done)
        edges[of_layer] = np.where(chosen >= 0, chosen + first[layer], -1)
        _reach_all(walk, own, layer, int(first[layer]), n_jobs, done)
    return graph


def _levels(view: QueryView, points: ItemArrays, rng: np.random.Generator) -> Floats:
    """Return the positions of the levels of each feature, (E, L): the whole ones, unless they are too many.

    Half of the others are as dense as the items, and half lie evenly.
    """
    sample = points.positions[np.sort(rng.choice(len(points), min(len(points), _SAMPLE), replace=False))]
    out = np.empty((len(view.features), LEVELS))
    for e, positions in enumerate(sample.T):
        low, high = positions.min(), positions.max()
        whole = np.arange(np.ceil(low), np.floor(min(high, low + LEVELS)) + 1.0)
        whole = whole if len(whole) <= LEVELS // 2 else whole[:0]
        evenly = np.linspace(low, high, len(positions))
        others = np.quantile(np.concatenate([positions, evenly]), np.linspace(0.0, 1.0, LEVELS - len(whole)))
        out[e] = np.sort(np.concatenate([whole, others]))
    return out


def _codes(levels: Floats, points: ItemArrays, n_nodes: int) -> NDArray[np.uint8]:
    """Return the nearest level of each item, as the first rows of codes (n_nodes, E)."""
    codes = np.empty((n_nodes, len(levels)), np.uint8)
    between = (levels[:, 1:] + levels[:, :-1]) / 2
    for start in range(0, len(points), _ROWS):
        for e, positions in enumerate(points.positions[start : start + _ROWS].T):
            codes[start : start + len(positions), e] = np.searchsorted(between[e], positions)
    return codes


def _pairs(view: QueryView, levels: Floats) -> NDArray[np.float32]:
    """Return the values between every fourth level of a feature as query and as item, (E, L / 4, L / 4)."""
    some = np.ascontiguousarray(levels[:, 1::4])
    profiles = view.profiles(ItemArrays(np.empty((some.shape[1], 0)), np.ascontiguousarray(some.T), None))
    pairs = np.empty((*some.shape, some.shape[1]), np.float32)
    level_pairs(view.scales, profiles, some, pairs)
    return pairs


def _edges(
    segment: Segment, codes: NDArray[np.uint8], pairs: NDArray[np.float32], n_jobs: int | None, done: Callable[[int], Any]
) -> NDArray[np.int32]:
    """Return edges (n, R) between the items of a layer, by their numbers in the layer."""
    n = len(segment)
    scan, k = segment.list_scan, min(_NEAR + 1, n)
    in_order = scan.lists.arrays.rows.astype(np.int64)  # Near items one after another, whose lists are mostly the same.
    chosen, edges = np.empty((n, DEGREE), np.int32), np.empty((n, DEGREE), np.int32)

    def choose(block: slice) -> None:
        items = in_order[block]
        unoccluded(codes, pairs, items, scan.near_items(block, k, *_LISTS), _FACTOR, chosen)
        done(block.stop - block.start)

    map_blocks(choose, n, size=_BLOCK, n_jobs=n_jobs)
    starts = np.empty(len(chosen) + 1, np.int64)
    count_edges_back(chosen, starts)
    back = starts, np.empty(starts[-1], np.int32)
    edges_back(chosen, *back)

    def choose_again(block: slice) -> None:
        with_edges_back(codes, pairs, (block.start, block.stop), back, _FACTOR, chosen, edges)

    map_blocks(choose_again, n, size=_BLOCK, n_jobs=n_jobs)
    return edges


def _reach_all(
    walk: GraphWalk, segment: Segment, layer: int, first: int, n_jobs: int | None, done: Callable[[int], Any]
) -> None:
    """Add edges to those items of a layer that a walk does not find, from where it ends, and back."""
    n = len(segment)
    of_layer = walk.graph.edges[first : first + n]
    by_edges = np.argsort(np.bincount(of_layer[of_layer >= 0] - first, minlength=n), kind="stable")

    def reach(items: Integers) -> bool:
        """Add edges to those of some items that no walk finds; return True if there are any."""

        def missed(block: slice) -> tuple[Integers, Integers]:
            own = items[block]
            found = walk.nearest(segment.view.block(segment.points.take(own)), _WIDTH, layer=layer, targets=first + own)
            lost = ~(found == first + own[:, None]).any(axis=1)
            done(len(own))
            return first + own[lost], found[lost, :_BRIDGES]

        parts = map_blocks(missed, len(items), size=_BLOCK, n_jobs=n_jobs)
        lost, ends = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        sources, targets = ends.ravel(), np.repeat(lost, ends.shape[1])
        there = (sources >= 0) & (sources != targets)
        for a, b in ((sources, targets), (targets, sources)):
            add_edges(walk.graph.edges, a[there], b[there])
        return bool(len(lost))

    left = n
    for items in np.array_split(by_edges, min(_TENTHS, n)):
        left -= len(items)
        if not reach(items):
            done(left)
            return
