"""The columns of the items, in two files beside their index, so that ``query --where`` can compare them.

    columns.csv    all columns of the table of items except its ids, one row for each item, in the order of the index
    columns.json   digests of columns.csv and of the index that it belongs to, and which columns are numbers

Both files are written under other names and then renamed, columns.json last. So files that do not belong together are detected
by their digests.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import StorageError
from .._foundation.files import file_digest, write_beside
from .._foundation.optional_imports import optional
from ..distances.search.files import FILE
from .numeric_tables import numbers_in
from .table_files import read_table

_TABLE = "columns.csv"
_FACTS = "columns.json"


def columns_of(path: str, id_column: str | None, categories: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
    """All columns of a table except its ids: float64, or text as it is written, empty for missing cells.

    The columns ``categories`` are text, although their cells may look like numbers.
    """
    frame = read_table(path)
    names = [name for name in frame.columns if name != id_column]
    columns = {name: None if name in categories else numbers_in(frame[name], name, path) for name in names}
    written = read_table(path, [name for name, numbers in columns.items() if numbers is None])
    return {name: _text(written[name]) if numbers is None else numbers for name, numbers in columns.items()}


def _text(column: object) -> NDArray[Any]:
    """The cells of a column as text."""
    cells = optional("pandas").Series(column)
    return cells.astype(object).where(cells.notna(), "").astype(str).to_numpy(dtype=object)


def write_columns(folder: str | os.PathLike[str], columns: Mapping[str, NDArray[Any]]) -> None:
    """Write the columns of its items beside the index in ``folder``, which must be saved before."""
    root = Path(folder)
    content = optional("pandas").DataFrame(dict(columns)).to_csv(index=False, lineterminator="\n").encode()
    kinds = {name: "number" if cells.dtype.kind == "f" else "text" for name, cells in columns.items()}
    write_beside(root / _TABLE, lambda file: file.write(content))
    facts = {_TABLE: file_digest(root / _TABLE), FILE: file_digest(root / FILE), "kinds": kinds}
    write_beside(root / _FACTS, lambda file: file.write(json.dumps(facts, indent=1).encode()))


def read_columns(folder: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The columns that `write_columns` wrote into ``folder``.

    Raises
    ------
    StorageError
        If there are no columns, they were altered, or the index was saved again after them.
    """
    root = Path(folder)
    if not (root / _FACTS).is_file() or not (root / _TABLE).is_file():
        raise StorageError(f"{root} has no columns for --where; build it with semimetric index, which keeps those of the items")
    try:
        facts = json.loads((root / _FACTS).read_bytes())
        table, index, kinds = facts[_TABLE], facts[FILE], dict(facts["kinds"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise StorageError(f"{root / _FACTS} is damaged ({error}); restore it or run semimetric index again") from error
    if file_digest(root / _TABLE) != table:
        raise StorageError(f"{root / _TABLE} was altered after it was saved; restore it or run semimetric index again")
    if file_digest(root / FILE) != index:
        raise StorageError(f"the index {root} was saved again after its {_TABLE}; run semimetric index again to use --where")
    try:
        frame = optional("pandas").read_csv(root / _TABLE, dtype=str, na_filter=False, skip_blank_lines=False)
        return {name: _cells(frame[name], kind) for name, kind in kinds.items()}
    except (KeyError, ValueError) as error:
        raise StorageError(f"{root / _TABLE} is not as {_FACTS} says ({error}); run semimetric index again") from error


def column_names(folder: str | os.PathLike[str], features: Sequence[str]) -> list[str]:
    """The columns of the items that a condition may name: those beside the index in ``folder``, or else its features."""
    return list(read_columns(folder) if (Path(folder) / _FACTS).is_file() else features)


def _cells(column: Any, kind: str) -> NDArray[Any]:
    """The cells of a column that was written as ``kind``: float64, NaN where they are empty, or text."""
    if kind == "number":
        return np.array([float(cell or "nan") for cell in column])
    return column.to_numpy(dtype=object)
