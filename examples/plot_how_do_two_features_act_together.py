"""How do two features act together?
=================================

A linear classifier sees only sums. PL2 writes every feature, and every pair of features, as a few columns of a grid. A linear
classifier on those learns any piecewise-linear function of each pair. It is still linear: convex, fast, and its weights are the
values of the function at the knots, which can be read and drawn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from semimetric import PL1Embedding, PL2Embedding

# Two of six measurements decide together: a part fits if they differ by little. A third has a threshold of its own.
rng = np.random.default_rng(0)
X = rng.random((3000, 6))
fits = (np.abs(X[:, 0] - X[:, 1]) + 0.3 * (X[:, 2] > 0.5) < 0.4) ^ (rng.random(3000) < 0.1)
train, test, y, truth = train_test_split(X, fits, random_state=0)

classifier = LogisticRegression(C=0.3, max_iter=1000)
models = {
    "the features": classifier,
    "each feature, bent": make_pipeline(PL1Embedding(8), classifier),
    "pairs too": make_pipeline(PL2Embedding(8, shared_knots=True), classifier),
    "the best pair": make_pipeline(PL2Embedding(8, shared_knots=True, pairs="best", n_pairs=1), classifier),
}
for name, model in models.items():
    print(f"{name:<20} {100 * model.fit(train, y).score(test, truth):.1f} % right (at best about 90)")

# The best pair's function, drawn from its columns: the weights are its values at the knots.
embedding, linear = models["the best pair"]
pair = embedding.pairs_[0]
print(f"the pair that explains most beyond single features: {' and '.join(f'x{f}' for f in pair)}")
term = embedding.terms_[-1]
knots = [embedding.grid_.knots[f] for f in pair]
table = linear.coef_[0, term.start : term.stop].reshape(len(knots[0]), -1)

steps = np.linspace(0, 1, 200)
points = np.zeros((200 * 200, 6))
points[:, pair] = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
surface = (embedding.transform(points)[:, term.start : term.stop] @ table.ravel()).reshape(200, 200)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
limit = np.abs(surface).max()
drawn = axes[0].pcolormesh(steps, steps, surface.T, cmap="RdBu", vmin=-limit, vmax=limit)
axes[0].plot(*np.meshgrid(*knots), "k.", markersize=3)
axes[0].set(title="What the two add together, and the knots", xlabel=f"x{pair[0]}", ylabel=f"x{pair[1]}")
figure.colorbar(drawn, ax=axes[0], label="log odds that it fits")
for f in (2, 3):
    single = embedding.terms_[f]
    axes[1].plot(embedding.grid_.knots[f], linear.coef_[0, single.start : single.stop], "o-", label=f"x{f}")
axes[1].set(title="What single features add", xlabel="value", ylabel="log odds that it fits")
axes[1].legend()
figure.suptitle("How do two features act together?")
plt.show()
