"""Learning from parts of tuples: what one fit learns, from sums over the parts.

survey (counts, mean target, a sample of the items) -> data in parts -> the learner, as with data in memory
"""

from typing import Any

from .._foundation.errors import InputError
from .._foundation.threads import one_blas_thread
from ..data.parts.engine import Engine
from ..data.parts.tuple_parts import TuplePart, TupleTable
from ..data.parts.tuple_survey import count_tuples, survey_tuples
from ..estimators.base import LearnedDistance
from ..estimators.part_tasks import ItemTask, TupleTask, refuse_parts
from ..learning.structure import check_varied
from .partitioned_comparisons import PartitionedComparisons
from .partitioned_distances import PartitionedDistances

__all__ = ["fit_tuples", "task_of"]


def task_of(model: Any) -> TupleTask | ItemTask:
    """The task of learning from data in parts that a learner gives.

    Raises
    ------
    NotSupportedError
        If it does not learn from parts, or not with these parameters.
    """
    if not isinstance(model, LearnedDistance):
        raise refuse_parts(model)
    return model.part_task()


def fit_tuples(engine: Engine, model: Any, task: TupleTask, parts: list[TuplePart], table: TupleTable) -> Any:
    """Learn from parts of tuples by one thread of BLAS; the model is returned."""
    if not parts:
        raise InputError(f"there are 0 parts of {table.spec.called}; at least one is required")
    with one_blas_thread():
        parts, counts = count_tuples(engine, parts, table)
        survey = survey_tuples(engine, parts, counts, table)
        survey.check_targets(table.spec)
        check_varied(survey.items)
        kind = PartitionedDistances if table.spec.measured else PartitionedComparisons
        return model.learn_from_parts(task, kind(engine, parts, table, survey), table.names)
