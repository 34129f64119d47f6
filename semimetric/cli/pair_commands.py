"""The commands of the command line: each takes parsed arguments, calls the library and returns an `CommandResult`."""

import shlex
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np

from .. import distributed, plotting
from .._foundation.errors import InputError, NotSupportedError, warn
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers, Pairs
from ..cli import demo
from ..data.pair_sampling import item_disjoint_splits
from ..distances.axiom_report import AxiomReport
from ..distances.out_of_range import warn_outside
from ..distances.semimetric import Semimetric
from ..embeddings.directions.histograms import HistogramFeatures
from ..embeddings.directions.linear_directions import EvenDirections
from ..estimators.regressor import DistanceRegressor
from ..out_of_core.dask_engine import cluster_of
from ..persistence import load
from .numeric_tables import ItemTable, read_items, read_pairs, read_target, write_table

__all__ = [
    "CommandResult",
    "at_terminal",
    "called",
    "check_folder",
    "check_numbers",
    "load_model",
    "run_demo",
    "run_distance",
    "run_fit",
    "run_info",
    "run_plot",
]

_MANY = 30  # terms and features that `info` prints by name
_SETTINGS = ("tables", "n_knots", "loss", "penalty", "alpha", "outside", "link", "relative", "n_jobs", "random_state")


@dataclass(frozen=True)
class CommandResult:
    """What a command found out: for machines, and for people."""

    values: dict[str, Any]
    text: str


def run_demo(arguments: Namespace) -> CommandResult:
    """Learn, check and draw the demo; three files."""
    model, picture, table = (f"{arguments.output}{end}" for end in (".smm", ".png", ".csv"))
    check_folder(model)
    sizes = demo.DemoSizes(**{field.name: getattr(arguments, field.name) for field in fields(demo.DemoSizes)})
    result = demo.run(sizes, n_jobs=arguments.n_jobs, random_state=arguments.random_state, verbose=at_terminal())
    result.semimetric.save(model)
    demo.draw(result, picture)
    demo.write_digits(result, table)
    files = {"model": model, "picture": picture, "digits": table}
    return CommandResult(asdict(result.report) | files, _demo_text(result.report, files))


def run_fit(arguments: Namespace) -> CommandResult:
    """Learn from a table of items and one of pairs, and save the model."""
    check_folder(arguments.output)
    items = _read_features(arguments.items, arguments.id)
    pairs, frame = read_pairs(arguments.pairs, (arguments.left, arguments.right), items, items)
    target = read_target(frame, arguments.target, arguments.pairs)
    _check_signs(arguments, target)
    if items.likely_id:
        message = f"column {items.likely_id} of {items.path} has another whole number on every row and is used as a feature"
        warn(f"{message}; if it names the items, give --id {items.likely_id}")
    model, check = _learn(arguments, items, pairs, target)
    d = model.semimetric_
    d.save(arguments.output)
    recipe = model.recipe_
    values = {
        "model": arguments.output, "n_items": len(items.values), "n_pairs": len(pairs), "features": list(items.names),
        "axioms": d.axioms.name, "solver": str(model.solution_), "n_knots": recipe.n_knots, "alpha": recipe.alpha,
        "held_out": check,
    }  # fmt: skip
    return CommandResult(values, f"{d!r}\n{_check_text(check)}\nsaved as {arguments.output}")


