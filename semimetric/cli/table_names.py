"""What is known of a table before it is read: how it is written, whether it is there, and which columns its header names.

Nothing large is imported for it, so that a wrong path or a wrong name of a column is told at once.
"""

import csv
import errno
import gzip
import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._foundation.errors import InputError
from .one_line_parser import STANDARD_INPUT

LONGEST_HEADER = 2**24
"""The bytes that a header may have."""

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_MODELS = ("model", "index")  # arguments that name what a command opens
_COLUMNS: dict[str, dict[str, tuple[str, ...]]] = {
    "pair_commands.run_fit": {"items": ("id",), "pairs": ("left", "right", "target")},
    "pair_commands.run_distance": {"items": ("id",), "other": ("id",), "pairs": ("left", "right")},
    "label_commands.run_fit_labels": {"items": ("label", "id")},
    "label_commands.run_neighbors": {"rows": (), "items": ("id", "label")},
    "search_commands.run_index": {"items": ("id",)},
    "search_commands.run_query": {"queries": ("id",)},
    "model_commands.run_info": {},
    "model_commands.run_plot": {"items": ("id",)},
    "report_commands.run_report": {"items": ("id", "label")},
}  # of each command, the arguments that name tables, and those that name columns of each


class TableForm(NamedTuple):
    """How a table is written: what separates its cells, nothing in Parquet, and whether it is compressed."""

    separator: str
    compressed: bool = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return {",": "CSV", "\t": "TSV"}.get(self.separator, "Parquet")


def form_of_name(path: str) -> TableForm:
    """The form of a table, by its extension in lower or upper case."""
    name = Path(path).name.lower()
    if name.endswith(_PARQUET):
        return TableForm("")
    compressed = name.endswith(".gz")
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in _SEPARATORS:
        raise InputError(
            f"{path} ends in {Path(name).suffix or 'no extension'}; tables end in .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .pq"
        )
    return TableForm(_SEPARATORS[suffix], compressed)


def check_is_file(path: str) -> None:
    """Refuse a table that is not there."""
    if not Path(path).is_file():
        kind = "a folder, not a file" if Path(path).is_dir() else "no file"
        raise InputError(f"there is {kind} {path}; check the path")


def no_such_column(path: str, name: str, columns: Sequence[str]) -> InputError:
    """The error that a table has no column of this name, which lists the columns that it has."""
    shown = ", ".join(columns[:10]) + (", ..." if len(columns) > 10 else "")
    return InputError(f"{path} has no column {name!r}; its columns are {shown}")


def check_arguments(arguments: Namespace) -> None:
    """Refuse files that are not there, and columns that headers of tables in text do not have; the rest is seen later.

    Raises
    ------
    InputError
        If a table is not there, its extension is unknown, or it has no such column.
    FileNotFoundError
        If there is no such model or index.
    """
    tables = _COLUMNS.get(arguments.command)
    if tables is None:  # a command that reads no files
        return
    for name in _MODELS:
        path = getattr(arguments, name, None)
        if path is not None and not Path(path).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    for table, options in tables.items():
        path = getattr(arguments, table)
        if path is None or path == STANDARD_INPUT:
            continue
        form = form_of_name(path)
        check_is_file(path)
        columns = _header(path, form)
        for name in (getattr(arguments, option) for option in options):
            if columns and name is not None and name not in columns:
                raise no_such_column(path, name, columns)


def _header(path: str, form: TableForm) -> list[str]:
    """The names of the columns of a table in text; none of a header in which something else is wrong, which reading tells."""
    if not form.separator:
        return []
    opened: Any = gzip.open if form.compressed else open
    try:
        with opened(path, "rb") as file:
            line = file.readline(LONGEST_HEADER)
        names = next(csv.reader([line.decode("utf-8-sig")], delimiter=form.separator, strict=True), [])
    except (OSError, EOFError, UnicodeDecodeError, csv.Error):
        return []
    return names if len(names) > 1 and all(names) and len(set(names)) == len(names) else []
