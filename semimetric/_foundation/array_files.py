"""Large arrays as files that are named by their digests, written once, and read or mapped into memory when verified."""

import hashlib
import mmap as maps
import os
import re
import stat
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .array_bytes import array_in, header_of
from .errors import StorageError
from .storage import write_beside

__all__ = ["ARRAY_FILE", "ArrayFiles", "read_arrays", "write_array"]

ARRAY_FILE = re.compile(r"([0-9a-f]{64})\.npy")
_PIECE = 1 << 22  # bytes that are read and hashed at once, after which an error elsewhere can end the reading
_THREADS = 4
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class ArrayFiles(NamedTuple):
    """Arrays by their digests, and the maps in which they lie, none where they were read into memory."""

    arrays: dict[str, NDArray[Any]]
    maps: list[maps.mmap]

    def release(self) -> None:
        """Let the system have the memory of mapped pages again, which stay in the files."""
        for mapped in self.maps:
            if hasattr(maps, "MADV_DONTNEED"):
                mapped.madvise(maps.MADV_DONTNEED)


def write_array(folder: Path, array: NDArray[Any]) -> str:
    """Write an array to a file named by its digest, unless there is such a file; return the digest."""
    array = np.ascontiguousarray(array)
    content = (header_of(array), array.reshape(-1).view(np.uint8).data if array.size else b"")
    digest = hashlib.sha256(content[0])
    digest.update(content[1])
    target = folder / f"{digest.hexdigest()}.npy"
    if target.is_symlink() or not target.is_file() or target.stat().st_size != sum(map(len, content)):
        write_beside(target, lambda file: file.writelines(content))
    return digest.hexdigest()


def read_arrays(folder: Path, digests: Collection[str], *, mmap: bool) -> ArrayFiles:
    """The arrays of these digests, each verified; files are read by several threads.

    Raises
    ------
    StorageError
        If a digest is none, or a file is missing, a link, truncated, altered, or no array.
    """
    wanted = list(dict.fromkeys(digests))
    for digest in wanted:
        if not ARRAY_FILE.fullmatch(f"{digest}.npy"):
            raise StorageError(
                f"{folder} has no array {digest[:80]!r}, which is no digest; restore the index, or build it again"
            )
    stop = Event()
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as pool:
        futures = [pool.submit(_read, folder / f"{digest}.npy", digest, mmap, stop) for digest in wanted]
        try:
            found = [future.result() for future in futures]
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return ArrayFiles({d: array for d, (array, _) in zip(wanted, found, strict=True)}, [m for _, m in found if m is not None])


def _read(path: Path, digest: str, mmap: bool, stop: Event) -> tuple[NDArray[Any], maps.mmap | None]:
    """The array of a file and its map, None if it was read."""
    advice = "restore it, or build the index again"
    try:
        handle = os.open(path, _OPEN)
    except FileNotFoundError as error:
        raise StorageError(f"{path} is missing; the index is not whole: restore it, or build it again") from error
    except OSError as error:
        raise StorageError(f"{path} cannot be opened ({error.strerror}), or is a link; {advice}") from error
    with os.fdopen(handle, "rb", buffering=0) as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            raise StorageError(f"{path} is empty or no file; {advice}")
        mapped = maps.mmap(handle, status.st_size, access=maps.ACCESS_READ) if mmap else None
        content = np.empty(0 if mmap else status.st_size, np.uint8).data
        if _digest_of(file, status.st_size, content, stop) != digest:
            raise StorageError(f"{path} is truncated or altered; {advice}")
    return array_in(content if mapped is None else mapped, str(path)), mapped


def _digest_of(file: Any, size: int, content: memoryview, stop: Event) -> str:
    """SHA-256 of the ``size`` bytes of a file, which are read into ``content`` unless that is empty."""
    total, piece = hashlib.sha256(), memoryview(bytearray(0 if len(content) else min(_PIECE, size)))
    for start in range(0, size, _PIECE):
        into = content[start : start + _PIECE] if len(content) else piece[: size - start]
        count = file.readinto(into)
        while count < len(into):  # a read may give less than it was asked for; nothing at the end
            more = file.readinto(into[count:])
            if not more:
                return ""
            count += more
        total.update(into)
        if stop.is_set():
            return ""
    return "" if file.read(1) else total.hexdigest()
