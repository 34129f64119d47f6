"""What the benchmarks share: data, timing, and a report as a table and JSON lines, which are kept.

``report(title, rows)`` prints rows and keeps them, with machine, date, version and commit, in a file of the script that runs,
``benchmarks/results/<script>.jsonl``, in the place of an earlier run's. A script that imports `append`, or is called with
``--results``, keeps its rows itself: each as soon as it is measured, at the end of the same file, or of the one named. The
variable ``SEMIMETRIC_RESULTS`` names another folder for both; ``tools/bench.py --quick`` sets it, so that rows of small inputs
never stand beside those that are quoted.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results"


def data_folder(files: str = "the data sets", name: str = "") -> Path:
    """The folder that SEMIMETRIC_DATA names; ends the run with the reason where there is none, or it lacks a file."""
    folder = os.environ.get("SEMIMETRIC_DATA")
    if not folder or not (Path(folder) / name).exists():
        print(f"skipped: this benchmark reads {files} from the folder that SEMIMETRIC_DATA names (see docs/measurements.md)")
        sys.exit(0)
    return Path(folder)


def data(name: str) -> dict[str, np.ndarray]:
    """Arrays of a data set in that folder; ends the run with the reason where there is none."""
    file = f"{name}.npz"
    with np.load(data_folder(file, file) / file) as arrays:
        return dict(arrays)


def seconds(call: Callable[[], object], *, repeat: int = 5) -> float:
    """Median wall time of ``call`` after one warm-up."""
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def once(call: Callable[[], object]) -> tuple[float, object]:
    """Wall time and result of one call."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def on_threads(count: int) -> dict[str, str]:
    """An environment in which BLAS, OpenMP and compiled kernels use so many threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(names, str(count))}


def use_one_thread() -> None:
    """Start this script again in an environment of one thread, unless it is in one: the pools are made on import."""
    if os.environ != (environment := on_threads(1)):
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)


@cache
def machine() -> str:
    """The processor's name and the number of cores."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


@cache
def commit() -> str:
    """The short name of the commit that runs, with a mark if files differ from it; empty outside a repository."""
    call = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(call, cwd=Path(__file__).parent, capture_output=True, text=True).stdout.strip()


def origin(package: str) -> dict[str, str]:
    """Where and when a result comes from, with the version of the package that it is of, and the load of the machine."""
    named = {"version": f"{package} {version(package)}", "commit": commit(), "machine": machine()}
    waiting = {"load": round(os.getloadavg()[0], 1)} if hasattr(os, "getloadavg") else {}  # of a calm machine about 1 a thread
    return {"date": datetime.now(UTC).isoformat(timespec="seconds")} | named | waiting


def with_origin(row: dict, package: str) -> dict:
    """A row and its origin in one; ValueError where both have a name, of which one would be lost."""
    about = origin(package)
    if clash := sorted(set(row) & set(about)):
        raise ValueError(f"a row has {', '.join(clash)}, which its origin has too; rename it in the row")
    return row | about


def read(file: Path | None, benchmark: str) -> list[dict]:
    """The rows of a benchmark in a file of JSON lines; none without a file."""
    lines = file.read_text().splitlines() if file and file.exists() else []
    return [row for row in map(json.loads, lines) if row["benchmark"] == benchmark]


def kept_rows(script: str, benchmark: str = "") -> list[dict]:
    """The kept rows of a script, of the benchmark of its name or of another one."""
    return read(RESULTS / f"{script}.jsonl", benchmark or script)


def append(file: Path | None, row: dict) -> None:
    """Write a row to a file as a line of JSON; without a file, do nothing."""
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as out:
            out.write(json.dumps(row) + "\n")


def report(title: str, rows: list[dict]) -> None:
    """Print the rows as an aligned table and as JSON lines, and keep them in the file of the script that runs."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names] + [[_shown(row.get(name)) for name in names] for row in rows]
    widths = [max(len(line[k]) for line in cells) for k in range(len(names))]
    print(f"\n{title}")
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    for row in rows:
        print(json.dumps({"benchmark": title} | row, default=float))
    if file := file_of_rows():
        keep(file, title, rows)


def file_of_rows() -> Path | None:
    """Where `report` keeps the rows of the script that runs: nowhere for one that does so itself, or is no benchmark."""
    foreign = Path(sys.argv[0]).resolve().parent != FOLDER
    return None if foreign or hasattr(sys.modules["__main__"], "append") or "--results" in sys.argv else kept_file()


def kept_file(script: str = "") -> Path:
    """The file of a script's rows, of the one that runs by default, where the quoted ones are or SEMIMETRIC_RESULTS says."""
    return Path(os.environ.get("SEMIMETRIC_RESULTS", RESULTS)) / f"{script or Path(sys.argv[0]).stem}.jsonl"


def add_results(parser: argparse.ArgumentParser) -> None:
    """Give a script that appends its rows itself ``--results FILE``, by default the file of its kept rows."""
    parser.add_argument("--results", type=Path, default=kept_file(), metavar="FILE", help="append rows here (%(default)s)")


def keep(file: Path, title: str, rows: list[dict]) -> None:
    """Write rows with their origin to a file of JSON lines, in the place of those of an earlier run.

    An earlier run is one of the same title and the same arguments of the command line, at whatever commit: its rows are in the
    history of the repository. The file is written beside and renamed, so that a run that is stopped loses no row.
    """
    about = {"benchmark": title} | ({"arguments": " ".join(sys.argv[1:])} if len(sys.argv) > 1 else {})
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    lines = [line for line in lines if (line["benchmark"], line.get("arguments")) != (title, about.get("arguments"))]
    lines += [about | with_origin(row, "semimetric") for row in rows]
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    beside.write_text("".join(json.dumps(line, default=float) + "\n" for line in lines))
    beside.replace(file)


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
