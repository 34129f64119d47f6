"""Ids that pairs name, held against the ids of a table of items before anything large is imported.

Only what is certain is told here: of tables in text of moderate size, where some of the ids that are named are there and
others are not. All else is left to those who read the tables.
"""

import csv
import gzip
import os
import re
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from .._foundation.errors import InputError
from .._foundation.near_names import did_you_mean
from .one_line_parser import STANDARD_INPUT
from .table_names import TableForm, form_of_name

_LARGEST = 2**25  # bytes of a file that is read here, which takes a second


def as_key(name: object) -> str:
    """An id as text, the same however a number is written: 3, 3.0 and "3.0" become "3", but "03" stays as it is."""
    return re.sub(r"^([+-]?\d+)\.0*$", r"\1", str(name).strip())


def no_such_id(name: object, path: str, ids: Sequence[Any]) -> InputError:
    """The error that no row of a table has this id, with ids that are spelt like it."""
    return InputError(f"{name!r} is no id of {path}; correct it{did_you_mean(name, map(str, ids))}")


def check_named_ids(arguments: Namespace) -> None:
    """Refuse ids that pairs name and no item has; ``--other`` has the items of the right side of ``distance``.

    Raises
    ------
    InputError
        If some of the ids that a side of the pairs names are those of items, and one is not.
    """
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
    """The cells of a column of a table in text, as they are written; none of what is not read here, or has empty ones."""
    if path == STANDARD_INPUT or not (form := form_of_name(path)).separator or os.path.getsize(path) > _LARGEST:
        return []
    try:
        with _opened(path, form) as file:
            header, *rows = [row for row in csv.reader(file, delimiter=form.separator, strict=True) if row]
        cells = [row[header.index(column)].strip() for row in rows]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, ValueError, IndexError):
        return []
    return cells if all(cells) else []


def _opened(path: str, form: TableForm) -> Any:
    return (gzip.open if form.compressed else open)(path, "rt", encoding="utf-8-sig", newline="")