def run_distance(arguments: Namespace) -> CommandResult:
    """Distances of listed pairs, or of all; how many items lie outside the range of the fit is said once a table."""
    d = load_model(arguments.model)
    left = read_items(arguments.items, arguments.id)
    right = read_items(arguments.other, arguments.id) if arguments.other else left
    x, y = left.features(d.feature_names), None if right is left else right.features(d.feature_names)
    for table, features in ((left, x), (right, y)):
        if features is not None:
            warn_outside(d, features, source=table.path)
    pandas = optional("pandas")
    if arguments.pairs:
        rows, _ = read_pairs(arguments.pairs, (arguments.left, arguments.right), left, right)
        distances = d.paired(x[rows[:, 0]], (x if y is None else y)[rows[:, 1]], n_jobs=arguments.n_jobs)
        sides = zip((arguments.left, arguments.right), (left, right), rows.T, strict=True)
        columns = {name: [table.ids[row] for row in side] for name, table, side in sides}
        values: dict[str, Any] = columns | {"distance": distances}
        frame = pandas.DataFrame(values)
    else:
        distances = d.pairwise(x, y, n_jobs=arguments.n_jobs)
        values = {"left": left.ids, "right": right.ids, "distance": distances}
        frame = pandas.DataFrame(distances, columns=[str(name) for name in right.ids])
        frame.insert(0, "item" if "item" not in frame else "item_id", left.ids)
    if not arguments.output:
        return CommandResult(values, frame.to_csv(index=False).rstrip("\n"))
    write_table(frame, arguments.output)
    return CommandResult(
        {"output": arguments.output, "n": distances.size}, f"{distances.size} distances saved as {arguments.output}"
    )


def run_info(arguments: Namespace) -> CommandResult:
    """What a model is."""
    d = load_model(arguments.model, columns=False)
    proofs = d.certify()
    grid = d.embedding.grid
    features = list(enumerate(d.schema.features))
    ranges = {f.name: [grid.low[k], grid.high[k]] for k, f in features if f.kind != "categorical"}
    categories = {f.name: list(f.categories) for _, f in features if f.kind == "categorical"}
    values = {
        "axioms": {"name": d.axioms.name} | asdict(d.axioms), "proofs": proofs.proofs, "triangle": proofs.triangle,
        "n_features": d.n_features, "n_weights": len(d.weights),
        "n_directions": len(d.columns) - d.n_features, "link": d.link, "terms": d.terms, "ranges": ranges,
        "categories": categories,
        "base_distances": [base.name for base in d.base_distances],
    }  # fmt: skip
    return CommandResult(values, _info_text(d, proofs, ranges, categories))


def run_plot(arguments: Namespace) -> CommandResult:
    """One picture of a model."""
    check_folder(arguments.output)
    figure = optional("matplotlib.figure").Figure(figsize=(6.4, 5.2), layout="constrained")
    d, axes = load_model(arguments.model), figure.subplots()
    if arguments.term is not None:
        plotting.plot_table(d, arguments.term, axes)
    else:
        _plot_items(d, arguments, axes)
    try:
        figure.savefig(arguments.output, dpi=150)
    except ValueError as error:
        raise InputError(f"{arguments.output} cannot be drawn ({error}); give a name ending in .png") from error
    return CommandResult({"output": arguments.output}, f"saved as {arguments.output}")


def _plot_items(d: Semimetric, arguments: Namespace, axes: Any) -> None:
    """The plots that need rows of a table."""
    if not arguments.items:
        raise InputError("--around and --pair name rows of a table of items; give the table after the model")
    items = read_items(arguments.items, arguments.id)
    X = items.features(d.feature_names)
    if arguments.pair:
        x, y = (X[items.row(name)] for name in arguments.pair)
        plotting.plot_contributions(d, x, y, axes)
        axes.set_title(axes.get_title().replace("the distance comes", f"the distance of {' and '.join(arguments.pair)} comes"))
    else:
        features = arguments.features or list(d.feature_names[:2])
        plotting.plot_around(d, X[items.row(arguments.around)], features, X, axes)
        axes.set_title(f"Distance from {arguments.around}")
    axes.title.set_wrap(True)


