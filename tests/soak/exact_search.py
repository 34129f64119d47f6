"""Random searches of every kind, whose exact answers must be those of brute force, and those the distance's own.

A case is a seed, and whether magnitudes are wild: values, ranges, weights and slopes from 1e-300 to 1e300.
"""

import logging
import warnings
from contextlib import ExitStack, contextmanager
from functools import cache
from unittest.mock import patch

import cases
import numpy as np
from distributed import Client
from numpy.testing import assert_array_equal

from semimetric import Grid, NeighborIndex, NotSupportedError, Semimetric, ShardedIndex, load, out_of_core
from semimetric.data.calls import UserDistance
from semimetric.data.parts.engine import SerialEngine
from semimetric.distances.features.linear_directions import Directions, with_directions
from semimetric.distances.model.base_distances import BaseDistance
from semimetric.distances.pairs.gower import GapEmbedding
from semimetric.distances.search import cells, faiss_scan, index, refinement, scaled_clusters, segment, shard_search
from semimetric.distances.search import items as results
from semimetric.distances.search import joint as joint_boxes
from semimetric.distances.search import joint as joint_scan
from semimetric.distances.search import query_tables as joint_tables
from semimetric.distances.search import segment as scan_choice
from semimetric.distances.search.query_tables import QueryView
from soak.attack import Attack

_WORK = 3_000_000  # One-feature values that a comparison with brute force looks up.
_LARGE_JOINT = 3  # A table of more features than these is too large, but with few knots each.
_FEW_KNOTS = 3


def draw(rng):
    return {"seed": int(rng.integers(2**32)), "wild": False}


def draw_wild(rng):
    return {"seed": int(rng.integers(2**32)), "wild": True}


def magnitude(rng, wild, size=None):
    """Factors: about 1, or anything from 1e-300 to 1e300."""
    return 10.0 ** rng.uniform(-300, 300, size) if wild else 10.0 ** rng.uniform(-1, 1, size)


def grid_of(rng, wild, n_features, plain, most=6):
    """Features of any kind, each in a unit of its own, with at most so many knots."""
    knots, kinds, missing = [], [], []
    for _ in range(n_features):
        kind = "numeric" if plain else str(rng.choice(["numeric", "numeric", "periodic", "categorical"]))
        n = int(rng.integers(1 + (kind != "numeric"), most + 1))
        if kind == "categorical":
            k = np.arange(n, dtype=float)
        else:
            k = np.cumsum(rng.random(n) + 0.01) - rng.random() * n
            k = np.unique(k * magnitude(rng, wild and rng.random() < 0.7))
        knots.append(k if len(k) == n else np.arange(n, dtype=float))
        kinds.append(kind)
        missing.append(not plain and rng.random() < 0.2)
    return Grid(knots, kinds, missing)


