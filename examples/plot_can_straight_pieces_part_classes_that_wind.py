"""Can straight pieces part classes that wind?
===========================================

Three arms wind into one another, so no straight line separates them. Every pair of classes is separated by pieces of planes,
and the pairs vote. A Dirichlet process proves a number of pieces from the few boundary points. Another number may predict best,
and with `n_components="auto"` held-out items choose it. The learned boundary can be drawn: it consists of straight lines. A
kernel machine is as accurate, and has nothing to draw.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC, LinearSVC

from semimetric import DPLMClassifier, GibbsChains
from semimetric.plotting import plot_pieces


def arms(n_items, seed):
    """Return items of three spirals, and the number of the arm of each."""
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, 3, n_items)
    angle = rng.uniform(0.6, 2.0, n_items) * np.pi
    turned = angle + arm * 2 * np.pi / 3
    places = (angle / 2)[:, None] * np.column_stack([np.cos(turned), np.sin(turned)])
    return places + 0.15 * rng.normal(size=(n_items, 2)), np.array(["first", "second", "third"])[arm]


(X, y), (unseen, truth) = arms(600, 0), arms(3000, 1)
models = [DPLMClassifier(n_components=n, chains=GibbsChains(n_sweeps=1000, n_chains=1)).fit(X, y) for n in (None, "auto")]
for name, model in zip(("as boundary points prove", "as predict best"), models, strict=True):
    print(f"as many pieces {name}: {model.n_components_.tolist()}, right on {100 * model.score(unseen, truth):.1f} % unseen")
for name, machine in (("a linear machine", LinearSVC(C=10.0)), ("a kernel machine", SVC(C=100.0))):
    print(f"{name} is right on {100 * machine.fit(X, y).score(unseen, truth):.1f} %")

figure, axes = plt.subplots(1, 2, figsize=(11, 5.4), layout="constrained")
for ax, model in zip(axes, models, strict=True):
    plot_pieces(model, X, y, ax)
    ax.set_xlabel(f"right on {100 * model.score(unseen, truth):.1f} % of unseen items")
figure.suptitle("Can straight pieces part classes that wind?")
plt.show()