def _learn(
    arguments: Namespace, items: ItemTable, pairs: Integers, y: Floats
) -> tuple[DistanceRegressor, dict[str, Any] | None]:
    """The model of all pairs; its choices and its check come from pairs that share no item with those held out."""
    settings: dict[str, Any] = {name: getattr(arguments, name) for name in _SETTINGS}
    settings |= {"axioms": None if arguments.axioms == "none" else arguments.axioms}
    settings |= {"groups": _groups(arguments.groups, items), "directions": _directions(arguments.directions)}
    model = DistanceRegressor(preprocessor=_frame(items), verbose=at_terminal(), **settings)
    with cluster_of(arguments) as client:
        fit = DistanceRegressor.fit if client is None else partial(distributed.fit, client)
        if not arguments.held_out:
            return fit(model, pairs, y), None
        train, test = _hold_out(Pairs(items.values, pairs), arguments.held_out, arguments.random_state)
        fit(model, pairs[train], y[train])
        check = _check(y[test], model.semimetric_.paired_by_index(items.values, pairs[test], n_jobs=arguments.n_jobs))
        model.set_params(n_knots=model.recipe_.n_knots, alpha=model.recipe_.alpha)
        return fit(model, pairs, y), check


def _check_signs(arguments: Namespace, target: Floats) -> None:
    bad = np.flatnonzero(target < 0)
    if len(bad) and arguments.axioms != "none":
        raise InputError(
            f"row {bad[0]} of {arguments.pairs} has {arguments.target}={target[bad[0]]:g} ({len(bad)} such rows in all); "
            "distances >= 0 are required: correct them, or learn without guarantees by --axioms none"
        )


def _hold_out(pairs: Pairs, share: float, random_state: int) -> tuple[Integers, Integers]:
    try:
        return next(item_disjoint_splits(pairs, n_splits=1, random_state=random_state, held_out=share))
    except InputError as error:
        raise InputError(
            f"{len(pairs)} pairs are too few to check on pairs that share no item with the others; give more pairs, or "
            "--held-out 0 for no check"
        ) from error


def _check(true: Floats, predicted: Floats) -> dict[str, Any]:
    error, used = np.abs(predicted - true), true > 0
    varies = np.ptp(true) > 0 and np.ptp(predicted) > 0
    return {
        "n_pairs": len(true),
        "median_relative_error": float(np.median(error[used] / true[used])) if used.any() else None,
        "mean_absolute_error": float(error.mean()),
        "pearson": float(np.corrcoef(true, predicted)[0, 1]) if varies else None,
    }


def _groups(given: Sequence[str], items: ItemTable) -> Any:
    """The names singles, pairs or auto, or groups of column names joined by commas."""
    if list(given) in (["singles"], ["pairs"], ["auto"]):
        return given[0]
    groups = [group.split(",") for group in given]
    for name in (name for group in groups for name in group):
        if name not in items.names:
            raise InputError(f"--groups names {name!r}, which is no numeric column of {items.path}; correct it")
    return [tuple(items.names.index(name) for name in group) for group in groups]


def _directions(given: str) -> Any:
    """none, pca, even, even:a,b or histogram:FILE."""
    kind, _, rest = given.partition(":")
    if kind == "histogram" and rest:
        return HistogramFeatures(_read_features(rest).values)
    if kind == "even":
        return EvenDirections(rest.split(",") if rest else None)
    if given not in ("none", "pca"):
        raise InputError(f"--directions {given} is not known; use none, pca, even, even:COLUMN,COLUMN or histogram:FILE")
    return None if given == "none" else "pca"


def _read_features(path: str, id_column: str | None = None) -> ItemTable:
    """Items whose columns of numbers are all used; the others are named."""
    items = read_items(path, id_column)
    if items.unused:
        message = f"columns of {path} that are not numeric are not used: {', '.join(items.unused)}"
        warn(message)
    return items


def _frame(items: ItemTable) -> Any:
    return optional("pandas").DataFrame(items.values, columns=list(items.names))


def load_model(path: str, *, columns: bool = True) -> Semimetric:
    """A saved distance; an index is refused, and with ``columns`` a model of more than the numbers that tables here hold."""
    d = load(path)
    if not isinstance(d, Semimetric):
        raise InputError(f"{path} is an index, not a model; give the file that semimetric fit wrote")
    if columns:
        check_numbers(d, path)
    return d


