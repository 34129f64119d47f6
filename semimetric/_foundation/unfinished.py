"""Files and folders that take their place once they are complete, and of which nothing is left if they never are.

    .NAME.TOKEN.part    what is to become NAME, of which a long one is cut
    NAME.unfinished     a folder of long work, which stays, so that the next call goes on with it

The process that fills it holds a lock on it, which the system takes back when the process ends, however it ends. So what nobody
holds was left by a process that was killed, and whoever writes NAME next deletes it. Where the system or the storage knows no
such locks, leftovers stay; they are never read.

A process that is to end at once, in the middle of compiled code, first undoes what it has begun (`undo_all`), at a moment at
which nothing is done that is to be whole (`standstill`).
"""

import errno
import hashlib
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

from .errors import StorageError

fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None  # None where the system has no such locks

_LONGEST = 100  # bytes of a name that are kept in the name of what is to become it, since systems limit names to 255 or fewer
_TOKEN = 8  # hexadecimal digits

_UNDO: list[Callable[[], object]] = []
_WHOLE = threading.RLock()  # held while something is `uninterrupted`, and while something is begun


@contextmanager
def replacing(target: Path) -> Iterator[Any]:
    """Open a new file that takes the place of ``target``, or of the link there, only if the end is reached."""
    _sweep(target)
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    begun, lock = _beside(target), None
    try:
        with undoing(lambda: discard(begun)):
            lock = _made(begun, lambda: begun.touch(0o666 if mode is None else 0o600, exist_ok=False))
            with begun.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                begun.chmod(mode)
            os.replace(begun, target)
    finally:
        _unlock(lock)


@contextmanager
def unfinished_folder(target: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """Open a new folder beside ``target`` to be filled and renamed; what remains of it at the end is deleted."""
    begun, lock = _beside(target), None
    try:
        with undoing(lambda: discard(begun)):
            try:
                _sweep(target)
                lock = _made(begun, lambda: begun.mkdir(mode))
            except OSError as error:
                reason = error.strerror or error
                raise StorageError(
                    f"no folder can be made in {target.parent} ({reason}); make room, or give another"
                ) from error
            yield begun
            with uninterrupted():
                discard(begun)
    finally:
        _unlock(lock)


@contextmanager
def resumable_folder(target: Path) -> Iterator[Path]:
    """Open the folder ``NAME.unfinished`` beside ``target``, new or as an earlier call left it, to be filled and renamed.

    It stays if this block fails, so that the next call goes on; a StorageError says that another process fills it now.
    """
    begun, lock = target.with_name(f"{target.name}.unfinished"), None
    try:
        begun.mkdir(exist_ok=True)
        lock = _lock(begun, wait=False)
    except BlockingIOError as error:
        raise StorageError(f"another process fills {begun}; wait until it ends, or give another name") from error
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(f"no folder can be made in {target.parent} ({reason}); make room, or give another") from error
    try:
        yield begun
    finally:
        _unlock(lock)


@contextmanager
def undoing(undo: Callable[[], object]) -> Iterator[None]:
    """Call ``undo`` if this block fails; `undo_all` calls it if the process ends meanwhile."""
    with _WHOLE:
        _UNDO.append(undo)
    try:
        yield
    except BaseException:
        with uninterrupted():
            undo()
        raise
    finally:
        _UNDO.remove(undo)


@contextmanager
def standstill() -> Iterator[None]:
    """Nothing is `uninterrupted` in the main thread during this, and nothing is begun: the process may end in it."""
    with _WHOLE:
        yield


def undo_all() -> None:
    """Delete what is begun in this process and not finished: what was begun last comes first."""
    for undo in reversed(_UNDO):
        with suppress(OSError):  # the next who writes there deletes it
            undo()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the end of this, which is to be short: what was begun is whole then, and nothing is left over."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:  # Ctrl-C does not come here as an error
        yield
        return
    pressed: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *given: pressed.append(given))
    try:
        with _WHOLE:
            yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed and callable(before):
            before(*pressed[0])


def discard(path: Path) -> None:
    """Delete a file, or a folder with its content, under another name first, so that no process writes into it."""
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    gone = path.with_name(f"{path.name.removesuffix('.part')}_.part")
    with suppress(OSError):  # some systems rename no folder of open files
        path = path.rename(gone)
    shutil.rmtree(path, ignore_errors=True)


def _beside(target: Path) -> Path:
    return target.parent / f".{_short(target.name)}.{uuid4().hex[:_TOKEN]}.part"


def _short(name: str) -> str:
    """Return a name; of a long one its beginning, and digits by which it differs from others of the same beginning."""
    written = os.fsencode(name)
    if len(written) <= _LONGEST:
        return name
    return f"{written[:_LONGEST].decode(errors='ignore')}~{hashlib.sha256(written).hexdigest()[:_TOKEN]}"


def _sweep(target: Path) -> None:
    left = re.compile(rf"\.{re.escape(_short(target.name))}\.\w+\.part")
    with os.scandir(target.parent) as entries:
        found = [Path(entry.path) for entry in entries if left.fullmatch(entry.name)]
    for path in found:
        with suppress(OSError):  # somebody holds it, or it was deleted meanwhile
            lock = _lock(path, wait=False)
            if lock is not None:
                discard(path)
                _unlock(lock)


def _made(path: Path, make: Callable[[], object]) -> int | None:
    """Return the lock on what ``make`` makes; it is made again where it was taken for a leftover before it was locked."""
    make()
    while True:
        try:
            return _lock(path, wait=True)
        except FileNotFoundError:
            make()


def _lock(path: Path, *, wait: bool) -> int | None:
    """Return a descriptor that locks a file or folder, None without locks; FileNotFoundError if it was deleted before."""
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None
    try:
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    except OSError:
        _unlock(descriptor)
        raise


def _unlock(lock: int | None) -> None:
    """Let go of a lock, also in processes that were forked meanwhile and have the descriptor too."""
    if lock is not None:
        fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)
