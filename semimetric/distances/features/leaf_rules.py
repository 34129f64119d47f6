"""The leaves of trees in words: which values the items of a leaf have, such as "age > 40 and pay <= 2.5".

The conditions of one feature are displayed as one: an interval of numbers, or a set of categories. Numbers are displayed to the
last digit, so that a rule holds for the items of its leaf and for no others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...data.schema import Feature, Schema
from ...data.times import SCALE, times_of
from .partitions import OUTERMOST, Partitions, Step


@dataclass
class _Range:
    """The encoded values of a feature that reach a leaf: low < value <= high, and missing ones or not."""

    low: float = -math.inf
    high: float = math.inf
    missing: bool = True

    def narrow(self, step: Step) -> None:
        """Leave out the values that turn the other way at a node."""
        if step.left:
            self.high = min(self.high, step.threshold)
        else:
            self.low = max(self.low, step.threshold)
        self.missing &= step.takes_missing


def leaf_rules(trees: Partitions, tree: int, schema: Schema) -> list[str]:
    """Return the rule of every leaf of a tree, in the order of their numbers; "always" where it parts nothing."""
    return [rule(path, schema) for path in trees.paths(tree)]


def rule(path: list[Step], schema: Schema) -> str:
    """Return the conditions on the way from the root to a node, in the order in which features come first."""
    ranges: dict[int, _Range] = {}
    for step in path:
        ranges.setdefault(step.feature, _Range()).narrow(step)
    conditions = [_condition(schema.features[f], found) for f, found in ranges.items()]
    return " and ".join(filter(None, conditions)) or "always"


def _condition(feature: Feature, found: _Range) -> str:
    name = feature.name
    missing, there = f"{name} is missing", f"{name} is not missing"
    if found.high <= -OUTERMOST or found.low >= OUTERMOST:  # no value is there
        return missing
    values = _categories(feature, found) if feature.kind == "categorical" else _interval(feature, found)
    if not feature.missing:
        return values
    if not values:
        return "" if found.missing else there
    return f"({values} or {missing})" if found.missing else values


def _interval(feature: Feature, found: _Range) -> str:
    low = _number(feature, found.low) if found.low > -OUTERMOST else ""
    high = _number(feature, found.high) if found.high < OUTERMOST else ""
    if low and high:
        return f"{low} < {feature.name} <= {high}"
    return f"{feature.name} > {low}" if low else f"{feature.name} <= {high}" if high else ""


def _number(feature: Feature, value: float) -> str:
    """Return a threshold as a person says it: the shortest number that is it, or a time."""
    if feature.time == SCALE:
        return str(times_of(np.array([value]), feature.zone)[0])
    return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _categories(feature: Feature, found: _Range) -> str:
    """Return the condition on a category; where new categories are allowed, it names those that are not. "" where all are."""
    codes = np.arange(len(feature.categories))
    inside = (codes > found.low) & (codes <= found.high)
    if found.high < len(codes):
        chosen = [c for c, keep in zip(feature.categories, inside, strict=True) if keep]
        return f"{feature.name} in {chosen!r}"
    left_out = [c for c, keep in zip(feature.categories, inside, strict=True) if not keep]
    return f"{feature.name} not in {left_out!r}" if left_out else ""
