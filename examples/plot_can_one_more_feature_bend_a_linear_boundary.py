"""Can one more feature bend a linear boundary?
============================================

A linear machine that also sees the distance to one anchor cuts the plane along a cone. The cut is a diamond for p = 1, an
ellipse for p = 2, a box for p = infinity. If one anchor is not enough, the distances to the nearest anchors of both classes are
two more features. All of it stays readable: there is a weight for every feature, and one for every distance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from semimetric import ConicEmbedding
from semimetric.plotting import plot_level_sets
from semimetric.vectors import separates

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 150)
radius = np.repeat([0.0, 3.0], [60, 90]) + rng.uniform(0, 1.5, 150)
ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + [5.0, 2.0]
around = np.repeat(["centre", "ring"], [60, 90])
moons, which = make_moons(200, noise=0.25, random_state=0)
half = np.array(["upper", "lower"])[which]


def fitted(X, y, *maps):
    return make_pipeline(*maps, LinearSVC(C=10.0, dual=False)).fit(X, y)


# The mean of the items lies within the ring. Does the distance to it separate the two classes?
found = separates(ring, around, ring.mean(axis=0), p=2)
print(f"one anchor separates centre and ring: {found.distance}, with a gap of {found.gap:.1f}")
print(f"a linear boundary is right on {fitted(ring, around).score(ring, around):.0%} of the items")

figure, axes = plt.subplots(2, 3, figsize=(13, 8), layout="constrained")
for ax, (p, shape) in zip(axes[0], ((1, "a diamond"), (2, "an ellipse"), (float("inf"), "a box")), strict=True):
    model = fitted(ring, around, ConicEmbedding(p))
    title = f"p = {p}: {shape}, right on {model.score(ring, around):.0%}"
    plot_level_sets(model, ring, around, ax, anchors=model[0].anchors_[0]).set_title(title)
    print(dict(zip(model[0].get_feature_names_out(), model[1].coef_[0].round(2).tolist(), strict=True)))

choices = {
    "No anchor": [],
    "One anchor, a weight for each feature": [ConicEmbedding(2, "each")],
    "Three anchors a class": [ConicEmbedding(1, anchors="class", band=(0, 100), n_anchors=3)],
}
for ax, (title, maps) in zip(axes[1], choices.items(), strict=True):
    model = fitted(moons, half, *maps)
    anchors = np.concatenate(model[0].anchors_) if maps else None
    plot_level_sets(model, moons, half, ax, anchors=anchors).set_title(f"{title}: {model.score(moons, half):.0%}")
figure.suptitle("Can one more feature bend a linear boundary?")
plt.show()
