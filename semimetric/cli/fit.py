"""The command ``fit``, which learns a distance from pairs with measured distances, or from classes."""

from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from .._foundation.errors import InputError, TooFewError, silent, warn
from .._foundation.types import Floats, Integers, Pairs
from ..data.schema import Schema
from ..data.splits import ItemClasses, item_disjoint_splits
from ..data.tables import SplitTable
from ..distances.estimators.classifier import SemimetricClassifier
from ..distances.estimators.large_margin_learner import LargeMarginLearner
from ..distances.estimators.regressor import DistanceRegressor
from ..distances.estimators.votes import as_chosen
from ..distances.features.from_labels import LABELLED
from ..distances.features.histograms import HistogramFeatures
from ..distances.features.linear_directions import Directions
from ..distances.features.uniform_directions import UniformDirections
from ..distances.learning.errors import pair_errors
from ..distances.learning.options import PowerSum
from ..distances.learning.settings import Columns, Program, Tables
from ..out_of_core.calls import fit
from .dask_client import dask_client
from .model_files import check_output
from .output import ABOUT_COLUMNS, CommandResult, shows_progress
from .parser import LABEL_SETTINGS
from .tables import read_new_items, read_numbers, read_pairs, read_target

_SETTINGS = ("n_knots", "loss", "alpha", "link", "n_jobs", "random_state", "effort")
_NESTED = {
    "tables": "tables__kind",
    "groups": "tables__groups",
    "outside": "tables__outside",
    "penalty": "program__penalty",
}  # parameters of the learner that options are
_CHOSEN_SETTINGS = ("tables", "n_knots", "directions", "alpha")  # that the learner may choose by itself
_DIRECTIONS = ("auto", "none", "pca", *LABELLED)
_N_NEIGHBORS = 3  # that vote in the check
_MOST_SHARES = 5  # of features that are printed
_NO_CHECK = "nothing was held out; the error on unseen items is unknown"


def run_fit(arguments: Namespace) -> CommandResult:
    """Learn from a table of items and a table of pairs with their distances, check the model, and save it."""
    check_output(arguments.output, arguments.items, arguments.pairs)
    table, schema = read_new_items(
        arguments.items, arguments.id,
        categorical=arguments.categorical, periodic=arguments.periodic, missing=arguments.missing,
    )  # fmt: skip
    pairs, frame = read_pairs(arguments.pairs, (arguments.left, arguments.right), table, table)
    target = read_target(frame, arguments.target, arguments.pairs)
    _check_signs(arguments, target)
    model, check = _fit_and_check(arguments, table, schema, pairs, target)
    d = model.semimetric_
    d.save(arguments.output)
    recipe = model.recipe_
    values = {
        "model": arguments.output, "n_items": len(table.ids), "n_pairs": len(pairs), "features": list(d.feature_names),
        "axioms": d.axioms.name, "solver": str(model.solution_), "n_knots": recipe.n_knots, "alpha": recipe.alpha,
        "held_out": check,
    }  # fmt: skip
    return CommandResult(values, f"{d!r}\n{_check_text(check)}\nsaved as {arguments.output}")


def _fit_and_check(
    arguments: Namespace, table: SplitTable, schema: Schema, pairs: Integers, y: Floats
) -> tuple[DistanceRegressor, dict[str, Any] | None]:
    """Return the model fitted to all pairs, and its errors on pairs held out of a fit before, or None."""
    settings: dict[str, Any] = {name: getattr(arguments, name) for name in _SETTINGS}
    settings["axioms"] = None if arguments.axioms == "none" else arguments.axioms
    settings |= {
        "directions": _directions_of_pairs(arguments.directions),
        "tables": Tables(arguments.tables, groups=_groups(arguments.groups, table), outside=arguments.outside),
        "columns": Columns.as_read(schema),
        "program": Program(penalty=arguments.penalty, relative=arguments.relative),
    }
    model = DistanceRegressor(preprocessor=table.frame, verbose=shows_progress(arguments), **settings)
    encoded = schema.encode(table.frame, name=table.name)
    with dask_client(arguments) as client:
        fit_model = DistanceRegressor.fit if client is None else partial(fit, client=client)
        if not arguments.held_out:
            return fit_model(model, pairs, y), None
        parts = _held_out_pairs(Pairs(encoded, pairs), arguments.held_out, arguments.random_state)
        if parts is None:
            return fit_model(model, pairs, y), None
        train, test = parts
        fit_model(model, pairs[train], y[train])
        check = _errors(y[test], model.semimetric_.paired_by_index(encoded, pairs[test], n_jobs=arguments.n_jobs))
        _give_what_was_chosen(model)
        with silent(*ABOUT_COLUMNS):  # by the fit before
            return fit_model(model, pairs, y), check


