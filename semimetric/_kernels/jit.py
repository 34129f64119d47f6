"""The one place where compiler flags are set, and where Ctrl-C is kept while the compiler cannot take it."""

import _thread
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

V = TypeVar("V")

# There is no fastmath: d(x, x) == 0 and d(x, y) == d(y, x) hold to the bit only without contraction and reordering.
kernel = njit(cache=True, nogil=True, error_model="numpy")
# A call of microseconds holds the interpreter's lock: to hand it to another thread and wait for it takes as long as the call.
held = njit(cache=True, error_model="numpy")
# This compiles functions that are handed to other libraries: they close over arrays, so they are not cached.
exported = njit(nogil=True, error_model="numpy")


def read_only(value: V) -> V:
    """Return an array as a view that is read only, or a tuple of such.

    A kernel is compiled anew for arrays that are read only, as those of mapped files are. So what a large kernel only reads is
    made read only wherever it comes from.
    """
    if isinstance(value, np.ndarray):
        view = value.view()
        view.setflags(write=False)
        return cast(V, view)
    if isinstance(value, tuple):
        made = map(read_only, value)
        return cast(V, value._make(made) if hasattr(value, "_make") else tuple(made))
    return value


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel whose code becomes a part of its callers: to hand over its arguments would cost more."""
    return njit(nogil=True, error_model="numpy", inline="always")(getattr(function, "py_func", function))


_SOON = 0.01  # seconds, in which the compiler leaves a callback
_CALLBACK = "_raw_object_cache_"  # how the names of llvmlite's functions begin that LLVM calls, from C


class _Presses(event.Listener):
    """Keeps Ctrl-C from being lost in a callback of the compiler, in the main thread, while it holds the compiler's lock.

    LLVM calls Python when it has compiled a module. A press that came meanwhile is noticed there, and what a callback from C
    raises is printed and ignored. Such a press is repeated when the callback has returned; the handler is then called as ever.
    """

    before: Any = None  # the handler of the program

    def on_start(self, event: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            current = signal.getsignal(signal.SIGINT)
            if callable(current) and current != self.pressed:
                self.before = current
                signal.signal(signal.SIGINT, self.pressed)

    def on_end(self, event: Any) -> None:
        if threading.current_thread() is threading.main_thread() and not global_compiler_lock.is_locked():
            self.restore()

    def restore(self) -> None:
        if signal.getsignal(signal.SIGINT) == self.pressed:
            signal.signal(signal.SIGINT, self.before)

    def pressed(self, number: int, frame: FrameType | None) -> None:
        caller = frame
        while caller is not None:
            if caller.f_code.co_name.startswith(_CALLBACK):
                again = threading.Timer(_SOON, _thread.interrupt_main)
                again.daemon = True
                again.start()
                return
            caller = caller.f_back
        self.restore()
        self.before(number, frame)


event.register("numba:compiler_lock", _Presses())
