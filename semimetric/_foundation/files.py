"""Saving an object as one file of JSON values and arrays.

The file is a zip archive with ``header.json`` (format, versions, class, digest), ``state.json`` and ``arrays/NAME.npy``. There
is no pickle in it, so reading a file never runs code. A new file is written beside the old one and then renamed, and a file is
read only if its digest shows that every byte is as it was written.

A digest protects against accidents. Who makes a file on purpose makes its digest too, so what is read is bounded by the size of
the file, and every class proves what it reads (`Members`). With a key, a file has a signature besides, which nobody else makes.
"""

import hashlib
import hmac
import io
import json
import math
import mmap as maps
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, SignedFileError, StorageError
from .names import package_version
from .unfinished import replacing

_START = re.compile(rb"\x93NUMPY\x01\x00([\x00-\xff]{2})")
_NPY_HEADER = re.compile(
    rb"\{'descr': '(<f8|<f4|<i8|<i4|<u2|\|u1|\|b1|<U[1-9][0-9]{0,5})', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,15},|[0-9]{1,15}(?:, [0-9]{1,15})+)?)\), \} *\n"
)
_ALIGNED = 64  # bytes: the values of an array begin at a multiple of this
_LAST_CHARACTER = 0x10FFFF


def header_of(array: NDArray[Any]) -> bytes:
    """Return the bytes of a ``.npy`` file before the values of a C-contiguous array."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return header.getvalue()


def array_in(content: Any, name: str) -> NDArray[Any]:
    """Return the array in the bytes of a ``.npy`` file, as a view of them; ``name`` is for messages."""
    raw = memoryview(content).cast("B")
    start = _START.fullmatch(raw[:10])
    begin = 10 + int.from_bytes(start[1], "little") if start else 0
    header = _NPY_HEADER.fullmatch(raw[10:begin]) if start else None
    if header is None or begin % _ALIGNED:
        raise StorageError(
            f"{name} does not begin as an array that semimetric saved; restore the file, or save the object again"
        )
    dtype = np.dtype(header[1].decode())
    shape = tuple(int(n) for n in header[2].decode().split(",") if n)
    whole = math.prod(shape) * dtype.itemsize == len(raw) - begin and math.prod(n for n in shape if n) < 2**59
    if not whole:
        raise StorageError(
            f"{name} has {len(raw) - begin} bytes of values, but its header says {dtype} of shape {shape}; restore the file"
        )
    if not len(raw) - begin:
        return np.empty(shape, dtype)
    array = np.frombuffer(raw[begin:], dtype=dtype).reshape(shape)
    if dtype.kind == "b" and array.view(np.uint8).max() > 1:
        raise StorageError(f"{name} holds bytes that are no truth values; restore the file")
    if dtype.kind == "U" and array.reshape(-1).view(np.uint32).max() > _LAST_CHARACTER:
        raise StorageError(f"{name} holds numbers that are no characters; restore the file")
    return array


def is_mapped(array: NDArray[Any]) -> bool:
    """Return True if an array, or the array it is a view of, lies in a file that is mapped into memory."""
    owner: Any = array
    while isinstance(owner, (np.ndarray, memoryview)):
        if isinstance(owner, np.memmap):
            return True
        owner = owner.obj if isinstance(owner, memoryview) else owner.base
    return isinstance(owner, maps.mmap)


T = TypeVar("T")

FORMAT_VERSION = 1
_FORMAT = "semimetric"
_TRIES = 100
# the errors that zipfile raises for a damaged archive
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, KeyError, RuntimeError, OverflowError)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the time stamp of every member, so that the same object always gives the same bytes
_MEMBER = re.compile(r"header\.json|state\.json|arrays/([A-Za-z0-9_]{1,64})\.npy")
# Members unfold to so many bytes, or to so many times the file; those of JSON, which take most memory, to the file at most.
_UNFOLDED, _FOLDS, _JSON, _HEADER = 1 << 26, 16, 1 << 23, 1 << 16
_KEY = 16  # the least number of bytes of a key


@dataclass(frozen=True)
class State:
    """The content of a saved object: the name of its class, JSON values and arrays."""

    kind: str
    values: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def _array_bytes(array: NDArray[Any]) -> bytes:
    array = np.ascontiguousarray(array)
    if array.dtype.hasobject:
        raise ValueError("Object arrays cannot be saved")
    return header_of(array) + array.tobytes()


def _digest(members: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of the names and contents of the members, in the order of their names."""
    total = hashlib.sha256()
    for name in sorted(members):
        for part in (name.encode(), members[name]):
            total.update(len(part).to_bytes(8, "little"))
            total.update(part)
    return total.hexdigest()


