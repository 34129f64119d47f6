"""What do a second worker, and data larger than memory, cost and bring? Fit, stream and search, each in fresh processes.

    fit      least squares, 32 features x 8 knots, row numbers of 20,000 items in a mapped file: one worker, two, and here
    stream   pairs of 8 features x 8 knots from a mapped file under memory_limit="512 MiB", in one process
    search   points x 32 in 8 shards, 1,000 queries, exact: one worker, two, and one index

Sizes can be given: `distributed.py --pairs 1e6 --stream 1e6 1e7 --points 1e6`; a size of 0 leaves a part out.
"""

import argparse
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

# this file is called like the package that it measures, and worker processes import both
sys.path[:] = [p for p in sys.path if Path(p).resolve() != Path(__file__).resolve().parent]
REPORT = runpy.run_path(str(Path(__file__).with_name("report.py")))
once, report = REPORT["once"], REPORT["report"]

N_ITEMS = 20_000
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def resident() -> float:
    """Largest resident memory of this process so far, MiB (Linux; getrusage would count that of the process before exec)."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def write_pairs(folder: Path, n: int, n_features: int) -> None:
    """Items, row numbers and distances as .npy files, written block by block."""
    rng = np.random.default_rng(0)
    X = rng.random((N_ITEMS, n_features))
    np.save(folder / "items.npy", X)
    index = np.lib.format.open_memmap(folder / "index.npy", "w+", np.int32, (n, 2))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.float32, (n,))
    for start in range(0, n, 1 << 20):
        block = rng.integers(0, N_ITEMS, (min(1 << 20, n - start), 2), dtype=np.int32)
        index[start : start + len(block)] = block
        y[start : start + len(block)] = (np.abs(X[block[:, 0]] ** 2 - X[block[:, 1]] ** 2) + 0.1).sum(axis=1)


def model(folder: Path):
    from semimetric import DistanceRegressor

    return DistanceRegressor(n_knots=8, alpha=1e-4, preprocessor=np.load(folder / "items.npy"))


def clients(numbers: list[int]):
    """A client of a cluster of processes of one thread, for each number of workers."""
    import distributed

    for n in numbers:
        with distributed.LocalCluster(
            n_workers=n, threads_per_worker=1, dashboard_address=":0", memory_limit="8GiB"
        ) as cluster:
            with distributed.Client(cluster) as client:
                yield n, client


def fit(folder: Path, n: int) -> list[dict]:
    """The same parts on one worker, on two, and here."""
    from semimetric import out_of_core

    files, rows, found = (folder / "index.npy", folder / "y.npy"), [], {}
    size = "256 MiB"
    write_pairs(folder, 20_000, 32)
    small = model(folder).set_params(n_knots=8)
    write_pairs(folder, n, 32)
    for workers, client in clients([1, 2]):
        out_of_core.fit(
            small, np.load(files[0], mmap_mode="r")[:20_000], np.load(files[1])[:20_000], block_size="16 MiB", client=client
        )
        seconds, fitted = once(lambda c=client: out_of_core.fit(model(folder), *files, block_size=size, client=c))
        most = max(client.run(resident).values())
        found[workers] = fitted
        rows.append({"pairs": n, "where": f"{workers} workers", "seconds": seconds, "MiB a worker": most})
    seconds, fitted = once(lambda: out_of_core.fit(model(folder), *files, memory_limit=size))
    rows.append({"pairs": n, "where": "here", "seconds": seconds, "MiB a worker": resident()})
    for row, m in zip(rows, [found[1], found[2], fitted], strict=True):
        row["same bits"] = bool((m.semimetric_.weights == fitted.semimetric_.weights).all())
        row["objective"] = m.solution_.objective
    if n <= 2_000_000:
        whole = model(folder).fit(np.load(files[0]), np.load(files[1]).astype(float))
        rows[-1]["relative to fit"] = fitted.solution_.objective / whole.solution_.objective - 1
    return rows


def stream(folder: Path, n: int) -> dict:
    """One size, in this process."""
    from semimetric import out_of_core

    out_of_core.fit(model(folder), np.load(folder / "index.npy", mmap_mode="r")[:2000], np.load(folder / "y.npy")[:2000])
    seconds, _ = once(lambda: out_of_core.fit(model(folder), folder / "index.npy", folder / "y.npy", memory_limit="512 MiB"))
    return {"pairs": n, "seconds": seconds, "us a pair": seconds / n * 1e6, "MiB resident": resident()}


def search(folder: Path, n: int) -> list[dict]:
    """Shards on one worker, on two, here, and one index."""
    from semimetric import DistanceRegressor, NeighborIndex, out_of_core

    rng = np.random.default_rng(0)
    X, index = rng.random((2000, 32)), rng.integers(0, 2000, (20_000, 2))
    y = np.minimum(np.abs(X[index[:, 0]] - X[index[:, 1]]), 0.3).sum(axis=1)
    d = DistanceRegressor(n_knots=8, alpha=1e-5, preprocessor=X).fit(index, y).semimetric_
    points = np.lib.format.open_memmap(folder / "points.npy", "w+", np.float32, (n, 32))
    basis = rng.normal(size=(6, 32)) * 0.15  # near a plane of six dimensions, as real points are
    for start in range(0, n, 1 << 18):
        k = min(1 << 18, n - start)
        points[start : start + k] = np.clip(0.5 + rng.normal(size=(k, 6)) @ basis + 0.02 * rng.normal(size=(k, 32)), 0, 1)
    queries = np.clip(0.5 + rng.normal(size=(1000, 6)) @ basis + 0.02 * rng.normal(size=(1000, 32)), 0, 1)
    rows, answers = [], []
    block = -(-n // 8) * 20_000
    for workers, client in clients([1, 2]):
        target = folder / f"shards-{workers}"
        out_of_core.build_index(
            folder / "small", d, points[:20_000], block_size=20_000 * 2_500, client=client
        )  # workers import
        built, _ = once(
            lambda c=client, t=target: out_of_core.build_index(t, d, folder / "points.npy", block_size=block, client=c)
        )
        out_of_core.kneighbors(target, queries[:64], 10, client=client)
        out_of_core.kneighbors(target, queries, 10, client=client)
        times = [once(lambda c=client, t=target: out_of_core.kneighbors(t, queries, 10, client=c)) for _ in range(3)]
        answers.append(times[0][1])
        seconds, most = float(np.median([t for t, _ in times])), max(client.run(resident).values())
        rows.append({"points": n, "where": f"{workers} workers", "build s": built, "1000 queries s": seconds, "MiB": most})
    built, one = once(lambda: NeighborIndex(d).fit(points))
    seconds = [once(lambda: one.kneighbors(queries, 10)) for _ in range(2)]
    rows.append({"points": n, "where": "one index here", "build s": built, "1000 queries s": seconds[1][0], "MiB": resident()})
    for row, answer in zip(rows, [*answers, seconds[0][1]], strict=True):
        row["identical"] = all(bool((a == b).all()) for a, b in zip(answer, seconds[0][1], strict=True))
    return rows


def alone(*command: str) -> object:
    """What a part prints, from a process of its own."""
    call = [sys.executable, __file__, "--one", *command]
    done = subprocess.run(call, capture_output=True, text=True, check=False, env=os.environ | ONE_THREAD)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=float, default=1e7)
    parser.add_argument("--stream", type=float, nargs="*", default=[1e6, 1e7, 1e8])
    parser.add_argument("--points", type=float, default=1e7)
    parser.add_argument("--one", nargs=3, metavar=("PART", "FOLDER", "N"))
    arguments = parser.parse_args()
    if arguments.one:
        part, folder, n = arguments.one
        print(json.dumps({"fit": fit, "stream": stream, "search": search}[part](Path(folder), int(n)), default=float))
        return
    with tempfile.TemporaryDirectory() as folder:
        if arguments.pairs:
            report("distributed: fit, 32 features x 8 knots", alone("fit", folder, str(int(arguments.pairs))))
    rows = []
    for n in filter(None, map(int, arguments.stream)):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            write_pairs(Path(folder), n, 8)
            print(f"{n} pairs written in {time.perf_counter() - start:.0f} s", flush=True)
            rows.append(alone("stream", folder, str(n)))
    if rows:
        report("distributed: pairs streamed in one process, 8 features x 8 knots", rows)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.points:
            report("distributed: 10 nearest in 8 shards, 32 features", alone("search", folder, str(int(arguments.points))))


if __name__ == "__main__":
    main()
