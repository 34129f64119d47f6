"""Which features act together?
============================

The true distance compares how far two places are from the centre of a town, which takes both coordinates at once. It adds the
difference of their heights; three more features play no part. Tables of single features cannot express this. By default the one
pair that needs a table of its own is found among the fifteen pairs of features, and no other is taken.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import DistanceRegressor

NAMES = ("east", "north", "height", "age", "size", "price")
rng = np.random.default_rng(0)


def measured(n):
    """Return pairs of places and their distances, with some noise."""
    places = rng.random((n, 2, 6))
    remote = np.hypot(places[:, :, 0] - 0.5, places[:, :, 1] - 0.5)
    return places, 2 * np.abs(np.diff(remote)).ravel() + np.abs(np.diff(places[:, :, 2])).ravel() + rng.uniform(0, 0.05, n)


(pairs, y), (fresh, truth) = measured(1000), measured(1000)

alone = DistanceRegressor(tables="full").fit(pairs, y)
joint = DistanceRegressor().fit(pairs, y)
print(joint.group_choices_)
together = [" and ".join(NAMES[f] for f in group) for group in joint.groups_ if len(group) > 1]
print("act together:", ", ".join(together))

figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
for ax, model, name in ((axes[0], alone, "single features"), (axes[1], joint, f"with {together[0]}")):
    predicted = model.predict(fresh)
    error = np.sqrt(np.mean((predicted - truth) ** 2))
    print(f"{name}: root mean square error {error:.3f}")
    ax.scatter(truth, predicted, s=3, alpha=0.4)
    ax.axline((0, 0), slope=1, color="black", linewidth=0.8)
    ax.set(title=f"{name}: error {error:.3f}", xlabel="true distance", ylabel="learned distance")

# Draw the learned table of the two: the distance of every place from the centre of the town, all else equal.
side = np.linspace(0.02, 0.98, 60)
east, north = np.meshgrid(side, side)
places = np.full((east.size, 6), 0.5)
places[:, 0], places[:, 1] = east.ravel(), north.ravel()
from_centre = joint.semimetric_.paired(np.full_like(places, 0.5), places).reshape(east.shape)
shown = axes[2].contourf(east, north, from_centre, 12)
figure.colorbar(shown, ax=axes[2])
axes[2].set(title="learned distance from the centre", xlabel=NAMES[0], ylabel=NAMES[1], aspect="equal")
figure.suptitle("Which features act together?")
plt.show()
