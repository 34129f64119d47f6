"""Blocks of rows shared out among threads, which can share arrays because compiled loops, BLAS and SciPy release the GIL."""

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import current_process
from threading import Event, local
from typing import TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

T = TypeVar("T")

_POOL = local()  # In a thread of `map_blocks`, ``_POOL.ended`` is the event that its call has failed or was interrupted.
_BLAS = local()  # ``_BLAS.limited`` says that this thread is within `one_blas_thread`.


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Return a context in which BLAS uses one thread; inside another such context it changes nothing.

    With two threads the many small factorizations of learning wait for the other core: a fit of 8 s took 25 to 100 s.
    """
    if getattr(_BLAS, "limited", False):
        yield
        return
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        try:
            _BLAS.limited = True
            yield
        finally:
            _BLAS.limited = False


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` stands for, as joblib says; 1 in a daemonic process, such as a worker of Dask."""
    if current_process().daemon and n_jobs != 0:
        return 1  # as joblib mostly answers, with a warning
    return effective_n_jobs(n_jobs)


def blocks(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most ``size`` rows that together cover range(n)."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def short_blocks(n: int, size: int) -> Iterator[slice]:
    """Return `blocks` of some 0.1 s each for compiled loops, between which Ctrl-C is seen, also in `map_blocks`."""
    for block in blocks(n, size):
        end_if_interrupted()
        yield block


def end_if_interrupted() -> None:
    """Leave a thread of `map_blocks` whose call has failed or was interrupted: nobody waits for what it computes."""
    if hasattr(_POOL, "ended") and _POOL.ended.is_set():
        raise CancelledError


def map_blocks(function: Callable[[slice], T], n: int, *, size: int, n_jobs: int | None) -> list[T]:
    """Return ``[function(block) for block in blocks(n, size)]`` by ``n_jobs`` threads; errors and Ctrl-C cancel others."""
    if n <= size or (jobs := thread_count(n_jobs)) == 1:
        return [function(block) for block in blocks(n, size)]
    ended = Event()
    # Without the limit, BLAS would start threads of its own in every thread.
    with one_blas_thread(), ThreadPoolExecutor(jobs, initializer=setattr, initargs=(_POOL, "ended", ended)) as pool:
        futures = [pool.submit(function, block) for block in blocks(n, size)]
        try:
            return [future.result() for future in futures]
        except BaseException:
            ended.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
