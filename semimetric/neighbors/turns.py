"""Turns of threads that ask single queries at the same time.

A single query is some Python and some compiled calls of microseconds, each of which hands the interpreter's lock to another
thread that waits for it. So two threads that searched along a graph at the same time were answered less together than one alone
(`benchmarks/search_threads.py`). Where there is such a lock, short searches take turns: one at a time. Exact ones are mostly
compiled, so that as many run at a time as there are processors.
"""

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from threading import RLock, Semaphore

from joblib import effective_n_jobs

__all__ = ["turn"]

_LONG = ("exact", "brute")
_turns: dict[str, AbstractContextManager[object]] = {}


def _renew() -> None:
    """Make turns that nobody has; also in a process that was forked while a thread had one."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    # A thread that has a turn may ask again, as a handler of a signal does.
    _turns["short"] = RLock() if locked else nullcontext()
    _turns["long"] = Semaphore(max(effective_n_jobs(-1), 2)) if locked else nullcontext()


_renew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def turn(algorithm: str) -> AbstractContextManager[object]:
    """What a thread enters while it answers one query by this algorithm."""
    return _turns["long" if algorithm in _LONG else "short"]
