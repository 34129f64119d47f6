"""Search in a graph of neighbours by codes of 128 levels, and the choice of its edges.

Nodes of all layers are numbered on from the lowest, which holds all items. A walk goes on from the nearest node that it has
seen, until it has gone on from all of the nearest that it keeps (Malkov & Yashunin 2020, algorithm 2). Edges are those to near
nodes that no nearer one occludes (algorithm 4 there), by a factor (Subramanya et al. 2019).
"""

from typing import NamedTuple

import numpy as np

from .jit import held, kernel
from .locate import PositionFeatures, ValueRanges, positions_of, rise
from .search import BestItems, Candidates, Profiles, Scales, SearchedItems, _value, cell_of, nearest, tabulate

_AHEAD = 64  # Codes in a cache line.


class GraphArrays(NamedTuple):
    """A graph over M nodes: edges (M, R), -1 at the end, codes (M, E), the node below each upper one, and first nodes.

    Layer l has the nodes ``first[l]`` to ``first[l + 1] - 1``; edges lead to nodes of the same layer. Nodes of the highest
    layer have none: all of them are looked at.
    """

    edges: np.ndarray
    codes: np.ndarray
    below: np.ndarray
    first: np.ndarray


class LevelPlaces(NamedTuple):
    """The cell of each level of a feature, the fraction in it, and the rise outside the range, each (E, L)."""

    cell: np.ndarray
    fraction: np.ndarray
    rise: np.ndarray


class NearestNodes(NamedTuple):
    """The nearest nodes seen so far: values, increasing, numbers or -1, and whether a walk has gone on from them; (W,)."""

    values: np.ndarray
    nodes: np.ndarray
    done: np.ndarray


@kernel
def place_levels(scales, levels, places):
    """Fill the places of the levels, positions (E, L)."""
    for e in range(levels.shape[0]):
        for level in range(places.cell.shape[1]):
            k, t, beyond = cell_of(levels[e, level], scales.size[e])
            places.cell[e, level], places.fraction[e, level] = k, t
            places.rise[e, level] = rise(beyond, scales.epsilon[e, 0], scales.epsilon[e, 1])


@kernel
def level_pairs(scales, profiles, levels, out):
    """out[e, b, l]: the value of feature e between query b and the position ``levels[e, l]``."""
    for e in range(out.shape[0]):
        for b in range(out.shape[1]):
            for level in range(out.shape[2]):
                out[e, b, level] = _value(levels[e, level], e, scales, profiles, b)


@kernel
def _level_table(scales, profiles, b, places, out):
    for e in range(out.shape[0]):
        first, own, beyond = scales.first[e], profiles.fraction[b, e], profiles.beyond[b, e]
        for level in range(out.shape[1]):
            t = places.fraction[e, level]
            piece = first + 2 * places.cell[e, level] + (t > own)
            inside = profiles.pieces[b, piece, 0] + profiles.pieces[b, piece, 1] * t
            out[e, level] = inside + abs(beyond - places.rise[e, level])


@kernel
def _by_levels(table, codes):
    """Sum the entries of a table (E, L) that codes (E,) name."""
    total = np.float32(0.0)
    for e in range(codes.shape[0]):
        total += table[e, codes[e]]
    return total


@kernel
def _values_by_levels(table, codes, nodes, values):
    """Fill ``values`` (N,) with the sums of nodes (N,), four side by side, since each addition waits for the one before."""
    n = nodes.shape[0]
    for r in range(0, n - 3, 4):
        a, b, c, d = codes[nodes[r]], codes[nodes[r + 1]], codes[nodes[r + 2]], codes[nodes[r + 3]]
        of_a, of_b, of_c, of_d = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for e in range(codes.shape[1]):
            of_a += table[e, a[e]]
            of_b += table[e, b[e]]
            of_c += table[e, c[e]]
            of_d += table[e, d[e]]
        values[r], values[r + 1], values[r + 2], values[r + 3] = of_a, of_b, of_c, of_d
    for r in range(n - n % 4, n):
        values[r] = _by_levels(table, codes[nodes[r]])


@kernel
def _place(values, value):
    """Return the place that a value has among increasing values, after those that are the same."""
    at = values.shape[0]
    while at > 0 and value < values[at - 1]:
        at -= 1
    return at


@kernel
def _put(best, at, value, node):
    """Insert a node at its place among the nearest, whose last leaves."""
    for r in range(best.values.shape[0] - 1, at, -1):
        best.values[r], best.nodes[r], best.done[r] = best.values[r - 1], best.nodes[r - 1], best.done[r - 1]
    best.values[at], best.nodes[at], best.done[at] = value, node, False


@kernel
def _slot(seen, node):
    """Return the slot of a node in the hash table ``seen``, of a size 2^k, or the free slot (-1) where it belongs."""
    at = (node * 2654435761 >> 8) & (seen.shape[0] - 1)
    while seen[at] >= 0 and seen[at] != node:
        at = (at + 1) & (seen.shape[0] - 1)
    return at


