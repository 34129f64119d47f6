"""Can a machine learn from columns that it never stores?
======================================================

The data are half-moons in two features, and eight features of noise. PL2 makes a column of every cell corner of every pair of
features. The matrix of those columns grows with the rows. The machine does not: it embeds a few rows at a time, takes its
steps, and forgets them. It ends at the same optimum as LIBLINEAR on the stored matrix, and certifies its distance from it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import LinearSVC

from semimetric import EmbeddedLinearClassifier, PL2Embedding

rng = np.random.default_rng(0)
X, y = make_moons(1500, noise=0.25, random_state=0)
X = np.hstack([X, rng.normal(size=(len(X), 8))])
train, test = np.arange(500), np.arange(500, 1500)

machine = EmbeddedLinearClassifier(PL2Embedding(6), C=0.05, tol=1e-3).fit(X[train], y[train])
stored = machine.embedding_.transform(X[train])
peer = LinearSVC(C=0.05, dual=True, max_iter=10_000).fit(stored, y[train])
same = (peer.predict(machine.embedding_.transform(X[test])) == machine.predict(X[test])).mean()
print(f"right on {100 * machine.score(X[test], y[test]):.1f} % of new points; as LIBLINEAR says on {100 * same:.1f} %")
print(f"{machine.n_iter_} passes; the optimum is at most {100 * machine.duality_gap_:.2f} % lower")

figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
plane = np.stack(np.meshgrid(np.linspace(-2, 3, 150), np.linspace(-1.5, 2, 150), indexing="ij"), axis=-1)
points = np.hstack([plane.reshape(-1, 2), np.tile(np.median(X[train, 2:], axis=0), (150 * 150, 1))])
score = machine.decision_function(points).reshape(150, 150)
axes[0].contourf(plane[..., 0], plane[..., 1], score, levels=np.linspace(-3, 3, 13), cmap="RdBu", extend="both", alpha=0.8)
axes[0].scatter(*X[test, :2].T, c=y[test], cmap="RdBu", s=8, edgecolors="k", linewidths=0.2)
axes[0].set(title="What was learned, noise at its median", xlabel="x0", ylabel="x1")

rows = np.array([500, 1_000, 10_000, 100_000, 1_000_000])
axes[1].loglog(rows, stored.nnz / len(train) * rows * 12 / 1e6, "o-", label="the stored matrix")
axes[1].loglog(rows, rows * X.shape[1] * 8 / 1e6, "s-", label="the data")
axes[1].loglog(rows, (machine.coef_.nbytes + rows * 8) / 1e6, "^-", label="the machine, with a dual variable a row")
axes[1].set(title="Memory", xlabel="rows", ylabel="megabytes")
axes[1].legend()
figure.suptitle("Can a machine learn from columns that it never stores?")
plt.show()
