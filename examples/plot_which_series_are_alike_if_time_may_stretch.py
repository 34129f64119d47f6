"""Which series are alike if time may stretch?
===========================================

Dynamic time warping lets every value of a series last as long as it likes, so it compares series of different lengths and
paces. A pair costs a table of all their values. Here the features of a series are `SeriesFeatures`, which change little under
warping, and the warping distances to a few landmarks. `DistanceApproximator` learns a metric over them. Warping itself is no
metric, so landmarks prove no neighbours. But warping can be called for the few candidates that are nearest by the learned
distance.

The series are simulated: each follows one of eight curves at a pace of its own, with noise.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_union

from semimetric import DistanceApproximator, DistanceRegressor, FilterRefineIndex, LandmarkFeatures, Program, SeriesFeatures
from semimetric.plotting import plot_predicted


def warping(x, y):
    """The least sum of |x_i - y_j| along a path that takes every value of both in order (Sakoe & Chiba 1978)."""
    row = [0.0] + [np.inf] * len(y)
    for a in x:
        corner, row[0] = row[0], np.inf
        for j, b in enumerate(y):
            corner, row[j + 1] = row[j + 1], abs(a - b) + min(corner, row[j], row[j + 1])
    return row[-1]


rng = np.random.default_rng(0)
rates, phases = rng.uniform(0.5, 3, (2, 8, 2))
series = []
for curve in rng.integers(0, 8, 350):
    steps = rng.gamma(0.6, size=rng.integers(15, 36)) + 0.05
    t = np.cumsum(steps) / steps.sum()
    values = np.sin(2 * np.pi * (rates[curve] * t[:, None] + phases[curve])).sum(axis=1)
    series.append((rng.uniform(0.8, 1.2) * values + rng.normal(0, 0.05, len(t))).tolist())
seen, others = series[:250], series[250:]

model = DistanceApproximator(
    warping,
    DistanceRegressor(tables="warped", n_knots=3, alpha=1e-3, program=Program(relative=True)),
    features=make_union(SeriesFeatures(n_quantiles=4, n_windows=4), LandmarkFeatures(n_landmarks=12)),
    n_pairs=4000,
).fit(seen)
print(f"{model.n_calls_} calls to learn")
print(model.error_)

# Compare both distances on pairs of unseen series.
pairs = [(others[i], others[j]) for i, j in rng.integers(0, len(others), (1000, 2)) if i != j]
began = time.perf_counter()
true = np.array([warping(*pair) for pair in pairs])
exact_time = (time.perf_counter() - began) / len(pairs)
codes = model.encode(series)
began = time.perf_counter()
model.semimetric_.pairwise(codes)
fast_time = (time.perf_counter() - began) / len(codes) ** 2
intervals = model.predict(pairs, interval=0.9)
inside = np.mean((intervals.lower <= true) & (true <= intervals.upper))
print(f"{len(pairs)} pairs of other series: {inside:.0%} lie within their intervals of 90 %")
print(f"exact, in plain Python, {1e6 * exact_time:.0f} us a pair, learned {1e6 * fast_time:.2f} us a pair")

# Find the nearest training series of others: warping is called for 20 candidates of each, nearest first.
index = FilterRefineIndex(model.semimetric_, warping, max_calls=20).fit(seen, features=model.encode(seen))
asked = others[:20]
near = index.search(asked, 3, features=model.encode(asked)).ids
exact = [np.argsort([warping(x, y) for y in seen])[:3] for x in asked]
share = np.mean([len(set(a) & set(b)) / 3 for a, b in zip(near, exact, strict=True)])
print(f"20 calls instead of {len(seen)} for a series find {share:.0%} of its 3 exact neighbours")

figure = plt.figure(figsize=(12, 5), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.5))
first = left.subplots()
plot_predicted(true, intervals, first)
first.set(title="Series that it never saw", xlabel="warping distance", ylabel="learned distance")
for axis, query, rows in zip(right.subplots(2, 2, sharey=True).flat, asked[:4], near[:4], strict=True):
    for j in rows:
        axis.plot(seen[j], color="#8fb5cf", linewidth=1.5)
    axis.plot(query, color="#c8553d", linewidth=2)
    axis.spines[["top", "right"]].set_visible(False)
right.suptitle("One of these (red) and the three nearest that it learned from", fontsize="large")
figure.suptitle("Which series are alike if time may stretch?")
plt.show()
