"""Run the benchmarks one after another, and go on where an earlier run of the same commit stopped.

    python tools/bench.py [--quick] [--again] [name ...]

Every benchmark is a process of its own; what one prints goes to ``benchmarks/results/runs/<name>.txt``. One that ended well at
the same commit and with the same arguments is not run again unless ``--again`` is given. ``--quick`` runs some of them on
small inputs, in less than five minutes, to see that they work; its figures are not to be quoted, and rows that would be kept
go to ``benchmarks/results/runs`` too.

A whole run keeps rows in ``benchmarks/results``. Long benchmarks append each row there as soon as it is measured; those that
say so in their first lines do not measure again what is there: whoever wants it anew removes it first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
RUNS = FOLDER / "results" / "runs"
DONE = RUNS / "done.jsonl"
MAIN = 'if __name__ == "__main__"'  # modules without it measure nothing

# arguments that make a benchmark short
QUICK = {
    "additive_speed": ["--rows", "500"],
    "clustering": ["--sets", "iris", "--seeds", "1", "--links", "1"],
    "fit_times": ["--sizes", "1000x20", "--methods", "semimetric_2s", "boosting"],
    "gaps": ["--sets", "vowel"],
    "half_million": ["--rows", "20000", "--methods", "linear", "PL1", "PL2", "boosting"],
    "expensive": ["--quick", "--only", "words", "clouds", "digits"],
    "self_join": ["--points", "20000", "--only", "ours"],
    "grouped_search": ["--points", "20000", "--queries", "200"],
    "imputation": ["--sets", "vowel", "--rows", "1000"],
    "joins": ["--left", "300", "--right", "3000", "--database", "50"],
    "joint_search": ["--points", "5000", "--queries", "20"],
    "knn_accuracy": ["--sets", "wine", "glass", "--splits", "2", "--report", "2", "--methods", "semimetric", "nca"],
    "paper0": ["--sets", "iris", "--splits", "1", "--methods", "PL1", "PL2", "RBF"],
    "paper4": ["--parts", "tables", "--sets", "fourclass"],
    "payload": ["--points", "20000"],
    "search_curves": ["--points", "20000", "--queries", "200", "--engines", "semimetric", "FAISS flat", "FAISS HNSW"],
    "search": ["--points", "50000", "--queries", "100", "--part", "large"],
    "solve": ["--pairs", "2000"],
    "streaming": ["--quick"],
}


def commit() -> str:
    """The commit that runs, with a mark if files differ from it."""
    call = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def done() -> set[tuple[str, tuple[str, ...], str]]:
    """Names, arguments and commits of the runs that ended well."""
    lines = DONE.read_text().splitlines() if DONE.exists() else []
    return {(row["name"], tuple(row["arguments"]), row["commit"]) for row in map(json.loads, lines)}


def run(name: str, arguments: list[str], at: str, *, quick: bool) -> bool:
    """Run one benchmark, record that it ended well, and say how long it took."""
    start = time.perf_counter()
    RUNS.mkdir(parents=True, exist_ok=True)
    environment = os.environ | ({"SEMIMETRIC_RESULTS": str(RUNS)} if quick else {})
    if quick:
        (RUNS / f"{name}.jsonl").unlink(missing_ok=True)  # rows of an earlier quick run, which would not be measured again
    with (RUNS / f"{name}.txt").open("w") as out:
        call = [sys.executable, FOLDER / f"{name}.py", *arguments]
        code = subprocess.run(call, cwd=ROOT, env=environment, stdout=out, stderr=out, check=False).returncode
    taken = time.perf_counter() - start
    print(
        f"{name}: {'ended well' if code == 0 else f'failed with {code}, see {RUNS.name}/{name}.txt'} after {taken:.0f} s",
        flush=True,
    )
    if code == 0:
        with DONE.open("a") as file:
            file.write(json.dumps({"name": name, "arguments": arguments, "commit": at, "seconds": round(taken, 1)}) + "\n")
    return code == 0


def main() -> None:
    """Read the command line, and run what it names."""
    names = sorted(path.stem for path in FOLDER.glob("[a-z]*.py") if MAIN in path.read_text())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="name", help="benchmarks to run; default all, or all that have a quick form"
    )
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--again", action="store_true", help="run what ended well before, too")
    given = parser.parse_args()
    known = sorted(QUICK) if given.quick else names
    if unknown := set(given.names) - set(known):
        parser.error(f"there is no {sorted(unknown)[0]!r}; there are {', '.join(known)}")
    at, ended, failed = commit(), done(), []
    for name in given.names or known:
        arguments = QUICK[name] if given.quick else []
        if (name, tuple(arguments), at) in ended and not at.endswith("dirty") and not given.again:
            print(f"{name}: ended well before, at this commit")
        elif not run(name, arguments, at, quick=given.quick):
            failed.append(name)
    if failed:
        sys.exit(f"{len(failed)} failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
