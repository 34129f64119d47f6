"""
How many knots does a distance need?
====================================

A joint table of two features comes closer to any Lipschitz distance with more knots. Its error is at most L times the diameter
of a cell, so twice as many cells halve the bound (Pele & Ben-Aliz 2016, universality). None of the three distances here is a
sum over single features. Their tables are set at the points of a grid, with no learning. The error is the largest over all
pairs of 300 other points. It stays below the bound, and falls along with it. Tables of single features, learned from the same
distance, keep their error with any number of knots: they lack the form, not the knots.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import DistanceApproximator, DistanceRegressor, Tables
from semimetric.plotting import plot_around

rng = np.random.default_rng(0)
others = rng.random((300, 2))
corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
points = np.vstack([corners, rng.random((96, 2))])  # The corners make the grid one of the unit square.


def euclidean(x, y):
    """Return Euclidean distances: moving x or y by s adds at most s."""
    return np.linalg.norm(x - y, axis=-1)


def largest(x, y):
    """Return the larger of two differences, as a king walks on a chessboard."""
    return np.abs(x - y).max(axis=-1)


def waves(x, y):
    """Return the distance between the values of two crossing waves at x and at y: the slope of each is at most 4."""
    return sum(np.abs(np.sin(x @ way) - np.sin(y @ way)) for way in ([2.4, 3.2], [3.2, -2.4])) / 2


# %%
# If x moves by s, in any direction, the distance changes by at most L s. The same holds for y. Within a cell each of
# them moves by at most its diameter, sqrt(2) / cells. So the error is at most 2 sqrt(2) L / cells.
LIPSCHITZ = {euclidean: 1.0, largest: 1.0, waves: np.sqrt(8.0)}
cells = np.array([1, 2, 4, 8, 16, 31])  # A table has 1,024 grid points at most: 32 knots of both features.


def bound(distance, n):
    """Return the proved bound of the error of joint tables with n cells of each feature."""
    return LIPSCHITZ[distance] * np.sqrt(8.0) / n


def error(distance, learner, **settings):
    """Return the largest error over all pairs of the other points, and the model."""
    model = DistanceApproximator(distance, learner, validation_fraction=0, **settings).fit(points)
    return np.abs(model.pairwise(others) - distance(others[:, None], others[None])).max(), model


joint, models = {}, {}
for distance in LIPSCHITZ:
    joint[distance] = []
    for n in cells:
        learner = DistanceRegressor(n_knots=n + 1, tables=Tables(groups=[(0, 1)], knots="uniform", delta=0.0))
        worst, models[distance, n] = error(distance, learner, method="vertices")
        joint[distance].append(worst)
uniform = Tables(knots="uniform")
singles = [error(euclidean, DistanceRegressor(n_knots=n + 1, alpha=1e-4, tables=uniform), n_pairs=3000)[0] for n in cells[:-1]]
for distance, errors in joint.items():
    print(distance.__name__, *(f"{e:.3f}" for e in errors), "at most", *(f"{bound(distance, n):.3f}" for n in cells))
print("single features", *(f"{e:.3f}" for e in singles))

# %%
figure, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
for distance, errors in joint.items():
    (line,) = axes[0].loglog(cells, errors, "o-", label=distance.__name__)
    axes[0].loglog(cells, bound(distance, cells), "--", color=line.get_color())
axes[0].loglog(cells[:-1], singles, "s:", color="grey", label="euclidean, single features")
axes[0].set(xlabel="cells of each feature", ylabel="largest error", title="Joint tables; dashed what is proved at most")
axes[0].legend(loc="lower left", fontsize="small")
for ax, n in zip(axes[1:], (4, 16), strict=True):
    plot_around(models[euclidean, n].semimetric_, [0.3, 0.4], (0, 1), points, ax)
    ax.set_title(f"Equally far from a point: {n} cells")
figure.suptitle("How many knots does a distance need?")
plt.show()