def check_numbers(d: Semimetric, path: str) -> None:
    """Refuse a model with categories: the command line reads numbers."""
    wrong = [f.name for f in d.schema.features if f.kind == "categorical"]
    if wrong:
        raise NotSupportedError(
            f"{path} has the categorical feature {wrong[0]!r}, and this command takes features of numbers; search it with "
            "semimetric neighbors, or use it in Python: what semimetric.load(path) gives, and NeighborIndex, take frames"
        )


def called() -> str:
    """The command as it can be typed here: by its name if that is found, else as it was called."""
    given, found = Path(sys.argv[0]), which("semimetric")
    if given.parts[-2:] == ("semimetric", "__main__.py"):
        return "python -m semimetric"
    if given.stem != "semimetric" or len(given.parts) < 2 or (found and Path(found).resolve() == given.resolve()):
        return "semimetric"
    return shlex.quote(str(given))


def at_terminal() -> bool:
    """Whether progress can be shown."""
    return sys.stderr.isatty()


def check_folder(path: str) -> None:
    """Say before the work that its result cannot be written."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder} for {path}; make it first")


def _check_text(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return "nothing was held out; the error on unseen items is unknown"
    parts = [f"mean absolute error {check['mean_absolute_error']:.4g}"]
    if check["median_relative_error"] is not None:
        parts.insert(0, f"median relative error {100 * check['median_relative_error']:.2f} %")
    if check["pearson"] is not None:
        parts.append(f"correlation {check['pearson']:.4f}")
    return f"{', '.join(parts)}, on {check['n_pairs']} pairs of items that were held out"


def _info_text(
    d: Semimetric, proofs: AxiomReport, ranges: Mapping[str, Sequence[float]], categories: Mapping[str, Sequence[object]]
) -> str:
    lines = [repr(d), "how that is known", *repr(proofs).split("\n")[1:], "features and the range they were fitted on"]
    lines += _shortened([f"  {name:<20} {low:10.4g} to {high:.4g}" for name, (low, high) in ranges.items()])
    lines += _shortened([f"  {name:<20} {len(found):10d} categories: {_listed(found)}" for name, found in categories.items()])
    lines += ["terms", *_shortened([f"  {term}" for term in d.terms])]
    return "\n".join(lines)


def _listed(categories: Sequence[object]) -> str:
    return ", ".join(map(str, categories[:8])) + (", ..." if len(categories) > 8 else "")


def _shortened(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _MANY else [*lines[:_MANY], f"  ... and {len(lines) - _MANY} more: all with --json"]


def _demo_text(r: demo.DemoReport, files: Mapping[str, str]) -> str:
    found = f"{100 * r.first_10:.1f} % in its first 10, {100 * r.first_20:.1f} % in its first 20"
    return f"""\
The Earth Mover's Distance between images of digits, learned in {r.fit_seconds:.1f} s from {r.train_pairs:,} exact distances
between {r.train_images:,} images. Everything below is on {r.unseen_images:,} images that it never saw.

  error of a pair    median {100 * r.median_relative_error:.2f} %, correlation {r.pearson:.4f}  ({r.test_pairs:,} pairs)
  time of a pair     exact {r.exact_microseconds:.0f} us, learned {r.learned_microseconds:.2f} us: {r.speedup:.0f} times as fast
  true 10 nearest    {found}  ({r.queries} queries)
                     {100 * r.reranked:.1f} % after sorting its first 20 by the exact distance

Saved the model as {files["model"]}, the picture as {files["picture"]} and 20 digits as {files["digits"]}.
Now try:

  {called()} info {files["model"]}
  {called()} distance {files["model"]} {files["digits"]} --id name
  {called()} fit --help          (learn from a table of your own)"""
