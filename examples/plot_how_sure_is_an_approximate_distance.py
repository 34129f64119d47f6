"""
How sure is an approximate distance?
====================================

A fast distance replaces a slow one. Held-out items show its error, and give an interval around every predicted distance that
holds nine true distances in ten. It is wide where the approximation is poor, and narrow where it is good. It is checked here on
items that nothing has seen. The slow distance is called in rounds until more calls do not help.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from semimetric import DistanceApproximator, DistanceRegressor, SemimetricWarning
from semimetric.plotting import plot_predicted

rng = np.random.default_rng(0)
waves = rng.dirichlet(np.ones(12), 700)
ARCS = np.array([np.roll(np.arange(12) < length, start) for length in (2, 3, 4, 5) for start in range(12)], float)


def earth_movers_on_a_circle(x, y):
    """The Earth Mover's Distance between histograms around a circle: the flow that is cheapest, past any bin."""
    flow = np.cumsum(x - y, axis=-1)
    return np.abs(flow - np.median(flow, axis=-1, keepdims=True)).sum(axis=-1)


model = DistanceApproximator(
    earth_movers_on_a_circle,
    DistanceRegressor(n_knots=3, alpha=1e-5, directions=ARCS),
    n_pairs="auto",
    max_calls=8_000,
    validation_fraction=0.2,
).fit(waves[:500])
print(model.error_)
print(f"{model.n_calls_:,} calls")

i, j = np.triu_indices(200, 1)
i, j = 500 + np.array([i, j])
chosen = rng.permutation(len(i))[:800]
pairs = np.stack([waves[i[chosen]], waves[j[chosen]]], axis=1)
true = earth_movers_on_a_circle(pairs[:, 0], pairs[:, 1])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SemimetricWarning)  # a few new items lie outside the range of the fit
    nine_in_ten, half = model.predict(pairs, interval=0.9), model.predict(pairs, interval=0.5)

figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
plot_predicted(true, nine_in_ten, axes[0])
axes[0].set_title("New items: intervals of 90 %")
plot_predicted(true, half, axes[1])
axes[1].set_title("New items: intervals of 50 %")
figure.suptitle("How sure is an approximate distance?")
plt.show()
