"""Write the tables of docs/papers.md from the kept rows of the benchmarks: every cell of a paper beside what is measured here.

    python tools/paper_tables.py            writes docs/papers.md anew
    python tools/paper_tables.py --check    exits with 1 if that would change it; a test calls this

A line ``<!-- table: NAME -->`` is followed by the table of that name; what stands there is replaced up to the next blank line.
A cell shows what was measured here and, in parentheses, the number of the paper. A dash is a cell without a kept row, for which
the text below the table has a reason.
"""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import paper0  # noqa: E402  (the folder of the benchmarks is no package)
import paper1  # noqa: E402
import paper3  # noqa: E402
import paper4  # noqa: E402
from report import RESULTS, kept_rows  # noqa: E402

DOCUMENT = ROOT / "docs" / "papers.md"
NONE = "–"
_TABLE = re.compile(r"(<!-- table: (\S+) -->\n)(?:\|.*\n)*")


def table(names: list[str], lines: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *lines]) + "\n"


def cell(here: float | None, paper: float | None = None, form: str = ".1f") -> str:
    """A number and, in parentheses, that of the paper; a dash where there is none."""
    ours = NONE if here is None else format(here, form)
    return ours if paper is None else f"{ours} ({paper:g})"


def small_sets() -> str:
    """Figure 5 and Table 2 of paper 0: means over the splits that a method has, the best, and what it is not told from."""
    done, lines = paper0.known(RESULTS / "paper0.jsonl"), []
    for name in [*paper0.PAPER, *paper0.FIXED]:
        found = {
            m: [r["accuracy"] for (s, f, _, other), r in done.items() if (s, f, other) == (name, 0, m)] for m in paper0.METHODS
        }
        line = [paper0.PAPER[name][0] if name in paper0.PAPER else paper0.FIXED[name]]
        line += [cell(float(np.mean(found[m])) if found[m] else None) for m in paper0.METHODS]
        counts = sorted({len(found[m]) for m in paper0.TESTED if found[m]})
        line.append((" or ".join(map(str, counts)) or "0") + (" of 100" if name in paper0.PAPER else " of 1"))
        if name in paper0.PAPER:
            complete = [m for m in paper0.TESTED if len(found[m]) == max(counts)]
            (tested,) = paper0.table(done, [name], complete, max(counts))
            line += [" ".join([f"**{tested['best']}**", tested["indistinguishable"]]).strip()]
            line += [f"**{paper0.PAPER[name][1]}** {paper0.PAPER[name][2]}".strip()]
        else:
            line += ["one split, no test"] * 2
        lines.append(line)
    return table(["set", *paper0.METHODS, "splits", "best here, and not told from it", "in the paper"], lines)


def large_sets() -> str:
    """Figure 3 of paper 0 on covtype, which has bars: what was measured here."""
    found = kept_rows("paper0", "paper0 covtype")
    lines = [
        [
            str(r["features"]),
            r["method"],
            f"{r['rows']:,}",
            cell(r["accuracy"]),
            cell(r["fit_s"]),
            cell(r.get("gap"), form=".2f"),
        ]
        for r in sorted(found, key=lambda r: r["features"])
    ]
    return table(["features", "method", "rows", "% right", "fit, s", "gap"], lines)


def irrelevant() -> str:
    """Figure 6 of paper 0."""
    done, lines = paper0.known(RESULTS / "paper0.jsonl"), []
    for name in ("wine", "glass"):
        for method in ("PL2", "PL1", "RBF"):
            means = [paper0.accuracies(done, name, [method], 10, k).mean() for k in (0, 5, 10, 20, 40)]
            lines.append([name, method, *map(cell, means)])
    return table(["set", "method", *(f"{k} features more" for k in (0, 5, 10, 20, 40))], lines)


def machines(part: str, method: str, what: str, task: str = "parity") -> list[float]:
    """A number of all kept fits of a part of `paper1.py` on gradients, of as many training rows as most of its fits have."""
    keys = {tuple(row["key"]): row for row in kept_rows("paper1") if row["features"] == "pyramid" and row["key"][0] == part}
    sizes = Counter(key[3] for key in keys)
    return [row[what] for key, row in keys.items() if key[1:4] == (task, method, max(sizes, key=sizes.__getitem__))]