def distance_of(rng, wild):
    """A distance of any kind with rough tables."""
    many = rng.random() < 0.1
    kind = "singles" if many else str(rng.choice([*cases.MIXED_EMBEDDINGS, "warped", "singles", "singles"]))
    joint = kind in ("joint", "overlapping", "touched")
    large = joint and rng.random() < 0.2
    n = int(rng.choice([20, 300])) if many else int(rng.integers(1, (_LARGE_JOINT if joint and not large else 6) + 1))
    n = min(n, 5) if large else n
    grid = grid_of(rng, wild, n, kind in ("warped", "touched") or rng.random() < 0.6, _FEW_KNOTS if large else 6)
    n_directions = int(rng.integers(1, 3)) if not (joint or many or wild) and grid.plain and rng.random() < 0.2 else 0
    directions = None
    if n_directions:
        directions = Directions(rng.normal(size=(n_directions, n)), tuple(f"direction {k}" for k in range(n_directions)))
        grid = Grid([*grid.knots, *(np.sort(rng.normal(size=4)) for _ in range(n_directions))])
    embedding = (cases.EMBEDDINGS | cases.MIXED_EMBEDDINGS)[kind](grid)
    weights = rng.random(embedding.n_columns) ** 3 * (rng.random(embedding.n_columns) < 0.9)
    signed = kind not in ("warped", "scales and tables", "tables of gaps", "gaps") and rng.random() < 0.15
    weights = (weights - 0.3 * signed) * (min(magnitude(rng, wild), 1e295) if rng.random() < 0.5 else 1.0)
    width = np.where(grid.high > grid.low, grid.high - grid.low, 1.0)
    slope = rng.random(len(width)) * (rng.random(len(width)) < 0.8) * (np.abs(weights).max(initial=0.0) or 1.0)
    with np.errstate(over="ignore", under="ignore"):
        above = slope * rng.choice([0.0, 0.3, 1.0, 4.0], len(slope))
        epsilon = np.minimum(np.column_stack([slope, above]) / width[:, None], 1e300)
    bases = ()
    if not wild and grid.plain and rng.random() < 0.15:
        probe = rng.normal(size=(3, 2, n))
        values = cases.cityblock(probe[:, 0], probe[:, 1])
        bases = (BaseDistance(UserDistance(cases.cityblock, "batches"), rng.random(), "blocks", probe, values),)
    names = tuple(f"x{f}" for f in range(n))
    return Semimetric(embedding, weights, epsilon, names, directions, bases, "identity" if signed else LINKS[rng.integers(2)])


LINKS = ("identity", "sqrt")


