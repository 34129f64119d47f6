"""Sources that give their rows once, in a file of Parquet from which they are read part by part, as often as needed."""

import inspect
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from ..._foundation.errors import InputError
from ..._foundation.optional_imports import optional
from ..._foundation.sources import is_source, source_blocks

F = TypeVar("F", bound=Callable[..., Any])

_ROWS = 4_096  # of a row group, of which a part has one or several


def reads_in_parts(*names: str) -> Callable[[F], F]:
    """Let a function have its arguments of these names, if they are sources, as paths of files, deleted at its end.

    An iterator that it returns ends where its last part is taken. With a ``client`` sources are refused: workers see no file.
    """

    def decorated(function: F) -> F:
        @wraps(function)
        def reading(*args: Any, **options: Any) -> Any:
            bound = inspect.signature(function).bind(*args, **options)
            sources = {name: bound.arguments[name] for name in names if is_source(bound.arguments.get(name))}
            if not sources:
                return function(*args, **options)
            if bound.arguments.get("client") is not None:
                raise InputError(
                    f"{next(iter(sources))} is a source that this process reads, and workers do not see it; give client=None, "
                    "or write it to Parquet where every worker sees it"
                )
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="semimetric-")))
                for name, source in sources.items():
                    bound.arguments[name] = _written(source, folder / f"{name}.parquet", name)
                result = function(*bound.args, **bound.kwargs)
                return _until_taken(result, stack.pop_all()) if isinstance(result, Iterator) else result

        return reading  # type: ignore[return-value]

    return decorated


def _until_taken(parts: Iterator[Any], files: ExitStack) -> Iterator[Any]:
    with files:
        yield from parts


def _written(source: Any, path: Path, name: str) -> Path:
    writer = None
    try:
        for block in source_blocks(source, _ROWS, name):
            if writer is None:
                writer = optional("pyarrow.parquet").ParquetWriter(path, block.schema)
            elif not block.schema.equals(writer.schema):
                pairs = zip(writer.schema, block.schema, strict=False)
                changed = [f"{a.name} is {a.type}, then {b.type}" for a, b in pairs if a != b]
                raise InputError(
                    f"columns of {name} change their types on the way ({'; '.join(changed[:3])}); one type each is required: "
                    "CAST them in the query, as whole numbers with NULLs to DOUBLE"
                )
            writer.write_table(block)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise InputError(f"{name} has no rows (any more); at least one is required: run the query again")
    return path
