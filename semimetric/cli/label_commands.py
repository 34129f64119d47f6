"""The commands that learn from classes: ``fit --label`` from one table, and ``neighbors``, which says why items are near."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers
from ..data.schema import Schema
from ..distances.out_of_range import warn_outside
from ..distances.semimetric import Semimetric
from ..estimators.large_margin_learner import LargeMarginLearner
from ..estimators.neighbor_votes import SemimetricClassifier
from ..neighbors.index import NeighborIndex
from ..neighbors.sharded.sharded_index import ShardedIndex
from ..persistence import load
from .index_columns import read_columns
from .mixed_tables import MixedTable, read_features_of, read_mixed
from .numeric_tables import read_table
from .pair_commands import CommandResult, at_terminal, check_folder

__all__ = ["LABEL_SETTINGS", "run_fit_labels", "run_neighbors"]

LABEL_SETTINGS = ("tables", "n_knots", "groups", "directions", "axioms", "penalty", "alpha", "outside")
_CHOSEN = ("tables", "n_knots", "directions", "alpha")
_DIRECTIONS = ("auto", "none", "pca", "lda", "nca", "discriminant", "combined")
_VOTES = 3
_LARGEST = 5  # terms of a distance, with --explain


def run_fit_labels(arguments: Namespace) -> CommandResult:
    """Learn from the classes in one table, and save the model."""
    output = arguments.output or "model.smm"
    check_folder(output)
    table = read_mixed(arguments.items, arguments.label, arguments.id, missing=arguments.missing == "level")
    model = _learner(arguments, table)
    check = _checked(model, table, arguments) if arguments.held_out else None
    model.fit(table.features, table.labels)
    d, recipe = model.semimetric_, model.recipe_
    d.save(output)
    shares = dict(zip(d.feature_names, model.feature_importances_.tolist(), strict=True))
    values = {
        "model": output, "n_items": len(table.features), "classes": model.classes_, "features": list(d.feature_names),
        "categories": list(table.categories), "axioms": d.axioms.name, "solver": str(model.solution_),
        "tables": recipe.tables, "directions": _named_directions(recipe.directions), "n_knots": recipe.n_knots,
        "alpha": recipe.alpha, "importances": shares, "held_out": check,
    }  # fmt: skip
    return CommandResult(values, "\n".join([repr(d), _importances_text(shares), _check_text(check), f"saved as {output}"]))


def run_neighbors(arguments: Namespace) -> CommandResult:
    """The nearest items of every row of a table, and why."""
    d, items = _searched(arguments)
    rows = read_features_of(d, arguments.rows, _own_id(arguments))
    warn_outside(d, d.schema.encode(rows.features), source=rows.path)
    found = items.nearest(rows.features, arguments.k)
    k, ids = arguments.k, np.array(rows.ids, dtype=object)
    ranks = np.tile(np.arange(1, k + 1), len(ids))
    values: dict[str, Any] = {"query": np.repeat(ids, k), "rank": ranks, "id": found.ids.ravel()}
    if len(items.table.labels):
        values["label"] = items.table.labels[found.rows].ravel()
    values["distance"] = found.distances.ravel()
    if arguments.explain:
        values["terms"] = _terms(d, rows, items, found)
    return CommandResult(values, _neighbors_text(values))


class _Nearest(NamedTuple):
    """Distances, ids, and rows of the items, all of shape (n_queries, k)."""

    distances: Floats
    ids: NDArray[Any]
    rows: Integers


@dataclass(frozen=True)
class _SearchTarget:
    """What is searched: a table under a distance, or an index, whose table may be empty if nothing is asked of it."""

    d: Semimetric
    index: NeighborIndex | None
    table: MixedTable

    def nearest(self, queries: Any, k: int) -> _Nearest:
        """The k nearest items."""
        if self.index is None:
            distances = self.d.pairwise(queries, self.table.features)
            rows = np.argsort(distances, axis=1, kind="stable")[:, :k]
            return _Nearest(np.take_along_axis(distances, rows, axis=1), np.array(self.table.ids, dtype=object)[rows], rows)
        asked = queries if hasattr(self.index, "feature_names_in_") else queries.to_numpy()
        distances, ids = self.index.kneighbors(asked, k)
        places = {name: row for row, name in enumerate(self.index.ids_.tolist())}
        return _Nearest(distances, ids, np.array([[places[name] for name in line] for line in ids.tolist()]))


def _learner(arguments: Namespace, table: MixedTable) -> LargeMarginLearner:
    """The learner with the settings that were given; all others have its own defaults."""
    settings = {name: getattr(arguments, name) for name in LABEL_SETTINGS if name in arguments.given}
    if "groups" in settings:
        settings["groups"] = _groups(settings["groups"])
    if "directions" in settings:
        settings["directions"] = _directions(settings["directions"])
    return LargeMarginLearner(
        **settings, categorical_features=list(table.categories), missing=arguments.missing, n_jobs=arguments.n_jobs,
        random_state=arguments.random_state, verbose=at_terminal(),
    )  # fmt: skip


def _groups(given: list[str]) -> Any:
    return given[0] if given in (["singles"], ["pairs"], ["auto"]) else [tuple(group.split(",")) for group in given]


def _directions(given: str) -> str | None:
    if given not in _DIRECTIONS:
        raise InputError(f"--directions {given} does not go with --label; use one of {', '.join(_DIRECTIONS)}")
    return None if given == "none" else given


def _checked(model: LargeMarginLearner, table: MixedTable, arguments: Namespace) -> dict[str, Any]:
    """Errors of nearest neighbours on a share of every class; ``model`` keeps what was chosen without these items."""
    train, test = _held_out(table, arguments.held_out, arguments.random_state)
    X, y = table.features, table.labels
    voters = SemimetricClassifier(model, n_neighbors=min(_VOTES, len(train)), n_jobs=arguments.n_jobs)
    learned = voters.fit(X.iloc[train], y[train])
    recipe = learned.learner_.recipe_
    model.set_params(**{name: getattr(recipe, name) for name in _CHOSEN})
    coordinates = _coordinates(learned.semimetric_.schema, X, train)
    euclid = KNeighborsClassifier(voters.n_neighbors).fit(coordinates[train], y[train])
    return {
        "n_items": len(test), "n_neighbors": voters.n_neighbors,
        "error": float(np.mean(learned.predict(X.iloc[test]) != y[test])),
        "error_euclid": float(np.mean(euclid.predict(coordinates[test]) != y[test])),
    }  # fmt: skip


def _held_out(table: MixedTable, share: float, random_state: int) -> tuple[Integers, Integers]:
    """Rows to learn from, and a share of every class."""
    rng, labels = np.random.default_rng(random_state), table.labels
    members = [np.flatnonzero(labels == name) for name in np.unique(labels)]
    test = np.sort(np.concatenate([rng.permutation(rows)[: int(share * len(rows) + 0.5)] for rows in members]))
    train = np.setdiff1d(np.arange(len(table.features)), test)
    if not len(test) or len(np.unique(labels[train])) < min(len(members), 2):
        raise InputError(
            f"{table.path} has {len(table.features)} rows in {len(members)} classes, too few to hold out a share of "
            f"{share:g}; give more rows, or --held-out 0 for no check"
        )
    return train, test


def _coordinates(schema: Schema, X: Any, train: Integers) -> Floats:
    """Standardised numbers, and 0 and 1 for categories; what is missing is at the mean."""
    coordinates = schema.coordinates(schema.encode(X))
    return np.asarray(StandardScaler().fit(coordinates[train]).transform(coordinates))


def _named_directions(directions: Any) -> str | None:
    """Directions by their name on the command line."""
    return directions if directions is None or isinstance(directions, str) else "given"


def _searched(arguments: Namespace) -> tuple[Semimetric, _SearchTarget]:
    opened = load(arguments.model)
    if isinstance(opened, Semimetric):
        if not arguments.items:
            raise InputError(f"{arguments.model} is a model, which holds no items; give the table to search with --items")
        table = read_features_of(opened, arguments.items, arguments.id, arguments.label)
        searched, n = _SearchTarget(opened, None, table), len(table.ids)
    elif isinstance(opened, ShardedIndex):
        raise InputError(f"{arguments.model} is a sharded index, and neighbors searches one index; use semimetric query")
    else:
        if arguments.items:
            raise InputError(f"{arguments.model} is an index, which holds its items; leave --items out")
        asked = arguments.explain or arguments.label
        columns = _kept(opened, arguments.model, arguments.label) if asked else _nothing(arguments.model)
        searched, n = _SearchTarget(opened.semimetric, opened, columns), opened.n_samples_fit_
    if arguments.k > n:
        raise InputError(f"-k {arguments.k} asks for more than the {n} items that there are; ask for fewer")
    return searched.d, searched


def _kept(index: NeighborIndex, path: str, label: str | None) -> MixedTable:
    """The items of an index, from the columns that are kept beside it."""
    pandas, columns = optional("pandas"), read_columns(path)
    absent = [name for name in (*index.semimetric.feature_names, *([label] if label else [])) if name not in columns]
    if absent:
        raise InputError(f"the items of {path} have no column {absent[0]!r}; correct the name, or build the index again")
    features = pandas.DataFrame({name: columns[name] for name in index.semimetric.feature_names})
    return MixedTable(path, features, (), tuple(index.ids_.tolist()), columns[label] if label else np.empty(0))


def _nothing(path: str) -> MixedTable:
    return MixedTable(path, None, (), (), np.empty(0))


def _own_id(arguments: Namespace) -> str | None:
    """The column of ids, if the table of rows has it too."""
    return arguments.id if arguments.id in read_table(arguments.rows).columns else None


def _terms(d: Semimetric, rows: MixedTable, items: _SearchTarget, found: _Nearest) -> list[list[tuple[str, float]]]:
    """The largest terms of every distance, one list a query and neighbour."""
    out = []
    for row, near in enumerate(found.rows):
        query = rows.features.iloc[np.full(len(near), row)]
        for parts in d.contributions(query, items.table.features.iloc[near]):
            order = np.argsort(-parts, kind="stable")[:_LARGEST]
            out.append([(d.terms[t], float(parts[t])) for t in order if parts[t] > 0])
    return out


def _neighbors_text(values: Mapping[str, Any]) -> str:
    lines = []
    for k, (query, rank) in enumerate(zip(values["query"], values["rank"], strict=True)):
        if rank == 1:
            lines.append(f"{'row ' if isinstance(query, int) else ''}{query}")
        label = f" ({values['label'][k]})" if "label" in values else ""
        line = f"  {rank}. {values['id'][k]}{label} at {values['distance'][k]:.4g}"
        if "terms" in values:
            why = ", ".join(f"{name} {part:.3g}" for name, part in values["terms"][k])
            line += f": {why or 'equal in every term'}"
        lines.append(line)
    return "\n".join(lines)


def _importances_text(shares: Mapping[str, float]) -> str:
    largest = sorted(shares.items(), key=lambda item: -item[1])[:_LARGEST]
    return "largest shares of the distance to other classes: " + ", ".join(f"{n} {100 * s:.0f} %" for n, s in largest)


def _check_text(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return "nothing was held out; the error on unseen items is unknown"
    return (
        f"{check['n_neighbors']} nearest neighbours are wrong on {100 * check['error']:.1f} % of {check['n_items']} items that "
        f"were held out; under Euclid on standardised columns on {100 * check['error_euclid']:.1f} %"
    )
