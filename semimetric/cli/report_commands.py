"""The command ``report``, which writes a page that shows a model and computes with it."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.types import distinct
from ..data.tables import column_named
from ..distances.model.item_statistics import warn_outside
from ..distances.search.sharded import ShardedIndex
from ..reports.build import report, subject_of
from ..reports.subjects import MOST_CLASSES, DistanceSubject, ScoringSubject, Subject
from .model_files import check_output, load_whole
from .output import CommandResult
from .tables import read_frame, read_items


def run_report(arguments: Namespace) -> CommandResult:
    """Write the page of a model, or of several, with the items of a table or those that the model holds."""
    check_output(arguments.output, arguments.model, arguments.items, *arguments.against)
    if arguments.items is None and (arguments.label or arguments.id or arguments.by):
        raise InputError("--label, --id and --by name columns of a table of items; give the table after the model")
    models = [_model(path) for path in (arguments.model, *arguments.against)]
    names = distinct([Path(path).stem for path in (arguments.model, *arguments.against)])
    found = report(
        dict(zip(names, models, strict=True)) if arguments.against else models[0], **_items(arguments, models[0]),
        title=arguments.title or " and ".join(names), include=arguments.include,
        max_items=arguments.max_items, random_state=arguments.random_state,
    )  # fmt: skip
    found.write_html(arguments.output)
    n, size = found.page["nItems"], Path(arguments.output).stat().st_size
    values = {"output": arguments.output, "n_items": n, "bytes": size, "computes": found.page["whyNot"] == ""}
    why_not = f"\n{found.page['whyNot']}" if found.page["whyNot"] else ""
    return CommandResult(values, f"{found.facts['data']['how_many']}{why_not}\nsaved as {arguments.output}, {size:,} bytes")


def _model(path: str) -> Any:
    model = load_whole(path)
    if isinstance(model, ShardedIndex):
        raise InputError(f"{path} is a sharded index, which holds no items at hand; give its model, and a table")
    return model


def _items(arguments: Namespace, model: Any) -> dict[str, Any]:
    if arguments.items is None:
        return {}
    subject = subject_of(model)
    table = read_items(arguments.items, subject.schema, arguments.id, arguments.label, arguments=arguments)
    if isinstance(subject, DistanceSubject):
        warn_outside(subject.distance, subject.schema.encode(table.frame), source=table.name)
    names = table.ids.tolist() if table.is_named else [f"row {row}" for row in table.ids.tolist()]
    targets = _targets(arguments, table.labels, subject) if arguments.label else None
    return {"X": table.frame, "names": names, "y": targets, "by": _groups(arguments)}


def _groups(arguments: Namespace) -> Any:
    """Return the columns that --by names, as a frame; None if it names none."""
    if not arguments.by:
        return None
    frame = read_frame(arguments.items)
    return optional("pandas").DataFrame({name: column_named(frame, name, arguments.items) for name in arguments.by})


def _targets(arguments: Namespace, labels: Any, subject: Subject) -> Any:
    """Return classes as text, but as numbers what a model predicts, or where all are numbers, too many for classes."""
    of_values = isinstance(subject, ScoringSubject) and subject.classes is None
    of_classes = isinstance(subject, ScoringSubject) and subject.classes is not None
    try:
        numbers = labels.astype(np.float64)
    except ValueError as error:
        if of_values:
            raise InputError(
                f"the column {arguments.label!r} of {arguments.items} has text, and the model predicts numbers; correct it"
            ) from error
        return labels
    return numbers if of_values or (not of_classes and len(np.unique(numbers)) > MOST_CLASSES) else labels