def one(part: str, method: str, what: str, task: str = "parity") -> float | None:
    """The mean of such a number, or None."""
    found = machines(part, method, what, task)
    return float(np.mean(found)) if found else None


def times_linear(part: str, method: str, task: str = "parity") -> float | None:
    """The mean time of a fit over that of the linear machine in the same part, or None."""
    seconds, linear = (one(part, m, "seconds", task) for m in (method, "linear"))
    return None if seconds is None or linear is None else seconds / linear


def splines() -> str:
    """Table 2 of paper 1."""
    lines = []
    for (n, d), accuracies in paper1.PAPER2_ACCURACY.items():
        line = [str(n), str(d)]
        for r in (0, 1, 2):
            method = f"spline {r} {d} {n}"
            line.append(cell(one("table2", method, "accuracy"), accuracies[r]))
            line.append(cell(times_linear("table2", method), round(paper1.PAPER2[n, d][r] / 3.8, 1)))
        lines.append(line)
    linear, least = (cell(one("table2", m, "accuracy")) for m in ("linear", "min"))
    lines.append(["linear", "", f"{linear} (81.5)", "1 (1)", "", "", "", ""])
    lines.append(["min", "", least, cell(times_linear("table2", "min")), "", "", "", ""])
    names = [name for r in (0, 1, 2) for name in (f"D{r}, % right", f"D{r}, time to linear")]
    return table(["bins", "degree", *names], lines)


def waves() -> str:
    """Table 3 of paper 1."""
    lines = []
    for d in (1, 2, 3, 4):
        line = [str(d)]
        for kind in paper1.PAPER3:
            method = f"{kind} {d}"
            line.append(cell(one("table3", method, "accuracy"), paper1.PAPER3[kind][d - 1]))
            line.append(cell(times_linear("table3", method), round(paper1.PAPER3_SECONDS[kind][d - 1] / 3.8, 1)))
        lines.append(line)
    kinds = ("Fourier, order 1", "Fourier, order 2", "Hermite, order 1", "Hermite, order 2")
    return table(["degree", *(name for kind in kinds for name in (f"{kind}, % right", "time to linear"))], lines)


def pedestrians() -> str:
    """Table 4 of paper 1."""
    lines = []
    for m in paper1.TABLE4:
        scores, (accuracy, seconds) = machines("table4", m, "accuracy"), paper1.PAPER4[m]
        spread = f" ± {np.std(scores, ddof=1):.1f}" if len(scores) > 1 else ""
        shown = f"{np.mean(scores):.1f}{spread} ({accuracy:g})" if scores else f"{NONE} ({accuracy:g})"
        lines.append([m, str(len(scores)), shown, cell(times_linear("table4", m), round(seconds / 3.8, 1))])
    return table(["machine", "splits of 6", "% right", "time to linear"], lines)


def digits() -> str:
    """Table 5 of paper 1."""
    lines = []
    for m in paper1.TABLE5:
        right = one("table5", m, "accuracy", "digits")
        error, seconds = paper1.PAPER5[m]
        time = times_linear("table5", m, "digits")
        lines.append([m, cell(None if right is None else 100 - right, error, ".2f"), cell(time, round(seconds / 62.0, 1))])
    return table(["machine", "% wrong", "time to linear"], lines)


def disc() -> str:
    """Figure 3 of paper 1."""
    return table(["machine", "% right"], [[m, cell(one("toy", m, "accuracy", "disc"))] for m in paper1.TOY])


def merged_search() -> str:
    """Section 3 of paper 2: milliseconds of the processor for a query."""
    found: dict[tuple[str, int], dict[str, dict]] = defaultdict(dict)
    for row in kept_rows("joint_search"):
        found[row["groups"], row["points"]][row["engine"].removeprefix("brute force, ")] = row
    engines = ["exact", "rows of tables", "merge of every pair", "every pair anew"]
    lines = [
        [groups, f"{n:,}", *(cell(by[e]["processor_ms"] if e in by else None, form=",.1f") for e in engines)]
        for (groups, n), by in sorted(found.items(), key=lambda item: item[0][1])
    ]
    names = ["groups", "items", "exact index", "brute force by rows of tables", "by merging", "every pair anew (naive)"]
    return table(names, lines)


