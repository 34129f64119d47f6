"""Which rules part two items?
===========================

Here people over 40 who earn up to 2.5 pay their bills late, and eight more measurements mean nothing. A sum over single
features cannot express "and". Trees can: each separates the items by rules such as "age > 40 and pay <= 2.5". The distance adds
a weight for every tree that separates two items. The rules that separate two items can be read in words.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from semimetric import LargeMarginLearner, PartitionFeatures

rng = np.random.default_rng(0)
people = pd.DataFrame({"age": rng.uniform(20, 70, 800), "pay": rng.uniform(1, 5, 800)})
people[[f"m{k}" for k in range(8)]] = rng.normal(size=(800, 8))
late = (people["age"] > 40) & (people["pay"] <= 2.5)
train, test, y, truth = train_test_split(people, late.to_numpy(), random_state=0)

options = {"n_knots": 6, "alpha": 1e-2, "tables": "warped", "random_state": 0}
learners = {
    "a sum over single features": LargeMarginLearner(directions=None, **options),
    "with 60 trees beside them": LargeMarginLearner(directions=PartitionFeatures(n_trees=60, random_state=0), **options),
}
distances = {}
for name, learner in learners.items():
    d = distances[name] = learner.fit(train, y).semimetric_
    wrong = y[d.pairwise(test, train).argmin(axis=1)] != truth
    print(f"{name:<27} {100 * wrong.mean():4.1f} % of the nearest neighbours are of the other class; it is a {d.axioms.name}")


def like(**changes):
    """Return a table of people who differ only in these columns."""
    n = len(next(iter(changes.values())))
    return pd.DataFrame(np.zeros((n, 10)), columns=people.columns).assign(**changes)


person = like(age=[55.0], pay=[2.0])
d = distances["with 60 trees beside them"]
others = like(age=[30.0, 55.0], pay=[2.0, 3.5]).set_axis(["younger", "better paid"])
told = d.explain(person, others, by="terms").to_frame()
print("\nThe rules that part a person of 55 with a pay of 2 from two others:")
for _, row in told[told["term"].str.startswith("tree")].groupby("neighbor", sort=False).head(2).iterrows():
    print(f"{row['neighbor']:>11}: {row['contribution']:.2f} between  {row['value']}  and  {row['neighbor_value']}")

ages, pays = np.linspace(20, 70, 150), np.linspace(1, 5, 150)
grid = like(age=np.repeat(ages, 150), pay=np.tile(pays, 150))
figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained", sharey=True)
for ax, (name, d) in zip(axes, distances.items(), strict=True):
    far = d.pairwise(person, grid).reshape(150, 150)
    drawn = ax.pcolormesh(ages, pays, far.T, cmap="viridis_r")
    ax.scatter(train["age"], train["pay"], c=np.where(y, "white", "black"), s=4, alpha=0.6)
    ax.plot(person["age"], person["pay"], "r*", markersize=14)
    ax.set(title=name[0].upper() + name[1:], xlabel="age")
    figure.colorbar(drawn, ax=ax, label="distance from the star")
axes[0].set_ylabel("pay")
figure.suptitle("Which rules part two items?")
plt.show()
