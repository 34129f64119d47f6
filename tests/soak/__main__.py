"""``python -m soak``: attack the package for some minutes, from where the last run stopped, and say what was found."""

import argparse
import json
import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import count
from pathlib import Path

from tqdm import tqdm

from soak.attacks import ATTACKS
from soak.runner import drawn, run

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "soak.jsonl"


def next_seeds(path):
    """The first seed of every attack that was not tried yet, as the runs before have left it."""
    return json.loads(path.read_text()) if path.exists() else {}


def attack(name, first, minutes, tries):
    """One attack for some minutes or tries: its record, and the seed to go on with."""
    end, seed = time.monotonic() + 60 * minutes, first
    with tqdm(desc=name, unit=" tries", initial=first, disable=None) as bar:

        def cases():
            nonlocal seed
            for seed in count(first):
                if time.monotonic() > end or seed - first >= tries:
                    return
                bar.update()
                yield drawn(name, seed)

        record = run(name, cases())
    return record, seed


def main():
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"any of: {', '.join(ATTACKS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long each attack lasts (default: 1)")
    parser.add_argument("--tries", type=int, default=sys.maxsize, help="at most so many cases of each attack")
    parser.add_argument("--seed", type=int, help="the first seed (default: where the last run stopped, or 0)")
    parser.add_argument("--state", type=Path, default=Path(".soak.json"), help="remembers where the last run stopped")
    chosen = parser.parse_args()
    if unknown := set(chosen.attacks) - set(ATTACKS):
        parser.error(f"no attack is called {', '.join(sorted(unknown))}; give any of: {', '.join(ATTACKS)}")
    seeds, findings = next_seeds(chosen.state), 0
    for name in chosen.attacks or ATTACKS:
        first = seeds.get(name, 0) if chosen.seed is None else chosen.seed
        record, seeds[name] = attack(name, first, chosen.minutes, chosen.tries)
        findings += len(record.findings)
        tell(record, first, seeds[name])
        chosen.state.write_text(json.dumps(seeds))
    sys.exit(1 if findings else 0)


def tell(record, first, end):
    """Print what came of an attack, and append it to the results."""
    for finding in record.findings:
        said = finding.pop("finding")
        print(json.dumps(finding), said, sep="\n", end="\n\n")
    print(f"{record.attack}: seeds {first} to {end - 1}: {dict(record.outcomes)}; at most {record.seconds:.1f} s, ", end="")
    print(f"{record.mebibytes:.0f} MiB a try")
    line = {
        "benchmark": "soak", "attack": record.attack, "seeds": [first, end], "outcomes": dict(record.outcomes),
        "seconds": round(record.seconds, 3), "mebibytes": round(record.mebibytes, 1), "date": datetime.now(UTC).isoformat(),
        "version": version("semimetric"), "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }  # fmt: skip
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        print(json.dumps(line), file=file)


if __name__ == "__main__":
    main()
