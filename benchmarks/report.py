"""What the benchmarks share: data, timing, and a report as a table and JSON lines."""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def data(name: str) -> dict[str, np.ndarray]:
    """Arrays of a data set in the folder that SEMIMETRIC_DATA names; ends the run with the reason where there is none."""
    folder = os.environ.get("SEMIMETRIC_DATA")
    if not folder or not (Path(folder) / f"{name}.npz").exists():
        print(f"skipped: this benchmark reads {name}.npz from the folder that SEMIMETRIC_DATA names (see README)")
        sys.exit(0)
    with np.load(Path(folder) / f"{name}.npz") as arrays:
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


def report(title: str, rows: list[dict]) -> None:
    """Print the rows as an aligned table, then as JSON lines."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names] + [[_shown(row.get(name)) for name in names] for row in rows]
    widths = [max(len(line[k]) for line in cells) for k in range(len(names))]
    print(f"\n{title}")
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    for row in rows:
        print(json.dumps({"benchmark": title} | row, default=float))


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