def _signature(key: bytes, digest: str) -> str:
    """Return the HMAC of a digest, after a check of the key."""
    if not isinstance(key, bytes) or len(key) < _KEY:
        given = f"{len(key)} bytes" if isinstance(key, bytes) else f"of type {type(key).__name__}"
        raise InputError(f"key= is {given}; at least {_KEY} bytes are required, such as secrets.token_bytes(32)")
    return hmac.new(key, f"{_FORMAT} {digest}".encode(), hashlib.sha256).hexdigest()


def write_state(path: str | os.PathLike[str], state: State, *, key: bytes | None = None) -> None:
    """Write ``state`` to ``path``; an old file is replaced only when the new one is complete.

    With ``key`` the file is signed: `read_state` then needs the same key.
    """
    target = Path(path)
    if target.is_dir():
        raise StorageError(f"cannot save to {target}: it is a folder; give the name of a file in it, such as model.smm")
    if not target.parent.is_dir():
        raise StorageError(f"cannot save to {target}: the folder {target.parent} does not exist; create it first")
    members = {"state.json": json.dumps(state.values, indent=1, allow_nan=False).encode()}
    members |= {f"arrays/{name}.npy": _array_bytes(array) for name, array in state.arrays.items()}
    digest = _digest(members | {"class": state.kind.encode()})
    header = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": package_version(),
        "class": state.kind,
        "digest": digest,
    }
    if key is not None:
        header["signature"] = _signature(key, digest)
    members = {"header.json": json.dumps(header, indent=1).encode()} | members
    write_beside(target, lambda file: _write_archive(file, members))


def write_file(path: str | os.PathLike[str], write: Callable[[Any], None]) -> None:
    """Fill a file as `write_beside` does; at a link, the file that it leads to is replaced."""
    write_beside(real_path(path), write)


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return an absolute path without links, whether or not a file is there."""
    found = Path(os.path.realpath(path))
    if any(map(os.path.islink, (found, *found.parents))):  # no other link is left
        raise StorageError(f"{path} is or lies beyond a link that leads to itself; delete the link, or give another name")
    return found


def write_beside(target: Path, write: Callable[[Any], None]) -> None:
    """Let ``write`` fill a new file beside ``target``, then replace ``target`` by it; if it fails, ``target`` is unchanged.

    A device or a pipe is written to as it is: a file in its place would be something else.
    """
    special = target.exists() and not target.is_file()
    try:
        with target.open("wb") if special else replacing(target) as file:
            write(file)
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(
            f"{target} could not be written ({reason}) and has not changed; make room, or save elsewhere"
        ) from error


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, which may be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_archive(file: Any, members: Mapping[str, bytes]) -> None:
    """Write the members compressed, or uncompressed if they would unfold to more than the reader allows."""
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        file.seek(0)
        file.truncate()
        with zipfile.ZipFile(file, "w", compression) as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, compression)
        if _too_large({name: len(content) for name, content in members.items()}, file.tell()) is None:
            return


def _too_large(sizes: Mapping[str, int], file_size: int) -> str | None:
    """Return the member that unfolds to more than a file of this size allows, "the file" for all, or None."""
    for name, size in sizes.items():
        if name.endswith(".json") and size > (_HEADER if name == "header.json" else max(_JSON, file_size)):
            return name
    return "the file" if sum(sizes.values()) > max(_UNFOLDED, _FOLDS * file_size) else None


def check_regular(path: Path) -> None:
    """Refuse a pipe, a device or anything else that cannot be read to its end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise StorageError(f"{path} is no file; give the path of a saved object")


def read_whole(naming: Path, read: Callable[[], T]) -> T:
    """Return the result of ``read`` on the files that ``naming`` names; if they are replaced meanwhile, read again.

    An error of ``read`` is raised at once if nothing was replaced.
    """
    for _ in range(_TRIES):
        before = _stamp(naming)
        try:
            return read()
        except (StorageError, FileNotFoundError):
            if _stamp(naming) == before:
                raise
    raise StorageError(f"{naming} was replaced {_TRIES} times while it was read; read it while nobody saves to it")


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Return numbers that differ between a file and its replacement; None if there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def read_state(path: str | os.PathLike[str], *, key: bytes | None = None) -> State:
    """Return the state that `write_state` has written to ``path``; a missing file is a `FileNotFoundError`."""
    source = Path(path)
    check_regular(source)
    members = _members(source, source.read_bytes())
    header = _header(source, members)
    digest = _digest(members | {"class": header["class"].encode()})
    if digest != header["digest"]:
        raise StorageError(f"{source} was altered after it was saved: its digest differs; restore it or save the model again")
    _check_signature(source, header, digest, key)
    values = _json(source, "state.json", members)
    arrays = {
        name.removeprefix("arrays/").removesuffix(".npy"): array_in(content, f"{name} in {source}")
        for name, content in members.items()
    }
    return State(header["class"], values, arrays)


