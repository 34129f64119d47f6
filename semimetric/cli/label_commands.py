"""The commands ``fit --label``, which learns a distance from classes, and ``neighbors``, which says why items are near."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from .._foundation.errors import InputError, silent, warn
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers
from ..data.schema import Schema
from ..data.splits import ItemClasses
from ..distances.estimators.classifier import SemimetricClassifier
from ..distances.estimators.large_margin_learner import LargeMarginLearner
from ..distances.estimators.votes import as_chosen
from ..distances.features.from_labels import LABELLED
from ..distances.features.linear_directions import Directions
from ..distances.learning.settings import Columns
from ..distances.model.item_statistics import warn_outside
from ..distances.model.semimetric import Semimetric
from ..distances.search.index import NeighborIndex
from ..distances.search.sharded import ShardedIndex
from .index_columns import read_columns
from .mixed_tables import MixedTable, features_in, read_features_of, read_mixed
from .model_files import check_output, load_unsigned
from .output import TOLD_OF_COLUMNS, CommandResult, shows_progress, tell_unused
from .parser import LABEL_SETTINGS
from .periods import periods_of
from .table_files import check_memory, read_table

_NESTED = {
    "tables": "tables__kind",
    "groups": "tables__groups",
    "outside": "tables__outside",
    "penalty": "program__penalty",
}  # parameters of the learner that options are
_CHOSEN_SETTINGS = ("tables", "n_knots", "directions", "alpha")  # what the learner may choose by itself
_DIRECTIONS = ("auto", "none", "pca", *LABELLED)
_N_NEIGHBORS = 3  # that vote in the check
_BYTES_OF_DISTANCE = 16  # with its place in the order
_MOST_TERMS = 5  # of a distance that --explain prints, and of the shares of the features


def run_fit_labels(arguments: Namespace) -> CommandResult:
    """Learn from the classes in one table, check the model, and save it."""
    output = arguments.output or "model.smm"
    check_output(output, arguments.items)
    table = read_mixed(arguments.items, arguments.label, arguments.id, missing=arguments.missing == "level")
    model = _make_learner(arguments, table)
    check = _check(model, table, arguments) if arguments.held_out else None
    with silent(*(TOLD_OF_COLUMNS if check else ())):  # which the fit before the check has told already
        model.fit(table.features, table.labels)
    d = model.semimetric_
    recipe = model.recipe_
    d.save(output)
    shares = dict(zip(d.feature_names, model.feature_importances_.tolist(), strict=True))
    values = {
        "model": output, "n_items": len(table.features), "classes": model.classes_, "features": list(d.feature_names),
        "categories": list(table.categories), "axioms": d.axioms.name, "solver": str(model.solution_),
        "tables": recipe.tables, "directions": _name_of_directions(model), "n_knots": recipe.n_knots,
        "alpha": recipe.alpha, "importances": shares, "held_out": check,
    }  # fmt: skip
    return CommandResult(values, "\n".join([repr(d), _importances_text(shares), _check_text(check), f"saved as {output}"]))


def run_neighbors(arguments: Namespace) -> CommandResult:
    """The nearest items of every row of a table, and the terms of their distances."""
    items = _open_items(arguments)
    d = items.d
    rows = read_features_of(d.schema, arguments.rows, _id_column_of_rows(arguments))
    tell_unused(arguments, rows, items.table)
    if items.index is None:
        n = len(rows.ids) * len(items.table.ids)
        remedy = "build an index of the items by semimetric index, and search that"
        check_memory(_BYTES_OF_DISTANCE * n, f"a table of {n} distances", remedy)
    warn_outside(d, d.schema.encode(rows.features), source=rows.path)
    nearest = items.nearest(rows.features, arguments.k)
    k = arguments.k
    ids = np.array(rows.ids, dtype=object)
    values: dict[str, Any] = {
        "query": np.repeat(ids, k),
        "rank": np.tile(np.arange(1, k + 1), len(ids)),
        "id": nearest.ids.ravel(),
    }
    if len(items.table.labels):
        values["label"] = items.table.labels[nearest.rows].ravel()
    values["distance"] = nearest.distances.ravel()
    if arguments.explain:
        values["terms"] = _largest_terms(d, rows, items, nearest)
    return CommandResult(values, _neighbors_text(values))


class _NearestItems(NamedTuple):
    """The distances, ids and row numbers of the nearest items, all of shape (n_queries, k), the nearest first."""

    distances: Floats
    ids: NDArray[Any]
    rows: Integers


@dataclass(frozen=True)
class _SearchedItems:
    """The items that are searched under the distance ``d``, from a table or in an index.

    The table of an index holds the columns that were kept beside it; it is empty if they are not needed.
    """

    d: Semimetric
    index: NeighborIndex | None
    table: MixedTable

    def nearest(self, queries: Any, k: int) -> _NearestItems:
        """The k nearest items of every row of a frame of queries."""
        if self.index is None:
            distances = self.d.pairwise(queries, self.table.features)
            rows = np.argsort(distances, axis=1, kind="stable")[:, :k]
            ids = np.array(self.table.ids, dtype=object)[rows]
            return _NearestItems(np.take_along_axis(distances, rows, axis=1), ids, rows)
        is_named = hasattr(self.index, "feature_names_in_")
        distances, ids = self.index.kneighbors(queries if is_named else queries.to_numpy(), k)
        row_of_id = {name: row for row, name in enumerate(self.index.ids_.tolist())}
        return _NearestItems(distances, ids, np.array([[row_of_id[name] for name in line] for line in ids.tolist()]))


def _make_learner(arguments: Namespace, table: MixedTable) -> LargeMarginLearner:
    """A learner with the settings that were given on the command line; all others have their defaults."""
    settings: dict[str, Any] = {name: getattr(arguments, name) for name in LABEL_SETTINGS if name in arguments.given}
    if "groups" in settings:
        settings["groups"] = _groups(settings["groups"])
    if "directions" in settings:
        settings["directions"] = _directions(settings["directions"])
    periods = periods_of(arguments.periodic, list(table.features.columns), table.path)
    columns = Columns(list(table.categories), periodic=periods, missing=arguments.missing)
    learner = LargeMarginLearner(
        columns=columns, n_jobs=arguments.n_jobs, random_state=arguments.random_state, verbose=shows_progress(arguments)
    )
    return learner.set_params(**{_NESTED.get(name, name): value for name, value in settings.items()})


def _groups(given: list[str]) -> Any:
    """The value of ``--groups`` for the learner: a name, or tuples of column names that were joined by commas."""
    return given[0] if given in (["singles"], ["pairs"], ["auto"]) else [tuple(group.split(",")) for group in given]


def _directions(given: str) -> str | None:
    """The value of ``--directions`` for the learner."""
    if given not in _DIRECTIONS:
        raise InputError(f"--directions {given} does not go with --label; use one of {', '.join(_DIRECTIONS)}")
    return None if given == "none" else given


def _check(model: LargeMarginLearner, table: MixedTable, arguments: Namespace) -> dict[str, Any] | None:
    """Errors of nearest-neighbour votes on items that were held out, under the learned distance and under Euclid's.

    ``model`` gets the settings that were chosen without these items. None where items are too few to hold some out.
    """
    parts = _hold_out(table, arguments.held_out, arguments.random_state)
    if parts is None:
        return None
    train, test = parts
    X, y = table.features, table.labels
    k = min(_N_NEIGHBORS, len(train))
    voters = SemimetricClassifier(model, n_neighbors=k, weights="uniform", n_jobs=arguments.n_jobs)
    voters.fit(X.iloc[train], y[train])
    chosen = as_chosen(model, voters.learner_).get_params(deep=False)
    model.set_params(**{name: chosen[name] for name in _CHOSEN_SETTINGS})
    coordinates = _standardized(voters.semimetric_.schema, X, train)
    euclid = KNeighborsClassifier(voters.n_neighbors).fit(coordinates[train], y[train])
    return {
        "n_items": len(test), "n_neighbors": voters.n_neighbors,
        "error": float(np.mean(voters.predict(X.iloc[test]) != y[test])),
        "error_euclid": float(np.mean(euclid.predict(coordinates[test]) != y[test])),
    }  # fmt: skip


def _hold_out(table: MixedTable, share: float, random_state: int) -> tuple[Integers, Integers] | None:
    """The sorted numbers of the rows to learn from, and of the rows to check on, a share of every class; no item is in both.

    None, with a warning, where rows are too few for that.
    """
    labels, n_classes = table.labels, len(np.unique(table.labels))
    schema = Schema.fit(table.features, categorical_features=list(table.categories), missing="level")
    train, test = ItemClasses(schema.encode(table.features), labels).shares(share, random_state)
    if not len(test) or len(np.unique(labels[train])) < min(n_classes, 2):
        warn(
            f"{table.path} has {len(table.features)} rows in {n_classes} classes, too few to hold out a share of "
            f"{share:g}, so all are learned from; give more rows for a check, or --held-out 0 for none"
        )
        return None
    return train, test


def _standardized(schema: Schema, X: Any, train: Integers) -> Floats:
    """Coordinates for Euclid's distance, shape (n_items, n_coordinates), each with mean 0 and variance 1 on the rows ``train``.

    A category has a coordinate of its own, 0 or 1; missing values are at the mean.
    """
    coordinates = schema.coordinates(schema.encode(X))
    return np.asarray(StandardScaler().fit(coordinates[train]).transform(coordinates))


def _name_of_directions(model: LargeMarginLearner) -> str | None:
    """The name of the directions on the command line, or the shares of a sum such as "1/2 components + 1/2 forest"."""
    directions = model.recipe_.directions
    return model.choices_.chosen.directions if isinstance(directions, Directions) else directions


def _open_items(arguments: Namespace) -> _SearchedItems:
    """The items to search: those of a table under a model, or those of an index; at least k."""
    opened = load_unsigned(arguments.model)
    if isinstance(opened, Semimetric):
        if not arguments.items:
            raise InputError(f"{arguments.model} is a model, which holds no items; give the table to search with --items")
        table = read_features_of(opened.schema, arguments.items, arguments.id, arguments.label)
        items = _SearchedItems(opened, None, table)
        n_items = len(table.ids)
    elif isinstance(opened, ShardedIndex):
        raise InputError(f"{arguments.model} is a sharded index, and neighbors searches one index; use semimetric query")
    else:
        if arguments.items:
            raise InputError(f"{arguments.model} is an index, which holds its items; leave --items out")
        items = _SearchedItems(opened.semimetric, opened, _table_of_index(opened, arguments))
        n_items = opened.n_samples_fit_
    if arguments.k > n_items:
        raise InputError(f"-k {arguments.k} asks for more than the {n_items} items that there are; ask for fewer")
    return items


def _table_of_index(index: NeighborIndex, arguments: Namespace) -> MixedTable:
    """The features and classes of the items of an index, from the columns beside it; empty if the options need neither."""
    path, label = arguments.model, arguments.label
    if not arguments.explain and not label:
        return MixedTable(path, None, (), (), np.empty(0))
    columns = read_columns(path)
    names = index.semimetric.feature_names
    absent = [name for name in (*names, *([label] if label else [])) if name not in columns]
    if absent:
        raise InputError(f"the items of {path} have no column {absent[0]!r}; correct the name, or build the index again")
    features = features_in(index.semimetric.schema, optional("pandas").DataFrame({name: columns[name] for name in names}), path)
    return MixedTable(path, features, (), tuple(index.ids_.tolist()), columns[label] if label else np.empty(0))


def _id_column_of_rows(arguments: Namespace) -> str | None:
    """The column of ids if the table of rows has it; else its rows are numbered."""
    return arguments.id if arguments.id in read_table(arguments.rows).columns else None


def _largest_terms(
    d: Semimetric, rows: MixedTable, items: _SearchedItems, nearest: _NearestItems
) -> list[list[tuple[str, float]]]:
    """What features add most to every distance, and how much, one list for each query and neighbour."""
    terms, names = [], d.contribution_names("features")
    for query, neighbors in enumerate(nearest.rows):
        repeated_query = rows.features.iloc[np.full(len(neighbors), query)]
        for parts in d.contributions(repeated_query, items.table.features.iloc[neighbors], by="features"):
            largest = np.argsort(-parts, kind="stable")[:_MOST_TERMS]
            terms.append([(names[t], float(parts[t])) for t in largest if parts[t] > 0])
    return terms


def _neighbors_text(values: Mapping[str, Any]) -> str:
    """A line for each query, followed by a line for each of its neighbours."""
    lines = []
    for k, (query, rank) in enumerate(zip(values["query"], values["rank"], strict=True)):
        if rank == 1:
            lines.append(f"{'row ' if isinstance(query, int) else ''}{query}")
        label = f" ({values['label'][k]})" if "label" in values else ""
        line = f"  {rank}. {values['id'][k]}{label} at {values['distance'][k]:.4g}"
        if "terms" in values:
            terms = ", ".join(f"{name} {part:.3g}" for name, part in values["terms"][k])
            line += f": {terms or 'equal in every feature'}"
        lines.append(line)
    return "\n".join(lines)


def _importances_text(shares: Mapping[str, float]) -> str:
    largest = sorted(shares.items(), key=lambda item: -item[1])[:_MOST_TERMS]
    return "largest shares of the distance to other classes: " + ", ".join(f"{n} {100 * s:.0f} %" for n, s in largest)


def _check_text(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return "nothing was held out; the error on unseen items is unknown"
    return (
        f"{check['n_neighbors']} nearest neighbours are wrong on {100 * check['error']:.1f} % of {check['n_items']} items that "
        f"were held out; under Euclid on standardised columns on {100 * check['error_euclid']:.1f} %"
    )
