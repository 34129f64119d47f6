"""Can a distance be learned from measured distances alone?
========================================================

A courier knows how long 3,000 trips between stops took, and nothing about roads. Every metre east or west costs time, and so
does every metre north or south. Crossing the river, in the middle of the map, takes long. Rush hour is near only to itself.
From the trips we learn a distance between (east, north, hour), and check it on stops that it never saw. In the result we can
see the river.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from semimetric import DistanceRegressor
from semimetric.plotting import plot_around, plot_contributions, plot_predicted, plot_table

# Items are stops with three numbers each. Pairs are rows of the items. Distances are the measured times.
rng = np.random.default_rng(0)
names = ("east", "north", "hour")
stops = np.column_stack([rng.uniform(0, 10, 600), rng.uniform(0, 6, 600), rng.uniform(6, 20, 600)])


def minutes(x, y):
    """The world, which the learner does not know: streets, a river at east = 4, and a rush hour at 17."""
    river, rush = 12 * np.abs((x[:, 0] > 4) * 1.0 - (y[:, 0] > 4)), lambda t: 6 * np.exp(-((t - 17) ** 2) / 2)
    return 2 * np.abs(x[:, 0] - y[:, 0]) + 3 * np.abs(x[:, 1] - y[:, 1]) + river + np.abs(rush(x[:, 2]) - rush(y[:, 2]))


def trips(rows, n):
    pairs = rng.choice(rows, (n, 2))
    return pairs, minutes(stops[pairs[:, 0]], stops[pairs[:, 1]]) * rng.lognormal(0, 0.03, n)


# Learn from trips between the first 450 stops, and check on trips between the other 150.
pairs, measured = trips(np.arange(450), 3000)
unseen, unseen_measured = trips(np.arange(450, 600), 500)
model = DistanceRegressor(preprocessor=pd.DataFrame(stops, columns=names)).fit(pairs, measured)
predicted = model.predict(unseen)
error = np.median(np.abs(predicted - unseen_measured)[unseen_measured > 0] / unseen_measured[unseen_measured > 0])
d = model.semimetric_
print(d)
print(f"median error on stops that it never saw: {100 * error:.1f} %")

# One number for two stops, a matrix for many, and where a distance comes from.
print(f"from stop 0 to stop 1: {d(stops[0], stops[1]):.1f} minutes")
print("all stops to the first five:", d.pairwise(stops, stops[:5]).shape)

figure, axes = plt.subplots(2, 2, figsize=(11, 8.6), layout="constrained")
plot_predicted(unseen_measured, predicted, axes[0, 0])
axes[0, 0].set_title("Trips between stops that it never saw")
plot_table(d, "east", axes[0, 1])
axes[0, 1].set_title("It found the river")
plot_around(d, [3.0, 3.0, 12.0], ("east", "north"), stops, axes[1, 0])
axes[1, 0].set_title("Minutes from the marked stop")
plot_contributions(d, [2.0, 1.0, 9.0], [7.0, 4.0, 17.0], axes[1, 1])
figure.suptitle("Can a distance be learned from measured distances alone?")
plt.show()