def vectors(rng, d, n, wild):
    """Vectors inside the range, at knots, beyond it as far as it goes, and some of them twice."""
    grid, f = d.embedding.grid, d.n_features
    low, high, most = grid.low[:f], grid.high[:f], d.value_limits.most[:f]
    x = low + (high - low) * rng.uniform(-0.2, 1.2, (n, f)) * grid.extends[:f]
    for k in range(f):
        at_knot = rng.random(n) < (0.3 if grid.kinds[k] == "numeric" else 1.0)
        x[at_knot, k] = rng.choice(grid.knots[k], int(at_knot.sum()))
        if grid.missing[k]:
            x[rng.random(n) < 0.1, k] = np.nan
    if wild:
        far = (rng.random((n, f)) < 0.2) & grid.extends[:f] & ~np.isnan(x)
        shift = most * 10.0 ** -rng.uniform(0.01, 320, (n, f)) * rng.choice([-1.0, 1.0], (n, f))
        end = np.where(shift > 0, high, low)
        x = np.where(far, end + np.clip(shift, -1e307 - np.minimum(end, 0), 1e307 - np.maximum(end, 0)), x)
    copies = rng.integers(0, n, n // 4)
    x[rng.integers(0, n, len(copies))] = x[copies]
    return x


@contextmanager
def thresholds(rng):
    """Limits between one way and another that few items reach, so that every way is gone."""
    changed = {
        segment: {"_FEW": int(rng.choice([0, 30])), "_WORTH": int(rng.choice([0, 2])), "_LARGE": int(rng.choice([0, 10**9])),
                  "_FEW_QUERIES": int(rng.choice([0, 4, 10**6])), "_PROBE": int(rng.choice([8, 200]))},
        index: {"_TAIL": int(rng.choice([1, 8_192]))},
        cells: {"_SAMPLE": int(rng.choice([50, 20_000])), "_ENCODED": int(rng.choice([1_000, 1 << 22]))},
        refinement: {"_WORK": int(rng.choice([1, 5_000, 1 << 23]))},
        faiss_scan: {"_SCANNED": int(rng.choice([1, 1 << 31])), "_ASSIGNED": int(rng.choice([1_000, 1 << 24]))},
        results: {"_BLOCK": int(rng.choice([3, 128]))},
        joint_boxes: {"_SAMPLE": int(rng.choice([50, 20_000])), "_ENCODED": int(rng.choice([1_000, 1 << 22]))},
        joint_scan: {"_PROBE": int(rng.choice([8, 8_192])), "_ADDED": int(rng.choice([1, 1 << 27]))},
        scan_choice: {"_COLUMN": float(rng.choice([-1e9, 0.08, 1e9]))},
        shard_search: {"_FEW": int(rng.choice([1, 64])), "_MOST": int(rng.choice([7, 4096])),
                       "_HERE": int(rng.choice([1, 1024])), "_BLOCK": int(rng.choice([20, 8192])), "_OF_ITEMS": 2,
                       "_RANGES": int(rng.choice([1, 20, 512]))},
        scaled_clusters: {"_ROWS": int(rng.choice([40, 1 << 14])), "_SAMPLE": int(rng.choice([50, 20_000]))},
        joint_tables: {"_MOST_EXPANDED": int(rng.choice([-1, 1 << 22])), "_MOST_GATHERED": int(rng.choice([60, 1 << 16]))},
    }  # fmt: skip
    with ExitStack() as stack:
        for module, values in changed.items():
            stack.enter_context(patch.multiple(module, **values))
        yield


def shops_of(ids):
    """A payload of groups, one of which is large: the shop of an item is known from its id."""
    return {"shop": np.where(np.asarray(ids) % 3 > 0, 0, np.asarray(ids) % 17)}


def built(rng, d, wild, folder):
    """An index after a random history, and its items in the order of their ids."""
    n = int(rng.choice([rng.integers(2, 60), rng.integers(60, 1500), rng.integers(1500, 4000)]))
    items = vectors(rng, d, n, wild)
    ids = rng.permutation(3 * n)[:n]
    side, n_lists = str(rng.choice(["query-first", "query-last"])), int(rng.choice([1, 7]))
    n_probe, n_jobs = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2]))
    index = NeighborIndex(d, side=side, n_lists=n_lists, n_probe=n_probe, n_jobs=n_jobs)
    if rng.random() < 0.1 and index.side == "query-first" and not isinstance(d.embedding, GapEmbedding):
        view = QueryView(d)
        partition = str(rng.choice(["rows", "kmeans"])) if view.simple and view.n_tables else "rows"
        shards = ShardedIndex.build(folder / "shards", d, items, ids=ids, n_shards=int(rng.integers(1, 7)), partition=partition,
                                    base_distances=[base.function.function for base in d.base_distances])  # fmt: skip
        return shards, dict(zip(ids, items, strict=True))
    index.fit(items, ids=ids, payload=shops_of(ids))
    known = dict(zip(ids.tolist(), items, strict=True))
    for step in range(int(rng.integers(0, 5))):
        if rng.random() < 0.5:
            m = int(rng.integers(1, n))
            new, new_ids = vectors(rng, d, m, wild), 10 * n * (step + 1) + rng.permutation(m)
            index.add(new, new_ids, payload=shops_of(new_ids))
            known |= dict(zip(new_ids.tolist(), new, strict=True))
        elif len(known) > 4:
            gone = rng.choice(list(known), len(known) // int(rng.choice([2, 20])) or 1, replace=False)
            index.remove(gone)
            known = {i: x for i, x in known.items() if i not in set(gone.tolist())}
    if rng.random() < 0.2 and not isinstance(d.embedding, GapEmbedding):
        index.save(folder / "index")
        bases = [base.function.function for base in d.base_distances]
        index = load(folder / "index", base_distances=bases, mmap=bool(rng.integers(2)))
    return index, known


def size_of(d, *sides):
    """What rounding errors of the sums are relative to: tables, how far both sides lie outside the range, and a cell there."""
    view = QueryView(d)
    steepest = d.epsilon.max(axis=1)
    outside = sum(np.abs(d.value_limits.excess(with_directions(d.directions, x))) @ steepest for x in sides)
    return view.size + (view.scales.epsilon.max(axis=1) * view.scales.size).sum() + outside


def compare(rng, d, index, known, queries, where):
    """Hold every way to search against brute force, and this against the distance; how many queries were compared."""
    limit = len(known) if where is None else int(where.sum())
    k = int(min(rng.choice([1, 3, 10, 60]), limit))
    options = {} if where is None else {"where": where}
    want, want_ids = index.kneighbors(queries, k, algorithm="brute", **options)
    assert np.isfinite(want).all()
    got, got_ids = index.kneighbors(queries, k, algorithm="exact", **options)
    assert_array_equal(got_ids, want_ids)
    assert_array_equal(got, want)
    for q in rng.integers(0, len(queries), 5):  # alone, by the ways for single queries
        alone = index.kneighbors(queries[q : q + 1], k, algorithm="exact", **options)
        assert_array_equal(alone[1][0], want_ids[q])
        assert_array_equal(alone[0][0], want[q])
    few = queries[:20]
    near, _ = index.kneighbors(few, k, algorithm="approximate", n_candidates=int(rng.integers(1, 50)), **options)
    assert (near >= want[:20]).all()
    complete = index.kneighbors(few, k, algorithm="approximate", n_candidates=len(known) + k, **options)
    assert (complete[0] >= want[:20]).all()
    radius = float(rng.choice(want[:20, -1]))
    every, every_ids = index.kneighbors(few, limit, algorithm="brute", **options)
    if radius >= 0 or d.link == "identity":
        distances, ids = index.radius_neighbors(few, radius, **options)
        for q in range(len(few)):
            assert_array_equal(ids[q], every_ids[q][every[q] <= radius])
            assert_array_equal(distances[q], every[q][every[q] <= radius])
    for q in range(min(len(few), 5)):
        own, far = np.repeat(few[q : q + 1], limit, axis=0), np.array([known[i] for i in every_ids[q].tolist()])
        side = getattr(index, "side", "query-first")
        direct = d.paired(own, far) if side == "query-first" else d.paired(far, own)
        power = 2 if d.link == "sqrt" else 1
        bound = 1e-11 * (np.abs(every[q]) ** power + size_of(d, own, far))
        assert (np.abs(every[q] ** power - direct**power) <= bound + 1e-300).all()
    return len(queries) + 5


def compare_groups(rng, index, queries):
    """Hold answers of the same group, and joins of the index with itself, against brute force; how many were compared."""
    few, k = queries[:20], int(min(rng.choice([1, 3, 10]), len(index.ids_)))
    every, every_ids = index.kneighbors(few, len(index.ids_), algorithm="brute")
    shops = rng.choice([0, 0, 1, 6, 16, 99], len(few))
    distances, ids = index.kneighbors(few, k, by={"shop": shops})
    for q, shop in enumerate(shops):
        own = np.flatnonzero(shops_of(every_ids[q])["shop"] == shop)[:k]
        assert_array_equal(ids[q], np.append(every_ids[q][own], np.full(k - len(own), -1)))
        assert_array_equal(distances[q], np.append(every[q][own], np.full(k - len(own), np.inf)))
    n = len(index.ids_)
    if n > 1500 or n < 3:
        return len(few)
    k = min(k, n - 1)
    for own, want in zip(index.kneighbors(None, k), index.kneighbors(None, k, algorithm="brute"), strict=True):
        assert_array_equal(own, want)
    return len(few) + n


def compare_graph(rng, searched, queries):
    """Hold what walks along a graph find against brute force; how many were compared. Recall is not promised."""
    few, k, least = queries[:200], int(min(rng.choice([1, 3, 10]), len(searched.ids_))), int(rng.choice([60, 8_192]))
    every, every_ids = searched.kneighbors(few, len(searched.ids_), algorithm="brute")
    with patch.object(segment, "GRAPH_FROM", least), patch.object(index, "GRAPH_FROM", least):
        try:
            searched.build_graph()
        except NotSupportedError:
            return 0
        distances, ids = searched.kneighbors(few, k, algorithm="graph", n_candidates=int(rng.integers(1, 50)))
    for q in range(len(few)):
        at = {i: r for r, i in enumerate(every_ids[q].tolist())}
        rows = [at[i] for i in ids[q].tolist()]
        assert len(set(rows)) == k  # No item comes twice.
        assert_array_equal(distances[q], every[q][rows])
        assert (np.diff(distances[q]) >= 0).all()
    return len(few)


@cache
def client():
    """A Dask cluster of two threads of this process, which live as long."""
    return Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=logging.CRITICAL)


