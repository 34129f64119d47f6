"""Learning from labelled items in parts: `LargeMarginLearner.fit` with neighbours searched in shards.

    labels -> survey (a sample of the items, drawn pairs) -> structure -> shards -> passes of search and solve

Classes and weights, a number an item, are in memory; items are read twice, for the survey, which checks them, and for their
shards, and once more where columns of theirs say of which class they are.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError, NotSupportedError
from ..data.parts.engine import Engine
from ..data.parts.labeled_parts import (
    LabelColumns,
    LabeledPart,
    LabeledTable,
    check_one_type,
    read_label_columns,
    survey_items,
)
from ..data.schema import Schema
from ..distances.explanations import MOST_PAIRS, importances
from ..embeddings.directions.from_labels import LABELLED
from ..estimators.large_margin_learner import LargeMarginLearner
from ..learning.large_margin.fit import N_DRAWN, learn_among
from ..learning.large_margin.labeled_items import LargeMargin, drawn_rows
from ..learning.recipe import Recipe
from ..learning.structure import build, check_varied
from ..neighbors.sharded.shard_files import close
from ..neighbors.sharded.sharded_index import shard_size
from ..programs.losses import resolve_loss
from .fit_tuples import check_by_sums, check_choices_made
from .partitioned_items import PartitionedItems, build_places, stand_in

__all__ = ["check_learns_labels", "fit_labelled", "item_bytes"]


def check_learns_labels(model: LargeMarginLearner) -> tuple[Recipe, LargeMargin]:
    """What to learn, if it can be learned from parts of labelled items.

    Raises
    ------
    NotSupportedError
    """
    check_choices_made(model, ("auto", *LABELLED))
    recipe, auto = model._recipe()
    if "tables" in auto:
        raise NotSupportedError(
            'tables="auto" compares both on items held out; give "warped" or "full": fit on a sample, and take that of its '
            "recipe_"
        )
    check_by_sums(recipe, resolve_loss(recipe.loss, margins=True))
    return recipe, model._rule()


def item_bytes(model: LargeMarginLearner, n_features: int) -> int:
    """What an item takes while a part is worked on: rows of the pairs with its targets and impostors, and its vectors."""
    knots = np.max(np.asarray(model.n_knots)) if isinstance(model.knots, str) else max(len(np.asarray(k)) for k in model.knots)
    pairs, n = model.n_targets + model.n_impostors, n_features + _n_directions(model.directions, n_features)
    return int(pairs * n * (8 * knots + 32) + 100 * n + 500)


def _n_directions(directions: Any, n_features: int) -> int:
    """Of those that parts can have: components as many as features, or rows that are given."""
    if directions is None:
        return 0
    rows = getattr(directions, "matrix", getattr(directions, "components_", directions))
    return len(rows) if hasattr(rows, "__len__") and not isinstance(rows, str) else n_features


def fit_labelled(
    engine: Engine,
    model: LargeMarginLearner,
    parts: Sequence[LabeledPart],
    table: LabeledTable,
    y: Any,
    weight: Any,
    *,
    limit: int,
    scratch: str | os.PathLike[str] | None,
) -> LargeMarginLearner:
    """Learn from ``parts``, and keep what was learned in the model; ``y`` and ``weight`` are arrays, or columns named."""
    recipe, rule = check_learns_labels(model)
    if scratch is not None and not (os.path.isdir(scratch) and os.access(scratch, os.W_OK | os.X_OK)):
        raise InputError(
            f"scratch={str(scratch)!r} is no folder that can be written; make it first, on storage that every worker sees"
        )
    counts, y, weight = _said(engine, parts, table, y, weight)
    used, codes, weight = model._coded(y, sum(counts), weight)
    parts, weights = _used(parts, counts, used, weight)
    counts = list(map(len, weights))
    rows = np.unique(drawn_rows(sum(counts), N_DRAWN, recipe.random_state))
    survey = survey_items(engine, parts, table, counts, rows, recipe.random_state)
    check_varied(survey.items)
    structure = build(recipe, survey.items, Schema.numeric(table.names))
    with _folder(engine, scratch) as folder:
        d = stand_in(recipe, rule, structure, survey.items)
        places = build_places(engine, folder, d, parts, table, counts, shard_size(len(table.names), limit))
        labels = codes.astype(np.min_scalar_type(int(codes.max())))
        crowd = PartitionedItems(engine, places, labels, weights, survey)
        learned, passes, near = learn_among(recipe, rule, structure, crowd)
        pairs = near.impostors(MOST_PAIRS)
    tells = importances(learned, pairs.reshape(-1, pairs.shape[2]), np.arange(2 * len(pairs)).reshape(-1, 2))
    model._take(recipe, learned, passes, tells, survey.items)
    return model


@contextmanager
def _folder(engine: Engine, scratch: str | os.PathLike[str] | None) -> Iterator[Path]:
    """A folder for shards, which are closed by all before it is deleted."""
    with tempfile.TemporaryDirectory(prefix="semimetric-", dir=scratch, ignore_cleanup_errors=True) as made:
        folder = Path(made).resolve() / "items"
        try:
            yield folder
        finally:
            engine.everywhere(close, str(folder))


def _said(
    engine: Engine, parts: Sequence[LabeledPart], table: LabeledTable, y: Any, weight: Any
) -> tuple[list[int], NDArray, NDArray | None]:
    """Items of each part, and classes and weights of all, from arrays or from columns of the parts."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None; give a class for every item")
    known = table.y is None and table.weight is None and all(part.n is not None for part in parts)
    said = [LabelColumns(part.n) for part in parts] if known else list(engine.each(read_label_columns, parts, table))  # type: ignore[arg-type]
    check_one_type(parts, said)
    given = [None if v is None or isinstance(v, str) else np.asarray(v) for v in (y, weight)]
    labels = np.concatenate([s.y for s in said]) if table.y is not None else given[0]  # type: ignore[misc]
    if table.weight is not None:
        return [s.n for s in said], labels, np.concatenate([s.weight for s in said])  # type: ignore[misc,return-value]
    return [s.n for s in said], labels, given[1]  # type: ignore[return-value]


def _used(
    parts: Sequence[LabeledPart], counts: Sequence[int], used: NDArray[np.bool_], weight: NDArray
) -> tuple[list[LabeledPart], list[NDArray]]:
    """Parts of items of weight > 0, and their weights; a part without any is left out."""
    kept, weights, ends = [], [], np.cumsum([0, *counts])
    for part, a, b in zip(parts, ends[:-1], ends[1:], strict=True):
        if used[a:b].any():
            kept.append(part if used[a:b].all() else replace(part, keep=used[a:b]))
            weights.append(weight[a:b][used[a:b]])
    return kept, weights
