"""What is known of how good a distance is: its axioms, what was compared, how it was solved, and errors on measured pairs."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
import sklearn

from .._foundation.arrays import is_missing
from .._foundation.names import package_version
from ..distances.learning.errors import DistanceErrors, relative_errors
from ..distances.learning.search import Candidate, Choices
from ..distances.model.semimetric import Semimetric
from ..distances.solvers.base import Solution
from .subjects import MeasuredPairs
from .votes import vote_facts

_MOST_COLUMNS = 60  # of items that break the triangle inequality


def axiom_facts(d: Semimetric, random_state: int | None) -> dict[str, Any]:
    """Which axioms hold, how each was proved, and three items that break the triangle inequality, if any were found."""
    report = d.certify(random_state=random_state)
    proofs = [
        {"axiom": name.replace("_", " "), "holds": bool(getattr(report.axioms, name)), "proof": proof}
        for name, proof in report.proofs.items()
    ]
    triple = None
    if report.triple is not None and report.excess > 0:
        told = d.schema.told(report.triple)[:, :_MOST_COLUMNS].T
        triple = [[name, *map(_told, row)] for name, row in zip(d.feature_names, told.tolist(), strict=False)]
    return {
        "name": report.axioms.name, "proofs": proofs, "triangle": report.triangle, "triple": triple,
        "excess": report.excess,
    }  # fmt: skip


def _told(value: Any) -> str:
    if is_missing(value):
        return "(missing)"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def evidence_facts(model: Any) -> list[dict[str, Any]]:
    """Tables of what a fitted model knows of itself, each with a title, a head, rows and notes."""
    return list(_evidence(model))


def _evidence(model: Any) -> Iterator[dict[str, Any]]:
    if hasattr(model, "get_params"):
        learner = getattr(model, "learner_", None)
        shown = {"model": model, "learner": learner, "votes": getattr(model, "vote_rule_", None)}
        yield _table("Model", [], [[name, " ".join(str(of).split())] for name, of in shown.items() if of is not None])
    source = getattr(model, "learner_", model)
    for name, of in (("link_choices_", " for the link"), ("choices_", ""), ("group_choices_", " for groups")):
        title = f"What was compared{of}"
        if choices := getattr(source, name, None):
            yield _choices(choices, title)
    if (votes := vote_facts(model)) is not None:
        yield votes
    solution = getattr(source, "solution_", None)
    if isinstance(solution, Solution):
        yield _solution(solution)
    error = getattr(source, "error_", None)
    if isinstance(error, DistanceErrors):
        yield _errors(error)


def _table(title: str, head: list[str], rows: list[list[Any]], notes: list[str] | None = None) -> dict[str, Any]:
    return {"title": title, "head": head, "rows": rows, "notes": notes or []}


def _choices(choices: Choices, title: str) -> dict[str, Any]:
    """The candidates with their losses, a row each, and what to expect of the one that was taken."""
    chosen = choices.chosen
    rows = [[_setting(c, choices), c.settings["alpha"], c.loss, "taken" if c is chosen else ""] for c in choices]
    notes = [f"{choices.measure}, mean of {len(chosen.losses)} folds."]
    if choices.cost is not None:
        notes.append(f"Scored on {choices.cost.sample}: {choices.cost.fits}.")
    if choices.expected_losses:
        expected = f"{choices.expected_loss:.3g} ± {choices.standard_error:.2g}"
        notes.append(f"Expect {expected} of new data: chosen by two thirds of the folds, scored by the rest.")
    return _table(title, ["setting", "alpha", "loss", ""], rows, notes)


def _setting(candidate: Candidate, choices: Choices) -> str:
    """The settings of a candidate beside alpha, in words."""
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
    return _table(
        "Solution of the convex program", [], rows, ["A perfect solver could lower the objective by the gap, at most."]
    )


def _errors(error: DistanceErrors) -> dict[str, Any]:
    if not error.n_pairs:
        return _table("Error on items that were not learned from", [], [], [f"It is not known: {error.note}."])
    figures = {
        "median relative error": error.median, "mean relative error": error.mean,
        "90 % of the pairs are below": error.quantile_90,
        "R²": error.r2, "rank correlation": error.rank_correlation, "recall of the 10 nearest": error.recall,
    }  # fmt: skip
    rows: list[list[Any]] = [[name, float(value)] for name, value in figures.items() if np.isfinite(value)]
    note = f"On {error.n_pairs:,} pairs of {error.n_items:,} items: {error.note}."
    return _table("Error on items that were not learned from", [], rows, [note])


def _finite(value: float) -> float | str:
    return float(value) if np.isfinite(value) else "unknown"


def pair_facts(pairs: MeasuredPairs, n_shown: int) -> dict[str, Any]:
    """Errors on pairs with measured distances; None for what is not defined of them."""
    measured, learned = pairs.measured, pairs.learned
    with np.errstate(over="ignore"):
        relative = relative_errors(measured, learned)
    median = float(np.median(relative)) if len(relative) else np.nan
    largest = [np.abs(side).max(initial=0.0) or 1.0 for side in (measured, learned)]
    unit = max(largest)  # sums and squares in such units neither overflow nor vanish
    scaled = measured / largest[0], learned / largest[1]
    varies = len(measured) > 1 and all(np.ptp(side) > 0 for side in scaled)
    return {
        "n": len(measured), "shown": n_shown,
        "median_relative_error": median if np.isfinite(median) else None,
        "mean_absolute_error": float(unit * np.abs(learned / unit - measured / unit).mean()),
        "correlation": float(np.corrcoef(*scaled)[0, 1]) if varies else None,
    }  # fmt: skip


def versions() -> dict[str, str]:
    """The versions with which a report is made."""
    return {
        "semimetric": package_version(), "Python": platform.python_version(), "NumPy": np.__version__,
        "SciPy": scipy.__version__, "scikit-learn": sklearn.__version__,
    }  # fmt: skip
