"""Facts of a report: axioms, choices, errors, votes and columns, and the tables from which a page computes distances."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from .._foundation.arrays import is_missing
from .._foundation.names import package_version
from .._foundation.text import cell_text, number_text
from .._foundation.types import Floats
from ..data.grid import Grid
from ..data.schema import Feature, Schema
from ..data.times import SCALE
from ..distances.estimators.votes import fitted_items
from ..distances.features.linear_directions import Directions, with_directions
from ..distances.learning.errors import DistanceErrors, pair_errors
from ..distances.learning.search import Candidate, Choices
from ..distances.model.explanations import part_of
from ..distances.model.semimetric import Semimetric
from ..distances.pairs.base import PairMap
from ..distances.pairs.full_tables import PairEmbedding
from ..distances.pairs.monotone_scales import WarpedEmbedding
from ..distances.pairs.scales_and_tables import MixedEmbedding
from ..distances.search.votes import HeldOutNeighbors, VoteRule
from ..distances.solvers.base import Solution
from .subjects import MeasuredPairs, ReportItems, fact_table, packed

_MOST_COLUMNS = 60  # of items that break the triangle inequality


def axiom_facts(d: Semimetric, random_state: int | None) -> dict[str, Any]:
    """Return axioms with their proofs, and three items that break the triangle inequality, if any were found."""
    report = d.certify(random_state=random_state)
    proofs = [
        {"axiom": name.replace("_", " "), "holds": bool(getattr(report.axioms, name)), "proof": proof}
        for name, proof in report.proofs.items()
    ]
    triple = None
    if report.triple is not None and report.excess > 0:
        shown = d.schema.display(report.triple)[:, :_MOST_COLUMNS].T
        triple = [[name, *map(_cell, row)] for name, row in zip(d.feature_names, shown.tolist(), strict=False)]
    return {
        "name": report.axioms.name, "proofs": proofs, "triangle": report.triangle, "triple": triple,
        "excess": report.excess,
    }  # fmt: skip


def _cell(value: Any) -> str:
    is_number = isinstance(value, float) and not is_missing(value)
    return number_text(value, 6) if is_number else cell_text(value)


def evidence_facts(model: Any) -> Iterator[dict[str, Any]]:
    """Yield tables of what a fitted model knows of itself."""
    if hasattr(model, "get_params"):
        learner = getattr(model, "learner_", None)
        shown = {"model": model, "learner": learner}
        shown |= {"votes": getattr(model, "vote_rule_", None), "machine": getattr(model, "machine_", None)}
        yield fact_table("Model", [], [[name, " ".join(str(of).split())] for name, of in shown.items() if of is not None])
    source = getattr(model, "learner_", model)
    compared = {
        "table_choices_": " for tables",
        "link_choices_": " for the link",
        "choices_": "",
        "group_choices_": " for groups",
    }
    for name, of in compared.items():
        title = f"What was compared{of}"
        for held in dict.fromkeys((source, model)):
            if choices := getattr(held, name, None):
                yield _choices(choices, title)
    if (votes := vote_facts(model)) is not None:
        yield votes
    solution = getattr(source, "solution_", None)
    if isinstance(solution, Solution):
        yield _solution(solution)
    error = getattr(source, "error_", None)
    if isinstance(error, DistanceErrors):
        yield _errors(error)


def _choices(choices: Choices, title: str) -> dict[str, Any]:
    chosen = choices.chosen
    rows = [[_setting(c, choices), c.settings["alpha"], c.loss, "taken" if c is chosen else ""] for c in choices]
    notes = [f"{choices.measure}, mean of {len(chosen.losses)} folds."]
    if choices.cost is not None:
        notes.append(f"Scored on {choices.cost.sample}: {choices.cost.fits}.")
    if choices.expected_losses:
        expected = f"{choices.expected_loss:.3g} ± {choices.standard_error:.2g}"
        notes.append(f"Expect {expected} of new data: chosen by two thirds of the folds, scored by the rest.")
    return fact_table(title, ["setting", "alpha", "loss", ""], rows, *notes)


def _setting(candidate: Candidate, choices: Choices) -> str:
    if choices.names:
        joint = [" * ".join(choices.names[f] for f in group) for group in candidate.settings["groups"]]
        return ", ".join(joint) or "single features"
    words = {"tables": "tables", "directions": "directions", "n_knots": "knots", "link": "exponent",
             "base_exponents": "of base distances"}  # fmt: skip
    settings = {word: candidate.settings.get(name) for name, word in words.items()}
    return ", ".join(f"{word} {value}" for word, value in settings.items() if value not in (None, ()))


def _solution(solution: Solution) -> dict[str, Any]:
    rows: list[list[Any]] = [
        ["solver", solution.solver], ["status", solution.status.value], ["objective", float(solution.objective)],
        ["certified gap", _finite(solution.gap)], ["gap / objective", _finite(solution.relative_gap)],
        ["iterations", int(solution.n_iter)],
    ]  # fmt: skip
    return fact_table(
        "Solution of the convex program", [], rows, "A perfect solver could lower the objective by the gap, at most."
    )


def _errors(error: DistanceErrors) -> dict[str, Any]:
    if not error.n_pairs:
        return fact_table("Error on items that were not learned from", [], [], f"It is not known: {error.note}.")
    figures = {
        "median relative error": error.median, "mean relative error": error.mean,
        "90 % of the pairs are below": error.quantile_90,
        "R²": error.r2, "rank correlation": error.rank_correlation, "recall of the 10 nearest": error.recall,
    }  # fmt: skip
    rows: list[list[Any]] = [[name, float(value)] for name, value in figures.items() if np.isfinite(value)]
    note = f"On {error.n_pairs:,} pairs of {error.n_items:,} items: {error.note}."
    return fact_table("Error on items that were not learned from", [], rows, note)


def _finite(value: float) -> float | str:
    return float(value) if np.isfinite(value) else "unknown"


def pair_facts(pairs: MeasuredPairs, n_shown: int) -> dict[str, Any]:
    """Return errors on pairs with measured distances; None for figures that are not defined."""
    median, mean, correlation = pair_errors(pairs.measured, pairs.learned)
    return {
        "n": len(pairs.measured), "shown": n_shown,
        "median_relative_error": median, "mean_absolute_error": mean, "correlation": correlation,
    }  # fmt: skip


def versions() -> dict[str, str]:
    """Return the versions with which a report is made."""
    return {
        "semimetric": package_version(), "Python": platform.python_version(), "NumPy": np.__version__,
        "SciPy": scipy.__version__, "scikit-learn": sklearn.__version__,
    }  # fmt: skip


_LEAST = 1e-6  # the share of the true class in a logarithm
_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)  # of the shares of votes between which items are counted together


def vote_rule_of_page(model: Any, shown: ReportItems | None, items: ReportItems | None) -> dict[str, Any] | None:
    """Return how neighbors vote; None unless the items of the page are all that vote, and count alike."""
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
    """Return how often held-out votes were right, in bins of the most voted class's share; None where none are stored."""
    rule, of_items = getattr(model, "vote_rule_", None), fitted_items(model)
    if not isinstance(rule, VoteRule) or of_items is None or of_items.has_class_weights:
        return None
    kept: list[HeldOutNeighbors] = getattr(model.learner_, "held_out_neighbors_", None) or []
    parts = [part for part in kept if part.class_shares is not None and part.class_weight is None]
    if not parts:
        return None
    found = [_voted(rule, part) for part in parts]
    share, right, own, weight = (np.concatenate(each) for each in zip(*found, strict=True))
    rows, apart = share_rows(share, right, weight)
    error = 1.0 - np.average(right, weights=weight)
    log_loss = -np.average(np.log(np.maximum(own, _LEAST)), weights=weight)
    notes = [
        f"{rule}: {error:.2%} of the items are given another class, and the log loss is {log_loss:.3f}.",
        f"Shares and what is right differ by {apart:.2%} on average (expected calibration error).",
        "The items were not learned from, but the distance and the votes were chosen by them: expect slightly more on others.",
    ]
    return fact_table("Votes on items held out", ["share of the votes", "items", "mean share", "right"], rows, *notes)