@kernel
def _larger(seen):
    """Return a hash table of the same nodes, twice as large."""
    out = np.full(2 * seen.shape[0], -1, np.int32)
    for node in seen:
        if node >= 0:
            out[_slot(out, node)] = node
    return out


@kernel
def _walk(graph, table, target, best):
    """Walk on from the nearest nodes that ``best`` holds until it holds those that the walk finds, or a target among them."""
    edges, codes, size = graph.edges, graph.codes, 1024
    while size < 64 * best.nodes.shape[0]:
        size *= 2
    seen, new, n_seen, at, touched = np.full(size, -1, np.int32), np.empty(edges.shape[1], np.int64), 0, 0, 0
    values, found = np.empty(edges.shape[1], np.float32), False
    for node in best.nodes:
        if node >= 0:
            seen[_slot(seen, node)] = node
            n_seen += 1
            found |= node == target
    while at < best.nodes.shape[0] and not found:
        if best.done[at]:
            at += 1
            continue
        best.done[at] = True
        node, n_new, nearest = best.nodes[at], 0, at
        if at + 1 < best.nodes.shape[0] and best.nodes[at + 1] >= 0:
            touched += edges[best.nodes[at + 1], 0]  # It is likely to be the next: its edges are asked for.
        if 2 * (n_seen + edges.shape[1]) > seen.shape[0]:
            seen = _larger(seen)
        for r in range(edges.shape[1]):
            other = np.int64(edges[node, r])
            if other < 0:
                break
            for e in range(0, codes.shape[1], _AHEAD):
                touched += codes[other, e]  # Loads of codes from memory overlap.
            slot = _slot(seen, other)
            new[n_new] = other
            n_new += seen[slot] < 0
            seen[slot] = other
        n_seen += n_new
        _values_by_levels(table, codes, new[:n_new], values)
        for r in range(n_new):
            if values[r] < best.values[-1]:
                place = _place(best.values, values[r])
                _put(best, place, values[r], new[r])
                nearest = min(nearest, place)
                found |= new[r] == target
        at = nearest
    if touched == -1:  # Never: it keeps the loads.
        best.done[0] = False


@kernel
def _emptied(width):
    """Return the nearest ``width`` nodes before any was seen."""
    return NearestNodes(np.full(width, np.inf, np.float32), np.full(width, -1, np.int64), np.ones(width, np.bool_))


@kernel
def _descend(graph, table, upper, bottom, width, target):
    """Return the ``width`` nearest nodes of layer ``bottom`` that a walk finds, from the highest layer down.

    In each layer above, the ``upper`` nearest are looked for, and the walk below starts at these. The last walk ends where it
    finds its target, a node of its layer; -1 is none.
    """
    last = graph.first.shape[0] - 2
    best = _emptied(upper if bottom < last else width)
    highest = np.arange(graph.first[last], graph.first[last + 1])
    values = np.empty(highest.shape[0], np.float32)
    _values_by_levels(table, graph.codes, highest, values)
    for r in range(highest.shape[0]):
        if values[r] < best.values[-1]:
            _put(best, _place(best.values, values[r]), values[r], highest[r])
    for layer in range(last - 1, bottom - 1, -1):
        wider = _emptied(upper if layer > bottom else width)
        for s in range(min(best.nodes.shape[0], wider.nodes.shape[0])):
            if best.nodes[s] >= 0:
                wider.nodes[s], wider.values[s] = graph.below[best.nodes[s] - graph.first[1]], best.values[s]
                wider.done[s] = False
        best = wider
        _walk(graph, table, target if layer == bottom else np.int64(-1), best)
    return best


@kernel
def walk_of_each(scales, profiles, places, graph, upper, bottom, targets, nodes):
    """Fill ``nodes`` (B, W) with the nearest nodes of layer ``bottom`` that walks find for each query of a block.

    Where a walk finds fewer, -1 stands at the end. ``upper`` and targets (B,) are as in `_descend`.
    """
    table = np.empty(places.fraction.shape, np.float32)
    for b in range(nodes.shape[0]):
        _level_table(scales, profiles, b, places, table)
        nodes[b] = _descend(graph, table, upper, bottom, nodes.shape[1], targets[b]).nodes


class WalkedItems(NamedTuple):
    """All that a query along a graph reads: values and features of positions, scales, levels, the graph, and items to refine.

    ``eligible`` (n,) masks the items that may be answered, or is empty if all may. ``upper`` and ``width`` are the numbers of
    nearest nodes that a walk looks for in a higher layer and in the lowest.
    """

    ranges: ValueRanges
    features: PositionFeatures
    scales: Scales
    places: LevelPlaces
    graph: GraphArrays
    items: SearchedItems
    eligible: np.ndarray
    upper: int
    width: int


