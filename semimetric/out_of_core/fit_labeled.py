"""Learning from labelled items in parts: what one fit learns, with neighbours searched in shards.

    labels -> survey (a sample of the items, drawn pairs) -> items in parts -> the learner, as with items in memory

Classes and weights, one number an item each, are in memory. Items are read twice: for the survey, which checks them, and for
the shards in which their neighbours are searched; and once before that where classes or weights are columns of the parts.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.threads import one_blas_thread
from ..data.parts.engine import Engine
from ..data.parts.labeled_parts import (
    LabelColumns,
    LabeledPart,
    LabeledTable,
    check_same_kind,
    labeled_parts,
    loaded,
    read_label_columns,
    survey_items,
)
from ..data.parts.readers import width_of
from ..data.schema import Schema
from ..estimators.part_tasks import ItemTask
from ..learning.large_margin.class_labels import encode_class_labels
from ..learning.large_margin.fit import N_DRAWN
from ..learning.large_margin.labeled_items import drawn_rows
from ..learning.structure import check_varied
from .partitioned_items import PartitionedItems

__all__ = ["fit_labeled", "labeled_parts_of"]


def labeled_parts_of(task: ItemTask, X: Any, y: Any, weight: Any, limit: int) -> tuple[list[LabeledPart], LabeledTable]:
    """`labeled_parts`, of as many items each as the task can work on in half of ``limit`` bytes."""
    return labeled_parts(X, y, weight, max(limit // 2 // task.item_bytes(width_of(X)), 1))


def fit_labeled(
    engine: Engine,
    model: Any,
    task: ItemTask,
    parts: Sequence[LabeledPart],
    table: LabeledTable,
    y: Any,
    weight: Any,
    *,
    limit: int,
    scratch: str | os.PathLike[str] | None,
) -> Any:
    """Learn from parts of labelled items by one thread of BLAS; the model is returned.

    Parameters
    ----------
    engine : Engine
    model : LearnedDistance
    task : ItemTask
        The task that the model has given.
    parts : sequence of LabeledPart
    table : LabeledTable
    y, weight : array, path of a .npy file, name of a column, or None
        Classes and weights of all items.
    limit : int
        Bytes that parts and sums may take.
    scratch : path-like or None
        The folder in which shards are built; None for that of the system.
    """
    if scratch is not None and not (os.path.isdir(scratch) and os.access(scratch, os.W_OK | os.X_OK)):
        raise InputError(
            f"scratch={str(scratch)!r} is no folder that can be written; make it first, on storage that every worker sees"
        )
    with one_blas_thread():
        counts, y, weight = _read_labels(engine, parts, table, loaded(y), loaded(weight))
        labels = encode_class_labels(y, sum(counts), weight, task.rule.n_targets)
        parts, weights = _used_parts(parts, counts, labels.used, labels.weight)
        counts = list(map(len, weights))
        rows = np.unique(drawn_rows(sum(counts), N_DRAWN, task.recipe.random_state))
        survey = survey_items(engine, parts, table, counts, rows, task.recipe.random_state)
        check_varied(survey.items)
        codes = labels.codes.astype(np.min_scalar_type(int(labels.codes.max())))
        items = PartitionedItems(engine, parts, table, codes, weights, survey, limit, scratch)
        return model.learn_from_parts(task, items, labels, Schema.numeric(table.names))


def _read_labels(
    engine: Engine, parts: Sequence[LabeledPart], table: LabeledTable, y: Any, weight: Any
) -> tuple[list[int], Any, Any]:
    """The number of items of each part, and classes and weights of all, from arrays or from columns of the parts."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None; give a class for every item")
    columns = _label_columns(engine, parts, table)
    check_same_kind(parts, columns)
    given_y, given_weight = (None if v is None or isinstance(v, str) else np.asarray(v) for v in (y, weight))
    classes = given_y if table.y is None else np.concatenate([c.y for c in columns if c.y is not None])
    weights = given_weight
    if table.weight is not None:
        weights = np.concatenate([c.weight for c in columns if c.weight is not None])
    return [c.n for c in columns], classes, weights


def _label_columns(engine: Engine, parts: Sequence[LabeledPart], table: LabeledTable) -> list[LabelColumns]:
    """The number of items of each part, and the classes and weights in its columns; parts are read only where needed."""
    counts = [part.n for part in parts]
    if table.y is None and table.weight is None and None not in counts:
        return [LabelColumns(n) for n in counts if n is not None]
    return list(engine.each(read_label_columns, parts, table))


def _used_parts(
    parts: Sequence[LabeledPart], counts: Sequence[int], used: NDArray[np.bool_], weight: NDArray[Any]
) -> tuple[list[LabeledPart], list[NDArray[Any]]]:
    """The parts that have items of weight > 0, with a mask of these items, and the weights of these items."""
    kept, weights, ends = [], [], np.cumsum([0, *counts])
    for part, a, b in zip(parts, ends[:-1], ends[1:], strict=True):
        if used[a:b].any():
            kept.append(part if used[a:b].all() else replace(part, keep=used[a:b]))
            weights.append(weight[a:b][used[a:b]])
    return kept, weights
