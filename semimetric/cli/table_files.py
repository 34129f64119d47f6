"""Tables in CSV, or with tabs for commas, or in Parquet: files as their extensions say, and standard input.

Tables in text may be compressed by gzip. What comes from standard input is told by how it begins, and kept, since a command may
read a table more than once. pandas comes with the extra ``cli``.

What cannot be read whole and without a doubt is refused: a file that is no text, that is larger than memory, or in whose rows
are more cells than the header has names.
"""

import gzip
import io
import os
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

from .._foundation.errors import InputError
from .._foundation.files import write_file
from .._foundation.optional_imports import optional
from ..data.parts.row_parts import format_memory
from .one_line_parser import STANDARD_INPUT
from .output import first_line
from .table_names import LONGEST_HEADER, TableForm, check_is_file, form_of_name

_SEPARATED_BY = {",": "commas", "\t": "tabs"}
_COPIES = 2  # of a file that reading it takes in memory, at least: its cells, and the columns that are made of them


def read_table(path: str, text: Sequence[str] = ()) -> Any:
    """The table at ``path`` as a pandas frame; the columns ``text`` of a CSV file hold the cells as they are written.

    Raises
    ------
    InputError
        If the extension is unknown, the file cannot be read as what its extension says, or it is too large for the memory.
    """
    optional("pandas")
    form = _form_of_input() if path == STANDARD_INPUT else form_of_name(path)
    if not form.separator:
        optional("pyarrow")
    if path != STANDARD_INPUT:
        check_is_file(path)
        _check_size(path, form)
    try:
        frame = _read_csv(path, form, text) if form.separator else _read_parquet(path, form)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # pandas and pyarrow raise errors of many classes, most of which do not name the file
        reason = first_line(error)
        raise InputError(f"{path} cannot be read as {form.name} ({reason}); check its content and extension") from error
    frame.columns = [str(column) for column in frame.columns]
    _check_columns(list(frame.columns), path, form)
    return frame


def _form_of_input() -> TableForm:
    """The form of what comes from standard input, by how it begins: tabs separate if the header has tabs and no commas."""
    content = _standard_input(sys.stdin)
    if content.startswith(b"PAR1"):
        return TableForm("")
    form = TableForm(",", compressed=content.startswith(b"\x1f\x8b"))
    try:
        with _opened(STANDARD_INPUT, form) as file:
            header = file.readline(LONGEST_HEADER)
    except (OSError, EOFError) as error:
        raise InputError(f"{STANDARD_INPUT} cannot be unpacked ({first_line(error)}); check its content") from error
    return form._replace(separator="\t") if b"\t" in header and b"," not in header else form


@lru_cache(maxsize=1)
def _standard_input(stream: Any) -> bytes:
    """All that comes from standard input, which can be read once only."""
    if stream is None:
        raise InputError("standard input is closed, so there is no table to read; give the name of a file")
    return bytes(stream.buffer.read())


def _opened(path: str, form: TableForm) -> Any:
    """The bytes of a table from the first on, unpacked, as a file."""
    if path == STANDARD_INPUT:
        file = io.BytesIO(_standard_input(sys.stdin))
        return gzip.open(file) if form.compressed else file
    return gzip.open(path) if form.compressed else open(path, "rb")


def _check_size(path: str, form: TableForm) -> None:
    """Refuse a file that is too large to be read whole into the memory that is free; its last bytes say how far it unfolds."""
    size = os.path.getsize(path)
    if form.compressed:
        with open(path, "rb") as file:
            file.seek(max(size - 4, 0))
            size = max(size, int.from_bytes(file.read(4), "little"))
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


def _check_columns(names: list[str], path: str, form: TableForm) -> None:
    """Refuse columns of the same name, and a single column that looks like several with another separator."""
    if form.separator and len(names) == 1 and (mark := next((m for m in ";\t|," if m in names[0]), None)):
        raise InputError(
            f"{path} has one column, {names[0]!r}: it seems to be separated by {mark!r}; separate it by "
            f"{_SEPARATED_BY[form.separator]}, or name it .tsv if these are tabs"
        )
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise InputError(f"{path} has more than one column {repeated!r}; every column needs its own name: rename them")


def _read_parquet(path: str, form: TableForm) -> Any:
    """The frame of a table in Parquet; if its index has a name, it becomes a column."""
    with _opened(path, form) as file:
        frame = optional("pandas").read_parquet(file)
    return frame.reset_index() if any(name is not None for name in frame.index.names) else frame


def _read_csv(path: str, form: TableForm, text: Sequence[str]) -> Any:
    """The frame of a table in CSV or TSV; the columns ``text`` keep leading zeros, and words such as NA."""
    pandas = optional("pandas")

    def read(**options: Any) -> Any:
        with _opened(path, form) as file:
            return pandas.read_csv(file, sep=form.separator, **options)

    _check_text(path, form)
    header = read(header=None, nrows=1, dtype=str, keep_default_na=False)
    _check_columns([name for name in header.iloc[0] if name], path, form)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            frame = read(index_col=False, low_memory=False)
        except pandas.errors.ParserWarning as error:
            raise InputError(
                f"{path} has rows of more cells than its header has names ({header.shape[1]}); every row needs as many cells "
                f"as there are columns: quote cells with {_SEPARATED_BY[form.separator]} in them, or name the last columns"
            ) from error
    if wanted := [name for name in dict.fromkeys(text) if name in frame.columns]:
        written = read(index_col=False, usecols=wanted, dtype=str, keep_default_na=False)
        for name in wanted:
            frame[name] = written[name].to_numpy(dtype=object)
    return frame


def _check_text(path: str, form: TableForm) -> None:
    """Refuse a file that is no text in UTF-8 to judge by its first line."""
    with _opened(path, form) as file:
        first = file.readline(LONGEST_HEADER)
    if first.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in first:
        kind = "text in UTF-16" if first.startswith((b"\xff\xfe", b"\xfe\xff")) else "binary: it has NUL characters"
        raise InputError(f"{path} is {kind}; a {form.name} file is text in UTF-8: save it as such")
    if len(first) == LONGEST_HEADER:
        raise InputError(
            f"{path} has a first line of more than {format_memory(len(first))}; a header is required: check the file"
        )


def write_table(frame: Any, path: str) -> None:
    """Write a pandas frame in the form that the extension says; a file that is there is replaced once that is done."""
    form = form_of_name(path)
    if not form.separator:
        optional("pyarrow")
        write_file(path, lambda file: frame.to_parquet(file, index=False))
        return

    def write(file: Any) -> None:
        # without a name and a time, so that the same table always gives the same bytes
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) if form.compressed else nullcontext(file) as target:
            frame.to_csv(target, sep=form.separator, index=False, mode="wb")

    write_file(path, write)


def check_table_name(path: str) -> None:
    """Refuse the name of a table whose extension is none of those that are known."""
    form_of_name(path)
