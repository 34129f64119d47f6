"""How near are values that the nearest rows give to those that were taken away, beside scikit-learn's ways to fill them in?

The weights by distance that are the default of `SemimetricImputer` were chosen on iris, wine and glass, which are not
reported. Of every set at most 2,000 rows, whose numbers are standardised; a tenth, then three tenths, of all values are
taken away at random (three seeds), or those of a column are where another is large. Compared, each with its defaults:
`SemimetricImputer`, also with uniform weights, `KNNImputer`, also with weights by distance, the mean of the column, and
`IterativeImputer` (linear regressions of every column on all others; its `experimental` status is scikit-learn's word). The
error is the root mean square of what is off, in standard deviations. Times grow with rows in a second table (`--rows`).

    python benchmarks/imputation.py [--sets wine ...] [--rows 1000 10000 100000] [--results FILE]
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from report import add_results, append, data_folder, report, use_one_thread, with_origin
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.preprocessing import StandardScaler

SETS = (
    "vowel", "image_segmentation", "letter", "ionosphere", "sonar", "spambase", "wdbc", "steel_plates", "liver_bupa",
    "pima_diabetes", "landsat_satimage", "pendigits",
)  # fmt: skip
MOST = 2_000
SHARES = (0.1, 0.3)
SEEDS = range(3)


def methods() -> dict[str, object]:
    from semimetric import SemimetricImputer

    return {
        "semimetric": SemimetricImputer(),
        "semimetric, uniform weights": SemimetricImputer(weights="uniform"),
        "KNNImputer": KNNImputer(),
        "KNNImputer, weights by distance": KNNImputer(weights="distance"),
        "mean": SimpleImputer(),
        "IterativeImputer": IterativeImputer(random_state=0),
    }


def rows_of(path: Path) -> np.ndarray:
    """At most MOST different rows with columns that vary, standardised."""
    with np.load(path) as z:
        X = z["X" if "X" in z.files else "X_train"].astype(np.float64)
    X = X[np.random.default_rng(0).permutation(len(X))[:MOST]]
    return StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])


def taken_away(X: np.ndarray, kind: object, seed: int) -> np.ndarray:
    """X with NaN in place of a share of its values, or of those of a column where its neighbour is large."""
    rng = np.random.default_rng(seed)
    if kind == "where another is large":
        lost = (np.roll(X, 1, axis=1) > 0.7) & (rng.random(X.shape) < 0.5)
    else:
        lost = rng.random(X.shape) < kind
    lost[:, lost.sum(axis=0) > len(X) - 10] = False
    return np.where(lost, np.nan, X)


def compare(folder: Path, names: list[str], results: Path | None) -> None:
    """Errors of every method on every set."""
    table = []
    for name in names:
        if not (folder / f"{name}.npz").exists():
            continue
        X = rows_of(folder / f"{name}.npz")
        for kind in (*SHARES, "where another is large"):
            for method, model in methods().items():
                errors, seconds = [], 0.0
                for seed in SEEDS:
                    lacking = taken_away(X, kind, seed)
                    start = time.process_time()
                    filled = model.fit_transform(lacking)
                    seconds += (time.process_time() - start) / len(SEEDS)
                    lost = np.isnan(lacking)
                    errors.append(float(np.sqrt(np.mean((filled - X)[lost] ** 2))))
                row = {
                    "benchmark": "imputation",
                    "set": name,
                    "missing": kind,
                    "method": method,
                    "rmse": float(np.mean(errors)),
                }
                row |= {"rows": len(X), "features": X.shape[1], "processor_seconds": seconds}
                append(results, with_origin(row, "semimetric" if method.startswith("semimetric") else "scikit-learn"))
                table.append(row)
    report("values filled in: root mean square error in standard deviations", summary(table))


def summary(table: list[dict]) -> list[dict]:
    """The mean error of every method, on how many sets it is lower than ours, and its seconds."""
    ours = {(r["set"], r["missing"]): r["rmse"] for r in table if r["method"] == "semimetric"}
    out = []
    for method in dict.fromkeys(r["method"] for r in table):
        for kind in dict.fromkeys(r["missing"] for r in table):
            rows = [r for r in table if r["method"] == method and r["missing"] == kind]
            better = sum(r["rmse"] < ours[r["set"], kind] for r in rows)
            out.append(
                {"method": method, "missing": kind, "rmse": np.mean([r["rmse"] for r in rows]), "sets": len(rows),
                 "lower than semimetric on": better, "processor_seconds": sum(r["processor_seconds"] for r in rows)}
            )  # fmt: skip
    return out


def growth(counts: list[int], results: Path | None) -> None:
    """Seconds for tables of 20 columns of ten groups of rows, a twentieth of whose values are missing."""
    table = []
    for n in counts:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(10, 20))[rng.integers(0, 10, n)] * 2 + rng.normal(size=(n, 4)) @ rng.normal(size=(4, 20))
        lacking = taken_away(X, 0.05, 0)
        for method in ("semimetric", "KNNImputer"):
            if method == "KNNImputer" and n > 20_000:
                continue  # all distances of n rows to n rows
            start, wall = time.process_time(), time.perf_counter()
            filled = methods()[method].fit_transform(lacking)
            numbers = {"processor_seconds": time.process_time() - start, "seconds": time.perf_counter() - wall}
            error = float(np.sqrt(np.mean((filled - X)[np.isnan(lacking)] ** 2)))
            row = {"benchmark": "imputation", "rows": n, "features": 20, "method": method, "rmse": error} | numbers
            append(results, with_origin(row, "semimetric" if method == "semimetric" else "scikit-learn"))
            table.append(row)
    report("seconds by rows", table)


def main() -> None:
    """Compare on the sets, then measure how time grows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--rows", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    add_results(parser)
    arguments = parser.parse_args()
    folder = data_folder()
    use_one_thread()
    warnings.simplefilter("ignore")
    compare(folder, arguments.sets, arguments.results)
    growth(arguments.rows, arguments.results)


if __name__ == "__main__":
    main()
