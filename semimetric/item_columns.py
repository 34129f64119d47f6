"""Columns of the items beside an index, for conditions on them.

    columns.csv    every column of the table of items but its ids, a row an item, in the order of the index
    columns.json   digests of columns.csv and of the index that it belongs to, and which columns are numbers

Both are written beside the old ones and renamed, columns.json last: what does not belong together is refused.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._errors import StorageError
from ._extras import optional
from .frames import ItemTable, read_table
from .neighbors.store import FILE

__all__ = ["columns_of", "read_columns", "write_columns"]

_TABLE, _FACTS = "columns.csv", "columns.json"


def columns_of(items: ItemTable, id_column: str | None) -> dict[str, NDArray]:
    """Columns of the file of ``items`` but its ids: float64, or text as it is written there, where missing cells are empty."""
    frame = read_table(items.path, items.unused)
    names = [name for name in frame.columns if name != id_column]
    numbers = dict(zip(items.names, items.values.T, strict=True))
    return {name: numbers[name] if name in numbers else _text(frame[name]) for name in names}


def _text(column: object) -> NDArray:
    cells = optional("pandas").Series(column)
    return cells.astype(object).where(cells.notna(), "").astype(str).to_numpy(dtype=object)


def write_columns(folder: str | os.PathLike[str], columns: Mapping[str, NDArray]) -> None:
    """Write columns beside the index in ``folder``, after it."""
    root = Path(folder)
    content = optional("pandas").DataFrame(dict(columns)).to_csv(index=False, lineterminator="\n").encode()
    kinds = {name: "number" if cells.dtype.kind == "f" else "text" for name, cells in columns.items()}
    facts = {_TABLE: _digest(content), FILE: _digest((root / FILE).read_bytes()), "kinds": kinds}
    _write(root / _TABLE, content)
    _write(root / _FACTS, json.dumps(facts, indent=1).encode())


def read_columns(folder: str | os.PathLike[str]) -> dict[str, NDArray]:
    """What `write_columns` wrote.

    Raises
    ------
    StorageError
        If there are no columns, they were altered, or the index was saved again after them.
    """
    root = Path(folder)
    if not (root / _FACTS).is_file() or not (root / _TABLE).is_file():
        raise StorageError(f"{root} has no columns for --where; build it with semimetric index, which keeps those of the items")
    content = (root / _TABLE).read_bytes()
    try:
        facts = json.loads((root / _FACTS).read_bytes())
        table, index, kinds = facts[_TABLE], facts[FILE], dict(facts["kinds"])
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{root / _FACTS} is damaged ({error}); restore it or run semimetric index again") from error
    if _digest(content) != table:
        raise StorageError(f"{root / _TABLE} was altered after it was saved; restore it or run semimetric index again")
    if _digest((root / FILE).read_bytes()) != index:
        raise StorageError(f"the index {root} was saved again after its {_TABLE}; run semimetric index again to use --where")
    frame = optional("pandas").read_csv(root / _TABLE, dtype=str, na_filter=False, skip_blank_lines=False)
    return {
        name: np.array([float(cell or "nan") for cell in frame[name]])
        if kind == "number"
        else frame[name].to_numpy(dtype=object)
        for name, kind in kinds.items()
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Write a file beside its place, and rename it."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
