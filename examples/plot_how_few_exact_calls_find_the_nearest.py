"""How few exact calls find the nearest?
=====================================

The Earth Mover's Distance between two images solves a linear program. A search for the five images nearest to a new one seems
to need it for all of them. But cheap bounds show that most images cannot be among the nearest: potentials bound the distance
from below, and plans from above. `FilterRefineIndex` calls the exact distance only for the images between, and proves its
answer: it is the same as that of calling it for every image. The example uses 800 images of digits, and 20 others as queries.

The exact distances need POT: pip install POT, or ".[demo]" from the folder of the package.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import EarthMoversDistance, FilterRefineIndex, TransportBounds
from semimetric.datasets import load_digit_histograms

digits = load_digit_histograms()
images = digits.histograms[np.random.default_rng(0).permutation(len(digits.histograms))]
items, queries = images[:800], images[800:820]
places = digits.bin_coordinates
ground = np.linalg.norm(places[:, None] - places, axis=2)
emd = EarthMoversDistance(ground)


def without_dual(x, y):
    """Return the same distance as a number, without its dual."""
    return emd(x, y)


given = TransportBounds(ground, bin_coordinates=places, n_learned=0)
learned = TransportBounds(ground, bin_coordinates=places, n_learned=128)
settings = {
    "projections and bins": (without_dual, given),
    "+ learned potentials": (without_dual, learned),
    "+ dual of every call": (emd, learned),
}
calls = {}
for name, (distance, bounds) in settings.items():
    index = FilterRefineIndex(None, distance, bounds=bounds).fit(items)
    found = index.search(queries, n_neighbors=5)
    calls[name] = found.n_calls
    print(f"{name}: {found.n_calls.mean():.0f} calls a query of {len(items)}, all proved: {found.certified.all()}")

# Show one query: the bounds of all images, and the images for which the distance was called.
found = index.search(queries[:1], n_neighbors=5)
called = index.pairs_[:, 1]
low, high = index.bounds_[0].lower(queries[0]), index.bounds_[0].upper(queries[0])
order = np.argsort(low)[:150]
place = np.empty(len(items), dtype=int)
place[np.argsort(low)] = np.arange(len(items))

figure, (first, second) = plt.subplots(1, 2, figsize=(11, 4.9), layout="constrained", width_ratios=(1.5, 1))
first.vlines(np.arange(len(order)), low[order], high[order], color="#c9d6df", linewidth=1.4, label="between the bounds")
first.plot(place[called], index.distances_, "o", markersize=4, color="#1f5f8b", label=f"called, {len(called)} of {len(items)}")
first.axhline(found.distances[0, -1], color="#c0392b", linewidth=1, label="distance of the fifth")
first.set(title="One query", xlabel="images by their lower bound", ylabel="Earth Mover's Distance", xlim=(-2, len(order)))
first.legend(frameon=False, loc="lower right")
boxes = second.boxplot(list(calls.values()), orientation="horizontal", patch_artist=True, widths=0.5)
for box in boxes["boxes"]:
    box.set(facecolor="#1f5f8b", edgecolor="none")
for line in boxes["medians"]:
    line.set(color="white", linewidth=2)
second.set_yticklabels(calls)
second.set(title=f"{len(queries)} queries, five neighbours proved", xlabel=f"calls a query, of {len(items)}", xlim=(0, None))
for axes in (first, second):
    axes.spines[["top", "right"]].set_visible(False)
figure.suptitle("How few exact calls find the nearest?")
plt.show()
