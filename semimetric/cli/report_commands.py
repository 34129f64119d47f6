"""The command ``report``, which writes a page that shows a distance and computes with it."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from .._foundation.errors import InputError
from ..distances.out_of_range import warn_outside
from ..neighbors.sharded.sharded_index import ShardedIndex
from ..reports.build import report
from ..reports.subjects import MOST_CLASSES, distance_of
from .mixed_tables import read_features_of
from .model_files import check_output, load_whole
from .output import CommandResult, tell_unused

__all__ = ["run_report"]


def run_report(arguments: Namespace) -> CommandResult:
    """Write the page of a model, with the items of a table or those that the model holds."""
    check_output(arguments.output, arguments.model, arguments.items)
    model = load_whole(arguments.model)
    if isinstance(model, ShardedIndex):
        raise InputError(f"{arguments.model} is a sharded index, which holds no items at hand; give its model, and a table")
    if arguments.items is None and (arguments.label or arguments.id):
        raise InputError("--label and --id name columns of a table of items; give the table after the model")
    found = report(
        model, **_items(arguments, model), title=arguments.title or Path(arguments.model).stem, max_items=arguments.max_items,
        random_state=arguments.random_state,
    )  # fmt: skip
    found.write_html(arguments.output)
    n, size = (found.page["items"] or {"n": 0})["n"], Path(arguments.output).stat().st_size
    values = {"output": arguments.output, "n_items": n, "bytes": size, "computes": found.page["whyNot"] == ""}
    why_not = f"\n{found.page['whyNot']}" if found.page["whyNot"] else ""
    return CommandResult(values, f"{found.facts['data']['how_many']}{why_not}\nsaved as {arguments.output}, {size:,} bytes")


def _items(arguments: Namespace, model: Any) -> dict[str, Any]:
    """The table of items as arguments of `report`."""
    if arguments.items is None:
        return {}
    d = distance_of(model)
    table = read_features_of(d, arguments.items, arguments.id, arguments.label)
    tell_unused(arguments, table)
    warn_outside(d, d.schema.encode(table.features), source=table.path)
    names = list(table.ids) if arguments.id else [f"row {row}" for row in table.ids]
    return {"X": table.features, "names": names, "y": _targets(table.labels) if arguments.label else None}


def _targets(labels: Any) -> Any:
    """Classes as text, or as numbers where all are numbers, too many for classes."""
    try:
        numbers = labels.astype(np.float64)
    except ValueError:
        return labels
    return numbers if len(np.unique(numbers)) > MOST_CLASSES else labels
