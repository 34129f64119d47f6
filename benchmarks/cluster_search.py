"""How does a cluster grow? Shards are built, searched and joined with themselves by Dask workers, from 1e5 items on.

    cluster_search.py --scratch FOLDER                                     1e5, 1e6 and 1e7 items x 8; joins of 1e5, 1e6 x 32
    cluster_search.py --scratch FOLDER --search 1e8 --join 1e7             larger ones
    cluster_search.py --document                                           writes the tables of docs/larger-than-one-machine.md

The cluster is simulated on one machine: processes of one thread each (``--workers``). Items are a mixture of 200 Gaussians of
different widths, uniform, or the pixels and the learned distance of search.py, in float32. They are written part by part into
``--scratch``; `disk_needed` says how much room that takes, and a run that would not fit is refused. Stages:

    build    shards of at most ``--shard-items`` items, divided by k-means, positions in 16 bits, with resume=True
    open     every worker verifies its shards, once
    search   10 nearest of new points, written to files
    all      the same for a tenth of them, where every query asks all shards without a limit; answers are compared
    join     10 nearest of every item, written to files; those of 40 items are compared with brute force

A row has the seconds, the processor's seconds of all processes, the largest resident memory of a worker (mapped files count),
the bytes that queries and answers moved, and the shards that a query asked. What is stopped goes on where it was: the same
command again. Its seconds are those of all tries; the processor's are those of the last. The growth rows are exponents of n,
fitted to the kept rows from 1e6 items on, where there are two such sizes: smaller ones mostly start processes.

Memory: two workers held 98 bytes an item of 1e8 x 8 together (4.6 GiB each), maps included. Each worker opens a shard in 360
bytes an item of that shard. The client needs 17 bytes an item while it divides them (1.7 GB for 1e8). Dask counts mapped files
as memory of a worker, and would kill one that maps much; so ``--worker-memory`` is 0, no limit, by default.
"""

import argparse
import functools
import json
import math
import re
import runpy
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np

# Worker processes import packages called like files of this folder.
sys.path[:] = [p for p in sys.path if Path(p).resolve() != Path(__file__).resolve().parent]
REPORT = runpy.run_path(str(Path(__file__).with_name("report.py")))
add_results, append, read, with_origin = (REPORT[name] for name in ("add_results", "append", "read", "with_origin"))

K, BLOCK = 10, 1 << 20
CHECKED = 40  # items of a join that are compared with brute force
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "larger-than-one-machine.md"
STAGES = ("build", "open", "search", "all", "join")


@functools.cache
def pixels(n_features: int) -> tuple[object, np.ndarray, Callable]:
    """The distance of search.py, the real pixels that it was learned from, and what makes more of them."""
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        search = runpy.run_path(str(Path(__file__).with_name("search.py")))
    finally:
        del sys.path[0]
    return *search["learned"]("landsat_satimage", n_features), search["more"]


def points(kind: str, n: int, n_features: int, seed: int) -> np.ndarray:
    """Points of one kind, of float32."""
    if kind == "pixels":
        _, X, more = pixels(n_features)
        return more(X, n, seed)
    rng, centres = np.random.default_rng(seed), np.random.default_rng(0)
    if kind == "uniform":
        return rng.random((n, n_features), dtype=np.float32)
    middle, width = centres.random((200, n_features), dtype=np.float32) * 20, centres.random(200, dtype=np.float32) + 0.2
    member = rng.integers(0, len(middle), n)
    out = rng.standard_normal((n, n_features), dtype=np.float32)
    out *= width[member, None]
    out += middle[member]
    return out