def _give_what_was_chosen(model: DistanceRegressor) -> None:
    """Give a fitted model the settings of its recipe as parameters, so that the next fit makes what was checked.

    Features that were screened are screened again: given numbers are for all of them.
    """
    if model.screened_:
        return
    recipe = model.recipe_
    model.set_params(n_knots=recipe.n_knots, alpha=recipe.alpha, tables__kind=recipe.tables, tables__factors=recipe.factors)
    if isinstance(recipe.factors, PowerSum):
        model.set_params(directions=recipe.directions)
    if model.link in ("auto", "power"):
        model.set_params(link=recipe.link)


def _check_signs(arguments: Namespace, target: Floats) -> None:
    bad = np.flatnonzero(target < 0)
    if len(bad) and arguments.axioms != "none":
        raise InputError(
            f"row {bad[0]} of {arguments.pairs} has {arguments.target}={target[bad[0]]:g} ({len(bad)} such rows in all); "
            "distances >= 0 are required: correct them, or learn without guarantees by --axioms none"
        )


def _held_out_pairs(pairs: Pairs, share: float, random_state: int) -> tuple[Integers, Integers] | None:
    """Return the pairs to learn from, and pairs to check without common items; None, with a warning, if too few."""
    try:
        return next(item_disjoint_splits(pairs, n_splits=1, random_state=random_state, held_out=share))
    except TooFewError:
        warn(
            f"{len(pairs)} pairs are too few to check on pairs that share no item with the others, so all are learned from; "
            "give more pairs for a check, or --held-out 0 for none"
        )
        return None


def _errors(true: Floats, predicted: Floats) -> dict[str, Any]:
    median, mean, correlation = pair_errors(true, predicted)
    return {"n_pairs": len(true), "median_relative_error": median, "mean_absolute_error": mean, "pearson": correlation}


def _groups(given: list[str], table: SplitTable) -> Any:
    """Return the value of ``--groups``: a name, or tuples of column numbers from names joined by commas."""
    if given in (["singles"], ["pairs"], ["auto"]):
        return given[0]
    groups = [group.split(",") for group in given]
    for name in (name for group in groups for name in group):
        if name not in table.frame.columns:
            raise InputError(f"--groups names {name!r}, which is no column of features of {table.name}; correct it")
    return [tuple(list(table.frame.columns).index(name) for name in group) for group in groups]


def _directions_of_pairs(given: str) -> Any:
    kind, _, rest = given.partition(":")
    if kind == "histogram" and rest:
        return HistogramFeatures(read_numbers(rest).to_numpy())
    if kind == "even":
        return UniformDirections(rest.split(",") if rest else None)
    if given not in ("none", "pca"):
        raise InputError(f"--directions {given} is not known; use none, pca, even, even:COLUMN,COLUMN or histogram:FILE")
    return None if given == "none" else "pca"


def _categories(schema: Schema) -> list[str]:
    return [f.name for f in schema.features if f.kind == "categorical"]