def share_rows(share: Floats, right: Floats, weight: Floats) -> tuple[list[list[Any]], float]:
    """Return rows of bins (number, mean share, how often right), and the expected calibration error."""
    bins = np.clip(np.searchsorted(_EDGES, share, side="left") - 1, 0, len(_EDGES) - 2)
    rows: list[list[Any]] = []
    apart = 0.0
    for b in np.unique(bins):
        of = bins == b
        means = [float(np.average(values[of], weights=weight[of])) for values in (share, right)]
        rows.append([f"{_EDGES[b]:.0%} to {_EDGES[b + 1]:.0%}", int(of.sum()), *means])
        apart += float(weight[of].sum()) * abs(means[0] - means[1])
    return rows, apart / float(weight.sum())


def _voted(rule: VoteRule, part: HeldOutNeighbors) -> tuple[Floats, Floats, Floats, Floats]:
    """Return, for items with a weight: share of the most voted class, 1.0 if it is right, share of the true class, weight."""
    assert part.class_shares is not None
    shares = rule.probabilities(part.distances, part.neighbor_targets, part.class_shares, part.neighbor_weight)
    chosen = shares.argmax(axis=1)
    used = part.weight > 0
    rows = np.arange(len(chosen))
    right = (chosen == part.targets).astype(np.float64)
    return shares[rows, chosen][used], right[used], shares[rows, part.targets][used], part.weight[used]


