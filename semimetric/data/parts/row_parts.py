"""Rows that are read where they are needed: slices of arrays and of mapped files, row groups of Parquet.

A part is small and can be sent anywhere; the rows that it stands for are read in this process or on a worker, used, and
forgotten, so that memory is that of a block however long the whole is. Mapped files are opened for each block and closed
again: pages that stay mapped count as resident.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.optional_imports import optional
from ..._foundation.threads import blocks

__all__ = [
    "ArrayRows",
    "MappedRows",
    "ParquetRows",
    "LazyRows",
    "array_rows",
    "parquet_rows",
    "parse_memory",
    "slices",
    "format_memory",
]

_UNITS = {"": 1, "b": 1} | {f"{p}{b}b": n**k for b, n in (("i", 1024), ("", 1000)) for k, p in enumerate("kmgt", 1)}
_SUFFIXES = (".parquet", ".pq")


def parse_memory(limit: str | int) -> int:
    """Bytes: a number, or text such as "2 GiB" or "500MB".

    Raises
    ------
    InputError
    """
    found = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", str(limit)) if not isinstance(limit, bool) else None
    unit = None if found is None else _UNITS.get(found[2].lower())
    try:
        n = 0 if found is None or unit is None else int(float(found[1]) * unit)
    except ValueError:
        n = 0
    if n <= 0:
        raise InputError(f"memory_limit={limit!r}: bytes are required, as a number or as text such as '2 GiB'")
    return n


def format_memory(n: float) -> str:
    """Bytes in words that `parse_memory` reads, such as "3.5 MiB"."""
    power = 0
    while n >= 1024 and power < 4:
        n, power = n / 1024, power + 1
    return f"{n:.{0 if n >= 100 else 1}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


class LazyRows(ABC):
    """Rows of a table or an array, not yet read; ``name`` says which, for messages."""

    name: str

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @abstractmethod
    def read(self) -> Any:
        """The rows: an array, or a frame."""

    def view(self) -> Any:
        """The rows, for picking a few of them: what is mapped is not read whole."""
        return self.read()


@dataclass(frozen=True, eq=False)
class ArrayRows(LazyRows):
    """A slice of an array in memory."""

    name: str
    array: NDArray
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def __reduce__(self) -> tuple[Any, ...]:  # to another process go these rows, not the whole array
        return type(self), (self.name, np.ascontiguousarray(self.array[self.start : self.stop]), 0, len(self))

    def read(self) -> NDArray:
        """A view."""
        return self.array[self.start : self.stop]


@dataclass(frozen=True)
class MappedRows(LazyRows):
    """Rows of an array in a file: ``shape`` is that of one row, ``offset`` the place of the first of these in bytes."""

    name: str
    path: str
    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int
    n: int

    def __len__(self) -> int:
        return self.n

    def read(self) -> NDArray:
        """A copy; the file is closed again."""
        count = self.n * int(np.prod(self.shape, dtype=np.int64))
        try:
            values = np.fromfile(self.path, self.dtype, count, offset=self.offset)
        except FileNotFoundError as error:
            raise InputError(f"{self.name}: there is no file {self.path} here; every machine must see it") from error
        if len(values) < count:
            raise InputError(f"{self.name}: {self.path} is shorter than it was; write it again, or open it again")
        return values.reshape(self.n, *self.shape)

    def view(self) -> NDArray:
        """The file, mapped."""
        return np.memmap(self.path, self.dtype, "r", self.offset, (self.n, *self.shape))


@dataclass(frozen=True)
class ParquetRows(LazyRows):
    """Some row groups of a Parquet file, read as a frame with the columns ``columns``."""

    name: str
    path: str
    groups: tuple[int, ...]
    n: int
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return self.n

    def read(self) -> Any:
        """A pandas frame."""
        try:
            with optional("pyarrow.parquet").ParquetFile(self.path) as file:
                return file.read_row_groups(list(self.groups), columns=list(self.columns)).to_pandas()
        except FileNotFoundError as error:
            raise InputError(f"{self.name}: there is no file {self.path} here; every machine must see it") from error


def slices(n: int, size: int) -> list[slice]:
    """Slices of equal lengths, to one row, of at most ``size`` rows each."""
    ends = np.linspace(0, n, -(-n // max(size, 1)) + 1).astype(np.int64).tolist()
    return [slice(start, stop) for start, stop in zip(ends[:-1], ends[1:], strict=True)]


def array_rows(array: Any, size: int, name: str, *, even: bool = True) -> list[LazyRows]:
    """The rows of an array in parts of at most ``size``; those of a mapped file are read from the file.

    Parameters
    ----------
    array : ndarray, possibly a memmap, or a path of a .npy file
    size : int
    name : str
        What the array is called, for messages.
    even : bool
        Parts of the same length, to one row; else of ``size``, but for the last.
    """
    array = np.load(array, mmap_mode="r") if isinstance(array, (str, os.PathLike)) else np.asanyarray(array)
    root = _mapped_root(array)
    called = [(f"rows {s.start} to {s.stop - 1} of {name}", s) for s in (slices if even else blocks)(len(array), size)]
    if root is None:
        return [ArrayRows(text, array, s.start, s.stop) for text, s in called]
    first = root.offset + array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    row = array[:1].nbytes
    file = (str(root.filename), array.dtype, array.shape[1:])
    return [MappedRows(text, *file, first + s.start * row, s.stop - s.start) for text, s in called]


def _mapped_root(array: Any) -> Any:
    """The memmap of the whole file that ``array`` is rows of; None if it is none, or not row after row."""
    if not isinstance(array, np.memmap) or not array.flags.c_contiguous:
        return None
    root = array
    while isinstance(root.base, np.memmap):
        root = root.base
    return root if root.filename is not None else None


def parquet_rows(path: str | os.PathLike[str], size: int, columns: Sequence[str] | None = None) -> list[LazyRows]:
    """A Parquet file, or a folder of them, in parts of whole row groups of at most ``size`` rows where they are smaller.

    Raises
    ------
    InputError
        If there are no files, one is empty, or they differ in the columns that are asked for (all, by default) or their types.
    """
    files = _parquet_files(Path(path))
    parts: list[LazyRows] = []
    first: dict[str, str] | None = None
    for file in files:
        with optional("pyarrow.parquet").ParquetFile(file) as content:
            types = {field.name: str(field.type) for field in content.schema_arrow}
            counts = [content.metadata.row_group(g).num_rows for g in range(content.num_row_groups)]
        wanted = {name: types.get(name, "missing") for name in columns or types}
        first = wanted if first is None else first
        _check_same(file, wanted, files[0], first)
        if not sum(counts):
            raise InputError(f"{file} has no rows; every part needs some: delete the file")
        parts += [
            ParquetRows(f"row groups {g[0]} to {g[-1]} of {file}", str(file), tuple(g), n, tuple(wanted))
            for g, n in _merged_groups(counts, size)
        ]
    return parts


def _parquet_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES and not p.name.startswith((".", "_")))
    if not files:
        raise InputError(f"{path} is no Parquet file and no folder of them; check the path")
    return files


def _check_same(file: Path, types: dict[str, str], other: Path, expected: dict[str, str]) -> None:
    for name in sorted({*types, *expected}):
        got, wanted = types.get(name, "missing"), expected.get(name, "missing")
        if "missing" in (got, wanted) or got != wanted:
            raise InputError(
                f"column {name!r} of {file} is {got}, that of {other} is {wanted}; all files need the same columns of the "
                "same types: write them again"
            )


def _merged_groups(counts: Sequence[int], size: int) -> list[tuple[list[int], int]]:
    """Row groups that follow one another, together at most ``size`` rows where they are smaller."""
    out: list[tuple[list[int], int]] = []
    for group, n in enumerate(counts):
        if not n:
            continue
        if out and out[-1][1] + n <= size:
            out[-1] = ([*out[-1][0], group], out[-1][1] + n)
        else:
            out.append(([group], n))
    return out