def compare_cluster(rng, index, queries):
    """Hold answers of a Dask cluster against brute force; how many were compared."""
    folder, few, k = index.locations[0].root, queries[:500], int(min(rng.choice([1, 3, 10]), len(index) - 1))
    found, want = out_of_core.kneighbors(folder, few, k, client=client()), index.kneighbors(few, k, algorithm="brute")
    for own, right in zip(found, want, strict=True):
        assert_array_equal(own, right)
    return len(few)


class AnyOrder(SerialEngine):
    """Some workers, of which any may end first."""

    def __init__(self, rng):
        super().__init__()
        self.rng, self.workers = rng, int(rng.integers(1, 6))

    @property
    def width(self):
        return self.workers

    def drain(self, function, following, *shared):
        running = []
        while True:
            while len(running) < 2 * self.workers and (call := following()) is not None:
                running.append(call)
            if not running:
                return
            call = running.pop(int(self.rng.integers(len(running))))
            call.then(function(call.part, *shared))


def compare_shards(rng, index, queries):
    """Hold shards that are asked one by one against brute force, the join of all items too; how many queries were compared."""
    engine, k = AnyOrder(rng), int(min(rng.choice([1, 3, 10]), len(index) - 1))
    want = index.kneighbors(queries, k, algorithm="brute")
    found = shard_search.nearest(engine, index.locations, queries, k)
    assert_array_equal(found.ids, want[1])
    assert_array_equal(found.distances, want[0])
    few = queries[:20]
    radius = float(rng.choice(want[0][:20, -1]))
    if radius >= 0 or index.semimetric.link == "identity":
        within = shard_search.within(engine, index.locations, few, radius)
        for (distances, ids), *expected in zip(within, *index.radius_neighbors(few, radius), strict=True):
            assert_array_equal(distances, expected[0])
            assert_array_equal(ids, expected[1])
    if len(index) > 1500 or not QueryView(index.semimetric).simple:
        return len(queries)
    joined, itself = shard_search.nearest(engine, index.locations, None, k), index.kneighbors(None, k, algorithm="brute")
    assert_array_equal(joined.ids, itself[1])
    assert_array_equal(joined.distances, itself[0])
    return len(queries) + len(index)