_BINS = 28  # of a histogram
_MOST_ROWS = 50_000  # items that are counted for histograms
_MOST_ORDERED = 300  # categories that are put in order of likeness
_MOST_NAMED = 12  # categories that a row names


def embedded(d: Semimetric, items: ReportItems | None, rng: np.random.Generator) -> Floats | None:
    """Return the raw features of items, or of a sample of many, followed by directions and leaves."""
    if items is None:
        return None
    values = items.values
    if len(values) > _MOST_ROWS:
        values = values[np.sort(rng.choice(len(values), _MOST_ROWS, replace=False))]
    return with_directions(d.directions, values)


def columns_of_distance(d: Semimetric) -> list[dict[str, Any]]:
    """Return names and kinds of the embedded columns; "made" are directions and trees. Categories stand by their codes."""
    schema = d.schema if d.directions is None else d.directions.extended(d.schema)
    out = columns_of_schema(schema, d.columns, d.embedding.grid)
    for f, order in _orders(d).items():
        out[f]["order"] = order
    for f in range(d.n_features, len(out)):
        out[f] |= {"made": True, "tree": schema.features[f].kind == "categorical"}
        if out[f]["tree"]:
            out[f]["categories"] = [f"leaf {c}" for c in schema.features[f].categories]
    return out


def columns_of_schema(schema: Schema, names: Sequence[str], grid: Grid) -> list[dict[str, Any]]:
    """Return names and kinds of columns. Categories stand by their codes."""
    out = []
    for feature, name, missing in zip(schema.features, names, grid.missing, strict=True):
        column: dict[str, Any] = {"name": name, "kind": feature.kind, "missing": bool(missing)}
        if feature.kind == "categorical":
            column |= {"categories": [str(c) for c in feature.categories], "other": feature.unseen_name}
        if feature.kind == "periodic":
            column["period"] = feature.period
        if feature.time:
            column |= {"time": feature.time, "zone": feature.zone}
        out.append(column)
    return out


def _orders(d: Semimetric) -> dict[int, list[int]]:
    """Return, by the number of the feature, codes of categories in an order in which near ones stand together."""
    orders: dict[int, list[int]] = {}
    if not d.embedding.symmetric or not d.embedding.holds_tables or not d.embedding.whole:
        return orders
    for table in d.embedding.tables(d.weights):
        f = table.features[0]
        if len(table.features) > 1 or d.embedding.grid.kinds[f] != "categorical":
            continue
        n = len(table.knots[0]) - (1 + bool(d.embedding.grid.missing[f]))  # without new categories and missing values
        values = table.values[:n, :n]
        if 2 < n <= _MOST_ORDERED and (values >= 0).all() and np.ptp(values[np.triu_indices(n, 1)]) > 0:
            tree = linkage(squareform(values, checks=False), "average", optimal_ordering=True)
            orders[f] = [*leaves_list(tree).tolist(), n]
    return orders


def middles_of(grid: Grid, found: Floats | None) -> Floats:
    """Return a first value of every embedded column: the median or the most frequent one, else the middle of the range."""
    middles = np.where(np.array(grid.kinds) == "categorical", 0.0, grid.low / 2 + grid.high / 2)
    if found is None:
        return middles
    for f in range(len(middles)):
        column = found[~np.isnan(found[:, f]), f]
        if len(column):
            middle = np.bincount(column.astype(np.int64)).argmax() if grid.kinds[f] == "categorical" else np.median(column)
            middles[f] = np.clip(middle, grid.low[f], grid.high[f]) if grid.kinds[f] == "numeric" else middle
    return middles


