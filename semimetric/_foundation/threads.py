"""Blocks of rows over threads: compiled loops, BLAS and SciPy release the GIL, so threads share the arrays."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

__all__ = ["blocks", "map_blocks", "one_blas_thread"]

T = TypeVar("T")


def one_blas_thread() -> threadpool_limits:
    """A context in which BLAS uses one thread.

    Learning is many small factorizations: with two threads BLAS waits for the other core in each, and where that core is
    busy a fit of 8 s took 25 to 100 s. Threads go to blocks of pairs instead, where they pay.
    """
    return threadpool_limits(1, "blas")


def blocks(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most ``size`` that cover range(n)."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def map_blocks(function: Callable[[slice], T], n: int, *, size: int, n_jobs: int | None) -> list[T]:
    """``[function(block) for block in blocks(n, size)]``, over ``n_jobs`` threads; results keep their order.

    An error or Ctrl-C cancels the blocks that have not begun.
    """
    jobs = effective_n_jobs(n_jobs)
    if jobs == 1 or n <= size:
        return [function(block) for block in blocks(n, size)]
    with one_blas_thread(), ThreadPoolExecutor(jobs) as pool:  # BLAS inside a thread stays in it
        futures = [pool.submit(function, block) for block in blocks(n, size)]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