def _check_text(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return _NO_CHECK
    parts = [f"mean absolute error {check['mean_absolute_error']:.4g}"]
    if check["median_relative_error"] is not None:
        parts.insert(0, f"median relative error {100 * check['median_relative_error']:.2f} %")
    if check["pearson"] is not None:
        parts.append(f"correlation {check['pearson']:.4f}")
    return f"{', '.join(parts)}, on {check['n_pairs']} pairs of items that were held out"


def run_fit_labels(arguments: Namespace) -> CommandResult:
    """Learn from the classes in one table, check the model, and save it."""
    output = arguments.output or "model.smm"
    check_output(output, arguments.items)
    table, schema = read_new_items(
        arguments.items, arguments.id, arguments.label,
        categorical=arguments.categorical, periodic=arguments.periodic, missing=arguments.missing,
    )  # fmt: skip
    labels = table.labels
    assert labels is not None  # --label names them
    model = _make_learner(arguments, table, schema)
    check = _check_of_votes(model, table, schema, arguments) if arguments.held_out else None
    with silent(*(ABOUT_COLUMNS if check else ())):
        model.fit(table.frame, labels)
    d = model.semimetric_
    recipe = model.recipe_
    d.save(output)
    directions = recipe.directions
    if isinstance(directions, Directions):
        directions = model.choices_.chosen.settings["directions"]
    shares = dict(zip(d.feature_names, model.feature_importances_.tolist(), strict=True))
    largest = sorted(shares.items(), key=lambda item: -item[1])[:_MOST_SHARES]
    shown = ", ".join(f"{name} {100 * share:.0f} %" for name, share in largest)
    values = {
        "model": output, "n_items": len(table.ids), "classes": model.classes_, "features": list(d.feature_names),
        "categories": _categories(schema), "axioms": d.axioms.name, "solver": str(model.solution_),
        "tables": recipe.tables, "directions": directions, "n_knots": recipe.n_knots,
        "alpha": recipe.alpha, "importances": shares, "held_out": check,
    }  # fmt: skip
    of_classes = f"largest shares of the distance to other classes: {shown}"
    return CommandResult(values, "\n".join([repr(d), of_classes, _text_of_votes(check), f"saved as {output}"]))


def _make_learner(arguments: Namespace, table: SplitTable, schema: Schema) -> LargeMarginLearner:
    settings: dict[str, Any] = {name: getattr(arguments, name) for name in LABEL_SETTINGS if name in arguments.given}
    if "groups" in settings:
        settings["groups"] = _groups(settings["groups"], table)
    if (directions := settings.get("directions")) is not None:
        if directions not in _DIRECTIONS:
            raise InputError(f"--directions {directions} does not go with --label; use one of {', '.join(_DIRECTIONS)}")
        settings["directions"] = None if directions == "none" else directions
    learner = LargeMarginLearner(
        columns=Columns.as_read(schema),
        n_jobs=arguments.n_jobs,
        random_state=arguments.random_state,
        verbose=shows_progress(arguments),
    )
    return learner.set_params(**{_NESTED.get(name, name): value for name, value in settings.items()})


def _check_of_votes(
    model: LargeMarginLearner, table: SplitTable, schema: Schema, arguments: Namespace
) -> dict[str, Any] | None:
    """Return errors of votes on items held out, by the learned distance and by Euclid's; None where items are too few."""
    parts = _held_out_items(table, schema, arguments.held_out, arguments.random_state)
    if parts is None:
        return None
    train, test = parts
    assert table.labels is not None
    X, y = table.frame, table.labels
    k = min(_N_NEIGHBORS, len(train))
    voters = SemimetricClassifier(model, n_neighbors=k, weights="uniform", n_jobs=arguments.n_jobs)
    voters.fit(X.iloc[train], y[train])
    chosen = as_chosen(model, voters.learner_).get_params(deep=False)
    model.set_params(**{name: chosen[name] for name in _CHOSEN_SETTINGS})
    numbers = schema.coordinates(schema.encode(X))
    coordinates = np.asarray(StandardScaler().fit(numbers[train]).transform(numbers))
    euclid = KNeighborsClassifier(voters.n_neighbors).fit(coordinates[train], y[train])
    return {
        "n_items": len(test), "n_neighbors": voters.n_neighbors,
        "error": float(np.mean(voters.predict(X.iloc[test]) != y[test])),
        "error_euclid": float(np.mean(euclid.predict(coordinates[test]) != y[test])),
    }  # fmt: skip


def _held_out_items(table: SplitTable, schema: Schema, share: float, random_state: int) -> tuple[Integers, Integers] | None:
    """Return the sorted rows to learn from, and rows of every class to check on; None, with a warning, if too few."""
    labels = table.labels
    assert labels is not None
    n_classes = len(np.unique(labels))
    train, test = ItemClasses(schema.encode(table.frame), labels).split(share, random_state)
    if not len(test) or len(np.unique(labels[train])) < min(n_classes, 2):
        warn(
            f"{table.name} has {len(labels)} rows in {n_classes} classes, too few to hold out a share of "
            f"{share:g}, so all are learned from; give more rows for a check, or --held-out 0 for none"
        )
        return None
    return train, test


def _text_of_votes(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return _NO_CHECK
    return (
        f"{check['n_neighbors']} nearest neighbours are wrong on {100 * check['error']:.1f} % of {check['n_items']} items that "
        f"were held out; under Euclid on standardised columns on {100 * check['error_euclid']:.1f} %"
    )