def counts_of_page(grid: Grid, found: Floats | None) -> list[Any]:
    """Count items in each embedded column: in bins of its range or in categories, and missing ones."""
    if found is None:
        return [None] * grid.n_features
    return [_counts(found[:, f], grid.kinds[f], grid.low[f], grid.high[f]) for f in range(grid.n_features)]


def _counts(column: Floats, kind: str, low: float, high: float) -> dict[str, Any]:
    there = column[~np.isnan(column)]
    if kind == "categorical":
        bins = np.bincount(there.astype(np.int64), minlength=int(high) + 1)
    else:
        if kind == "periodic":
            there = low + np.mod(there - low, high - low)
        place = (there - low) / ((high - low) or 1.0)
        inside = place[(place >= 0.0) & (place <= 1.0)]
        bins = np.bincount(np.minimum((inside * _BINS).astype(np.int64), _BINS - 1), minlength=_BINS)
    return {"bins": bins.tolist(), "missing": int(np.isnan(column).sum())}


def column_rows(
    schema: Schema, grid: Grid, items: ReportItems | None, outside: NDArray[np.bool_] | None
) -> list[dict[str, Any]]:
    """Return for each raw column its kind, its range in the fit, the extent of the items and how many are ``outside``."""
    rows = []
    for f, feature in enumerate(schema.features):
        row: dict[str, Any] = {
            "name": feature.name, "kind": _kind(feature), "range": _range(feature, grid, f), "knots": int(grid.counts[f]),
        }  # fmt: skip
        if items is not None:
            column = items.values[:, f]
            n_outside = None if outside is None else int(outside[:, f].sum())
            row |= _extent(feature, column) | {"n_missing": int(np.isnan(column).sum()), "n_outside": n_outside}
        rows.append(row)
    return rows


def _kind(feature: Feature) -> str:
    what = {"numeric": "number", "periodic": "angle", "categorical": "category"}[feature.kind]
    if feature.time:
        what = "time" if feature.time == SCALE else f"time in the {feature.time}"
    if feature.truth:
        what = "yes or no"
    return what + ", or missing" * feature.missing


def _range(feature: Feature, grid: Grid, f: int) -> str:
    if feature.kind == "categorical":
        names = [str(c) for c in feature.categories]
        more = f", … ({len(names)} in all)" if len(names) > _MOST_NAMED else ""
        return ", ".join(names[:_MOST_NAMED]) + more
    if feature.kind == "periodic":
        return f"period {feature.period:g}"
    low, high = (_limit(feature, value) for value in (grid.low[f], grid.high[f]))
    return f"{low} to {high}"


def _limit(feature: Feature, value: float) -> str:
    return cell_text(Schema((feature,)).display(np.array([[value]]))[0, 0])


def _extent(feature: Feature, column: NDArray[Any]) -> dict[str, Any]:
    there = column[~np.isnan(column)]
    if feature.kind != "numeric" or not len(there):
        return dict.fromkeys(("least", "median", "largest"))
    found = [float(there.min()), float(np.median(there)), float(there.max())]
    shown = [_limit(feature, value) for value in found] if feature.time or feature.truth else found
    return dict(zip(("least", "median", "largest"), shown, strict=True))


MOST_NUMBERS = 250_000
"""The numbers of a distance that a page holds, 2.7 MB of base64; of a larger one only results of Python are shown."""

_KINDS = (PairEmbedding, WarpedEmbedding, MixedEmbedding)


def _why_not(d: Semimetric) -> str:
    """Return a sentence that says why the tables of a distance are not in the page; "" if they are."""
    if not isinstance(d.embedding, _KINDS):
        return f"Its embedding is a {type(d.embedding).__name__}, which this page cannot compute."
    if isinstance(d.embedding, PairEmbedding) and not all(v.fits or not v.whole for v in d.embedding.vertices):
        return "A table of it is too large to be held whole."
    n = sum(len(values) for _, values in _parts(*d.embedding.expanded(d.weights)))  # many equal weights are one number
    n += d.epsilon.size + d.embedding.grid.flat.size
    if d.directions is not None:
        n += d.directions.matrix.size
        n += 0 if d.directions.partitions is None else 4 * len(d.directions.partitions.feature)
    if n > MOST_NUMBERS:
        return f"It consists of {n:,} numbers, and a page holds {MOST_NUMBERS:,}."
    return ""


