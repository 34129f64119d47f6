"""How well does the learned distance classify with default settings, beside other distances, forests, boosting and ModernNCA?

Ten stratified 70/30 splits, features standardised on the training part, at most 2,500 rows of each set (seeded), fixed splits
pooled and split anew. Nothing is tuned for a set by hand. Choices of defaults were made on the splits 0 and 1 of each set;
splits 2 to 9 are reported. Compared, each with its defaults (`accuracy_peers.py`):

- three neighbours under Euclid, scikit-learn's NCA, metric-learn's LMNN, ITML and SCML, and shared leaves of a forest and of
  extremely randomised trees; each also (`_k`) with k and uniform or inverse-distance votes chosen by cross-validation;
- ours: the default, scales alone (`semimetric_readable`), and votes under a sum of components and trees, which were the default
  before (`semimetric_neighbors`);
- ModernNCA (`modern_nca.py`), one seed, and the mean probability of three; the recipe of xRFM (`recursive_features.py`);
- an RBF machine by cross-validation, a random forest, extremely randomised trees, and gradient boosting.

    python benchmarks/knn_accuracy.py [--sets wine sonar ...] [--splits 2 3 ...] [--report 2 3 ...] [--methods semimetric ...]
                                      [--limit 60] [--results FILE] [--large | --timing]

Every method runs on one thread, ours after a fit of a small table, which reads its compiled kernels. Results are appended to
FILE as JSON lines, and what is there is not run again. A method that takes longer than the limit of processor seconds on a
split of a set, or fails, is left out of that set, and said so.

`--large` compares on letters (16,000 + 4,000, five seeds) and on the fixed split of the USPS digits instead, whose pixels have
one scale and keep it; the limit should then be some 1,200 s. `--timing` measures the time and the memory of a fit on two
threads instead (`fit_times.py`). Regression has `knn_regression.py`.
"""

import argparse
import signal
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from accuracy_peers import FAMILIES, METHODS, full, log_loss, package
from accuracy_summary import summarize
from report import add_results, append, data_folder, kept_file, read, use_one_thread, with_origin
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

BENCHMARK = "knn_accuracy"
ROWS = 2_500
OTHERS = ("combvd_colour", "triplets_alien_eggs")  # without labels
CHOICES = (0, 1)
USPS = "usps, fixed split"
SPLITS = 10
Parts = tuple[np.ndarray, np.ndarray]
Task = tuple[np.ndarray, np.ndarray, list[Parts]]


