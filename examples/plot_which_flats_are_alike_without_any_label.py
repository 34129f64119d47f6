"""Which flats are alike, when nobody has said so?
===============================================

Nothing needs to be learned to begin. `gower` makes a distance of any table: of numbers by their interquartile ranges, of
categories, of dates, and of missing cells. It is the same class that learners return, so an index searches it with proof, and
every distance is a sum that explains itself. If a person knows better, a weight expresses it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from semimetric import NeighborIndex, gower

rng = np.random.default_rng(4)
n = 2000
district = rng.choice(["harbour", "old town", "hill", "station"], n, p=[0.2, 0.3, 0.15, 0.35])
size = rng.gamma(9.0, 8.0, n).round()
dearer = pd.Series(district).map({"harbour": 17.0, "old town": 15.0, "hill": 19.0, "station": 11.0}).to_numpy()
flats = pd.DataFrame(
    {
        "rent": (size * dearer * rng.normal(1.0, 0.1, n)).round(),
        "size": size,
        "district": pd.Categorical(district),
        "floor": np.where(rng.random(n) < 0.15, np.nan, rng.integers(0, 6, n)),  # some do not say
        "balcony": rng.random(n) < 0.4,
        "free from": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
    }
)

d = gower(flats, missing="level")
print(d)
mine = flats[11:12]
print(mine.to_string())

# The same search twice: all columns alike, and with a move-in date that matters five times as much.
asked = {"every column counts alike": d, "the date counts five times": d.reweighted({"free from": 5})}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
colours = dict(zip(flats.columns, plt.get_cmap("tab10").colors, strict=False))
for ax, (title, distance) in zip(axes, asked.items(), strict=True):
    _, rows = NeighborIndex(distance).fit(flats).kneighbors(mine, 6)
    found = flats.iloc[rows[0, 1:]]
    terms = dict(zip(distance.terms, distance.contributions(mine, found).T, strict=True))
    left = np.zeros(len(found))
    for name in flats.columns:
        ax.barh(np.arange(len(found)), terms[name], left=left, color=colours[name], label=name)
        left += terms[name]
    for k, (_, flat) in enumerate(found.iterrows()):
        said = f"{flat['rent']:.0f} for {flat['size']:.0f} m², {flat['district']}, {flat['free from']:%d %b}"
        ax.text(left[k] + 0.01 * left.max(), k, said, va="center", fontsize=8)
    ax.set(title=title, xlabel="distance, and what it is made of", xlim=(0, 2.1 * left.max()))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set(yticks=range(5), yticklabels=["nearest", "2nd", "3rd", "4th", "5th"])
axes[0].invert_yaxis()
axes[1].legend(frameon=False, loc="upper right", fontsize=8)
flat = mine.iloc[0]
told = f"{flat['size']:.0f} m² for {flat['rent']:.0f}, {flat['district']}, {flat['free from']:%d %b}"
figure.suptitle(f"Which flats are like one of {told}?")
plt.show()