def distance_tables(d: Semimetric) -> tuple[dict[str, Any] | None, str]:
    """Return the distance as values of JSON, without base distances, and ""; or None, and why it is not in the page."""
    if why_not := _why_not(d):
        return None, why_not
    grid = d.embedding.grid
    embedding, weights = d.embedding.expanded(d.weights)
    parts, numbers = [], [np.empty(0)]
    start = 0
    for part, values in _parts(embedding, weights):
        parts.append(part | {"start": start, "count": len(values)})
        numbers.append(values)
        start += len(values)
    exponent, bends, slopes = d.link_function.parts
    tables = {
        "raw": d.n_features, "link": {"exponent": exponent, "bends": bends.tolist(), "slopes": slopes.tolist()},
        "kinds": list(grid.kinds), "missing": list(grid.missing),
        "counts": grid.counts.tolist(), "knots": packed(grid.flat), "epsilon": packed(d.epsilon),
        "parts": parts, "numbers": packed(np.concatenate(numbers)), "directions": _directions(d.directions),
    }  # fmt: skip
    return tables, ""


def _parts(embedding: PairMap, weights: Floats) -> Iterator[tuple[dict[str, Any], Floats]]:
    """Yield for each group of features its description and the numbers of its table or scale."""
    for g, group in enumerate(embedding.groups):
        part, w = part_of(embedding, weights, np.array([g]))
        sizes = [int(embedding.grid.sizes[f]) for f in group]
        shown: dict[str, Any] = {"features": list(group), "sizes": sizes, "points": math.prod(sizes)}
        shown["swap"] = getattr(part, "symmetry", "") == "swap"
        if isinstance(part, WarpedEmbedding) and not part.has_gaps:
            yield shown | {"shape": "scale"}, np.append(0.0, np.cumsum(w))
        elif isinstance(part, PairEmbedding) and not part.vertices[0].whole:
            yield _touched(part, shown), w
        else:
            shape, values = _smallest(part.tables(w)[0].values)
            yield shown | {"shape": shape}, values


def _touched(part: PairEmbedding, shown: dict[str, Any]) -> dict[str, Any]:
    """Return a table in which only vertices that pairs touched have weights; JavaScript gives the others those of an L1."""
    vertices = part.vertices[0]
    a, b = np.divmod(vertices.keys, vertices.n_points)
    slopes = np.zeros(part.grid.n_features) if part.unseen_slopes is None else part.unseen_slopes
    place = {f: k for k, f in enumerate(np.unique(shown["features"]).tolist())}  # `part` has the features of the group alone
    return shown | {
        "shape": "sparse", "a": packed(a.astype(np.float64)), "b": packed(b.astype(np.float64)),
        "seams": list(vertices.seams or (0,) * len(vertices.sizes)), "tied": vertices.tied,
        "zeroDiagonal": vertices.zero_diagonal, "byDifference": vertices.by_difference, "oneWeight": vertices.one_weight,
        "slopes": [float(slopes[place[f]]) for f in shown["features"]],
    }  # fmt: skip


def _smallest(table: Floats) -> tuple[str, Floats]:
    """Return a table as few numbers: one for all pairs, those above the diagonal, or all."""
    upper = table[np.triu_indices(len(table), 1)]
    if not np.array_equal(table, table.T) or np.diag(table).any():
        return "full", table.ravel()
    if len(upper) and (upper == upper[0]).all():
        return "one", upper[:1]
    return "upper", upper


def _directions(directions: Directions | None) -> dict[str, Any] | None:
    if directions is None:
        return None
    values: dict[str, Any] = {"linear": directions.n_linear, "matrix": packed(directions.matrix.ravel())}
    if directions.bends:
        values["bends"] = packed(np.concatenate(directions.bends))
        values["bendCounts"] = [len(b) for b in directions.bends]
    trees = directions.partitions
    if trees is not None:
        values["trees"] = {
            "start": packed(trees.start), "feature": packed(trees.feature), "threshold": packed(trees.threshold),
            "children": packed(trees.children.ravel()), "missingLeft": packed(trees.missing_left), "leaf": packed(trees.leaf),
        }  # fmt: skip
    return values
