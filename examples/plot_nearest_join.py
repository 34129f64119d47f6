"""Which customers of two lists are the same, when no number joins them?
=====================================================================

Two lists of customers share no key: one is of last year, the other of this year, and people have moved, aged and spent
otherwise. A nearest join takes, for each row of one table, the nearest rows of the other, as SQL does by ``ORDER BY distance
LIMIT k`` in a lateral join. With ``by="shop"`` it looks among the customers of the same shop alone, and ``explain`` says what
each column adds to a distance.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from semimetric import nearest_join

rng = np.random.default_rng(0)
n = 240
home = rng.uniform(0, 10, (n, 2))
last = pd.DataFrame(
    {
        "shop": rng.choice(["harbour", "old town", "hill", "station"], n),
        "east": home[:, 0],
        "north": home[:, 1],
        "age": rng.integers(18, 80, n),
        "monthly": rng.gamma(4.0, 25.0, n).round(),
        "pays": rng.choice(["card", "cash", "app"], n),
    },
    index=[f"L{k:03d}" for k in range(n)],
)
same = rng.permutation(n)  # who is who, which the join does not see
this = last.iloc[same].reset_index(drop=True)
moved = np.where(rng.random(n) < 0.2, 1.5, 0.15)[:, None]  # one in five has moved, the others are located a little otherwise
this[["east", "north"]] += rng.normal(size=(n, 2)) * moved
this["age"] += 1
this["monthly"] = (this["monthly"] * rng.normal(1.0, 0.15, n)).round()
this.loc[rng.random(n) < 0.15, "pays"] = "app"
this.index = [f"T{k:03d}" for k in range(n)]
truth = dict(zip(this.index, last.index[same], strict=True))

features = this.columns.drop("shop")
joins = {
    "among all customers": nearest_join(this[features], last[features], "gower", explain="features"),
    "of the same shop": nearest_join(this, last, "gower", by="shop", explain="features"),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", width_ratios=[1, 1, 0.9])
for ax, (title, found) in zip(axes, joins.items(), strict=False):
    right = found["left"].map(truth) == found["right"]
    for row, is_right in zip(found.itertuples(), right, strict=True):
        ends = [this.loc[row.left], last.loc[row.right]]
        colour = "tab:blue" if is_right else "tab:red"
        ax.plot([e["east"] for e in ends], [e["north"] for e in ends], color=colour, lw=1.2, alpha=0.8)
    ax.plot(last["east"], last["north"], ".", color="0.6", ms=4)
    ax.set(title=f"nearest {title}: {right.mean():.0%} right", xticks=[], yticks=[], aspect="equal", xlabel="homes")

# What makes a wrong pair near? The mean of what each column adds, for right and wrong pairs.
found = joins["of the same shop"]
right = found["left"].map(truth) == found["right"]
parts = found[features].groupby(right.map({True: "right pairs", False: "wrong pairs"})).mean()
left = np.zeros(len(parts))
for name in features:
    axes[2].barh(parts.index, parts[name], left=left, label=name)
    left += parts[name].to_numpy()
axes[2].set(title="what each column adds (same shop)", xlabel="distance")
axes[2].legend(frameon=False, fontsize=8)
axes[2].spines[["top", "right"]].set_visible(False)
figure.suptitle("Which customers of two lists are the same, when no number joins them?")
plt.show()

# A pair is doubtful where the second nearest is hardly farther.
two = nearest_join(this, last, "gower", k=2, by="shop").pivot(index="left", columns="rank", values="distance")
doubt = (two[1] / two[2]).reindex(found["left"])
print(f"{right.mean():.0%} of the pairs are right, and {right[(doubt < 0.5).to_numpy()].mean():.0%} of those without doubt")
