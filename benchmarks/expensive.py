"""What takes the place of twelve expensive distances: one that is learned, a proof by bounds, or a specialised library?

Each data set has items, of which the learned distance and the bounds are made, and queries that they have not seen. Nothing is
set: kinds of features and bounds are those that the documentation names for the distance.

- learned: `DistanceApproximator`. Columns: the share of a query's ten first that are no farther than its true tenth; the median
  relative error of all pairs of queries, and what `error_` told of it before; the share of these pairs that intervals of 90 %
  hold; seconds of the fit, and those of them that calls of the distance take; milliseconds of a search for the ten first.
- proved: `FilterRefineIndex` with the bounds of the distance. Columns: the share of items that are called until the ten nearest
  are proved, what `expected_calls` said of it before, milliseconds of a query and of calls for all items. Every answer is
  compared with brute force, to the bit.
- rivals: brute force by aeon, tslearn, rapidfuzz, POT and SciPy. Column "agrees" says if their distances are ours: for series
  of unequal lengths aeon's window follows another diagonal. One that is not installed is left out: pip install aeon tslearn
  rapidfuzz.

One thread; seconds and milliseconds are those of the processor, but for ``fit_clock_s``.

    python benchmarks/expensive.py [--only NAME ...] [--quick] [--results FILE]
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import ot
from report import add_results, append, data, report, use_one_thread, with_origin
from scipy.ndimage import zoom
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.datasets import load_sample_images
from sklearn.pipeline import make_union
from sklearn.preprocessing import FunctionTransformer

from semimetric import (
    DistanceApproximator,
    DistanceRegressor,
    DynamicTimeWarping,
    EarthMoversDistance,
    EditBounds,
    ElasticBounds,
    ElasticDistance,
    FilterRefineIndex,
    HistogramFeatures,
    LandmarkBounds,
    LandmarkFeatures,
    NeighborIndex,
    PointCloudBounds,
    PointCloudDistance,
    PointCloudFeatures,
    SemimetricWarning,
    SeriesFeatures,
    StringFeatures,
    Tables,
    TransportBounds,
)
from semimetric.datasets import load_digit_histograms
from semimetric.distances.search.bounds import Bounds

K, N_QUERIES, SEED, WINDOW = 10, 40, 5, 0.1
FEW_ABOVE = 20.0  # seconds of brute force, above which a rival is asked ten queries
All = Callable[[Any, Any], np.ndarray]  # queries and items to the distances between them, (n_queries, n_items)


class Problem(NamedTuple):
    """A distance, the objects that it takes, and what stands in its place."""

    objects: Sequence[Any]
    n_queries: int
    distance: Callable[[Any, Any], Any]
    bounds: Bounds
    learners: dict[str, DistanceApproximator]
    rivals: dict[str, All]

    @property
    def items(self) -> Any:
        return self.objects[: -self.n_queries]

    @property
    def queries(self) -> Any:
        return self.objects[-self.n_queries :]


def learners(distance: Callable, features: Any) -> dict[str, DistanceApproximator]:
    return {"learned": DistanceApproximator(distance, features=features)}


def installed(name: str, make: Callable[[], All]) -> dict[str, All]:
    """A rival by its name, or none with a word that it is not installed."""
    try:
        return {name: make()}
    except ImportError as missing:
        print(f"{name} is left out: {missing}")
        return {}


def aeon(method: str, power: float = 1.0, **parameters: Any) -> Callable[[], All]:
    """Elastic distances of aeon, which takes channels first; its warping is the square of ours."""

    def make() -> All:
        from aeon.distances import pairwise_distance

        def channels_first(series: Sequence[np.ndarray]) -> list[np.ndarray]:
            return [np.ascontiguousarray(np.atleast_2d(s.T)) for s in series]

        return lambda X, Y: pairwise_distance(channels_first(X), channels_first(Y), method=method, **parameters) ** power

    return make


def tslearn(steps: int) -> Callable[[], All]:
    def make() -> All:
        from tslearn.metrics import cdist_dtw

        return lambda X, Y: cdist_dtw(np.array(X), np.array(Y), global_constraint="sakoe_chiba", sakoe_chiba_radius=steps)

    return make


def cbf(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    series, exact = shuffled(rng, of_ucr("ucr_cbf"), n + n_queries), DynamicTimeWarping(WINDOW)
    rivals = installed("aeon", aeon("dtw", 0.5, window=WINDOW)) | installed("tslearn", tslearn(int(WINDOW * 128)))
    return Problem(series, n_queries, exact, ElasticBounds(exact), learners(exact, SeriesFeatures()), rivals)


def gunpoint(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    series, exact = shuffled(rng, of_ucr("ucr_gunpoint"), n + n_queries), ElasticDistance("msm", c=0.5)
    rivals = installed("aeon", aeon("msm", c=0.5))
    return Problem(
        series, n_queries, exact, LandmarkBounds(exact, n_landmarks="all"), learners(exact, SeriesFeatures()), rivals
    )


def channels(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    from warping_bounds import curves

    series, exact = curves(rng, n + n_queries, 12, (40, 101)), DynamicTimeWarping(WINDOW)
    rivals = installed("aeon", aeon("dtw", 0.5, window=WINDOW))
    return Problem(series, n_queries, exact, ElasticBounds(exact), learners(exact, SeriesFeatures()), rivals)


def of_ucr(name: str) -> np.ndarray:
    return np.concatenate([values for values in data(name).values() if values.ndim == 2]).astype(float)


def shuffled(rng: np.random.Generator, X: np.ndarray, n: int) -> list[np.ndarray]:
    return list(X[rng.permutation(len(X))[:n]])


def words(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    import landmarks

    return strings([bytes(word).decode() for word in landmarks.words(rng, n + n_queries)], n_queries)


def dna(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    import dna_strings

    made = dna_strings.strings(rng)
    return strings(made[:n] + made[len(made) - n_queries :], n_queries)


def strings(objects: list[str], n_queries: int) -> Problem:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist as every

    rivals = {"rapidfuzz": lambda X, Y: every(X, Y, scorer=Levenshtein.distance, workers=1).astype(float)}
    exact = Levenshtein.distance
    return Problem(objects, n_queries, exact, EditBounds(), learners(exact, StringFeatures()), rivals)


def clouds(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    from cloud_bounds import signatures

    def by_pot(X: Sequence, Y: Sequence) -> np.ndarray:
        return np.array([[ot.emd2(a, b, cdist(p, q)) for q, b in Y] for p, a in X])

    made, exact = signatures(rng, n + n_queries, (20, 21)), PointCloudDistance()
    return Problem(made, n_queries, exact, PointCloudBounds(), learners(exact, PointCloudFeatures()), {"POT": by_pot})


def transport(H: np.ndarray, places: np.ndarray, n_queries: int) -> Problem:
    """Histograms under the Earth Mover's Distance with a Euclidean ground distance between the places of their bins."""
    cost = cdist(places, places)

    def by_pot(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return np.array([[ot.emd2(x[x > 0], y[y > 0], cost[np.ix_(x > 0, y > 0)]) for y in Y] for x in X])

    exact = EarthMoversDistance(cost)
    learner = DistanceRegressor(directions=HistogramFeatures(places))
    learned = {"learned": DistanceApproximator(exact, learner)}
    return Problem(H, n_queries, exact, TransportBounds(cost, bin_coordinates=places), learned, {"POT": by_pot})


def digits(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    X = load_digit_histograms()
    return transport(np.array(shuffled(rng, X.histograms, n + n_queries)), X.bin_coordinates, n_queries)


def images_16(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    from emd_wide import C, usps

    return transport(np.array(shuffled(rng, usps(), n + n_queries)), C, n_queries)


def images_32(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    """The strokes of handwritten digits, enlarged to 32 x 32: all pixels take 93 ms a distance, and these 2."""
    from emd_wide import SIDE, usps

    X = np.array(shuffled(rng, usps(), n + n_queries)).reshape(-1, SIDE, SIDE)
    X = zoom(X, (1, 2, 2), order=1).reshape(len(X), -1)
    X = np.where(X >= 0.9 * X.max(axis=1, keepdims=True), X, 0.0)
    places = np.indices((2 * SIDE, 2 * SIDE)).reshape(2, -1).T.astype(float)
    return transport(X / X.sum(axis=1, keepdims=True), places, n_queries)


def colours(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    """Histograms of 8 x 8 x 8 colours of tiles of 16 x 16 pixels, which do not overlap, of two photographs."""
    tiles = []
    for image in load_sample_images().images:
        height, width = image.shape[0] // 16, image.shape[1] // 16
        bins = (image[: 16 * height, : 16 * width] // 32).astype(int) @ [64, 8, 1]
        tiles.append(bins.reshape(height, 16, width, 16).swapaxes(1, 2).reshape(height * width, -1))
    H = np.array([np.bincount(tile, minlength=512) for tile in np.concatenate(tiles)]) / 256.0
    places = np.indices((8, 8, 8)).reshape(3, -1).T.astype(float)
    return transport(np.array(shuffled(rng, H, n + n_queries)), places, n_queries)


def topics(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    from links import jensen_shannon

    X = rng.dirichlet(np.full(128, 0.1), n + n_queries)
    named = DistanceRegressor(tables=Tables(base_distances=["jensenshannon"], base_exponents="auto"))
    learned = learners(jensen_shannon, None) | {"learned, by name": DistanceApproximator(jensen_shannon, named)}
    bounds = LandmarkBounds(jensen_shannon, geometry="hilbert")
    return Problem(X, n_queries, jensen_shannon, bounds, learned, {"SciPy": lambda X, Y: cdist(X, Y, "jensenshannon")})


def roads(rng: np.random.Generator, n: int, n_queries: int) -> Problem:
    """Crossings of a random network of roads, each joined to its five nearest; roads take one to three times their length."""
    places = rng.random((n + n_queries + 50, 2))
    length, near = cKDTree(places).query(places, 6)
    start, end = np.repeat(np.arange(len(places)), 5), near[:, 1:].ravel()
    taken = length[:, 1:].ravel() * rng.uniform(1.0, 3.0, len(start))
    one_way = csr_array((taken, (start, end)), shape=(len(places), len(places)))
    network = one_way.maximum(one_way.T)
    part = connected_components(network)[1]
    crossings = rng.permutation(np.flatnonzero(part == np.bincount(part).argmax()))[: n + n_queries].tolist()

    def travel(i: int, j: int) -> float:
        return float(dijkstra(network, indices=i)[j])

    features = make_union(FunctionTransformer(lambda nodes: places[np.asarray(nodes)]), LandmarkFeatures())
    rivals = {"SciPy": lambda X, Y: dijkstra(network, indices=X)[:, Y]}
    return Problem(crossings, n_queries, travel, LandmarkBounds(travel), learners(travel, features), rivals)


PROBLEMS: dict[str, tuple[Callable[..., Problem], int]] = {  # and the numbers of items
    "cbf": (cbf, 880), "gunpoint": (gunpoint, 150), "channels": (channels, 1_000),
    "words": (words, 2_000), "dna": (dna, 3_000), "clouds": (clouds, 1_000),
    "digits": (digits, 1_500), "images_16": (images_16, 1_000), "images_32": (images_32, 600), "colours": (colours, 1_000),
    "topics": (topics, 1_450), "roads": (roads, 1_000),
}  # fmt: skip


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of the processor and of the clock, and the result."""
    clock, processor = time.perf_counter(), time.process_time()
    result = call()
    return time.process_time() - processor, time.perf_counter() - clock, result


def learned(p: Problem, model: DistanceApproximator, true: np.ndarray, call_s: float) -> dict:
    fit_s, clock_s, _ = timed(lambda: model.fit(p.items))
    index = NeighborIndex(model).fit(p.items)
    index.kneighbors(p.queries[:1], K)
    search_s, _, (_, ids) = timed(lambda: index.kneighbors(p.queries, K))
    pairs = np.column_stack(np.triu_indices(p.n_queries, 1))
    given = p.queries[pairs] if isinstance(p.queries, np.ndarray) else [(p.queries[i], p.queries[j]) for i, j in pairs]
    y = np.array([float(p.distance(a, b)) for a, b in given])
    d, low, high = model.predict(given, interval=0.9)
    apart = y > 0
    return {
        "recall": float((np.take_along_axis(true, ids, axis=1) <= np.sort(true)[:, K - 1 : K]).mean()),
        "error": float(np.median(np.abs(d - y)[apart] / y[apart])),
        "error_told": float(model.error_.median),
        "covered": float(((low <= y) & (y <= high)).mean()),
        "fit_s": fit_s,
        "fit_clock_s": clock_s,
        "calls": int(model.n_calls_),
        "calls_s": model.n_calls_ * call_s,
        "ms_query": 1e3 * search_s / p.n_queries,
        "link": str(model.semimetric_.link),
        "weights": len(model.semimetric_.weights),
    }


def proved(p: Problem, true: np.ndarray) -> dict:
    fit_s, _, index = timed(lambda: FilterRefineIndex(None, p.distance, bounds=p.bounds).fit(p.items))
    expected = index.expected_calls(K)
    search_s, _, found = timed(lambda: index.search(p.queries, K))
    np.testing.assert_array_equal(found.distances, np.sort(true)[:, :K])
    return {
        "called": float(found.n_calls.mean() / len(true[0])),
        "called_most": float(found.n_calls.max() / len(true[0])),
        "expected": expected.calls / len(true[0]),
        "certified": bool(found.certified.all()),
        "fit_s": fit_s,
        "ms_query": 1e3 * search_s / p.n_queries,
        "said": str(expected),
    }


def rows(p: Problem) -> Iterator[dict]:
    small = p.items[:60]
    next(iter(p.learners.values())).set_params(n_pairs=100).fit(small)  # compiled before it is timed
    for model in p.learners.values():
        model.set_params(n_pairs=DistanceApproximator().n_pairs)
    FilterRefineIndex(None, p.distance, bounds=p.bounds).fit(small).search(p.queries[:1], K)
    brute_s, _, true = timed(lambda: np.array([[float(p.distance(q, x)) for x in p.items] for q in p.queries]))
    yield {"method": "brute force", "ms_query": 1e3 * brute_s / p.n_queries, "us_call": 1e6 * brute_s / true.size}
    for name, every in p.rivals.items():
        asked = p.queries if brute_s < FEW_ABOVE else p.queries[:10]
        every(asked[:1], p.items)
        rival_s, _, found = timed(lambda every=every, asked=asked: every(asked, p.items))
        agrees = bool(np.allclose(found, true[: len(asked)], rtol=1e-6, atol=1e-9))
        yield {"method": name, "ms_query": 1e3 * rival_s / len(asked), "agrees": agrees}
    for name, model in p.learners.items():
        yield {"method": name} | learned(p, model, true, brute_s / true.size)
    yield {"method": "proved"} | proved(p, true)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=tuple(PROBLEMS), default=tuple(PROBLEMS), metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="150 items and 20 queries each")
    add_results(parser)
    options = parser.parse_args()
    use_one_thread()
    warnings.simplefilter("ignore", SemimetricWarning)
    for name in options.only:
        make, n = PROBLEMS[name]
        n, n_queries = (min(n, 150), 20) if options.quick else (n, N_QUERIES)
        try:
            problem = make(np.random.default_rng(SEED), n, n_queries)
        except ImportError as missing:
            print(f"{name} is left out: {missing}")
            continue
        found = [{"data": name, "items": len(problem.items), "queries": n_queries} | row for row in rows(problem)]
        report(f"expensive: {name}", found)
        for row in found:
            append(options.results, with_origin({"benchmark": "expensive"} | row, "semimetric"))


if __name__ == "__main__":
    main()
