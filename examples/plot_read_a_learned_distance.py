"""What does a learned distance say about its features?
====================================================

A learned distance is a sum of tables, one for each feature, so it can be read. Here three features enter a known distance in
three ways. Hours of the day are near across midnight. For prices only the ratio counts. Sizes differ or do not: beyond a point
a larger difference is no larger. The tables show all three, and the contributions show why two items are far apart.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import semimetric
from semimetric.plotting import plot_contributions, plot_table

rng = np.random.default_rng(0)
items = pd.DataFrame(
    {"hour": rng.uniform(0, 24, 800), "price": np.exp(rng.uniform(0, 4, 800)), "size": rng.uniform(30, 50, 800)}
)


def true_distance(x, y):
    """Return the true distances of two batches, which the tables should show."""
    hours, (prices, sizes) = np.abs(x[:, 0] - y[:, 0]), np.abs(np.stack([np.log(x[:, 1] / y[:, 1]), x[:, 2] - y[:, 2]]))
    return np.minimum(hours, 24 - hours) / 6 + prices / 2 + 2 * (1 - np.exp(-sizes / 2))


learner = semimetric.DistanceApproximator(
    true_distance, semimetric.DistanceRegressor(n_knots=12, alpha=1e-6), n_pairs=8000
).fit(items)
d = learner.semimetric_
print(d)
print("relative error on items set aside:", {q: f"{100 * e:.1f} %" for q, e in learner.error_quantiles_.items()})

# The same facts as numbers.
x, y = items.to_numpy()[:2]
for term, value in zip(d.terms, d.contributions(x, y), strict=True):
    print(f"{term:<14} {value:.3f}")
print("sum            ", round(float(d.contributions(x, y).sum()), 3), "which is d(x, y) =", round(d(x, y), 3))
print("knots of hour: ", d.tables()["hour"].knots[0].round(1))

# It is a value: save it, load it elsewhere, read its guarantees.
print("guaranteed:    ", d.axioms)

figure, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
plot_table(d, "hour", axes[0, 0]).set_title("Hours: midnight is near to late evening")
plot_table(d, "price", axes[0, 1]).set_title("Prices: only the ratio counts")
plot_table(d, "size", axes[1, 0]).set_title("Sizes: different is different")
plot_contributions(d, x, y, axes[1, 1])
figure.suptitle("What does a learned distance say about its features?")
plt.show()
