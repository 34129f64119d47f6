"""Tables of errors, comparisons and ranks from the rows of `knn_accuracy.py`."""

from collections import defaultdict

import numpy as np
from accuracy_peers import FLOOR, LEARNED
from rank_statistics import ROPE, bayesian_signed_rank, friedman, nemenyi, ranks, signed_rank, significance
from report import report

NUMBERS = ("error", "log_loss", "processor_seconds")
Results = dict[tuple[str, str], dict[int, dict]]


def gathered(rows: list[dict]) -> Results:
    """Rows by set and method, then by split."""
    found: Results = defaultdict(dict)
    for row in rows:
        found[row["set"], row["method"]][row["split"]] = row
    return dict(found)


def complete(found: Results, name: str, method: str) -> bool:
    """Whether a method has run on a set, and failed on no split of it."""
    rows = found.get((name, method), {})
    return bool(rows) and all(row["error"] is not None for row in rows.values())


def both(found: Results, name: str, ours: str, method: str, what: str = "error") -> tuple[np.ndarray, np.ndarray] | None:
    """A number of two methods on the splits of a set that both have; None if they have none together, or one failed."""
    if not (complete(found, name, ours) and complete(found, name, method)):
        return None
    a, b = found[name, ours], found[name, method]
    splits = [k for k in sorted(a.keys() & b.keys()) if what in a[k] and what in b[k]]
    return (np.array([a[k][what] for k in splits]), np.array([b[k][what] for k in splits])) if splits else None


def names_of(found: Results) -> list[str]:
    return sorted({name for name, _ in found})


def mean(found: Results, name: str, method: str, what: str = "error") -> float | None:
    rows = list(found[name, method].values()) if complete(found, name, method) else []
    return float(np.mean([row[what] for row in rows])) if rows and all(what in row for row in rows) else None


def error_table(found: Results, methods: list[str]) -> list[dict[str, object]]:
    """The mean error of every method on every set, in per cent."""
    table = []
    for name in names_of(found):
        shown = {m: None if (e := mean(found, name, m)) is None else f"{100 * e:.1f}" for m in methods}
        table.append({"set": name, "splits": max(len(found.get((name, m), {})) for m in methods)} | shown)
    return table


def totals(found: Results, methods: list[str]) -> list[dict[str, object]]:
    """What each method sums to over the sets that it has done, and over those that all have done."""
    names, table = names_of(found), []
    common = [n for n in names if all(complete(found, n, m) for m in methods)]
    for method in methods:
        done = [n for n in names if complete(found, n, method)]
        failed = [n for n in names if (n, method) in found and n not in done]
        errors, losses, seconds = ([mean(found, n, method, w) for n in done] for w in NUMBERS)
        row: dict[str, object] = {"method": method, "sets": len(done), "failed on": len(failed)}
        row |= {"summed error": 100 * float(np.sum(errors)), "splits": splits_of(found, method)}
        row[f"on the {len(common)} of all"] = 100 * float(np.sum([mean(found, n, method) for n in common]))
        row["summed log loss"] = None if None in losses else float(np.sum(losses))
        row |= {"processor s, sum": float(np.sum(seconds)), "largest": float(max(seconds, default=0))}
        table.append(row)
    return table


def splits_of(found: Results, method: str) -> str:
    """The fewest and the most splits that a method has of a set."""
    counts = [len(rows) for (_, m), rows in found.items() if m == method] or [0]
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def failures(found: Results, methods: list[str]) -> list[dict[str, object]]:
    """Every set that a method failed on, with the reason."""
    rows = [row for (_, m), splits in sorted(found.items()) if m in methods for row in splits.values()]
    return [{name: row[name] for name in ("set", "method", "split", "failed")} for row in rows if row["error"] is None]


def against(found: Results, methods: list[str], ours: str = "semimetric") -> list[dict[str, object]]:
    """Ours against every other method, on the sets and splits that both have."""
    table: list[dict[str, object]] = []
    for method in methods:
        pairs = [p for n in names_of(found) if (p := both(found, n, ours, method)) is not None]
        if method == ours or not pairs:
            continue
        a, b = (np.array([pair[k].mean() for pair in pairs]) for k in (0, 1))
        difference = np.round(a - b, 12)
        wins, draws, losses = (int(part.sum()) for part in (difference < 0, difference == 0, difference > 0))
        probabilities = ", ".join(f"{p:.2f}" for p in bayesian_signed_rank(a, b))
        worse = sum(significance(*pair) < 0.05 for pair in pairs)
        logs = [p for n in names_of(found) if (p := both(found, n, ours, method, "log_loss")) is not None]
        table.append(
            {
                "against": method, "sets": len(pairs), "summed error": 100 * float(a.sum()), "its": 100 * float(b.sum()),
                "won": wins, "drawn": draws, "lost": losses, "lower on": f"{100 * wins / len(pairs):.0f} %",
                "significantly worse on": worse, "Wilcoxon p": signed_rank(a, b), "P(lower, rope, higher)": probabilities,
                "log loss lower on": f"{sum(x.mean() < y.mean() for x, y in logs)} of {len(logs)}" if logs else None,
            }
        )  # fmt: skip
    return table


def rank_table(found: Results, methods: list[str], what: str = "error") -> tuple[list[dict[str, object]], str]:
    """Mean ranks, lowest first, and what Friedman's and Nemenyi's tests say, over the sets that every method was run on."""
    names = [n for n in names_of(found) if all((n, m) in found for m in methods)]
    if len(methods) < 2 or not names:
        return [], ""
    values = np.array([[np.inf if (e := mean(found, n, m, what)) is None else e for m in methods] for n in names])
    statistic, p = friedman(values)
    means, lowest = ranks(values).mean(0), (values == values.min(1, keepdims=True)).sum(0)
    order = np.argsort(means, kind="stable")
    rows = [{"method": methods[i], "mean rank": float(means[i]), "lowest on": int(lowest[i])} for i in order]
    test = f"{len(names)} sets; Friedman {statistic:.1f}, p {p:.1e}; critical difference of mean ranks (Nemenyi, 5 %) "
    return rows, test + f"{nemenyi(len(methods), len(names)):.2f}"


def summarize(rows: list[dict], methods: list[str]) -> None:
    """Print all tables."""
    found = gathered(rows)
    methods = [m for m in methods if any(method == m for _, method in found)]
    if not methods:
        print("no results of the sets, methods and splits asked for")
        return
    report("error, % (blank: too slow, failed or not run)", error_table(found, methods))
    report(f"totals (errors in %; log loss with probabilities of at least {FLOOR})", totals(found, methods))
    report("failed", failures(found, methods))
    if "semimetric" in methods:
        report(f"semimetric against each; the rope is {100 * ROPE:g} % of error", against(found, methods))
    with_losses = {row["method"] for row in rows if "log_loss" in row}
    views = [("methods", methods, "error"), ("distances that vote", [m for m in methods if m in LEARNED], "error")]
    for title, some, what in [*views, ("probabilities", [m for m in methods if m in with_losses], "log_loss")]:
        table, test = rank_table(found, some, what)
        if table:
            report(f"mean ranks of {title} by {what.replace('_', ' ')} ({test})", table)