def planes() -> str:
    """Table 1 of paper 3: accuracies of its own model, of others, and shares of points."""
    found: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for row in kept_rows("paper3", "paper3 table 1"):
        found[row["set"], row["method"]].append(row)

    def mean(name: str, method: str, what: str = "accuracy") -> float | None:
        values = [row[what] for row in found[name, method] if what in row]
        return float(np.mean(values)) if values else None

    share = {"australian": (62.61, 91.88), "diabetes": (71.74, 85.94), "heart": (69.63, 96.67), "liver": (72.46, 98.84)}
    lines = []
    for name in paper3.SETS:
        dplm, svm = paper3.PAPER[name]
        points, vectors = share.get(name, (20.67, 96.67))
        lines.append(
            [
                name,
                *(cell(mean(name, m), dplm) for m in paper3.READINGS),
                cell(mean(name, "dplm")),
                cell(mean(name, "rbf"), svm),
                *(cell(mean(name, m)) for m in ("linear svm", "1-NN")),
                cell(mean(name, "dplm", "boundary"), points),
                cell(mean(name, "rbf", "support"), vectors),
                ", ".join(str(len(found[name, m])) for m in (*paper3.READINGS, "rbf")),
            ]
        )
    names = [
        "set",
        "planes, eq 26 as precision",
        "planes, eq 26 as printed",
        "default",
        "RBF",
        "linear",
    ]
    return table([*names, "1-NN", "boundary points, %", "support vectors, %", "seeds of columns 2, 3, RBF"], lines)


def cones() -> dict[tuple[str, str, int], dict]:
    """The kept runs of `paper4.py`."""
    return {tuple(row["run"]): row for row in kept_rows("paper4")}


def conic_accuracies() -> str:
    """Tables 1 and 2 of paper 4."""
    found, lines = cones(), []
    names = paper4.SMALL | paper4.LARGE
    for name, theirs in paper4.PAPER.items():
        line = [names[name]]
        for method, paper in zip(paper4.COLUMNS, theirs, strict=True):
            failed = [row["failed"] for run, row in found.items() if run[:2] == (name, method) and row["accuracy"] is None]
            here = paper4.mean(found, name, method)
            line.append(f"{failed[0]} ({paper:g})" if failed else cell(here, paper, ".2f"))
        lines.append(line)
    return table(["set", *paper4.COLUMNS], lines)


def conic_times() -> str:
    """Table 3 of paper 4, which prints seconds and "< 1"."""
    found, lines = cones(), []
    for name in paper4.LARGE:
        seconds = [paper4.mean(found, name, m, "train_s") for m in paper4.COLUMNS]
        quoted = [paper4.PAPER_SECONDS.get((name, m)) for m in paper4.COLUMNS]
        shown = [(NONE if s is None else f"{s:.2g}") + f" ({'<1' if q is None else f'{q:g}'})" for s, q in
                 zip(seconds, quoted, strict=True)]  # fmt: skip
        lines.append([paper4.LARGE[name], *shown])
    return table(["set", *paper4.COLUMNS], lines)


TABLES = {
    "small-sets": small_sets, "large-sets": large_sets, "irrelevant": irrelevant, "splines": splines, "waves": waves,
    "pedestrians": pedestrians, "digits": digits, "disc": disc, "search": merged_search, "planes": planes,
    "conic-accuracies": conic_accuracies, "conic-times": conic_times,
}  # fmt: skip


def written(text: str) -> str:
    """The text with all tables made anew."""
    return _TABLE.sub(lambda m: m[1] + TABLES[m[2]](), text)


def main(arguments: list[str]) -> int:
    """Write or check; the exit code."""
    before = DOCUMENT.read_text()
    after = written(before)
    if "--check" not in arguments:
        DOCUMENT.write_text(after)
        return 0
    if after != before:
        sys.stderr.write("docs/papers.md does not show the kept rows as they are; run python tools/paper_tables.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
