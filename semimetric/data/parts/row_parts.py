"""Rows that are read where they are needed: slices of arrays and of mapped files, row groups of Parquet.

A part is a small value that can be sent to any process. Its rows are read in this process or on a worker, used, and forgotten,
so that the memory is that of one part. A mapped file is opened for each part and closed again, because pages that stay mapped
count as resident memory.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._foundation.arrays import as_array, input_errors
from ..._foundation.errors import InputError, StorageError
from ..._foundation.optional_imports import optional
from ..._foundation.threads import blocks

T = TypeVar("T")

_UNITS = {"": 1, "b": 1} | {f"{p}{b}b": n**k for b, n in (("i", 1024), ("", 1000)) for k, p in enumerate("kmgt", 1)}
_SUFFIXES = (".parquet", ".pq")


def parse_memory(limit: str | int) -> int:
    """Return the number of bytes that a number, or text such as "2 GiB" or "500MB", stands for."""
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
    """Return a number of bytes as text that `parse_memory` reads, such as "3.5 MiB"."""
    power = 0
    while n >= 1024 and power < 4:
        n, power = n / 1024, power + 1
    return f"{n:.{0 if n >= 100 else 1}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


class LazyRows(ABC):
    """Rows of a table or an array that are not read yet; error messages call them by their ``name``."""

    name: str

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows, which is known without reading them."""

    @abstractmethod
    def read(self) -> Any:
        """Return the rows as an array of shape (n, ...), or as a frame of pandas."""

    def view(self) -> Any:
        """Return the rows for picking some of them: of a mapped file only those that are picked are read."""
        return self.read()

    def read_for(self, function: Callable[[Any], T]) -> T:
        """Return the result of a function of the rows; an error of values names them, and one of a file the file."""
        try:
            return function(self.read())
        except StorageError:
            raise
        except ValueError as error:
            raise InputError(f"{self.name}: {error}") from error


@dataclass(frozen=True, eq=False)
class ArrayRows(LazyRows):
    """A slice of an array in memory."""

    name: str
    array: NDArray[Any]
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def __reduce__(self) -> tuple[Any, ...]:  # only these rows go to another process, not the array
        return type(self), (self.name, np.ascontiguousarray(self.array[self.start : self.stop]), 0, len(self))

    def read(self) -> NDArray[Any]:
        """Return the slice, a view of the array."""
        return self.array[self.start : self.stop]


@dataclass(frozen=True)
class MappedRows(LazyRows):
    """Rows of an array in a file: ``shape`` is that of one row, ``offset`` the position of the first of these rows in bytes."""

    name: str
    path: str
    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int
    n: int

    def __len__(self) -> int:
        return self.n

    def read(self) -> NDArray[Any]:
        """Return a copy of the rows in memory; the file is closed again."""
        count = self.n * int(np.prod(self.shape, dtype=np.int64))
        with _naming(self.name, self.path):
            values = np.fromfile(self.path, self.dtype, count, offset=self.offset)
        if len(values) < count:
            raise InputError(f"{self.name}: {self.path} is shorter than it was; write it again, or open it again")
        return values.reshape(self.n, *self.shape)

    def view(self) -> NDArray[Any]:
        """Return the rows as a mapped array, whose file stays open as long as the array is used."""
        with _naming(self.name, self.path):
            return np.memmap(self.path, self.dtype, "r", self.offset, (self.n, *self.shape))


@dataclass(frozen=True)
class ParquetRows(LazyRows):
    """Some row groups of a Parquet file, which are read as a frame with the columns ``columns``."""

    name: str
    path: str
    groups: tuple[int, ...]
    n: int
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return self.n

    def read(self) -> Any:
        """Return the rows as a frame of pandas; the file is closed again."""
        with _naming(self.name, self.path), optional("pyarrow.parquet").ParquetFile(self.path) as file:
            return file.read_row_groups(list(self.groups), columns=list(self.columns)).to_pandas()


