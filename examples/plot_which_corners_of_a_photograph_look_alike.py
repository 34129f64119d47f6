"""Which corners of a photograph look alike?
=========================================

A patch of a photograph is described by the strength of its gradient in each direction: 4 x 4 cells of 8 orientations each, as
in SIFT (Lowe 2004). For patches that are turned or shifted a little, an Earth Mover's Distance compares well. Its ground
distance goes round the circle of orientations and is cut off, so that no mass is moved far (Pele & Werman 2008). A pair costs a
linear program. `HistogramFeatures` that know the circle and the threshold bring a learned distance close to it. With bounds of
the exact distance, few calls find the nearest.

The exact distances need POT: pip install POT, or ".[demo]" from the folder of the package.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from semimetric import (
    DistanceApproximator,
    DistanceRegressor,
    EarthMoversDistance,
    FilterRefineIndex,
    HistogramFeatures,
    Program,
    TransportBounds,
)
from semimetric.plotting import plot_predicted

HALF = 8  # pixels from the middle of a patch to its side
BINS = np.indices((4, 4, 8)).reshape(3, -1).T.astype(float)  # row, column and orientation of every bin


def descriptors(grey, middles):
    """Return the fractions of the gradient by cell and orientation around every middle: shape (n, 128)."""
    down, across = np.gradient(grey)
    size, turn = np.hypot(down, across), np.arctan2(down, across) * 8 / (2 * np.pi)
    cell = np.arange(2 * HALF) // 4
    found = np.zeros((len(middles), 4, 4, 8))
    for histogram, (y, x) in zip(found, middles, strict=True):
        patch = np.s_[y - HALF : y + HALF, x - HALF : x + HALF]
        below, share = np.floor(turn[patch]).astype(int), turn[patch] % 1
        for k, part in ((below, 1 - share), (below + 1, share)):
            np.add.at(histogram, (cell[:, None], cell[None, :], k % 8), part * size[patch])
    found = found.reshape(len(middles), -1)
    return found / found.sum(axis=1, keepdims=True)


photograph = load_sample_image("china.jpg")
grey = photograph.mean(axis=2)
rng = np.random.default_rng(0)
middles = rng.integers(2 * HALF, np.array(grey.shape) - 2 * HALF, (4000, 2))
middles = middles[np.hypot(*np.gradient(grey))[tuple(middles.T)] > 25][:420]
patches = descriptors(grey, middles)
seen, others = patches[:320], patches[320:]

steps = np.abs(BINS[:, None] - BINS)
steps[..., 2] = np.minimum(steps[..., 2], 8 - steps[..., 2])
ground = np.minimum(steps.sum(axis=2), 2.0)  # L1, round the circle, and at most 2
emd = EarthMoversDistance(ground)

features = HistogramFeatures(BINS, metric="cityblock", periodic={2: 8.0}, threshold=2.0, max_features=3000)
model = DistanceApproximator(
    emd,
    DistanceRegressor(directions=features, tables="warped", n_knots=2, alpha=1e-2, program=Program(relative=True)),
    n_pairs=1200,
).fit(seen)
print(model.error_)

# Predict pairs of unseen patches, with intervals that hold nine true distances in ten.
i, j = rng.integers(0, len(others), (2, 250))
i, j = i[i != j], j[i != j]
true = np.array([emd(x, y) for x, y in zip(others[i], others[j], strict=True)])
predicted = model.predict(np.stack([others[i], others[j]], axis=1), interval=0.9)
inside = np.mean((predicted.lower <= true) & (true <= predicted.upper))
print(f"{len(true)} pairs of other patches: {inside:.0%} lie within their intervals of 90 %")

# Find exact neighbours: call candidates in the order of their bounds, until these prove that no other is nearer.
bounds = TransportBounds(ground, bin_coordinates=BINS, n_learned=64)
index = FilterRefineIndex(model.semimetric_, emd, bounds=bounds).fit(seen)
asked = others[:5]
found = index.search(asked, n_neighbors=4)
print(
    f"the 4 nearest of {len(seen)} patches, all proved ({found.certified.all()}): {found.n_calls.mean():.0f} calls instead of "
    f"{len(seen)} for each of {len(asked)}, and {bounds.n_learned * 4} to learn the bounds"
)

figure = plt.figure(figsize=(12, 5), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.2))
first = left.subplots()
plot_predicted(true, predicted, first)
first.set(title="Patches that it never saw: intervals of 90 %", xlabel="thresholded EMD", ylabel="learned distance")
shown = np.column_stack([np.arange(320, 320 + len(asked)), found.ids])
for row, line in zip(shown, right.subplots(len(asked), 5), strict=True):
    for number, axis in zip(row, line, strict=True):
        y, x = middles[number]
        axis.imshow(photograph[y - HALF : y + HALF, x - HALF : x + HALF])
        axis.set(xticks=[], yticks=[])
right.suptitle("A patch (left) and its exact neighbours, the nearest first", fontsize="large")
figure.suptitle("Which corners of a photograph look alike?")
plt.show()
