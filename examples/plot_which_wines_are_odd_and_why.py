"""
Which rows are odd, and can the gaps in a table be filled?
==========================================================

The data are thirteen measurements of 178 wines. Some of them got lost, and there are three typing errors. A decimal point is
too far to the right, two columns are exchanged, and the last six measurements of a wine come from a wine of another grower.
`SemimetricImputer` fills in the lost values from the most similar wines. `SemimetricOutlierDetector` finds the odd ones, and
shows which measurement makes them odd. The picture shows the filled values against the lost ones, and the scores of all wines.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from semimetric import SemimetricImputer, SemimetricOutlierDetector

rng = np.random.default_rng(0)
wines = load_wine(as_frame=True).data
odd = {"decimal point": 10, "exchanged": 60, "two wines": 150}

# %%
# A tenth of all values gets lost, and is filled in from the five most similar wines.
lost = rng.random(wines.shape) < 0.1
filled = SemimetricImputer().fit_transform(wines.mask(lost))
scale = wines.std().to_numpy()
true, found = (((table - wines.mean()) / scale).to_numpy()[lost] for table in (wines, filled))
print(f"off by {np.sqrt(np.mean((true - found) ** 2)):.2f} standard deviations; the mean of the column {true.std():.2f}")

# %%
# There are three typing errors. Some wine has each of these values, except the first.
typed = wines.copy()
typed.loc[odd["decimal point"], "malic_acid"] *= 10
typed.loc[odd["exchanged"], ["ash", "hue"]] = wines.loc[odd["exchanged"], ["hue", "ash"]].to_numpy()
typed.iloc[odd["two wines"], -6:] = wines.iloc[5, -6:]
detector = SemimetricOutlierDetector(n_neighbors=10).fit(typed)
ranks = pd.Series(detector.negative_scores_).rank()
for name, row in odd.items():
    contributions = detector.explain(typed.loc[row], n_neighbors=10).contributions.mean(axis=0)
    print(f"{name}: place {ranks[row]:.0f} of {len(typed)}, most of it by {typed.columns[contributions.argmax()]}")

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
left.plot(true, found, ".", alpha=0.6)
left.axline((0, 0), slope=1, color="grey", linewidth=1)
left.set(
    xlabel="what got lost (standard deviations from the mean)",
    ylabel="what was filled in",
    title="Filled in from similar wines",
)
right.plot(-detector.negative_scores_, ".", color="grey")
for name, row in odd.items():
    right.annotate(name, (row, -detector.negative_scores_[row]), textcoords="offset points", xytext=(5, 5))
    right.plot(row, -detector.negative_scores_[row], "o", color="C3")
right.axhline(-detector.offset_, color="grey", linewidth=1, linestyle=":")
right.set(xlabel="wine", ylabel="local outlier factor", title="Three typing errors")
fig.suptitle("Which rows are odd, and can the gaps in a table be filled?")
plt.show()
