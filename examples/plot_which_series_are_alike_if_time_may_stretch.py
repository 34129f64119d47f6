"""Which series are alike if time may stretch?
===========================================

Dynamic time warping lets every value of a series last as long as it likes, so it compares series of different lengths and
paces. A pair costs a table of all their values. Here the features of a series are `SeriesFeatures`, which change little under
warping, and the warping distances to a few landmarks. `DistanceApproximator` learns a distance over them, for many pairs.

The nearest series are proved. `ElasticBounds` say from below how far two series are, without a call of the distance. So
`FilterRefineIndex` calls it only for those that may be among the nearest.

The series are simulated: each follows one of eight curves at a pace of its own, with noise.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_union

from semimetric import (
    DistanceApproximator,
    DynamicTimeWarping,
    ElasticBounds,
    FilterRefineIndex,
    LandmarkFeatures,
    SeriesFeatures,
)
from semimetric.plotting import plot_predicted

warping = DynamicTimeWarping(window=0.2)  # a path may leave the diagonal by a fifth of the longer series
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
print(f"exact, compiled, {1e6 * exact_time:.0f} us a pair, learned {1e6 * fast_time:.2f} us a pair")

# Find the nearest training series of others: warping is called until the answer is proved.
index = FilterRefineIndex(None, warping, bounds=ElasticBounds(warping)).fit(seen)
asked = others[:20]
found = index.search(asked, 3)
near = found.ids
exact = np.sort([[warping(x, y) for y in seen] for x in asked], axis=1)[:, :3]
assert found.certified.all()
assert np.array_equal(found.distances, exact)
print(f"{found.n_calls.mean():.1f} calls instead of {len(seen)} prove the 3 nearest of a series")

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
