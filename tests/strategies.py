"""Hypothesis strategies: grids of every shape, groups, points where code is likely to go wrong, weights, and series."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from semimetric.data.grid import Grid

FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)  # shared by all features, so that ties between features occur


@st.composite
def grids(draw, max_features=3, max_knots=5, min_knots=1):
    """Unequal numbers of knots at unequal steps; one knot is a constant feature."""
    n = draw(st.integers(1, max_features))
    knots = st.lists(st.integers(-12, 12), min_size=min_knots, max_size=max_knots, unique=True)
    return Grid([np.array(sorted(draw(knots))) / 4.0 for _ in range(n)])


@st.composite
def mixed_grids(draw, max_features=3, max_knots=4, max_categories=4):
    """Grids with features of every kind, with and without levels for missing values."""
    n = draw(st.integers(1, max_features))
    kinds = [draw(st.sampled_from(["numeric", "periodic", "categorical"])) for _ in range(n)]
    knots = []
    for kind in kinds:
        if kind == "categorical":
            knots.append(np.arange(draw(st.integers(1, max_categories)) + 1.0))
            continue
        low = 1 + (kind == "periodic")
        places = st.lists(st.integers(-12, 12), min_size=low, max_size=max_knots + low - 1, unique=True)
        knots.append(np.array(sorted(draw(places))) / 4.0)
    return Grid(knots, kinds, [draw(st.booleans()) for _ in range(n)])


@st.composite
def points(draw, grid, n):
    """(n, n_features): at knots, at fractions that tie, anywhere in the range, outside of it, and missing where that may be."""

    def value(knots, kind, missing):
        if missing and draw(st.integers(0, 3)) == 0:
            return np.nan
        if kind == "categorical":
            return draw(st.sampled_from(list(knots)))
        return number(knots)

    def number(knots):
        kind = draw(st.sampled_from(["knot", "tie", "inside", "outside"]))
        if kind == "knot" or (kind == "tie" and len(knots) == 1):
            return draw(st.sampled_from(list(knots)))
        if kind == "tie":
            k = draw(st.integers(0, len(knots) - 2))
            return knots[k] + draw(st.sampled_from(FRACTIONS)) * (knots[k + 1] - knots[k])
        low, high = knots[0] - 2.0 * (kind == "outside"), knots[-1] + 2.0 * (kind == "outside")
        return draw(st.floats(low, high, allow_subnormal=False))

    features = list(zip(grid.knots, grid.kinds, grid.missing, strict=True))
    return np.array([[value(*feature) for feature in features] for _ in range(n)], dtype=np.float64)


def groups(n_features, max_size=2):
    """Distinct groups that together may miss features."""
    group = st.lists(st.integers(0, n_features - 1), min_size=1, max_size=min(max_size, n_features), unique=True).map(tuple)
    return st.lists(group, min_size=1, max_size=4, unique_by=frozenset)


def weights(n, low=0.0):
    return hnp.arrays(np.float64, n, elements=st.floats(low, 8.0, allow_subnormal=False))


@st.composite
def pair_settings(draw, n=3, max_size=2):
    """A grid, groups on it, and two sets of n points."""
    grid = draw(grids())
    return grid, draw(groups(grid.n_features, max_size)), draw(points(grid, n)), draw(points(grid, n))


POWERS = (0.5, 1.0, 1.5, 2.0, 3.0, np.inf)


@st.composite
def conic_settings(draw, n=5, max_sets=2, max_features=3):
    """Items (n, d) and sets of anchors in quarters, so that ties occur, and a power."""
    d = draw(st.integers(1, max_features))

    def rows(k):
        return draw(hnp.arrays(np.float64, (k, d), elements=st.integers(-12, 12).map(lambda v: v / 4.0)))

    sets = [rows(draw(st.integers(1, 4))) for _ in range(draw(st.integers(1, max_sets)))]
    return rows(n), sets, draw(st.sampled_from(POWERS))


@st.composite
def labelled_items(draw, max_items=14, n_classes=3, apart=True):
    """Items on a coarse grid, so that distances tie, and their classes, two at least; ``apart``: at different places."""
    d, k = draw(st.integers(1, 3)), draw(st.integers(2, n_classes))
    place = st.tuples(*[st.integers(-4, 4)] * d)
    X = draw(st.lists(place, min_size=k, max_size=min(max_items, 9**d), unique=apart))
    y = list(range(k)) + draw(st.lists(st.integers(0, k - 1), min_size=len(X) - k, max_size=len(X) - k))
    return np.array(X, dtype=np.float64) / 4.0, np.array(draw(st.permutations(y)), dtype=np.int64)


WINDOWS = [None, 0, 1, 3, 0.1, 0.5, 1.0]


@st.composite
def series(draw, n_series=3):
    """Series of the same channels and unlike lengths, with ties, and of sizes whose squares float64 barely holds."""
    n_channels = draw(st.integers(1, 3))
    rng, lengths = (
        np.random.default_rng(draw(st.integers(0, 10_000))),
        draw(st.lists(st.integers(1, 9), min_size=n_series, max_size=n_series)),
    )
    made = [np.round(rng.normal(size=(n, n_channels)).cumsum(axis=0), draw(st.sampled_from([0, 3, 16]))) for n in lengths]
    return [one * draw(st.sampled_from([1.0, 1e-150, 1e150])) for one in made] if draw(st.booleans()) else made
