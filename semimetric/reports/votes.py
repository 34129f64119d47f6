"""What a report says of votes: the rule by which a page counts them, and how often they were right on items held out."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._foundation.types import Floats
from ..distances.estimators.votes import fitted_items
from ..distances.search.votes import HeldOutNeighbors, VoteRule
from .subjects import ReportItems

_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)  # of the shares of votes between which items are counted together
_LEAST = 1e-6  # the share of the true class in a logarithm


def vote_rule_of_page(model: Any, shown: ReportItems | None, items: ReportItems | None) -> dict[str, Any] | None:
    """The rule of a classifier or regressor by neighbours, if the items of the page are all that vote, and count alike.

    It is None if the items were given or sampled, or if items or classes have weights: the page would vote otherwise than the
    model.
    """
    rule, kept = getattr(model, "vote_rule_", None), fitted_items(model)
    if not isinstance(rule, VoteRule) or kept is None or shown is None or items is None or shown.targets is None:
        return None
    is_own = len(shown) == len(kept.targets) and items.are_own
    if not is_own or kept.has_weights or kept.has_class_weights:
        return None
    return {
        "neighbors": rule.n_neighbors, "weights": rule.weights, "bandwidth": rule.bandwidth,
        "bandwidthNeighbor": rule.bandwidth_neighbor, "smoothing": rule.smoothing, "average": rule.average, "said": str(rule),
    }  # fmt: skip


def vote_facts(model: Any) -> dict[str, Any] | None:
    """How often votes were right on the items that were held out when the distance was chosen; None where none are kept.

    A row counts the items whose most voted class has a share of votes between two numbers: that share, the mean over the items,
    should be about the share of them that are right.
    """
    rule, of_items = getattr(model, "vote_rule_", None), fitted_items(model)
    if not isinstance(rule, VoteRule) or of_items is None or of_items.has_class_weights:
        return None
    kept: list[HeldOutNeighbors] = getattr(model.learner_, "held_out_neighbors_", None) or []
    parts = [part for part in kept if part.class_shares is not None and part.class_weight is None]
    if not parts:
        return None
    found = [_judged(rule, part) for part in parts]
    share, right, own, weight = (np.concatenate(each) for each in zip(*found, strict=True))
    rows, apart = share_rows(share, right, weight)
    error = 1.0 - np.average(right, weights=weight)
    log_loss = -np.average(np.log(np.maximum(own, _LEAST)), weights=weight)
    notes = [
        f"{rule}: {error:.2%} of the items are given another class, and the log loss is {log_loss:.3f}.",
        f"Shares and what is right differ by {apart:.2%} on average (expected calibration error).",
        "The items were not learned from, but the distance and the votes were chosen by them: expect slightly more on others.",
    ]
    return {
        "title": "Votes on items held out", "head": ["share of the votes", "items", "mean share", "right"],
        "rows": rows, "notes": notes,
    }  # fmt: skip


def share_rows(share: Floats, right: Floats, weight: Floats) -> tuple[list[list[Any]], float]:
    """Rows that count items by the share of votes, or the probability, of what is said: number, mean share, how often right.

    The second result is the mean difference of the last two over the items, the expected calibration error.
    """
    bins = np.clip(np.searchsorted(_EDGES, share, side="left") - 1, 0, len(_EDGES) - 2)
    rows: list[list[Any]] = []
    apart = 0.0
    for b in np.unique(bins):
        of = bins == b
        told = [float(np.average(values[of], weights=weight[of])) for values in (share, right)]
        rows.append([f"{_EDGES[b]:.0%} to {_EDGES[b + 1]:.0%}", int(of.sum()), *told])
        apart += float(weight[of].sum()) * abs(told[0] - told[1])
    return rows, apart / float(weight.sum())


def _judged(rule: VoteRule, part: HeldOutNeighbors) -> tuple[Floats, Floats, Floats, Floats]:
    """Of every item with a weight: the share of the most voted class, whether it is right, the share of its own, its weight."""
    assert part.class_shares is not None
    shares = rule.probabilities(part.distances, part.neighbor_targets, part.class_shares, part.neighbor_weight)
    chosen = shares.argmax(axis=1)
    used = part.weight > 0
    rows = np.arange(len(chosen))
    right = (chosen == part.targets).astype(np.float64)
    return shares[rows, chosen][used], right[used], shares[rows, part.targets][used], part.weight[used]