@contextmanager
def _naming(name: str, path: str) -> Iterator[None]:
    """Name the rows and the file in errors of reading a file that could be read when the call began."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{name}: there is no file {path} here; every machine must see it") from error
    except (OSError, ValueError, IndexError) as error:
        raise InputError(
            f"{name}: {path} can no longer be read ({error}); was it written again meanwhile? Call again"
        ) from error


def add_to_digest(total: Any, rows: Any) -> None:
    """Add the values of an array or of a frame, and the names of its columns, to a digest of `hashlib`."""
    if hasattr(rows, "columns"):
        total.update(repr([str(name) for name in rows.columns]).encode())
        rows = optional("pandas").util.hash_pandas_object(rows, index=False).to_numpy()
    array = np.ascontiguousarray(rows)
    total.update(f"{array.dtype} {array.shape}".encode())
    total.update(array.view(np.uint8) if array.dtype.kind != "O" else repr(array.tolist()).encode())


def slices(n: int, size: int) -> list[slice]:
    """Return slices of at most ``size`` rows each, whose lengths differ by one row at most."""
    ends = np.linspace(0, n, -(-n // max(size, 1)) + 1).astype(np.int64).tolist()
    return [slice(start, stop) for start, stop in zip(ends[:-1], ends[1:], strict=True)]


def open_array(source: Any) -> Any:
    """Return the array of a .npy file, mapped, if ``source`` is a path.

    Else ``source`` as an array, which stays mapped if it is.
    """
    if isinstance(source, (str, os.PathLike)):
        with input_errors():
            return np.load(source, mmap_mode="r")
    return np.asanyarray(source)


def open_numbers(source: Any, name: str) -> Any:
    """`open_array` of numbers; anything else is refused, and masked values are NaN."""
    is_path = isinstance(source, (str, os.PathLike))
    return np.asanyarray(as_array(open_array(source) if is_path else source, name))


def array_rows(array: Any, size: int, name: str, *, even: bool = True) -> list[LazyRows]:
    """Return the rows of an array in parts of at most ``size`` rows; those of a mapped file are read from the file.

    ``name``: the name of the array in messages. ``even``: true if the lengths of the parts differ by one row at most; else
    all parts but the last have ``size`` rows.
    """
    array = open_array(array)
    root = _mapped_root(array)
    named = [(f"rows {s.start} to {s.stop - 1} of {name}", s) for s in (slices if even else blocks)(len(array), size)]
    if root is None:
        return [ArrayRows(text, array, s.start, s.stop) for text, s in named]
    first = root.offset + array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    row = array[:1].nbytes
    file = (str(root.filename), array.dtype, array.shape[1:])
    return [MappedRows(text, *file, first + s.start * row, s.stop - s.start) for text, s in named]


def _mapped_root(array: Any) -> Any:
    """Return the memmap of the file that ``array`` is a slice of; None if the array is not mapped, or not contiguous."""
    if not isinstance(array, np.memmap) or not array.flags.c_contiguous:
        return None
    root = array
    while isinstance(root.base, np.memmap):
        root = root.base
    return root if root.filename is not None else None


def parquet_rows(path: str | os.PathLike[str], size: int, columns: Sequence[str] | None = None) -> list[ParquetRows]:
    """Return a Parquet file, or a folder of them, in parts of one row group or several.

    Row groups that follow one another are joined as long as they have at most ``size`` rows together.
    """
    files = _parquet_files(Path(path))
    parts: list[ParquetRows] = []
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
    """Return numbers of row groups that are read together, and how many rows each of these lists has."""
    merged: list[tuple[list[int], int]] = []
    for group, n in enumerate(counts):
        if not n:
            continue
        if merged and merged[-1][1] + n <= size:
            merged[-1] = ([*merged[-1][0], group], merged[-1][1] + n)
        else:
            merged.append(([group], n))
    return merged
