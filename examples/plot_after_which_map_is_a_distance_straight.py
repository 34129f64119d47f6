"""After which map is a distance a straight line?
==============================================

A Mahalanobis distance stretches and turns the data, and then measures straight lines: ``d(x, y)² = (x - y)ᵀ M (x - y)``. We
measure such a distance between rows of four columns, with errors of 5 %, and learn it. Nothing is said of its form. By default
the matrix is found on the way: tables of single columns cannot be that distance, as the product of two columns is no sum.

On the left are distances of new rows, which none of the models has seen. On the right is the matrix that was learned.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import DistanceRegressor

rng = np.random.default_rng(0)
names = ["a", "b", "c", "d"]
rows, turn = rng.normal(size=(300, 4)), rng.normal(size=(4, 4))
pairs = rng.integers(0, 300, (5000, 2))


def straight(X, Y):
    return np.linalg.norm((X - Y) @ turn, axis=-1)


measured = straight(*rows[pairs.T]) * np.exp(0.05 * rng.normal(size=5000))
by_default = DistanceRegressor(effort="fast", preprocessor=rows).fit(pairs, measured)
by_columns = DistanceRegressor(tables="full", effort="fast", preprocessor=rows).fit(pairs, measured)
print(by_default.recipe_.factors)

new = rng.normal(size=(2, 2000, 4))
true = straight(*new)
L = by_default.semimetric_.directions.matrix
M = L.T @ L
M *= np.trace(turn @ turn.T) / np.trace(M)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for model, name, color in ((by_columns, 'tables="full"', "0.6"), (by_default, "by default", "C0")):
    found = model.semimetric_.paired(*new)
    error = np.median(np.abs(found / true - 1))
    print(f"{name:14} {error:.2%} median error on new rows")
    left.plot(true, found, ".", markersize=2, color=color, label=f"{name}: median error {error:.1%}")
left.axline((0, 0), slope=1, color="k", linewidth=0.8)
left.set(title="Distances of new rows", xlabel="true distance", ylabel="learned distance")
left.legend(frameon=False, markerscale=6)
right.imshow(M, cmap="RdBu", vmin=-2 * np.abs(M).max(), vmax=2 * np.abs(M).max())
for i, j in np.ndindex(4, 4):
    right.text(j, i, f"{M[i, j]:.2f}\n({(turn @ turn.T)[i, j]:.2f})", ha="center", va="center", fontsize=9)
right.set(title="The matrix, learned (and true)", xticks=range(4), xticklabels=names, yticks=range(4), yticklabels=names)
figure.suptitle("After which map is a distance a straight line?")
plt.show()
