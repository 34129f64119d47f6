"""By which rule do two histograms differ?
=======================================

Every bin of a histogram counts by the same rule: a function of two heights, which is summed over the bins. Its distance is the
sum, or a root of it. We measure a distance between histograms of 30 topics, and learn the rule from the measurements alone. By
default ``tables="auto"`` compares a table for each bin with one that all bins share, on distances that were held out.

The rule that was measured has no name: a chi-squared one, in which low bins count less. Its curves are drawn in grey. A table
for each bin sees only the heights of that bin, so it stays coarse. The shared one sees all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import DistanceRegressor

rng = np.random.default_rng(0)
topics = rng.dirichlet(np.full(30, 0.2), 400)
pairs = rng.integers(0, 400, (6000, 2))


def rule(x, y):
    """What a bin adds to the square of the distance."""
    return (x - y) ** 2 / (x + y + 0.02)


def measured(X, Y):
    return np.sqrt(rule(X, Y).sum(axis=-1))


new = rng.dirichlet(np.full(30, 0.2), (2, 2000))
models = {
    f'tables="{kind}"': DistanceRegressor(tables=kind, link="sqrt", effort="fast", preprocessor=topics)
    for kind in ("full", "shared")
}
models['tables="auto"'] = DistanceRegressor(effort="fast", preprocessor=topics)
errors = {}
for name, model in models.items():
    d = model.fit(pairs, measured(*topics[pairs.T])).semimetric_
    errors[name] = np.abs(d.paired(*new) / measured(*new) - 1)
    print(f"{name:16} {np.median(errors[name]):.3%} median error on new histograms")
print(model.table_choices_)

(table, *_) = d.tables().values()  # of the model by default; the others are the same
heights = table.knots[0]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for place in (0, len(heights) // 2, -5):
    left.plot(heights, rule(heights, heights[place]), color="0.3", linewidth=5, alpha=0.3)
    left.plot(heights, table.values[place], ".-", markersize=4, label=f"beside a bin of height {heights[place]:.2f}")
left.set(title="The rule that all bins share, learned", xlabel="height of a bin", ylabel="what it adds to the squared distance")
left.legend(frameon=False)
right.boxplot(list(errors.values()), orientation="horizontal", tick_labels=list(errors), showfliers=False)
right.set(title="Errors on new histograms", xlabel="relative error", xscale="log", xlim=(1e-6, 1))
figure.suptitle("By which rule do two histograms differ?")
plt.show()
