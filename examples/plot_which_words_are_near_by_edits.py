"""Which words are near one another by edits?
==========================================

The edit distance of two words is the fewest letters to insert, delete or exchange: a function of texts and not of vectors.
`DistanceApproximator` takes any objects with ``features=``, which turns them into numbers. Here these are `StringFeatures`: how
often letters occur in a word, and where. It calls the function on some pairs of words. It learns a metric that holds for unseen
words too, with intervals. The exact neighbours then need few calls: `FilterRefineIndex` proves them by counts of letters.

The words are those of Python's own manual, so that nothing has to be downloaded.
"""

import re
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from semimetric import (
    DistanceApproximator,
    DistanceRegressor,
    EditBounds,
    FilterRefineIndex,
    NeighborIndex,
    StringFeatures,
    report,
)  # fmt: skip
from semimetric.plotting import plot_predicted


def edits(x, y):
    """The fewest letters to insert, delete or exchange in x to get y (Levenshtein 1966)."""
    row = list(range(len(y) + 1))
    for i, a in enumerate(x):
        corner, row[0] = row[0], i + 1
        for j, b in enumerate(y):
            corner, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, corner + (a != b))
    return row[-1]


text = " ".join(topics.values()).lower()
words = np.array(sorted({word for word in re.findall(r"[a-z]+", text) if len(word) > 3}))
words = np.random.default_rng(0).permutation(words).tolist()
seen, others = words[:1000], words[1000:]

model = DistanceApproximator(
    edits, DistanceRegressor(tables="warped", n_knots=2, alpha=1e-3), features=StringFeatures(q=(1,)), n_pairs=6000
).fit(seen)
print(f"{len(words)} words; learned from {model.n_calls_} calls on {len(seen)} of them")
print(model.error_)

# Predict pairs of unseen words.
rng = np.random.default_rng(1)
pairs = [(others[i], others[j]) for i, j in rng.integers(0, len(others), (1000, 2)) if i != j]
true = np.array([edits(*pair) for pair in pairs])
intervals = model.predict(pairs, interval=0.9)
rank = spearmanr(true, intervals.predicted)[0]
inside = np.mean((intervals.lower <= true) & (true <= intervals.upper))
print(f"{len(pairs)} pairs of other words: rank correlation {rank:.3f}, {inside:.0%} lie within their intervals of 90 %")

# Find the nearest of all words to unseen ones; the model turns words into the vectors of the learned metric.
index = NeighborIndex(model).fit(words)
asked = [word for word in others if 6 <= len(word) <= 9][:8]
_, found = index.kneighbors(asked, 6)

# Find exact neighbours: call candidates until counts of letters prove that no other is nearer.
proof = FilterRefineIndex(model, edits, bounds=EditBounds()).fit(words)
exact = proof.search(asked, 6)
print(f"the 6 nearest, proved ({exact.certified.all()}): {exact.n_calls.mean():.0f} calls instead of {len(words)} for a word")

figure, (first, second) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", width_ratios=(1, 1.7))
plot_predicted(true, intervals, first)
first.set(title=f"Words that it never saw: rank correlation {rank:.2f}", xlabel="edits", ylabel="learned distance")

away = np.array([[edits(word, words[j]) for j in row] for word, row in zip(asked, found, strict=True)])
picture = second.imshow(away, cmap="YlGnBu", aspect="auto", vmin=0, vmax=max(8, away.max()))
for r, row in enumerate(found):
    for c, j in enumerate(row):
        second.text(c, r, words[j], ha="center", va="center", color="white" if away[r, c] > 4 else "black", fontsize=9)
second.set(title="The nearest by the learned distance", xticks=[], yticks=[], xlabel="farther →")
second.spines[:].set_visible(False)
figure.colorbar(picture, ax=second, label="edits to the first word of the row")
figure.suptitle("Which words are near one another by edits?")
plt.show()

# %%
# Decide: correct words that are misspelt by the nearest word of the manual, which is proved to be the nearest.
misspelt = ["funcion", "atribute", "excpetion", "dictonary"]
corrected = proof.search(misspelt, 1)
for word, row, calls in zip(misspelt, corrected.ids[:, 0], corrected.n_calls, strict=True):
    print(f"{word}: {words[row]}, after {calls} of {len(words)} calls")

# %%
# Write a page about the learned distance: its parts, and the neighbours of words.
report(model, others[:200], title="Which words are near one another by edits?")