def attempt(case, folder):
    rng = np.random.default_rng(case["seed"])
    with warnings.catch_warnings(), thresholds(rng):
        warnings.simplefilter("error", RuntimeWarning)
        d = distance_of(rng, case["wild"])
        index, known = built(rng, d, case["wild"], folder)
        costly = 50 if d.base_distances else 5 if len(QueryView(d).joint_groups) else 1
        n = int(np.clip(_WORK / (len(known) * (len(d.columns) + 3) * costly), 20, 20_000))
        queries = vectors(rng, d, n, case["wild"])
        at = rng.integers(0, n, max(n // 8, 1))
        queries[at] = np.array([known[i] for i in rng.choice(list(known), len(at)).tolist()])
        where = rng.random(len(known)) < rng.choice([0.02, 0.5]) if rng.random() < 0.3 else None
        if isinstance(index, ShardedIndex) or (where is not None and not where.any()):
            where = None
        found = {"queries as brute force": compare(rng, d, index, known, queries, where)}
        if isinstance(index, ShardedIndex):
            found["queries of shards one by one"] = compare_shards(rng, index, queries)
            if not d.base_distances:
                found["queries on a cluster"] = compare_cluster(rng, index, queries)
        elif costly == 1 and rng.random() < 0.3:
            found["queries of groups and joins"] = compare_groups(rng, index, queries)
            found["queries along a graph"] = compare_graph(rng, index, queries)
        return found


EXACT = Attack(draw, attempt, seconds=240, mebibytes=1024, short=12)
MAGNITUDES = Attack(draw_wild, attempt, seconds=240, mebibytes=1024, short=12)
