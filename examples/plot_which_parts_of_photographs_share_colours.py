"""Which parts of photographs share their colours?
===============================================

A part of a photograph is a set of colours: 36 points in red, green and blue, wherever they are in the picture. The Earth
Mover's Distance of two such sets is the least work that turns the colours of one part into those of the other. A call solves a
linear program.

`PointCloudBounds` say without a program how far two sets are at least, and at most. So `FilterRefineIndex` proves the nearest
parts by few calls, and nothing is learned. Two photographs that come with scikit-learn are cut into 260 parts.

The exact distances need POT: pip install POT, or ".[demo]" from the folder of the package.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images

from semimetric import FilterRefineIndex, PointCloudBounds, PointCloudDistance

pictures = [image[:420, :624] / 255 for image in load_sample_images().images]
parts = np.concatenate([image.reshape(10, 42, 13, 48, 3).swapaxes(1, 2).reshape(-1, 42, 48, 3) for image in pictures])
colours = list(parts.reshape(-1, 6, 7, 6, 8, 3).mean(axis=(2, 4)).reshape(-1, 36, 3))  # the means of 6 x 6 blocks

index = FilterRefineIndex(None, PointCloudDistance(), bounds=PointCloudBounds()).fit(colours)
print(index.expected_calls())
asked = [28, 110, 90, 200, 153]
found = index.search([colours[k] for k in asked], 7)
assert found.certified.all()
print(f"{found.n_calls.mean():.0f} calls instead of {len(colours)} prove the nearest of a part")

figure, axes = plt.subplots(len(asked), 7, figsize=(9, 6), layout="constrained")
for row, near, distances in zip(axes, found.ids, found.distances, strict=True):
    for axis, part, distance in zip(row, near, distances, strict=True):
        axis.imshow(parts[part])
        axis.set_title("asked" if distance == 0 else f"{distance:.3f}", fontsize="small")
        axis.set_axis_off()
figure.suptitle("Which parts share the colours of the first?")
plt.show()