@held
def nearest_by_walk(x, walked, best):
    """Fill ``best`` with the k nearest to one query, as `walk_of_each` and then `nearest` find them.

    ``walked`` and ``best`` are `WalkedItems` and `BestItems` as plain tuples, which are handed over sooner. Where values of the
    query x (1, F) are refused, or its walk finds less than k items, the last row is -1.
    """
    ranges, features, scales = ValueRanges(*walked[0]), PositionFeatures(*walked[1]), Scales(*walked[2])
    places, graph, items = LevelPlaces(*walked[3]), GraphArrays(*walked[4]), SearchedItems(*walked[5])
    eligible, upper, width = walked[6:]
    best = BestItems(*best)
    best.sums[:], best.rows[:] = np.inf, -1
    position = np.empty((1, scales.size.shape[0]))
    positions_of(x, ranges, features, position)
    if np.isnan(position[0, 0]):
        return
    shape = position.shape
    n_pieces = np.int64(0)
    for size in scales.size:
        n_pieces += 2 * max(size - 1, 1)
    profiles = Profiles(np.empty((1, n_pieces, 2)), position, np.empty(shape), np.empty(shape))
    tabulate(scales, profiles)
    table = np.empty(places.fraction.shape, np.float32)
    _level_table(scales, profiles, 0, places, table)
    rows, n = _descend(graph, table, upper, np.int64(0), width, np.int64(-1)).nodes, 0
    for row in rows:
        if row >= 0 and (eligible.shape[0] == 0 or eligible[row]):
            rows[n] = row
            n += 1
    nothing = np.empty(0)
    nearest(scales, profiles, np.int64(0), items, Candidates(rows[:n], nothing, nothing), 0.0, best)


@kernel
def _between(pairs, a, b):
    """Return the distance of two codes (E,) by tables (E, L / 4, L / 4) of every fourth level."""
    total = np.float32(0.0)
    for e in range(a.shape[0]):
        total += pairs[e, a[e] >> 2, b[e] >> 2]
    return total


@kernel
def _is_between(pairs, a, b, most):
    """Return True if `_between` is at most ``most``, for values >= 0: the sum ends where it is above."""
    total = np.float32(0.0)
    for e in range(a.shape[0]):
        if e % 8 == 0 and total > most:
            return False
        total += pairs[e, a[e] >> 2, b[e] >> 2]
    return total <= most


@kernel
def _choose(codes, pairs, i, near, factor, chosen):
    """Fill ``chosen`` with those of the items ``near`` (N,) that no nearer one chosen before occludes, then with -1."""
    values, n = np.empty(near.shape[0], np.float32), 0
    for r in range(near.shape[0]):
        values[r] = _between(pairs, codes[i], codes[near[r]])
    for r in np.argsort(values):
        j, free = near[r], n < chosen.shape[0] and near[r] != i
        for s in range(n):
            if free and _is_between(pairs, codes[chosen[s]], codes[j], values[r] / factor):
                free = False
        if free:
            chosen[n] = j
            n += 1
    chosen[n:] = -1


@kernel
def unoccluded(codes, pairs, items, near, factor, edges):
    """Find the edges of ``items`` (B,) to those of their nearest, ``near`` (B, N), that no nearer one occludes."""
    for i in range(near.shape[0]):
        _choose(codes, pairs, items[i], near[i], factor, edges[items[i]])


@kernel
def count_edges_back(edges, starts):
    """Fill ``starts`` (n + 1,) with where the edges that lead to each item start, if all are put one after another."""
    n = edges.shape[0]
    starts[:] = 0
    for i in range(n):
        for j in edges[i]:
            if j >= 0:
                starts[j + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]


@kernel
def edges_back(edges, starts, rows):
    """Fill ``rows`` with the items whose edges lead to each item, from its place in ``starts`` on: see `count_edges_back`."""
    at = starts[:-1].copy()
    for i in range(edges.shape[0]):
        for j in edges[i]:
            if j >= 0:
                rows[at[j]] = i
                at[j] += 1


@kernel
def with_edges_back(codes, pairs, items, back, factor, edges, out):
    """Fill ``out`` for the items from ``items[0]`` to ``items[1] - 1`` with edges and those back; unoccluded where too many."""
    starts, rows = back
    for i in range(items[0], items[1]):
        own = edges[i][edges[i] >= 0]
        near = np.unique(np.concatenate((own, rows[starts[i] : starts[i + 1]])))
        if near.shape[0] > out.shape[1]:
            _choose(codes, pairs, i, near, factor, out[i])
        else:
            out[i, : near.shape[0]], out[i, near.shape[0] :] = near, -1


@kernel
def add_edges(edges, sources, targets):
    """Add an edge from each source (m,) to its target (m,); where a node has no room left, it takes the place of another."""
    for m in range(sources.shape[0]):
        source, target = sources[m], targets[m]
        for r in range(edges.shape[1]):
            if edges[source, r] == target:
                break
            if edges[source, r] < 0 or r == edges.shape[1] - 1:
                edges[source, r if edges[source, r] < 0 else target % edges.shape[1]] = target
                break
