"""The command ``export``, which writes a model as SQL for a database or as a graph of ONNX."""

from argparse import Namespace
from pathlib import Path

from .._foundation.errors import InputError
from .._foundation.files import write_file
from ..distances.estimators.votes import LearnedNeighbors
from ..distances.model.semimetric import Semimetric
from .model_files import check_output, load_whole, searchable
from .output import CommandResult


def run_export(arguments: Namespace) -> CommandResult:
    """Write a distance as SQL, or a distance or what predicts by it as a graph."""
    if arguments.output is not None:
        check_output(arguments.output, arguments.model)
    whole = load_whole(arguments.model)
    found = searchable(whole, arguments.model)
    d = found if isinstance(found, Semimetric) else found.semimetric
    return _graph(arguments, whole, d) if arguments.to == "onnx" else _script(arguments, d)


def _script(arguments: Namespace, d: Semimetric) -> CommandResult:
    sql = d.to_sql(arguments.to, table=arguments.table.split("."), key=arguments.key)
    parts = [sql.script, *([sql.index] if arguments.index else [])]
    query = None
    if arguments.nearest is not None:
        query = sql.nearest(arguments.nearest, 10 * arguments.nearest if arguments.index else None)
        parts.append("\n".join(f"-- {line}" for line in ["The nearest rows of one:", *query.splitlines()]) + "\n")
    script = "\n".join(parts)
    values = {"to": arguments.to, "columns": sql.columns, "distance": sql.distance("x", "y"), "nearest": query}
    if arguments.output is None:
        return CommandResult(values | {"script": script}, script.rstrip("\n"))
    write_file(arguments.output, lambda file: file.write(script.encode()))
    return _saved(arguments.output, values, f"{len(sql.columns)} stored numbers a row")


def _graph(arguments: Namespace, whole: object, d: Semimetric) -> CommandResult:
    predicts = isinstance(whole, LearnedNeighbors)
    what = arguments.what or ("model" if predicts else "transform")
    if what == "model" and not isinstance(whole, LearnedNeighbors):
        raise InputError(f"{arguments.model} holds {type(whole).__name__}, which predicts nothing; give --what distance")
    if what == "model" and isinstance(whole, LearnedNeighbors):
        whole.to_onnx(arguments.output)
    else:
        d.to_onnx(arguments.output, what=what)
    return _saved(arguments.output, {"to": "onnx", "what": what}, f"{what} of {d.n_features} columns")


def _saved(path: str, values: dict[str, object], about: str) -> CommandResult:
    size = Path(path).stat().st_size
    return CommandResult(values | {"output": path, "bytes": size}, f"{about}\nsaved as {path}, {size:,} bytes")
