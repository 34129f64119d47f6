"""Ground distances, histograms, metrics of opaque objects, and distances that misbehave."""

import numpy as np
from scipy.spatial.distance import cdist

KINDS = ["metric", "thresholded", "squared", "repeated"]


def costs(seed, n, kind="metric"):
    """A ground distance of a kind, (n, n)."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 3, (n, 2)) if kind == "repeated" else rng.random((n, 2))
    cost = cdist(places, places) ** (2 if kind == "squared" else 1)
    return np.minimum(cost, 0.5) if kind == "thresholded" else cost


def histograms(seed, n, n_bins, mass=1.0):
    """Histograms of equal mass with some empty bins, (n, n_bins)."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (n, n_bins)).astype(float)
    counts[np.arange(n), rng.integers(0, n_bins, n)] += 1.0
    return mass * counts / counts.sum(axis=1, keepdims=True)


class Opaque:
    """An object that is no number, no sequence and no array."""

    def __init__(self, number):
        self.number = number

    def __array__(self, *args, **kwargs):
        raise AssertionError("an opaque object was turned into an array")

    def __iter__(self):
        raise AssertionError("an opaque object was gone through")

    def __repr__(self):
        return f"Opaque({self.number})"


def random_metric(seed, n, integers=False, one_way=False):
    """Return shortest paths of random lengths between n points without a place, (n, n): a metric, unless roads are one way."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, (n, n)).astype(float) if integers else rng.random((n, n)) + 0.05
    paths = lengths if one_way else np.minimum(lengths, lengths.T)
    np.fill_diagonal(paths, 0.0)
    for k in range(n):
        paths = np.minimum(paths, paths[:, k, None] + paths[k])
    return paths if one_way else np.minimum(paths, paths.T)


class Counted:
    """A distance of opaque objects by their numbers, which counts its calls."""

    def __init__(self, table):
        self.table = table
        self.calls = []

    def __call__(self, x, y):
        self.calls.append((x.number, y.number))
        return self.table[x.number, y.number]
