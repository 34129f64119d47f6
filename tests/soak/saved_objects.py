"""Small saved objects of every kind, made once a process: what the attacks on files start from."""

import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from fitted_estimators import FITTED
from fitted_estimators import bases_of as bases_of_estimator

import semimetric as sm
from semimetric.distances.search import index as index_module
from semimetric.distances.search import segment

SAVED = Path(__file__).parents[1] / "saved" / "0.1.0"
MODELS = sorted(path.stem for path in SAVED.glob("*.smm"))


def cityblock(X, Y):
    return np.abs(np.asarray(X) - np.asarray(Y)).sum(axis=-1)


def bases_of(name):
    """The base distances of an object, by its name."""
    if name in ESTIMATORS:
        return bases_of_estimator(name.removesuffix(":estimator"))
    return [cityblock] if name.split(":")[0] == "base" else []


def lower_thresholds():
    """Let so few items be searched by their codes, and let what is added have segments of its own."""
    segment._FEW = segment._WORTH = 0
    index_module._TAIL = 1


def encoded(d, n, seed):
    """Encoded vectors that the distance takes, some of them outside its range: shape (n, n_features)."""
    rng, grid = np.random.default_rng(seed), d.embedding.grid
    out = np.empty((n, d.n_features))
    for f in range(d.n_features):
        low, high = grid.low[f], grid.high[f]
        if not np.isfinite(high - low):
            low, high = low / 2, high / 2
        out[:, f] = rng.uniform(low, high, n)
        if grid.kinds[f] == "numeric":
            out[:, f] += rng.choice([0.0, 0.3, -0.3], n, p=[0.8, 0.1, 0.1]) * (high - low or 1.0)
        if grid.kinds[f] == "periodic":
            out[:, f] = np.mod(out[:, f], d.schema.features[f].period)
        if grid.kinds[f] == "categorical":
            out[:, f] = rng.integers(0, len(grid.knots[f]) - 1, n)
        if grid.missing[f]:
            out[rng.random(n) < 0.1, f] = np.nan
    out[n // 2] = out[0]  # equal items tie
    return out


def table(d, items):
    """The values that encoded vectors stand for; new categories have a name that no category has."""
    out = d.schema.decode(items)
    return out if out is items else np.where(d.schema.unseen(items), "a new category", out)


def model(name):
    return sm.load(SAVED / f"{name}.smm", base_distances=bases_of(name))


# the distance, and the parameters of the index or the number of shards
INDEXES = {f"{name}:index": (name, {}) for name in MODELS} | {
    "warped:lists": ("warped", {"n_lists": 4}),
    "groups-and-directions:lists": ("groups-and-directions", {"n_lists": 3}),
    "mixed:lists": ("mixed", {"n_lists": 3}),
    "asymmetric:last": ("asymmetric", {"side": "query-last"}),
    "warped:text": ("warped", {}),
    "square-root:float32": ("square-root", {}),
    "warped:segments": ("warped", {}),
    "clipped:segments": ("clipped", {"n_lists": 2}),
    "mixed:segments": ("mixed", {}),
}
ESTIMATORS = {f"{name}:estimator": make for name, make in FITTED.items()}
SHARDS = {f"{name}:shards": name for name in ("warped", "groups-and-directions", "asymmetric", "square-root", "clipped")}


def built_index(name):
    base, options = INDEXES[name]
    d = model(base)
    items = encoded(d, 90, 5)
    X = d.schema.decode(items)
    X = X.astype(np.float32) if name.endswith("float32") else X
    ids = [f"item {k * 7 % 90}" for k in range(90)] if name.endswith("text") else None
    index = sm.NeighborIndex(d, **options).fit(X, ids=ids)
    if name.endswith("segments"):
        index.add(d.schema.decode(encoded(d, 30, 6))).remove([3, 4, 95])
        index.add(d.schema.decode(encoded(d, 9, 7)), ids=[3, 500, 501, 502, 503, 504, 505, 506, 507])
    return index


@cache
def root():
    return Path(tempfile.mkdtemp(prefix="saved-objects-"))  # in the directory that the runner gives to a process, and removes


@cache
def saved(name):
    """The path of a saved object, which must not be changed."""
    if name in MODELS:
        return SAVED / f"{name}.smm"
    lower_thresholds()
    path = root() / name.replace(":", "-").replace(" ", "-")
    if name in ESTIMATORS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ESTIMATORS[name]().save(path)
    elif name in INDEXES:
        built_index(name).save(path)
    else:
        d = model(SHARDS[name])
        sm.ShardedIndex.build(path, d, encoded(d, 60, 8), n_shards=3)
    return path
