"""How do people see differences between colours?
==============================================

In CIELAB a colour is lightness L and two opponent axes a and b, made so that Euclidean distance is roughly the difference that
people see. But they see less difference between vivid colours than between greys. We learn the difference from pairs of
colours, with directions in the a-b plane, and look at which colours are as far from a given one.

If the environment variable SEMIMETRIC_DATA names a folder with combvd_colour.npz (3,813 pairs that people compared), these are
used. If not, the example simulates 3,000 pairs by a formula of the CMC kind. The chroma of a pair divides its difference in the
a-b plane, its lightness that in L, and 8 % noise is added. This shows the method, and proves nothing about people.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from semimetric import DistanceRegressor, UniformDirections, report
from semimetric.plotting import plot_around, plot_predicted

rng = np.random.default_rng(0)
NAMES = ["L", "a", "b"]


def judged(path):
    data = np.load(path)
    return data["lab1"], data["lab2"], data["dv"]


def made_up(n=3000):
    x = np.column_stack([rng.uniform(20, 90, n), rng.uniform(-50, 50, (n, 2))])
    y = x + rng.normal(0, (3.0, 4.0, 4.0), (n, 3))
    middle = (x + y) / 2
    wide = 1 + 0.045 * np.hypot(middle[:, 1], middle[:, 2])
    parts = (x - y) / np.column_stack([1 + 0.01 * np.abs(middle[:, 0] - 50), wide, wide])
    return x, y, np.linalg.norm(parts, axis=1) * rng.lognormal(0, 0.08, n)


def stress(true, predicted):
    """Return the unexplained percentage of the differences after the best scaling: 0 is best."""
    scale = (true @ predicted) / (predicted @ predicted)
    return 100 * np.sqrt(((true - scale * predicted) ** 2).sum() / (true**2).sum())


path = Path(os.environ.get("SEMIMETRIC_DATA", "."), "combvd_colour.npz")
real = path.exists()
x, y, seen = judged(path) if real else made_up()
who = "people" if real else "a made-up observer"
print(f"{len(seen)} pairs of colours, judged by {who}")

# Learn from nine tenths of the pairs; the rest are for checking.
test = rng.permutation(len(seen)) < len(seen) // 10
colours = pd.DataFrame(np.vstack([x, y]), columns=NAMES)
pairs = np.column_stack([np.arange(len(x)), len(x) + np.arange(len(x))])
model = DistanceRegressor(
    preprocessor=colours,
    directions=UniformDirections(["a", "b"], n_directions=8),  # hue has no axis of its own
    n_knots=16,
    alpha=1e-4,
).fit(pairs[~test], seen[~test])
d = model.semimetric_
print(d)
predicted, euclidean = model.predict(pairs[test]), np.linalg.norm(x - y, axis=1)[test]
print(f"STRESS on unseen pairs: CIELAB {stress(seen[test], euclidean):.1f}, learned {stress(seen[test], predicted):.1f}")

figure, (first, second, third) = plt.subplots(1, 3, figsize=(14.5, 4.8), layout="constrained")
plot_predicted(seen[test], predicted, first)
first.set(title="Pairs that it never saw", xlabel=f"difference that {who} saw", ylabel="learned difference")
for axes, title, (a, b) in ((second, "Difference from a grey", (0.0, 0.0)), (third, "Difference from a red", (30.0, 20.0))):
    near = colours[np.hypot(colours["a"] - a, colours["b"] - b) < 15]  # there are no pairs with larger differences
    plot_around(d, [near["L"].median(), a, b], ("a", "b"), near, axes)
    axes.set(title=title, aspect="equal")
figure.suptitle(f"How do {who if real else 'made-up observers'} see differences between colours?")
plt.show()

# %%
# Decide: pass a batch of paint if people see less difference from the sample than in half of the pairs.
limit = np.median(seen[~test])
passes = {"CIELAB": euclidean < np.median(np.linalg.norm(x - y, axis=1)[~test]), "the learned distance": predicted < limit}
for name, passed in passes.items():
    print(f"{name} decides against {who} for {np.mean(passed != (seen[test] < limit)):.0%} of the unseen pairs")

# %%
# Write the same as a page, on which a colour can be changed, and its distances are computed again.
report(model, colours.iloc[::20], title="How do people see differences between colours?")
