"""How well do clusters agree with known classes, when a few links between items are told?

Every set of vectors in the folder that has three classes or more, at most 1,000 items and at most 50 features; larger ones
where --sets names them. Half of the items, drawn anew with every seed, are those of which somebody tells: random pairs of
them are linked, must-link if both are of one class and cannot-link if not, a quarter as many pairs as there are items, and as
many, less pairs of an item and itself. All items are clustered, into as many clusters as there are classes. The adjusted Rand
index (of 1; 0 is chance) counts the items of the other half, which no link names. Everything has its defaults but the number
of clusters. Features are standardised for k-means, for k-medoids under Euclidean distances, and for ITML and MMC of metric-
learn where it is installed, which learn from the links and map items before k-means. `SemimetricClusterer` is run without
links, with links that it keeps, with links that its learner learns from as well, and with a learner alone, whose links are
not kept. What a method raises is its result, and a run has 60 processor seconds; what fails once with so many links on a set
is not tried with other seeds.

    python benchmarks/clustering.py [--sets iris wine ...] [--seeds 5] [--links 0.25 1] [--methods ...]
                                    [--results FILE] [--kept]

Results are appended to FILE as JSON lines, and what is there is not run again; with --kept nothing is run.
"""

import argparse
import importlib.util
import resource
import time
import warnings
from collections.abc import Callable
from multiprocessing import get_context

import numpy as np
from pairs import modernised
from report import add_results, append, data, read, report, with_origin
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from semimetric import PairLearner, SemimetricClusterer

SETS = ("breast_tissue", "iris", "wine", "glass", "vowel")
LARGER = ("libras", "steel_plates", "ctg3", "ctg10", "image_segmentation")
LINKS = (0.25, 1.0)
LIMIT = 60

Links = dict[str, np.ndarray]


