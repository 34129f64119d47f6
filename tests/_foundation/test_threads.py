import shutil
import signal
import subprocess
import sys
import threading
import warnings
from contextlib import nullcontext
from multiprocessing import get_context
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from semimetric._foundation import threads
from semimetric._foundation.threads import blocks, map_blocks, one_blas_thread, short_blocks, thread_count


@pytest.mark.parametrize(("n", "size"), [(0, 3), (1, 3), (3, 3), (7, 3), (7, 100)])
def test_blocks_cover_every_row_once(n, size):
    parts = [list(range(n))[b] for b in blocks(n, size)]
    assert sum(parts, []) == list(range(n))
    assert all(0 < len(p) <= size for p in parts)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_results_keep_their_order(n_jobs):
    assert map_blocks(lambda b: b.start, 50, size=4, n_jobs=n_jobs) == list(range(0, 50, 4))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_stops_blocks_that_have_not_begun(n_jobs):
    begun, gate = [], threading.Event()

    def work(block):
        begun.append(block.start)
        if block.start == 0:
            gate.set()
            raise ZeroDivisionError
        gate.wait(5)

    with pytest.raises(ZeroDivisionError):
        map_blocks(work, 10_000, size=1, n_jobs=n_jobs)
    assert len(begun) < 10_000


def test_a_thread_leaves_its_block_between_short_ones_once_the_call_has_failed():
    steps, gate = [], threading.Event()

    def work(block):
        if block.start == 0:
            gate.wait(5)
            raise KeyboardInterrupt
        for step in short_blocks(10**9, 1):
            steps.append(step.start)
            gate.set()

    with pytest.raises(KeyboardInterrupt):
        map_blocks(work, 2, size=1, n_jobs=2)
    assert len(steps) < 10**9
    assert [b.start for b in short_blocks(5, 2)] == [0, 2, 4]  # Outside of such a call they are blocks.


def test_blas_has_one_thread():
    with one_blas_thread():
        found = ThreadpoolController().select(user_api="blas").info()
    assert {library["num_threads"] for library in found} == {1}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
@pytest.mark.filterwarnings(
    "ignore:.*/proc/self/maps:pytest.PytestUnraisableExceptionWarning"
)  # opened, and not yet in its `with`
def test_ctrl_c_while_libraries_are_looked_for_is_not_lost():
    def looked_for(delay):
        signal.setitimer(signal.ITIMER_REAL, delay)
        for _ in range(1000):
            ThreadpoolController()

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for delay in np.linspace(2e-4, 3e-3, 200):
            with pytest.raises(KeyboardInterrupt):
                looked_for(delay)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_libraries_are_looked_for_once_in_contexts_that_contain_one_another(monkeypatch):
    looked = []

    class Libraries:
        def __init__(self):
            looked.append(self)

        def limit(self, **options):
            return nullcontext()

    monkeypatch.setattr(threads, "ThreadpoolController", Libraries)
    with one_blas_thread():
        for _ in range(3):
            assert map_blocks(lambda block: block.start, 4, size=2, n_jobs=2) == [0, 2]
    assert len(looked) == 1
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    map_blocks(lambda block: block.start, 4, size=2, n_jobs=2)  # outside of it, BLAS is limited anew
    assert len(looked) == 3


OPENS = """
import ctypes, sys, threading, _ctypes
from semimetric._foundation.threads import one_blas_thread

def opened():
    while not done.is_set():
        for path in sys.argv[1:]:
            _ctypes.dlclose(ctypes.CDLL(path)._handle)

done = threading.Event()
opener = threading.Thread(target=opened, daemon=True)
opener.start()
for _ in range(300):
    with one_blas_thread():
        pass
done.set()
opener.join()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="libraries are listed by other means elsewhere")
def test_blas_is_limited_while_another_thread_opens_libraries(tmp_path):
    """With threadpoolctl before 3.7, each thread soon waits for the other: for the loader's lock, and for the interpreter's."""
    copies = [shutil.copy(np.fft._pocketfft_umath.__file__, tmp_path / f"{i}.so") for i in range(5)]
    subprocess.run([sys.executable, "-c", OPENS, *copies], check=True, timeout=60)


def _count_quietly(n_jobs, out):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out.put(thread_count(n_jobs))


def test_a_daemonic_process_has_one_thread_and_no_warning():
    assert thread_count(2) == 2
    context = get_context("spawn")
    out = context.Queue()
    process = context.Process(target=_count_quietly, args=(-1, out), daemon=True)
    process.start()
    assert out.get(timeout=60) == 1
    process.join()


def test_no_threads_are_refused_in_a_daemonic_process_too(monkeypatch):
    monkeypatch.setattr(threads, "current_process", lambda: SimpleNamespace(daemon=True))
    assert thread_count(-1) == 1
    with pytest.raises(ValueError, match="n_jobs"):
        thread_count(0)
