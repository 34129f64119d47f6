"""The commands that show what was saved: ``info`` a distance or an index in words, ``plot`` a distance in pictures."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import plotting
from .._foundation.errors import InputError
from .._foundation.files import write_file
from .._foundation.optional_imports import optional
from ..distances.model.axioms import AxiomReport
from ..distances.model.semimetric import Semimetric
from ..distances.search.index import NeighborIndex
from ..distances.search.sharded import ShardedIndex
from .model_files import check_all_numeric, check_output, load_model, load_whole, searchable
from .output import CommandResult
from .tables import read_items, rows_of

_FEWEST_OF_A_RUN = 3  # numbered terms, above which `info` says the first and the last of them
_MOST_LINES = 30  # terms and features that `info` prints by name


def run_info(arguments: Namespace) -> CommandResult:
    """Return the facts of a model, or of an index and the model by which it searches."""
    whole = load_whole(arguments.model)
    saved = searchable(whole, arguments.model)
    if isinstance(saved, Semimetric):
        model = _info_of_model(saved)
        return model if whole is saved else _with_estimator(model, whole)
    model = _info_of_model(saved.semimetric)
    values = _values_of_index(saved, arguments.model)
    shown = [f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in values.items()]
    lines = [f"{type(saved).__name__} of {saved.n_samples_fit_} items", *(f"  {line}" for line in shown)]
    return CommandResult(values | {"model": model.values}, "\n".join([*lines, model.text]))


def _with_estimator(model: CommandResult, estimator: Any) -> CommandResult:
    kind, error = type(estimator).__name__, getattr(estimator, "error_", None)
    lines = ["learned by", f"  {kind}", *([] if error is None else [f"  {line}" for line in str(error).splitlines()])]
    values = {"estimator": kind} | ({} if error is None else {"error": str(error)})
    return CommandResult(model.values | values, "\n".join([model.text, *lines]))


def _values_of_index(index: NeighborIndex | ShardedIndex, path: str) -> dict[str, Any]:
    size = sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())
    ids = index.ids_
    values: dict[str, Any] = {
        "n_items": index.n_samples_fit_, "ids": "integers" if ids.dtype.kind == "i" else "text", "first_ids": ids[:5].tolist(),
        "columns": [*index.semimetric.feature_names, *(() if index.payload_ is None else index.payload_.names)], "bytes": size,
    }  # fmt: skip
    if isinstance(index, ShardedIndex):
        values["shards"] = {shard.name: shard.n for shard in index.shards}
    else:
        values |= {name: getattr(index, name) for name in ("algorithm", "side")}
    return values


def _shown(value: Any) -> str:
    if not isinstance(value, (list, dict)):
        return str(value)
    parts = [f"{name} ({n})" for name, n in value.items()] if isinstance(value, dict) else [str(part) for part in value]
    return ", ".join(parts[:_MOST_LINES]) + (", ..." if len(parts) > _MOST_LINES else "")


def _info_of_model(d: Semimetric) -> CommandResult:
    proofs = d.certify()
    grid = d.embedding.grid
    ranges = {f.name: [grid.low[k], grid.high[k]] for k, f in enumerate(d.schema.features) if f.kind != "categorical"}
    categories = {f.name: list(f.categories) for f in d.schema.features if f.kind == "categorical"}
    values = {
        "axioms": {"name": d.axioms.name} | asdict(d.axioms), "proofs": proofs.proofs, "triangle": proofs.triangle,
        "n_features": d.n_features, "n_weights": len(d.weights),
        "n_directions": len(d.columns) - d.n_features, "link": str(d.link), "terms": d.terms, "ranges": ranges,
        "categories": categories,
        "base_distances": [base.name for base in d.base_distances],
    }  # fmt: skip
    return CommandResult(values, _info_text(d, proofs, ranges, categories))


def run_plot(arguments: Namespace) -> CommandResult:
    """Save a picture of a term, of the distances from an item, or of the distance of a pair of items."""
    check_output(arguments.output, arguments.model, arguments.items)
    figure = optional("matplotlib.figure").Figure(figsize=(6.4, 5.2), layout="constrained")
    kind = _kind_of_picture(arguments.output, figure)
    d = load_model(arguments.model)
    if arguments.term is None:
        check_all_numeric(d, arguments.model, "a picture of items")
    axes = figure.subplots()
    if arguments.term is not None:
        plotting.plot_table(d, arguments.term, axes)
    else:
        _plot_items(d, arguments, axes)
    write_file(arguments.output, lambda file: figure.savefig(file, format=kind, dpi=150))
    return CommandResult({"output": arguments.output}, f"saved as {arguments.output}")


def _kind_of_picture(path: str, figure: Any) -> str:
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in figure.canvas.get_supported_filetypes():
        raise InputError(f"{path} ends in {kind or 'no extension'}, which cannot be drawn; give a name ending in .png")
    return kind


def _plot_items(d: Semimetric, arguments: Namespace, axes: Any) -> None:
    if not arguments.items:
        raise InputError("--around and --pair name rows of a table of items; give the table after the model")
    items = read_items(arguments.items, d.schema, arguments.id)
    X = items.frame.to_numpy()
    if arguments.pair:
        x, y = X[rows_of(items, arguments.pair)]
        plotting.plot_contributions(d, x, y, axes)
        axes.set_title(axes.get_title().replace("the distance comes", f"the distance of {' and '.join(arguments.pair)} comes"))
    else:
        features = arguments.features or list(d.feature_names[:2])
        plotting.plot_around(d, X[rows_of(items, [arguments.around])[0]], features, X, axes)
        axes.set_title(f"Distance from {arguments.around}")
    axes.title.set_wrap(True)


def _info_text(
    d: Semimetric, proofs: AxiomReport, ranges: Mapping[str, Sequence[float]], categories: Mapping[str, Sequence[object]]
) -> str:
    of_categories = []
    lines = [repr(d), "how that is known", *repr(proofs).split("\n")[1:], "features and the range they were fitted on"]
    lines += _first_lines([f"  {name:<20} {low:10.4g} to {high:.4g}" for name, (low, high) in ranges.items()])
    for name, values in categories.items():
        shown = ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")
        of_categories.append(f"  {name:<20} {len(values):10d} categories: {shown}")
    lines += _first_lines(of_categories)
    lines += ["terms", *_first_lines([f"  {line}" for line in _runs(d.terms)])]
    return "\n".join(lines)


def _runs(names: Sequence[str]) -> list[str]:
    """Return the names in their order, of which those that are numbered on, such as tree0, tree1 and tree2, share a line."""
    runs: list[list[str]] = []
    for name in names:
        if runs and name == _next(runs[-1][-1]):
            runs[-1].append(name)
        else:
            runs.append([name])
    short = [[f"{run[0]} to {run[-1]} ({len(run)})"] if len(run) > _FEWEST_OF_A_RUN else run for run in runs]
    return [line for run in short for line in run]


def _next(name: str) -> str | None:
    """Return the name with the next number at its end; None if it ends in none."""
    stem = name.rstrip("0123456789")
    return f"{stem}{int(name[len(stem) :]) + 1}" if stem not in ("", name) else None


def _first_lines(lines: list[str]) -> list[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"  ... and {len(lines) - _MOST_LINES} more: all with --json"]