def items_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All items of a set and their classes."""
    arrays = data(name)
    X, y = (arrays[k] if k in arrays else np.concatenate([arrays[f"{k}_train"], arrays[f"{k}_test"]]) for k in "Xy")
    return X.astype(np.float64), np.unique(y, return_inverse=True)[1]


def told(y: np.ndarray, share: float, seed: int) -> tuple[Links, np.ndarray]:
    """Links between items of a random half, ``share`` times as many as items, and the rows of the other half."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    known, unseen = np.split(order, [len(y) // 2])
    pairs = rng.choice(known, (round(share * len(y)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}, unseen


def k_means(X: np.ndarray, k: int, links: Links, seed: int) -> np.ndarray:
    return KMeans(k, random_state=seed).fit_predict(StandardScaler().fit_transform(X))


def k_medoids(X: np.ndarray, k: int, links: Links, seed: int) -> np.ndarray:
    import kmedoids

    return kmedoids.KMedoids(k, metric="euclidean", random_state=seed).fit(StandardScaler().fit_transform(X)).labels_


def peer(name: str) -> Callable[..., np.ndarray]:
    """k-means of items that a learner of metric-learn maps."""

    def clusters(X: np.ndarray, k: int, links: Links, seed: int) -> np.ndarray:
        import metric_learn

        Z = StandardScaler().fit_transform(X)
        pairs = np.concatenate([links["must_link"], links["cannot_link"]])
        y = np.repeat([1, -1], [len(links["must_link"]), len(links["cannot_link"])])
        learner = getattr(metric_learn, name)(preprocessor=Z, random_state=seed).fit(pairs, y)
        return KMeans(k, random_state=seed).fit_predict(learner.transform(Z))

    return clusters


def ours(*, learns: bool, keeps: bool) -> Callable[..., np.ndarray]:
    """`SemimetricClusterer`, whose learner sees the links, and which keeps them."""

    def clusters(X: np.ndarray, k: int, links: Links, seed: int) -> np.ndarray:
        if learns and not keeps:
            pairs = np.concatenate([links["must_link"], links["cannot_link"]])
            y = np.repeat([1, -1], [len(links["must_link"]), len(links["cannot_link"])])
            distance = PairLearner(preprocessor=X, random_state=seed).fit(pairs, y)
            return SemimetricClusterer(distance, n_clusters=k, random_state=seed).fit_predict(X)
        learner = PairLearner(random_state=seed) if learns else None
        return SemimetricClusterer(learner=learner, n_clusters=k, random_state=seed).fit(X, **(links if keeps else {})).labels_

    return clusters


FREE = ("k-means", "k-medoids", "semimetric")  # which see no links
METHODS = {
    "k-means": k_means,
    "k-medoids": k_medoids,
    "semimetric": ours(learns=False, keeps=False),
    "semimetric, links kept": ours(learns=False, keeps=True),
    "semimetric, links learned": ours(learns=True, keeps=False),
    "semimetric, links learned and kept": ours(learns=True, keeps=True),
    "ITML, k-means": peer("ITML"),
    "MMC, k-means": peer("MMC"),
}


def work(method: str, name: str, share: float, seed: int, out: object) -> None:
    """In a process of its own: send the index and the seconds, or what was raised."""
    warnings.simplefilter("ignore")
    modernised()
    X, y = items_of(name)
    links, unseen = told(y, share, seed)
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    start = time.process_time()
    try:
        with threadpool_limits(1):
            labels = METHODS[method](X, len(np.unique(y)), links, seed)
        row = {"ari": float(adjusted_rand_score(y[unseen], labels[unseen]))}
    except Exception as error:  # what a method raises is its result
        row = {"ari": None, "failed": f"{type(error).__name__}: {str(error)[:120]}"}
    out.send(row | {"cpu_s": round(time.process_time() - start, 3)})


def judged(method: str, name: str, share: float, seed: int) -> dict:
    """The result of one method, in a process that can be ended."""
    context = get_context("fork")
    back, out = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(method, name, share, seed, out))
    process.start()
    out.close()
    try:
        return back.recv()
    except EOFError:  # the system ended it
        return {"ari": None, "failed": f"more than {LIMIT} s", "cpu_s": LIMIT}
    finally:
        process.join()


def warm() -> None:
    """Compile in this process, whose children then need not."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 3)), np.arange(60) % 3
    links, _ = told(y, 2.0, 0)
    for learns, keeps in ((False, True), (True, False), (True, True)):
        ours(learns=learns, keeps=keeps)(X, 3, links, 0)


def package_of(method: str) -> str:
    """Whose version stands in a row of a method: of the package that makes the clusters, or learns their distance."""
    packages = {"semimetric": "semimetric", "ITML": "metric-learn", "MMC": "metric-learn", "k-medoids": "kmedoids"}
    return packages.get(method.partition(",")[0], "scikit-learn")


def runs(given: argparse.Namespace) -> list[dict]:
    """All rows asked for, those of the file included; methods that see no links run once a seed."""
    rows = read(given.results, "clustering")
    done = {(row["set"], row["links"], row["seed"], row["method"]) for row in rows}
    for name in given.sets:
        for seed in range(given.seeds):
            for method in given.methods:
                for share in given.links[:1] if method in FREE else given.links:
                    key = (name, 0.0 if method in FREE else share, seed, method)
                    failed = any(
                        r["ari"] is None and (r["set"], r["links"], r["method"]) == (key[0], key[1], method) for r in rows
                    )
                    if key in done or failed:
                        continue
                    row = dict(zip(("set", "links", "seed", "method"), key, strict=True)) | judged(method, name, share, seed)
                    append(given.results, with_origin({"benchmark": "clustering", **row}, package_of(method)))
                    rows.append(row)
    return rows


def tables(rows: list[dict], given: argparse.Namespace) -> None:
    """Means over seeds of every set, and over sets."""
    sets = [name for name in given.sets if any(row["set"] == name for row in rows)]
    table = []
    for method in given.methods:
        for share in (0.0,) if method in FREE else given.links:
            line: dict[str, object] = {"method": method, "links": share}
            own = [r for r in rows if r["method"] == method and r["links"] == share]
            means = []
            for name in sets:
                found = [r["ari"] for r in own if r["set"] == name]
                whole = found and None not in found
                line[name] = float(np.mean(found)) if whole else next((r["failed"][:12] for r in own if "failed" in r), "")
                means += [line[name]] if whole else []
            line["mean"] = float(np.mean(means)) if len(means) == len(sets) else f"{len(means)} sets"
            table.append(line | {"cpu s, median": float(np.median([r["cpu_s"] for r in own])) if own else None})
    report("clustering: adjusted Rand index of items that no link names", table)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=[*SETS, *LARGER])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--links", type=float, nargs="+", default=LINKS, help="pairs an item")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    add_results(parser)
    parser.add_argument("--kept", action="store_true", help="run nothing, print what FILE holds")
    given = parser.parse_args()
    if given.kept:
        return tables(read(given.results, "clustering"), given)
    if importlib.util.find_spec("metric_learn") is None:
        given.methods = [method for method in given.methods if method[:4] not in ("ITML", "MMC,")]
        print("ITML and MMC are left out: metric-learn is not installed (pip install metric-learn)")
    warm()
    return tables(runs(given), given)


if __name__ == "__main__":
    main()
