"""Distances of every kind that a page must compute as Python does."""

import mixed_distances
import numpy as np
import pytest
from sklearn.datasets import load_iris

import semimetric as sm
from semimetric import Grid, PairEmbedding, Semimetric
from semimetric.embeddings.pairs.scales_and_tables import scales_of

KINDS = ("numeric", "periodic", "categorical", "numeric")
NAMES = ("weight", "hour", "colour", "height")
KNOTS = ([0.0, 1.0, 2.5, 4.0], [0.0, 6.0, 13.0, 24.0], [0.0, 1.0, 2.0, 3.0], [-1.0, 0.5, 2.0])


def grid(missing=False):
    return Grid(KNOTS, KINDS, [missing] * 4)


def vectors(n, seed, gaps=False):
    """Encoded vectors in and around the range, on knots, and with missing values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 5, n), rng.uniform(0, 24, n), rng.integers(0, 4, n), rng.uniform(-2, 3, n)])
    X[: n // 4, 0] = rng.choice(KNOTS[0], n // 4)
    X[: n // 4, 1] = rng.choice(KNOTS[1][:-1], n // 4)
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X


def of(embedding, seed=0, link="identity", low=0.05):
    rng = np.random.default_rng(seed)
    epsilon = rng.uniform(0.1, 1.0, (4, 2)) * embedding.grid.extends[:, None]
    return Semimetric(embedding, rng.uniform(low, 1.0, embedding.n_columns), epsilon, NAMES, link=link)


def _touched(**options):
    whole = PairEmbedding(grid(), [(0,), (1, 2), (3, 0)], **options)
    return PairEmbedding(
        grid(), whole.groups, vertices=[v.restricted(v.keys[::3]) for v in whole.vertices],
        unseen_slopes=np.array([0.3, 0.1, 0.7, 0.2]), **options,
    )  # fmt: skip


def _large():
    """A joint table that is too large to be whole, of which pairs touch a few vertices."""
    fine = Grid([np.linspace(0, 4, 40), np.linspace(0, 24, 30), KNOTS[2], np.linspace(-1, 2, 30)], KINDS)
    whole = PairEmbedding(fine, [(0, 3), (1, 2)])
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.uniform(0, 4, 40), rng.uniform(0, 24, 40), rng.integers(0, 4, 40), rng.uniform(-1, 2, 40)])
    items = whole.locate(X)
    touched = whole.touched_by(items, rng.integers(0, 40, 200), rng.integers(0, 40, 200))
    return whole.restricted(touched, np.array([0.3, 0.1, 0.7, 0.2]))


DISTANCES = {
    "tables": lambda: of(PairEmbedding(grid())),
    "tables of roots": lambda: of(PairEmbedding(grid()), link="sqrt"),
    "missing": lambda: of(PairEmbedding(grid(True))),
    "all pairs": lambda: of(PairEmbedding(grid(True), "pairs")),
    "swapped": lambda: of(PairEmbedding(grid(), [(0,), (1,), (3, 2), (0, 1, 3)], symmetry="swap")),
    "asymmetric": lambda: of(PairEmbedding(grid(True), [(0,), (1,), (2, 3)], symmetry="none")),
    "no axioms": lambda: of(PairEmbedding(grid(), symmetry="none", zero_diagonal=False), low=-0.5),
    "touched": lambda: of(_touched()),
    "touched and asymmetric": lambda: of(_touched(symmetry="none")),
    "too large to be whole": lambda: of(_large()),
    "by difference": lambda: of(PairEmbedding(grid()).tied_by_difference({0, 3})),
    "one weight": lambda: of(PairEmbedding(grid()).with_one_weight({2})),
    "scales and tables": lambda: of(scales_of(grid(), [(f,) for f in range(4)])),
    "scales and roots": lambda: of(scales_of(grid(), [(f,) for f in range(4)]), link="sqrt"),
    "a constant column": lambda: of(PairEmbedding(Grid([[1.0], *KNOTS[1:]], KINDS))),
}


@pytest.fixture(params=DISTANCES)
def distance(request):
    return DISTANCES[request.param]()


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, load_iris().target_names[y]


@pytest.fixture(scope="module")
def learned(iris):
    X, y = iris
    return sm.LargeMarginLearner(n_knots=4, alpha=1e-2, directions="lda", tables="warped").fit(X, y)


def made_with_directions(groups, *, bends, gaps, link):
    return mixed_distances.distance(3, groups, bends=bends, gaps=gaps, link=link)
