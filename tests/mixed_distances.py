"""Distances of numbers, an angle and a category, with directions and joint tables: what explanations have to tell apart."""

import numpy as np

from semimetric import Grid, PairEmbedding, Semimetric
from semimetric.distances.features.linear_directions import Directions

SINGLES = tuple((f,) for f in range(6))
GROUPS = {
    "singles": SINGLES,
    "pairs": (*SINGLES, (0, 2), (1, 3)),
    "directions together": ((0,), (1,), (2,), (3,), (4, 5)),
    "of everything": (*SINGLES, (0, 2, 5), (3, 1, 4, 2)),
}
KINDS = ("numeric", "numeric", "periodic", "categorical", "numeric", "numeric")
PERIOD = 4.0


def items(rng, n, gaps=False):
    """n encoded items of two numbers, an angle and a category; some numbers lie outside the range, some may be missing."""
    X = np.column_stack([rng.uniform(-2.5, 2.5, (n, 2)), rng.uniform(0, PERIOD, n), rng.integers(0, 4, n)])
    if gaps:
        X[rng.random(n) < 0.3, 1] = np.nan
        X[rng.random(n) < 0.2, 0] = np.nan
    return X


def distance(seed, groups="singles", *, bends=False, gaps=False, link="identity", low=0.05):
    """A `Semimetric` with random weights; the directions p and q combine the numbers a and b."""
    rng = np.random.default_rng(seed)
    bent = (np.array([-2.0, -0.5, 1.0, 2.0]), np.array([-1.5, 0.0, 2.0]), np.array([0.0]), np.array([0.0])) if bends else ()
    matrix = np.zeros((2, 5 if bends else 4))
    matrix[:, : 5 if bends else 2] = rng.uniform(0.3, 1.5, (2, 5 if bends else 2)) * [[1.0], [-1.0]]
    matrix[0, -1 if bends else 1] *= -1.0  # the numbers pull in opposite ways along p
    directions = Directions(matrix, ("p", "q"), bent)
    mapped = directions.append(np.nan_to_num(items(rng, 60)))[:, 4:]
    knots = [[-2.0, -0.3, 0.4, 2.0], [-2.0, 0.1, 2.0], [0.0, 1.0, 2.5, PERIOD], [0.0, 1.0, 2.0, 3.0]]
    grid = Grid([*knots, *np.quantile(mapped, [0.1, 0.4, 0.6, 0.9], axis=0).T], KINDS, [gaps, gaps, False, False, gaps, gaps])
    embedding = PairEmbedding(grid, GROUPS[groups])
    w = rng.uniform(low, 1.0, embedding.n_columns)
    epsilon = rng.uniform(0.1, 1.0, (6, 2)) * (np.array(KINDS) == "numeric")[:, None]
    return Semimetric(embedding, w, epsilon, ("a", "b", "c", "d"), directions, link=link)