def _members(source: Path, content: bytes) -> dict[str, bytes]:
    """Return the members of an archive by name; its size limits how much is unfolded."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            sizes = {entry.filename: entry.file_size for entry in entries}
            foreign = [name for name in sizes if not _MEMBER.fullmatch(name)]
            if "header.json" not in sizes:
                _not_written(source)
            if foreign or len(sizes) < len(entries):
                raise StorageError(
                    f"{source} was altered after it was saved: it holds "
                    f"{repr(foreign[0][:80]) if foreign else 'a member twice'}; restore it or save the model again"
                )
            if large := _too_large(sizes, len(content)):
                raise StorageError(
                    f"{source} of {len(content)} bytes was altered, or made to fill memory: {large} unfolds to "
                    f"{sizes.get(large, sum(sizes.values()))} bytes; restore it or save the model again"
                )
            return {entry.filename: _unfolded(archive, entry) for entry in entries}
    except _DAMAGE as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(
            f"{source} is no semimetric file, or it is truncated or damaged ({error}); restore it or save the model again"
        ) from error


def _unfolded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return the content of a member, unfolded to the size that the archive declares."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile(f"{entry.filename} is compressed in another way")
    with archive.open(entry) as member:
        content = member.read(entry.file_size)
    if len(content) != entry.file_size:
        raise zipfile.BadZipFile(f"{entry.filename} ends early")
    return content


def _not_written(source: Path, cause: Exception | None = None) -> NoReturn:
    raise StorageError(f"{source} was not written by semimetric: it has no readable header.json; check the path") from cause


def _json(source: Path, name: str, members: dict[str, bytes]) -> dict[str, Any]:
    """Return the JSON object of a member, which is removed from ``members``."""
    try:
        values = json.loads(members.pop(name), parse_constant=_no_number, object_pairs_hook=_distinct)
    except (KeyError, ValueError, RecursionError) as error:
        raise StorageError(
            f"{name} in {source} cannot be read ({error}); restore the file, or save the object again"
        ) from error
    if not isinstance(values, dict):
        raise StorageError(f"{name} in {source} is no JSON object; restore the file, or save the object again")
    return values


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no finite number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name occurs twice")
    return values


def _header(source: Path, members: dict[str, bytes]) -> dict[str, Any]:
    """Return the checked header of a file, which is removed from ``members``."""
    try:
        header = _json(source, "header.json", members)
        format_name, format_version, kind = header["format"], header["format_version"], header["class"]
    except (KeyError, StorageError) as error:
        _not_written(source, error)
    if format_name != _FORMAT or not isinstance(kind, str) or not kind.isascii():
        raise StorageError(f"{source} has format {format_name!r}, not {_FORMAT!r}; check the path")
    if not isinstance(format_version, int) or format_version < 1:
        raise StorageError(f"{source} has format version {format_version!r}; an integer >= 1 is required: restore the file")
    if format_version > FORMAT_VERSION:
        raise StorageError(
            f"{source} has format version {format_version}, written by semimetric {header.get('package_version')}; this "
            f"is semimetric {package_version()}, which reads up to version {FORMAT_VERSION}: upgrade semimetric"
        )
    return header | {"digest": header.get("digest")}


def _check_signature(source: Path, header: Mapping[str, Any], digest: str, key: bytes | None) -> None:
    """Refuse a file that was not signed with ``key``, and a signed file without a key."""
    signature = header.get("signature")
    if key is None:
        if signature is not None:
            raise SignedFileError(
                f"{source} is signed, and no key was given to check it; give the key that it was saved with, key="
            )
        return
    expected = _signature(key, digest)
    if signature is None:
        raise StorageError(f"{source} is not signed, so its origin cannot be checked; save it with key=, or load it without")
    if not isinstance(signature, str) or not hmac.compare_digest(signature.encode(errors="replace"), expected.encode()):
        raise StorageError(f"{source} was not signed with this key; give the key that it was saved with, or do not trust it")


ARRAY_FILE = re.compile(r"([0-9a-f]{64})\.npy")
_PIECE = 1 << 22  # bytes that are read and hashed at once, after which an error elsewhere can end the reading
_THREADS = 4
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class ArrayFiles(NamedTuple):
    """Arrays by their digests, and the maps that hold them; there are none for arrays in memory."""

    arrays: dict[str, NDArray[Any]]
    maps: list[maps.mmap]

    def release(self) -> None:
        """Free the memory of mapped pages, which stay in the files."""
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
    """Return the arrays of these digests, each verified; several threads read the files."""
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
    """Return the array of a file and its map, or None if the array is in memory."""
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
    """Return the SHA-256 of the ``size`` bytes of a file; they are read into ``content`` unless it is empty."""
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
