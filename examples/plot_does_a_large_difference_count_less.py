"""Does a large difference count less than the small ones that it is made of?
==========================================================================

Ten small steps of colour, pitch or price seem to people to be more than the one large step that they add up to. A sum over
features cannot express this, because it adds all differences. A link can: the distance is an increasing function of the sum. We
simulate observers of two kinds. For some the difference is a power of the sum; for others it saturates. With
``link="power"`` the exponent is found on held-out pairs. With ``link="concave"`` a function of straight pieces is learned
alternately with the sum.

Both links are concave, so a metric stays a metric, and the nearest item stays the nearest.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import DistanceRegressor

rng = np.random.default_rng(0)
items = rng.random((200, 3))
pairs = rng.integers(0, 200, (1500, 2))
gaps = np.abs(items[pairs[:, 0]] - items[pairs[:, 1]])
total = gaps @ [1.0, 2.0, 3.0]
TRUTHS = {
    "a power: total ** 0.7": lambda s: s**0.7,
    "saturating: 2 (1 - exp(-total / 2))": lambda s: 2 * (1 - np.exp(-s / 2)),
}
LINKS = ["identity", "power", "concave"]

figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
grid = np.linspace(0, total.max(), 200)
fresh = rng.random((2000, 2, 3))
of_fresh = np.abs(fresh[:, 0] - fresh[:, 1]) @ [1.0, 2.0, 3.0]
for axes, (name, truth) in zip(panels, TRUTHS.items(), strict=True):
    seen = truth(total) * rng.lognormal(0, 0.08, len(total))
    axes.plot(total, seen, ".", color="0.8", markersize=3, label="pairs that were judged")
    axes.plot(grid, truth(grid), color="0.3", linewidth=4, alpha=0.4, label="truth")
    for link in LINKS:
        model = DistanceRegressor(link=link, tables="warped", n_knots=3, alpha=1e-5, preprocessor=items).fit(pairs, seen)
        d = model.semimetric_
        error = np.sqrt(np.mean((d.paired(fresh[:, 0], fresh[:, 1]) - truth(of_fresh)) ** 2)) / truth(of_fresh).mean()
        print(f"{name:36} link={link:9} found: {d.link!s:32} {d.axioms.name}, error on new items {error:.1%}")
        # The learned sum has a unit of its own. The links can be compared in the unit of the true sum.
        sums = d.link_function.invert(d.paired_by_index(items, pairs))
        unit = (sums @ total) / (total @ total)
        axes.plot(grid, d.link_function.apply(unit * grid), label=f'link="{link}": error {error:.1%}')
    axes.set(title=f"The truth is {name}", xlabel="sum over the features", ylabel="difference that is seen")
    axes.legend(frameon=False, fontsize=8)
figure.suptitle("Does a large difference count less than the small ones that it is made of?")
plt.show()
