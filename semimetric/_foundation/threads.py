"""Blocks of rows shared out among threads, which can share arrays because compiled loops, BLAS and SciPy release the GIL."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

__all__ = ["blocks", "map_blocks", "one_blas_thread"]

T = TypeVar("T")


def one_blas_thread() -> threadpool_limits:
    """A context in which BLAS uses one thread.

    Learning takes many small factorizations. In each of them, BLAS with two threads waits for the other core, and where that
    core was busy, a fit of 8 s took 25 to 100 s. Threads are given blocks of pairs instead.
    """
    return threadpool_limits(1, "blas")


def blocks(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most ``size`` rows that together cover range(n)."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def map_blocks(function: Callable[[slice], T], n: int, *, size: int, n_jobs: int | None) -> list[T]:
    """``[function(block) for block in blocks(n, size)]``, computed by ``n_jobs`` threads.

    An error or Ctrl-C cancels the blocks that have not begun.
    """
    jobs = effective_n_jobs(n_jobs)
    if jobs == 1 or n <= size:
        return [function(block) for block in blocks(n, size)]
    with one_blas_thread(), ThreadPoolExecutor(jobs) as pool:  # else BLAS would start threads of its own in every thread
        futures = [pool.submit(function, block) for block in blocks(n, size)]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
