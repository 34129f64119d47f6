"""Saving an object as one file of JSON values and arrays.

The file is a zip archive with ``header.json`` (format, versions, class, digest), ``state.json`` and ``arrays/NAME.npy``. There
is no pickle in it, so reading a file never runs code. A new file is written beside the old one and then renamed, and a file is
read only if its digest shows that every byte is as it was written.
"""

import hashlib
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import StorageError
from .unfinished import replacing

__all__ = [
    "FORMAT_VERSION",
    "State",
    "file_digest",
    "package_version",
    "read_state",
    "read_whole",
    "write_beside",
    "write_state",
]

T = TypeVar("T")

FORMAT_VERSION = 1
_FORMAT = "semimetric"
_TRIES = 100
# the errors that zipfile raises for a damaged archive
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, KeyError, RuntimeError)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the time stamp of every member, so that the same object always gives the same bytes


@dataclass(frozen=True)
class State:
    """The contents of a saved object: the name of its class, JSON values and arrays."""

    kind: str
    values: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def package_version() -> str:
    """The version of the installed package, or "0+unknown" if it is not installed."""
    try:
        return version("semimetric")
    except PackageNotFoundError:
        return "0+unknown"


def _array_bytes(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _digest(members: Mapping[str, bytes]) -> str:
    """SHA-256 of the names and contents of the members, in the order of their names."""
    total = hashlib.sha256()
    for name in sorted(members):
        for part in (name.encode(), members[name]):
            total.update(len(part).to_bytes(8, "little"))
            total.update(part)
    return total.hexdigest()


def write_state(path: str | os.PathLike[str], state: State) -> None:
    """Write ``state`` to ``path``; a file that is there already is replaced only when the new one is complete.

    Raises
    ------
    StorageError
        If the folder does not exist, the path is a folder, or the system lets the file not be written.
    """
    target = Path(path)
    if target.is_dir():
        raise StorageError(f"cannot save to {target}: it is a folder; give the name of a file in it, such as model.smm")
    if not target.parent.is_dir():
        raise StorageError(f"cannot save to {target}: the folder {target.parent} does not exist; create it first")
    members = {"state.json": json.dumps(state.values, indent=1, allow_nan=False).encode()}
    members |= {f"arrays/{name}.npy": _array_bytes(array) for name, array in state.arrays.items()}
    header = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": package_version(),
        "class": state.kind,
        "digest": _digest(members | {"class": state.kind.encode()}),
    }
    members = {"header.json": json.dumps(header, indent=1).encode()} | members
    write_beside(target, lambda file: _write_archive(file, members))


def write_beside(target: Path, write: Callable[[Any], None]) -> None:
    """Let ``write`` fill a new file beside ``target``, then replace ``target`` by it; if it fails, ``target`` is unchanged."""
    try:
        with replacing(target) as file:
            write(file)
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(
            f"{target} could not be written ({reason}) and has not changed; make room, or save elsewhere"
        ) from error


def file_digest(path: Path) -> str:
    """SHA-256 of the contents of a file, which may be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_archive(file: Any, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)


def read_whole(naming: Path, read: Callable[[], T]) -> T:
    """What ``read`` reads from the files that the file ``naming`` names; again where another process replaced them meanwhile.

    Raises
    ------
    StorageError
        If they were replaced every time, or what ``read`` raises where nothing was replaced.
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
    """What differs between a file and the one that takes its place; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def read_state(path: str | os.PathLike[str]) -> State:
    """The state that `write_state` has written to ``path``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    StorageError
        If the file was not written by semimetric, is truncated or altered, or has a newer format.
    """
    source = Path(path)
    content = source.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except _DAMAGE as error:
        raise StorageError(
            f"{source} is no semimetric file, or it is truncated or damaged ({error}); restore it or save the model again"
        ) from error
    header = _header(source, members)
    return _verified(source, header, members)


def _header(source: Path, members: dict[str, bytes]) -> dict[str, Any]:
    """The valid header of a file that this version can read; it is removed from ``members``."""
    try:
        header = json.loads(members.pop("header.json"))
        format_name = header["format"]
        format_version = int(header["format_version"])
        kind = header["class"]
    except (KeyError, ValueError, TypeError) as error:
        raise StorageError(f"{source} was not written by semimetric: it has no readable header.json; check the path") from error
    if format_name != _FORMAT or not isinstance(kind, str):
        raise StorageError(f"{source} has format {format_name!r}, not {_FORMAT!r}; check the path")
    if format_version > FORMAT_VERSION:
        raise StorageError(
            f"{source} has format version {format_version}, written by semimetric {header.get('package_version')}; this "
            f"is semimetric {package_version()}, which reads up to version {FORMAT_VERSION}: upgrade semimetric"
        )
    return header


def _verified(source: Path, header: dict[str, Any], members: dict[str, bytes]) -> State:
    """The state in ``members``, whose digest must be that of the header."""
    if _digest(members | {"class": header["class"].encode()}) != header.get("digest"):
        raise StorageError(f"{source} was altered after it was saved: its digest differs; restore it or save the model again")
    values = json.loads(members.pop("state.json"))
    arrays = {
        name.removeprefix("arrays/").removesuffix(".npy"): np.load(io.BytesIO(content), allow_pickle=False)
        for name, content in members.items()
    }
    return State(header["class"], values, arrays)