def write_points(path: Path, kind: str, n: int, n_features: int) -> None:
    """A .npy file of points, written block by block beside and renamed; a file that is there stays."""
    if path.exists():
        return
    from tqdm import tqdm

    begun = path.with_name(f".{path.name}.part")
    array = np.lib.format.open_memmap(begun, "w+", np.float32, (n, n_features))
    for start in tqdm(range(0, n, BLOCK), "items", disable=n <= BLOCK):
        count = min(BLOCK, n - start)
        array[start : start + count] = points(kind, count, n_features, 1 + start // BLOCK)
    array.flush()
    begun.rename(path)


def disk_needed(n: int, n_features: int, n_queries: int) -> int:
    """Bytes of the points, the shards (items, ids, lists) and the answers of a run, and of the numbers of rows in a build."""
    return n * (2 * 4 * n_features + 8 + 1 + 2 + 8) + n_queries * K * 16


def resident() -> float:
    """Largest resident memory of this process since `forget_peak`, MiB (Linux)."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def forget_peak() -> None:
    """Let the largest resident memory be that of now."""
    Path("/proc/self/clear_refs").write_text("5")


def folder_of(options: argparse.Namespace, n: int, n_features: int, what: str) -> Path:
    """The folder of the files of one size."""
    return options.scratch / f"{what}-{options.data}-{n}-{n_features}-{options.partition}-{options.workers}"


class Run:
    """One size: its files, what its stages took so far, and its rows."""

    def __init__(self, options: argparse.Namespace, client: object, n: int, n_features: int, what: str) -> None:
        self.options, self.client, self.n, self.n_features = options, client, n, n_features
        self.folder = folder_of(options, n, n_features, what)
        self.folder.mkdir(exist_ok=True)
        self.index, self.points = self.folder / "index", self.folder / "points.npy"
        self.n_shards = max(options.least_shards, -(-n // options.shard_items))
        self.spent = self.folder / "spent.json"  # seconds, and the processor's, of each stage that has begun

    def processor(self) -> float:
        """Seconds of the processor of all processes so far."""
        return time.process_time() + sum(self.client.run(time.process_time).values())

    def stage(self, name: str, call, **beside: object) -> None:
        """Time a stage, which goes on if it was stopped, and keep its row."""
        spent = json.loads(self.spent.read_text()) if self.spent.exists() else {}
        if spent.get(name, {}).get("done"):
            print(f"{name}: done before", flush=True)
            return
        print(f"{name}: {self.n:,} x {self.n_features} in {self.n_shards} shards, {self.options.workers} workers", flush=True)
        self.client.run(forget_peak)
        start, used, complete, found = time.perf_counter(), self.processor(), False, {}
        try:
            found = call() or {}
            complete = True
        finally:
            before = spent.get(name, {"seconds": 0.0, "cpu": 0.0, "tries": 0})
            spent[name] = {
                "seconds": before["seconds"] + time.perf_counter() - start,
                "cpu": before["cpu"] + (self.processor() - used if complete else 0.0),
                "tries": before["tries"] + 1,
                "done": complete,
            }
            self.spent.write_text(json.dumps(spent))
        row = {"benchmark": "cluster_search", "stage": name, "data": self.options.data, "partition": self.options.partition}
        row |= {"points": self.n, "features": self.n_features, "shards": self.n_shards, "workers": self.options.workers}
        row |= {"k": K, "seconds": spent[name]["seconds"], "cpu_s": spent[name]["cpu"], "tries": spent[name]["tries"]}
        row |= {"peak_mib_a_worker": max(self.client.run(resident).values()), **beside, **found}
        print("  " + ", ".join(f"{key} {value:.4g}" for key, value in row.items() if isinstance(value, float)), flush=True)
        append(self.options.results, with_origin(row, "semimetric"))

    def answers(self, name: str, X: np.ndarray | None) -> tuple[Path, dict]:
        """The folder of the answers to queries, or of all items, and what was asked and moved for them."""
        from semimetric import out_of_core
        from semimetric.out_of_core.answer_files import read_run

        to = out_of_core.kneighbors(self.index, X, K, client=self.client, to=self.folder / name, verbose=True)
        traffic = read_run(to)[2]
        each = {"queries": traffic.queries, "shards_a_query": traffic.asked / max(traffic.queries, 1)}
        return to, each | {"sent_mb": traffic.sent / 1e6, "received_mb": traffic.received / 1e6}

    def build(self) -> None:
        """Write the items and build the shards."""
        from semimetric import Semimetric, out_of_core

        options = self.options
        write_points(self.points, options.data, self.n, self.n_features)
        learned = options.data == "pixels"
        d = pixels(self.n_features)[0] if learned else Semimetric.l1(points(options.data, 100_000, self.n_features, 0))

        def built() -> None:
            out_of_core.build_index(
                self.index, d, self.points, n_shards=self.n_shards, partition=options.partition, storage="uint16",
                resume=True, client=self.client,
            )  # fmt: skip

        self.stage("build", built)
        size = sum(path.stat().st_size for path in self.index.rglob("*") if path.is_file())
        print(f"  {size / self.n:.1f} bytes an item on the disc", flush=True)

    def search(self) -> None:
        """Open the shards, search them, and compare with a search that asks all."""
        from semimetric import out_of_core
        from semimetric.distances.search import shard_search

        queries = points(self.options.data, self.options.queries, self.n_features, 10**6)
        self.stage("open", lambda: out_of_core.kneighbors(self.index, queries[:2], K, client=self.client) and None)
        out_of_core.kneighbors(self.index, queries[: 64 * self.n_shards], K, client=self.client)  # compiled code is loaded
        self.stage("search", lambda: self.answers("search", queries)[1])
        some = queries[: max(len(queries) // 10, 1)]

        def all_asked() -> dict:
            with patch.object(shard_search, "bounds_of", lambda _: None):
                to, found = self.answers("all", some)
            names = ("distances.npy", "ids.npy")
            same = [np.array_equal(np.load(to / x)[:], np.load(self.folder / "search" / x)[: len(some)]) for x in names]
            return found | {"same_answers": all(same)}

        self.stage("all", all_asked)

    def join(self) -> None:
        """Find the nearest of all items."""
        self.stage("join", lambda: self.answers("join", None)[1])
        ids, own = (
            np.load(self.folder / "join" / "ids.npy", mmap_mode="r"),
            np.load(self.folder / "join" / "distances.npy", "r"),
        )
        if not (np.diff(own[:: max(self.n // 1000, 1)], axis=1) >= 0).all() or ids.min() < 0 or ids.max() >= self.n:
            raise SystemExit(f"the neighbours in {self.folder / 'join'} are not in order, or no items")
        self.check_some(ids, own)

    def check_some(self, ids: np.ndarray, distances: np.ndarray) -> None:
        """Compare the neighbours of some items, drawn at random, with those that all distances give."""
        from semimetric import load

        index, points = load(self.index), np.load(self.points, mmap_mode="r")
        rows = np.sort(np.random.default_rng(0).choice(self.n, min(CHECKED, self.n), replace=False))
        items = index.ids_[rows]
        near = [(np.empty(0), np.empty(0, np.int64))] * len(items)
        for start in range(0, self.n, BLOCK // 2):
            block = points[start : start + BLOCK // 2]
            every = index.semimetric.pairwise(points[items], block)
            for q, values in enumerate(every):
                both = np.append(near[q][0], values), np.append(near[q][1], np.arange(start, start + len(block)))
                first = np.argsort(both[0], kind="stable")[: 3 * K]
                near[q] = both[0][first], both[1][first]
        for q, (values, found) in enumerate(near):
            others = found != items[q]
            first = np.lexsort((found[others], values[others]))[:K]
            if set(found[others][first]) != set(ids[rows[q]]) or not np.allclose(values[others][first], distances[rows[q]]):
                raise SystemExit(f"the neighbours of item {items[q]} in {self.folder / 'join'} are not the nearest")
        print(f"  the neighbours of {len(items)} items are those that all distances give", flush=True)


def growth(rows: list[dict]) -> list[dict]:
    """Exponents of n in the seconds of the processor for each stage, features and data with two sizes from 1e6 on."""
    out = []
    for key in sorted({(r["stage"], r["data"], r["partition"], r["features"], r["workers"]) for r in rows}):
        names = ("stage", "data", "partition", "features", "workers")
        own = {r["points"]: r["cpu_s"] / r.get("queries", 1) for r in rows if tuple(r[x] for x in names) == key}
        own = {n: cpu for n, cpu in own.items() if n >= 1e6}
        if len(own) > 1 and min(own.values()) > 0:
            n, cpu = np.log(sorted(own)), np.log([own[x] for x in sorted(own)])
            out.append(dict(zip(names, key, strict=True)) | {"sizes": len(own), "exponent": float(np.polyfit(n, cpu, 1)[0])})
    return out


def table(names: list[str], lines: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *lines]) + "\n"


def power(n: float) -> str:
    """A size in words such as 1e7."""
    digits = math.floor(math.log10(n))
    return f"{n / 10**digits:g}e{digits}"


def duration(seconds: float) -> str:
    """Seconds in words."""
    for limit, unit in ((120, "s"), (7200, "min"), (172_800, "h")):
        if seconds < limit:
            return f"{seconds / {'s': 1, 'min': 60, 'h': 3600}[unit]:.3g} {unit}"
    return f"{seconds / 86_400:.3g} days"


def shown(rows: list[dict]) -> list[dict]:
    """The rows of the page: a mixture in 8 features is searched, pixels in 32 are joined, both in shards by k-means."""
    kinds = {8: "clusters", 32: "pixels"}
    return [r for r in rows if r["partition"] == "kmeans" and r["data"] == kinds.get(r["features"])]


def measured(rows: list[dict]) -> str:
    """What was measured: a line for each stage and size, of which the last row counts."""
    last = {(r["stage"], r["features"], r["points"]): r for r in shown(rows)}
    lines = []
    for (stage, features, n), r in sorted(last.items(), key=lambda e: (STAGES.index(e[0][0]), e[0][1:])):
        queries = r.get("queries")
        each = "" if queries is None else f"{r['cpu_s'] / queries * 1e3:.2f} ms"
        moved = "" if queries is None else f"{(r['sent_mb'] + r['received_mb']) * 1e3 / queries:.2g} kB"
        asked = "" if queries is None else f"{r['shards_a_query']:.2f} of {r['shards']}"
        line = [stage, f"{power(n)} x {features}", duration(r["seconds"]), duration(r["cpu_s"]), each, asked, moved]
        lines.append([*line, f"{r['peak_mib_a_worker']:.0f} MiB"])
    names = ["stage", "items", "time", "processor", "a query", "shards asked", "moved a query", "peak of a worker"]
    return table(names, lines)


def extrapolated(rows: list[dict]) -> str:
    """What 1e9 and 1e10 items would take, by the exponents and the largest measured size; a build is linear at least."""
    own, lines = shown(rows), []
    for stage, n_queries in (("build", 1), ("search", 1_000_000), ("join", None)):
        of_stage = [r for r in own if r["stage"] == stage]
        exponents = {(g["features"]): g["exponent"] for g in growth(of_stage)}
        for features, exponent in exponents.items():
            largest = max((r for r in of_stage if r["features"] == features), key=lambda r: r["points"])
            each, exponent = largest["cpu_s"] / largest.get("queries", 1), max(exponent, 1.0 if stage == "build" else 0.0)
            for n in (1e9, 1e10):
                count = n if n_queries is None else n_queries
                cpu = each * (n / largest["points"]) ** exponent * count
                what = {"build": "build", "search": "a million queries", "join": "all items"}[stage]
                line = [f"{what}, {power(n)} x {features}", f"{exponent:.2f}", f"from {power(largest['points'])}"]
                lines.append([*line, *(duration(cpu / threads) for threads in (64, 512, 4096))])
    return table(["work", "exponent", "measured", "64 threads", "512 threads", "4,096 threads"], lines)


def document(file: Path) -> None:
    """Write the tables of the kept rows into the page; a table without rows stays as it is."""
    rows, text = read(file, "cluster_search"), DOCUMENT.read_text()
    for name, made in (("cluster-measured", measured(rows)), ("cluster-extrapolated", extrapolated(rows))):
        if made.count("\n") > 2:
            text = re.sub(rf"(<!-- table: {name} -->\n)(?:\|.*\n)*", lambda found, made=made: found[1] + made, text)
    beside = DOCUMENT.with_name(f".{DOCUMENT.name}")
    beside.write_text(text)
    beside.replace(DOCUMENT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scratch", type=Path, help="a folder with room for items, shards and answers")
    parser.add_argument("--search", type=float, nargs="*", default=[1e5, 1e6, 1e7], metavar="N")
    parser.add_argument("--join", type=float, nargs="*", default=[1e5, 1e6], metavar="N")
    parser.add_argument("--search-features", type=int, default=8)
    parser.add_argument("--join-features", type=int, nargs="+", default=[32])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--data", choices=["clusters", "uniform", "pixels"], default="clusters")
    parser.add_argument("--partition", choices=["rows", "kmeans"], default="kmeans")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worker-memory", default="0", help="the limit of Dask, 0 for none")
    parser.add_argument("--least-shards", type=int, default=8)
    parser.add_argument("--shard-items", type=int, default=3_200_000)
    parser.add_argument("--keep", action="store_true", help="keep the files of a size that is done")
    add_results(parser)
    parser.add_argument("--document", action="store_true", help="only write the tables of the kept rows into the page")
    options = parser.parse_args()
    if options.document:
        document(options.results)
        return
    if options.scratch is None or not options.scratch.is_dir():
        parser.error("--scratch: the name of a folder that is there is required")
    sizes = [(int(n), options.search_features, "search") for n in options.search]
    sizes += [(int(n), f, "join") for f in options.join_features for n in options.join]
    for n, n_features, what in sizes:
        need, free = (
            disk_needed(n, n_features, n if what == "join" else options.queries),
            shutil.disk_usage(options.scratch).free,
        )
        print(f"{what} {power(n)} x {n_features}: {need / 1e9:.2f} GB on the disc, {free / 1e9:.0f} GB free", flush=True)
        if need * 1.2 > free:
            raise SystemExit(f"{options.scratch} has too little room; give another --scratch, or fewer items")
    import distributed

    for n, n_features, what in sizes:
        folder = folder_of(options, n, n_features, what)
        if (folder / "complete").exists():
            print(f"{what} {power(n)} x {n_features}: done before; delete {folder} to run it again", flush=True)
            continue
        cluster = distributed.LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=":0", memory_limit=options.worker_memory
        )
        with cluster, distributed.Client(cluster) as client:
            run = Run(options, client, n, n_features, what)
            run.build()
            run.search() if what == "search" else run.join()
            (folder / "complete").touch()
            if not options.keep:
                for path in (run.index, run.points):
                    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for row in growth(read(options.results, "cluster_search")):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
