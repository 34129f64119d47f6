"""The command ``warmup``: compile the kernels that a first fit and a first search need, so that these do not wait for it."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from ..distances.estimators.regressor import DistanceRegressor
from ..distances.search.index import NeighborIndex
from .output import CommandResult


def run_warmup(arguments: Namespace) -> CommandResult:
    """Learn a small distance, search and explain by it, and count the kernels that were compiled or read for that."""
    started, used = perf_counter(), process_time()
    _learn_and_search()
    seconds, processor = perf_counter() - started, process_time() - used
    compiled, read, folders = 0, 0, set()
    for statistics in _statistics_of_kernels():
        compiled += sum(statistics.cache_misses.values())
        read += sum(statistics.cache_hits.values())
        folders.add(str(Path(statistics.cache_path)))
    values = {
        "compiled": compiled, "read": read, "seconds": seconds, "processor_seconds": processor, "folders": sorted(folders),
    }  # fmt: skip
    return CommandResult(values, _text(values))


def _learn_and_search() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 24, (200, 2))
    pairs = rng.integers(0, 200, (3000, 2))
    gaps = np.abs(X[pairs[:, 0]] - X[pairs[:, 1]])
    d = DistanceRegressor(preprocessor=X).fit(pairs, np.minimum(gaps[:, 0], 24 - gaps[:, 0]) + np.sqrt(gaps[:, 1])).semimetric_
    d(X[0], X[1])
    d.pairwise(X)
    d.explain(X[0], X[1:3])
    NeighborIndex(d).fit(X).kneighbors(X[:2], n_neighbors=3)


def _statistics_of_kernels() -> Iterator[Any]:
    """Return the statistics of numba for each kernel that it stores in a cache: how often it was compiled, and read."""
    modules = [module for name, module in sys.modules.items() if name.startswith("semimetric._kernels.")]
    kernels = {id(value): value for module in modules for value in vars(module).values() if hasattr(value, "stats")}
    return (kernel.stats for kernel in kernels.values() if kernel.stats.cache_path is not None)


def _text(values: dict[str, Any]) -> str:
    if not values["folders"]:
        return "Nothing is compiled here: NUMBA_DISABLE_JIT is set. Unset it, or every loop runs in Python."
    took = f"{values['seconds']:.1f} s ({values['processor_seconds']:.1f} s of the processor)"
    kept = "\n".join(f"  {folder}" for folder in values["folders"])
    return f"{values['compiled']} kernels compiled, {values['read']} read from the cache, in {took}. They are kept in\n{kept}"
