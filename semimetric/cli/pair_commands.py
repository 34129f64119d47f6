"""The commands ``fit``, which learns a distance from pairs with measured distances, and ``distance``, which applies it."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._foundation.errors import InputError, TooFewError, silent, warn
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers, Pairs
from ..data.splits import item_disjoint_splits
from ..distances.estimators.regressor import DistanceRegressor
from ..distances.features.even_directions import EvenDirections
from ..distances.features.histograms import HistogramFeatures
from ..distances.learning.settings import Columns, Program, Tables
from ..out_of_core.calls import fit
from .dask_client import dask_client
from .model_files import check_output, load_model
from .model_items import ModelItems, read_model_items, read_new_items
from .numeric_tables import frame_of, read_items, read_pairs, read_target
from .output import TOLD_OF_COLUMNS, CommandResult, shows_progress, tell_unused
from .periods import periods_of
from .table_files import check_memory, check_table_name, write_table

_BYTES_OF_DISTANCE = 64  # in a table of all: as a number, twice, and as text
_SETTINGS = ("n_knots", "loss", "alpha", "link", "n_jobs", "random_state", "effort")


def run_fit(arguments: Namespace) -> CommandResult:
    """Learn from a table of items and a table of pairs with their distances, check the model, and save it."""
    check_output(arguments.output, arguments.items, arguments.pairs)
    items = read_new_items(arguments.items, arguments.id, arguments.categorical, arguments.missing, arguments.periodic)
    pairs, frame = read_pairs(arguments.pairs, (arguments.left, arguments.right), items, items)
    target = read_target(frame, arguments.target, arguments.pairs)
    _check_signs(arguments, target)
    model, check = _fit_and_check(arguments, items, pairs, target)
    d = model.semimetric_
    d.save(arguments.output)
    recipe = model.recipe_
    values = {
        "model": arguments.output, "n_items": len(items.ids), "n_pairs": len(pairs), "features": list(d.feature_names),
        "axioms": d.axioms.name, "solver": str(model.solution_), "n_knots": recipe.n_knots, "alpha": recipe.alpha,
        "held_out": check,
    }  # fmt: skip
    return CommandResult(values, f"{d!r}\n{_check_text(check)}\nsaved as {arguments.output}")


def run_distance(arguments: Namespace) -> CommandResult:
    """The distances of the pairs in a table, or of all pairs, with a warning of items outside the range of the fit."""
    if arguments.output is not None:
        check_output(arguments.output, arguments.model, arguments.items, arguments.other, arguments.pairs)
        check_table_name(arguments.output)
    d = load_model(arguments.model)
    left = read_model_items(d, arguments.items, arguments.id)
    right = read_model_items(d, arguments.other, arguments.id) if arguments.other else left
    tell_unused(arguments, left, *([right] if arguments.other else []))
    values: dict[str, Any]
    if arguments.pairs:
        rows, _ = read_pairs(arguments.pairs, (arguments.left, arguments.right), left, right)
        x, y = left.features.iloc[rows[:, 0]], right.features.iloc[rows[:, 1]]
        distances = d.paired(x, y, n_jobs=arguments.n_jobs)
        values = {
            arguments.left: [left.ids[row] for row in rows[:, 0]],
            arguments.right: [right.ids[row] for row in rows[:, 1]],
            "distance": distances,
        }
        frame = optional("pandas").DataFrame(values)
    else:
        _check_size(len(left.ids) * len(right.ids))
        distances = d.pairwise(left.features, None if right is left else right.features, n_jobs=arguments.n_jobs)
        values = {"left": left.ids, "right": right.ids, "distance": distances}
        frame = frame_of(distances, [str(name) for name in right.ids])
        frame.insert(0, "item" if "item" not in frame else "item_id", left.ids)
    if arguments.output is None:
        return CommandResult(values, frame.to_csv(index=False).rstrip("\n"))
    write_table(frame, arguments.output)
    written = {"output": arguments.output, "n": distances.size}
    return CommandResult(written, f"{distances.size} distances saved as {arguments.output}")


def _check_size(n: int) -> None:
    """Refuse, before the work, a table of n distances that does not fit into memory."""
    remedy = (
        "name the pairs of interest by --pairs, find the nearest by semimetric index and query, or use "
        "semimetric.out_of_core.pairwise in Python, which writes parts"
    )
    check_memory(_BYTES_OF_DISTANCE * n, f"a table of {n} distances", remedy)


def _fit_and_check(
    arguments: Namespace, items: ModelItems, pairs: Integers, y: Floats
) -> tuple[DistanceRegressor, dict[str, Any] | None]:
    """The model that is fitted to all pairs, and its errors on pairs that were held out of a fit before, or None.

    No item of the pairs that were held out is in the pairs of the fit before, which also chooses the number of knots and alpha.
    """
    settings: dict[str, Any] = {name: getattr(arguments, name) for name in _SETTINGS}
    settings["axioms"] = None if arguments.axioms == "none" else arguments.axioms
    periods = periods_of(arguments.periodic, list(items.features.columns), items.path)
    settings |= {
        "directions": _directions(arguments.directions),
        "tables": Tables(arguments.tables, groups=_groups(arguments.groups, items), outside=arguments.outside),
        "columns": Columns(arguments.categorical or None, periodic=periods, missing=arguments.missing),
        "program": Program(penalty=arguments.penalty, relative=arguments.relative),
    }
    model = DistanceRegressor(preprocessor=items.features, verbose=shows_progress(arguments), **settings)
    with dask_client(arguments) as client:
        fit_model = DistanceRegressor.fit if client is None else partial(fit, client=client)
        if not arguments.held_out:
            return fit_model(model, pairs, y), None
        parts = _hold_out(Pairs(items.encoded, pairs), arguments.held_out, arguments.random_state)
        if parts is None:
            return fit_model(model, pairs, y), None
        train, test = parts
        fit_model(model, pairs[train], y[train])
        check = _check(y[test], model.semimetric_.paired_by_index(items.encoded, pairs[test], n_jobs=arguments.n_jobs))
        model.set_params(n_knots=model.recipe_.n_knots, alpha=model.recipe_.alpha)
        with silent(*TOLD_OF_COLUMNS):  # by the fit before
            return fit_model(model, pairs, y), check


def _check_signs(arguments: Namespace, target: Floats) -> None:
    """Refuse negative distances, unless the model has no axioms."""
    bad = np.flatnonzero(target < 0)
    if len(bad) and arguments.axioms != "none":
        raise InputError(
            f"row {bad[0]} of {arguments.pairs} has {arguments.target}={target[bad[0]]:g} ({len(bad)} such rows in all); "
            "distances >= 0 are required: correct them, or learn without guarantees by --axioms none"
        )


def _hold_out(pairs: Pairs, share: float, random_state: int) -> tuple[Integers, Integers] | None:
    """Numbers of pairs to learn from, and of pairs to check on, which share no item with them.

    None, with a warning, where pairs are too few for that; a learner in Python takes such pairs with a warning, too.
    """
    try:
        return next(item_disjoint_splits(pairs, n_splits=1, random_state=random_state, held_out=share))
    except TooFewError:
        warn(
            f"{len(pairs)} pairs are too few to check on pairs that share no item with the others, so all are learned from; "
            "give more pairs for a check, or --held-out 0 for none"
        )
        return None


def _check(true: Floats, predicted: Floats) -> dict[str, Any]:
    """Errors of the predicted distances; None where they are not defined."""
    error = np.abs(predicted - true)
    used = true > 0
    varies = np.ptp(true) > 0 and np.ptp(predicted) > 0
    return {
        "n_pairs": len(true),
        "median_relative_error": float(np.median(error[used] / true[used])) if used.any() else None,
        "mean_absolute_error": float(error.mean()),
        "pearson": float(np.corrcoef(true, predicted)[0, 1]) if varies else None,
    }


def _groups(given: Sequence[str], items: ModelItems) -> Any:
    """The value of ``--groups`` for `DistanceRegressor`: a name, or tuples of column numbers from names joined by commas."""
    if list(given) in (["singles"], ["pairs"], ["auto"]):
        return given[0]
    groups = [group.split(",") for group in given]
    for name in (name for group in groups for name in group):
        if name not in items.features.columns:
            raise InputError(f"--groups names {name!r}, which is no column of features of {items.path}; correct it")
    return [tuple(list(items.features.columns).index(name) for name in group) for group in groups]


def _directions(given: str) -> Any:
    """The value of ``--directions`` for `DistanceRegressor`, from none, pca, even, even:a,b or histogram:FILE."""
    kind, _, rest = given.partition(":")
    if kind == "histogram" and rest:
        bins = read_items(rest)
        if bins.unused:
            warn(f"columns of {rest} that are not numeric are not used: {', '.join(bins.unused)}")
        return HistogramFeatures(bins.values)
    if kind == "even":
        return EvenDirections(rest.split(",") if rest else None)
    if given not in ("none", "pca"):
        raise InputError(f"--directions {given} is not known; use none, pca, even, even:COLUMN,COLUMN or histogram:FILE")
    return None if given == "none" else "pca"


def _check_text(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return "nothing was held out; the error on unseen items is unknown"
    parts = [f"mean absolute error {check['mean_absolute_error']:.4g}"]
    if check["median_relative_error"] is not None:
        parts.insert(0, f"median relative error {100 * check['median_relative_error']:.2f} %")
    if check["pearson"] is not None:
        parts.append(f"correlation {check['pearson']:.4f}")
    return f"{', '.join(parts)}, on {check['n_pairs']} pairs of items that were held out"
