"""Facts of a table before it is read: its form, that it is there, and the columns and ids that it names.

Nothing large is imported for it, so that a wrong path, column or id is refused at once.
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
from .._foundation.names import did_you_mean
from ..data.keys import as_key, no_such_column
from .parser import STANDARD_INPUT

LONGEST_HEADER = 2**24
"""The bytes that a header may have."""

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_MODELS = ("model", "index")  # arguments that name what a command opens
_COLUMNS: dict[str, dict[str, tuple[str, ...]]] = {
    "fit.run_fit": {"items": ("id",), "pairs": ("left", "right", "target")},
    "search_commands.run_distance": {"items": ("id",), "other": ("id",), "pairs": ("left", "right")},
    "fit.run_fit_labels": {"items": ("label", "id")},
    "search_commands.run_neighbors": {"rows": (), "items": ("id", "label")},
    "search_commands.run_index": {"items": ("id",)},
    "search_commands.run_query": {"queries": ("id",)},
    "search_commands.run_join": {"left": ("id",), "right": ("id",)},
    "model_commands.run_info": {},
    "model_commands.run_plot": {"items": ("id",)},
    "report_commands.run_report": {"items": ("id", "label")},
}  # of each command, the arguments that name tables, and those that name columns of each


class TableForm(NamedTuple):
    """Form of a table: what separates its cells, nothing in Parquet, and whether it is compressed."""

    separator: str
    compressed: bool = False

    @property
    def name(self) -> str:
        """Name of the form in messages."""
        return {",": "CSV", "\t": "TSV"}.get(self.separator, "Parquet")


def form_of_name(path: str) -> TableForm:
    """Return the form of a table, by its extension in lower or upper case."""
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


def check_arguments(arguments: Namespace) -> None:
    """Refuse files that are not there, and columns that headers of tables in text do not have; the rest is seen later."""
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
    """Return the names of the columns of a table in text; none of a header in which something else is wrong."""
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


_LARGEST = 2**25  # bytes of a file that is read here, which takes a second


def no_such_id(name: object, path: str, ids: Sequence[Any]) -> InputError:
    """Return the error that no row of a table has this id, with ids that are spelt like it."""
    return InputError(f"{name!r} is no id of {path}; correct it{did_you_mean(name, map(str, ids))}")


def check_named_ids(arguments: Namespace) -> None:
    """Refuse ids that pairs name and no item has; ``--other`` has the items of the right side of ``distance``."""
    if getattr(arguments, "id", None) is None or getattr(arguments, "items", None) is None:
        return
    pairs, other = getattr(arguments, "pairs", None), getattr(arguments, "other", None)
    if pairs is None:
        named = [(arguments.items, getattr(arguments, "pair", None) or [])]
    else:
        left, right = (_cells(pairs, getattr(arguments, side)) for side in ("left", "right"))
        named = [(arguments.items, left), (other, right)] if other else [(arguments.items, left + right)]
    for path, names in named:
        ids = _cells(path, arguments.id) if names else []
        known = {as_key(cell) for cell in ids}
        unknown = [name for name in names if as_key(name) not in known]
        if 0 < len(unknown) < len(names):
            raise no_such_id(as_key(unknown[0]), path, ids)


def _cells(path: str, column: str) -> list[str]:
    """Return the cells of a column of a table in text as written; none of other tables, or if some are empty."""
    if path == STANDARD_INPUT or not (form := form_of_name(path)).separator or os.path.getsize(path) > _LARGEST:
        return []
    try:
        opened: Any = gzip.open if form.compressed else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            header, *rows = [row for row in csv.reader(file, delimiter=form.separator, strict=True) if row]
        cells = [row[header.index(column)].strip() for row in rows]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, ValueError, IndexError):
        return []
    return cells if all(cells) else []
