"""
Why is this wine predicted so, and what would change it?
========================================================

The data are thirteen measurements of 178 wines of three growers. A model learns from two thirds of the wines to predict the
grower. For one of the others it says what each measurement adds to the prediction, and which wines speak for it. Then it says
which smallest change of the measurements would lead to another grower. The picture shows both.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from semimetric import SemimetricClassifier

wines = load_wine(as_frame=True)
growers = wines.target.map({0: "Alba", 1: "Bruno", 2: "Carlo"})
X, X_test, y, y_test = train_test_split(wines.data, growers, test_size=1 / 3, stratify=growers, random_state=0)
model = SemimetricClassifier().fit(X, y)
print(f"{100 * model.score(X_test, y_test):.1f} % of {len(X_test)} other wines are right")

# %%
# Take the wine whose prediction is least sure. Contributions add up from the mean wine to this one.
row = X_test.iloc[[model.predict_proba(X_test).max(axis=1).argmin()]]
reason = model.explain(row)
print(reason)

# %%
# The second class is reached by the smallest change, whose values all occur in other wines.
second = model.classes_[reason.probabilities.argsort()[-2]]
change = model.counterfactual(row, second)
print(change)
assert model.predict(change.row)[0] == second
for other in model.counterfactuals(row, 3, second)[1:]:
    print(", or", " and ".join(f"{c.feature} {c.old:g} to {c.new:g}" for c in other.changes))

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(13, 4.5), layout="constrained", width_ratios=(3, 2))
reason.plot(left)
names = [c.feature for c in change.changes]
steps = [(c.new - c.old) / X[c.feature].std() for c in change.changes]
right.barh(range(len(names)), steps, color="#f2c14e", height=0.5)
right.set_yticks(range(len(names)), [f"{c.feature}\n{c.old:g} to {c.new:g}" for c in change.changes])
right.invert_yaxis()
right.axvline(0, color="#222222", linewidth=0.8)
right.set_xlim(*(1.2 * np.array([-1, 1]) * np.abs(steps).max()))
right.spines[["top", "right"]].set_visible(False)
right.set(xlabel="standard deviations", title=f"The smallest change that makes it {second}")
fig.suptitle("Why is this wine predicted so, and what would change it?")
plt.show()
