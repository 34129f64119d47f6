"""Files of tables in CSV or Parquet, as the extension says; pandas comes with the extra ``cli``.

What cannot be read whole and without a doubt is refused: a file that is no text, that is larger than memory, or in whose rows
are more cells than the header has names.
"""

import os
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.storage import write_file
from ..data.parts.row_parts import format_memory
from .output import first_line

__all__ = ["check_memory", "check_table_name", "read_table", "write_table"]

_PARQUET = (".parquet", ".pq")
_COPIES = 2  # of a file that reading it takes in memory, at least: its cells, and the columns that are made of them
_LONGEST_HEADER = 2**24  # bytes


def read_table(path: str, text: Sequence[str] = ()) -> Any:
    """The table at ``path`` as a pandas frame; the columns ``text`` of a CSV file hold the cells as they are written.

    Raises
    ------
    InputError
        If the extension is unknown, the file cannot be read as what its extension says, or it is too large for the memory.
    """
    optional("pandas")
    suffix = check_table_name(path)
    if suffix in _PARQUET:
        optional("pyarrow")
    if not Path(path).is_file():
        kind = "a folder, not a file" if Path(path).is_dir() else "no file"
        raise InputError(f"there is {kind} {path}; check the path")
    _check_size(path)
    try:
        frame = _read_parquet(path) if suffix in _PARQUET else _read_csv(path, text)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # pandas and pyarrow raise errors of many classes, most of which do not name the file
        kind = "Parquet" if suffix in _PARQUET else "CSV"
        raise InputError(f"{path} cannot be read as {kind} ({first_line(error)}); check its content and extension") from error
    frame.columns = [str(column) for column in frame.columns]
    _check_columns(list(frame.columns), path)
    return frame


def _check_size(path: str) -> None:
    """Refuse a file that is too large to be read whole into the memory that is free."""
    size = os.path.getsize(path)
    check_memory(
        _COPIES * size, f"{path} has {format_memory(size)}, and reading it",
        "take fewer rows or columns, or work part by part in Python, by semimetric.out_of_core with the table as Parquet",
    )  # fmt: skip


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Refuse work that needs more bytes than are free; ``what`` is the subject of the sentence, what takes them."""
    free = _free_memory()
    if needed > free:
        raise InputError(
            f"{what} takes {format_memory(needed)} or more, but {format_memory(free)} of memory are free; {remedy}"
        )


def _free_memory() -> float:
    """The memory in bytes that processes can still take; of all memory where the system does not say how much is free."""
    try:
        facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return 1024.0 * int(facts["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _check_columns(names: list[str], path: str) -> None:
    """Refuse columns of the same name, and a single column that looks like several with another separator."""
    if len(names) == 1 and (mark := next((m for m in ";\t|" if m in names[0]), None)):
        raise InputError(f"{path} has one column, {names[0]!r}: it seems to be separated by {mark!r}; separate it by commas")
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise InputError(f"{path} has more than one column {repeated!r}; every column needs its own name: rename them")


def _read_parquet(path: str) -> Any:
    """The frame of a Parquet file; if its index has a name, it becomes a column."""
    frame = optional("pandas").read_parquet(path)
    return frame.reset_index() if any(name is not None for name in frame.index.names) else frame


def _read_csv(path: str, text: Sequence[str]) -> Any:
    """The frame of a CSV file; the columns ``text`` keep leading zeros, and words such as NA."""
    pandas = optional("pandas")
    _check_text(path)
    header = pandas.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False)
    _check_columns([name for name in header.iloc[0] if name], path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            frame = pandas.read_csv(path, index_col=False, low_memory=False)
        except pandas.errors.ParserWarning as error:
            raise InputError(
                f"{path} has rows of more cells than its header has names ({header.shape[1]}); every row needs as many cells "
                "as there are columns: quote cells with commas in them, or name the last columns"
            ) from error
    if wanted := [name for name in dict.fromkeys(text) if name in frame.columns]:
        written = pandas.read_csv(path, index_col=False, usecols=wanted, dtype=str, keep_default_na=False)
        for name in wanted:
            frame[name] = written[name].to_numpy(dtype=object)
    return frame


def _check_text(path: str) -> None:
    """Refuse a file that is no text in UTF-8 to judge by its first line."""
    with open(path, "rb") as file:
        first = file.readline(_LONGEST_HEADER)
    if first.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in first:
        kind = "text in UTF-16" if first.startswith((b"\xff\xfe", b"\xfe\xff")) else "binary: it has NUL characters"
        raise InputError(f"{path} is {kind}; a CSV file is text in UTF-8: save it as such")
    if len(first) == _LONGEST_HEADER:
        raise InputError(
            f"{path} has a first line of more than {format_memory(len(first))}; a header is required: check the file"
        )


def write_table(frame: Any, path: str) -> None:
    """Write a pandas frame as CSV or Parquet, as the extension says; a file that is there is replaced once that is done."""
    if check_table_name(path) in _PARQUET:
        optional("pyarrow")
        write_file(path, lambda file: frame.to_parquet(file, index=False))
    else:
        write_file(path, lambda file: frame.to_csv(file, index=False, mode="wb"))


def check_table_name(path: str) -> str:
    """The extension of a table's name in lower case; one that is neither CSV's nor Parquet's is refused."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", *_PARQUET):
        raise InputError(f"{path} ends in {suffix or 'no extension'}; tables end in .csv, .parquet or .pq")
    return suffix
