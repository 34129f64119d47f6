"""How smooth should an additive machine be?
=========================================

A machine on B-splines learns one function of every feature. The order of its penalty decides what it avoids: order 0 large
coefficients, order 1 steps from one to the next, order 2 bends. Here the inside of a disc is learned from few points, of which
one in ten has the wrong class. The rows above show the functions that the machine combines, those below the result.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import BSplineEmbedding, EmbeddedLinearClassifier
from semimetric.plotting import plot_basis

rng = np.random.default_rng(0)


def disc(n):
    """Return points of a square, and True for those in the disc."""
    X = rng.uniform(-1, 1, (n, 2))
    return X, (X**2).sum(axis=1) <= 0.64


X, y = disc(300)
noisy = np.where(rng.random(300) < 0.1, ~y, y)
X_held, y_held = disc(1000)
X_test, y_test = disc(5000)


def shape(machine, feature, places):
    """The learned function of one feature, at mean 0: a sum of columns, so it is read off and not estimated."""
    line = np.zeros((len(places), 2))
    line[:, feature] = places
    term = machine.embedding_.terms_[feature]
    f = machine.embedding_.transform(line)[:, term.start : term.stop] @ machine.coef_[0, term.start : term.stop]
    return f - f.mean()


places = np.linspace(-0.99, 0.99, 200)
true = -(places**2) + (places**2).mean()
figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
for order, (above, below) in enumerate(axes.T):
    degree = max(order, 1)
    # one unit of C differs between penalties: each gets the best of four on held-out points
    machines = [
        EmbeddedLinearClassifier(BSplineEmbedding(20, degree=degree, penalty_order=order), C=C, tol=1e-2).fit(X, noisy)
        for C in (0.001, 0.01, 0.1, 1.0)
    ]
    machine = max(machines, key=lambda m: m.score(X_held, y_held))
    score = machine.score(X_test, y_test)
    print(f"order {order}, degree {degree}: C = {machine.C:g}, {100 * score:.1f} % right")
    plot_basis(BSplineEmbedding(6, degree=degree, penalty_order=order).fit(X), X, 0, above)
    above.set_title(f"order {order}: what is combined")
    for feature in (0, 1):
        f = shape(machine, feature, places)
        below.plot(places, f / np.abs(f).max(), label=f"f of x{feature}")
    below.plot(places, true / np.abs(true).max(), "k--", lw=1, label="the disc")
    below.set(title=f"{100 * score:.1f} % right", xlabel="feature", ylabel="f, to scale", ylim=(-1.1, 1.1))
    below.spines[["top", "right"]].set_visible(False)
axes[1, 0].legend(frameon=False)
figure.suptitle("How smooth should an additive machine be?")
plt.show()