def arrays(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Items as floats and classes 0, 1, ..., both parts of a fixed split, the training part first."""
    with np.load(path) as z:
        parts = ("",) if "X" in z.files else ("_train", "_test")
        X, y = (np.concatenate([z[name + part] for part in parts]) for name in ("X", "y"))
    return X.astype(np.float64), np.unique(y, return_inverse=True)[1]


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """At most ROWS items, of classes with two or more."""
    X, y = arrays(path)
    if len(X) > ROWS:
        keep = np.sort(np.random.default_rng(0).choice(len(X), ROWS, replace=False))
        X, y = X[keep], y[keep]
    common = np.bincount(y)[y] > 1
    return X[common], np.unique(y[common], return_inverse=True)[1]


def small_tasks(folder: Path, names: list[str] | None) -> dict[str, Task]:
    """The ten splits of every set, small sets first."""
    paths = [p for p in sorted(folder.glob("*.npz")) if p.stem not in OTHERS and p.stem in (names or [p.stem])]
    found = {p.stem: load(p) for p in paths}
    splits = StratifiedShuffleSplit(SPLITS, test_size=0.3, random_state=0)
    return {name: (*found[name], list(splits.split(*found[name]))) for name in sorted(found, key=lambda n: found[n][0].size)}


def large_tasks(folder: Path, names: list[str] | None) -> dict[str, Task]:
    """Five seeds of letters, and the split of USPS that everybody uses."""
    found: dict[str, Task] = {}
    if "letter" in (names or ["letter"]) and (folder / "letter.npz").exists():
        X, y = arrays(folder / "letter.npz")
        splits = [next(StratifiedShuffleSplit(1, test_size=0.2, random_state=seed).split(X, y)) for seed in range(5)]
        found["letter, all rows"] = X, y, splits
    if "usps" in (names or ["usps"]) and (folder / "usps.npz").exists():
        X, y = arrays(folder / "usps.npz")
        found[USPS] = X, y, [(np.arange(7291), np.arange(7291, len(X)))]
    return found


class TooLong(BaseException):
    """The limit of processor seconds; no Exception, which a grid search would take for the failure of one candidate."""


def stop(*_: object) -> None:
    raise TooLong


def timed(names: tuple[str, ...], data: tuple[np.ndarray, ...], limit: int) -> Iterator[dict[str, object]]:
    """Error, log losses and seconds of each answer of a family, and why there is none; no clock runs between answers."""
    X, y, T, t = data
    classes, encoded = np.unique(y, return_inverse=True)
    wall, processor, left = 0.0, 0.0, list(names)
    signal.signal(signal.SIGVTALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        starts = time.perf_counter(), time.process_time()
        for name, predicted, probabilities in FAMILIES[names](X, encoded, T):
            remaining, _ = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            wall, processor = wall + time.perf_counter() - starts[0], processor + time.process_time() - starts[1]
            p = None if probabilities is None else full(probabilities(), classes, max(y.max(), t.max()) + 1)
            losses = {} if p is None else {"log_loss": log_loss(p, t), "log_loss_unfloored": log_loss(p, t, 1e-15)}
            error = float((classes[predicted] != t).mean())
            yield {"method": name, "error": error} | losses | {"seconds": wall, "processor_seconds": processor}
            left.remove(name)
            signal.setitimer(signal.ITIMER_VIRTUAL, max(remaining, 1e-6))
            starts = time.perf_counter(), time.process_time()
    except TooLong:
        failure = f"more than {limit} s of the processor"
    except Exception as problem:  # noqa: BLE001 - of a peer; it is reported
        if "semimetric" in names:
            raise
        failure = repr(problem)[:200]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    for name in left:
        yield {"method": name, "error": None, "failed": failure}


@cache
def read_kernels() -> None:
    """Fit a small table, so that the compiled kernels are there when the clock starts."""
    X = np.random.default_rng(0).random((60, 3))
    list(FAMILIES[("semimetric",)](X, (X[:, 0] > 0.5).astype(int), X[:5]))


def run(tasks: dict[str, Task], arguments: argparse.Namespace, found: dict, file: Path | None) -> None:
    """Run what is asked for and not there, and write it down."""
    failed = {(s, m) for (s, m, _), row in found.items() if row["error"] is None}
    for split in arguments.splits:
        for name, (X, y, parts) in tasks.items():
            for family in FAMILIES if split < len(parts) else ():
                asked = [m for m in family if m in arguments.methods and (name, m) not in failed]
                if all((name, m, split) in found for m in asked):
                    continue
                train, test = parts[split]
                scaler = StandardScaler(with_mean=name != USPS, with_std=name != USPS).fit(X[train])
                data = scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
                if "semimetric" in family:
                    read_kernels()
                answers = timed(family, data, arguments.limit)
                for answer in answers:
                    key = (name, str(answer["method"]), split)
                    if key[1] in arguments.methods and key not in found:
                        row = {"benchmark": BENCHMARK, "set": name, "split": split} | answer
                        found[key] = with_origin(row, package(key[1]))
                        append(file, found[key])
                        failed |= {key[:2]} if answer["error"] is None else set()
                    if all((name, m, split) in found for m in asked):
                        answers.close()


def main() -> None:
    """Run, and print tables of errors, comparisons and ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--splits", type=int, nargs="*", help="splits to run; default all that are reported")
    parser.add_argument("--report", type=int, nargs="*", help="splits to report; default 2 to 9")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--limit", type=int, default=60)
    add_results(parser)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--timing", action="store_true")
    arguments = parser.parse_args()
    if arguments.timing:
        from fit_times import compare

        compare(kept_file("fit_times") if arguments.results == kept_file() else arguments.results)
        return
    folder = data_folder()
    use_one_thread()
    warnings.simplefilter("ignore")
    tasks = (large_tasks if arguments.large else small_tasks)(folder, arguments.sets)
    reported = range(5) if arguments.large else [k for k in range(SPLITS) if k not in CHOICES]
    arguments.report = list(reported) if arguments.report is None else arguments.report
    arguments.splits = arguments.report if arguments.splits is None else arguments.splits
    found = {(row["set"], row["method"], row["split"]): row for row in read(arguments.results, BENCHMARK)}
    run(tasks, arguments, found, arguments.results)
    if not arguments.large and (seen := set(arguments.report) & set(CHOICES)):
        print(f"the splits {sorted(seen)} are reported, on which defaults were chosen: these errors are too low")
    rows = [row for (s, m, k), row in found.items() if s in tasks and m in arguments.methods and k in arguments.report]
    summarize(rows, [m for m in METHODS if m in arguments.methods])


if __name__ == "__main__":
    main()
