"""Why are these two wines far apart?
==================================

The most accurate distance is often a sum over combinations of measurements, "discriminant5" or "nca4", which nobody can read.
Each combination is a sum over measurements, so its part of the distance is divided among them, exactly. The explanation uses
the measurements themselves, beside the values of both wines. So does the answer to what would have to change.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from semimetric import LargeMarginLearner, SemimetricClassifier, report
from semimetric.plotting import plot_contributions, plot_explanation

data = load_wine(as_frame=True)
X = data.data.rename(columns={"od280/od315_of_diluted_wines": "od280/od315"}).rename(index="wine {}".format)
cultivar = data.target.map("cultivar {}".format).to_numpy()

# Settings are given, so that nothing is searched for; the directions are combinations of all measurements.
learner = LargeMarginLearner(n_knots=6, alpha=1e-2, directions="discriminant", tables="warped")
model = SemimetricClassifier(learner, n_neighbors=5).fit(X.iloc[1:], cultivar[1:])
d = model.semimetric_

asked = X.iloc[0]  # it was not learned from
explanation = model.explain_neighbors(asked)
print(explanation)
print("\nthe same by what the distance is made of:")
print(model.explain_neighbors(asked, 1, by="terms"))

# A wine of another cultivar is far; how would the first have to be for it to be as near as its own neighbours?
far = X.iloc[100]
changed = d.counterfactual(asked, far, within=float(explanation.distances[-1]))
print(f"\n{asked.name} and {far.name}:")
print(changed)

figure, axes = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
plot_explanation(explanation, axes[0], most=6).set_title(f"The neighbours of {asked.name}, by measurements")
plot_contributions(d, asked.to_numpy(), far.to_numpy(), axes[1], by="terms").set_title("A far wine, by terms")
plot_contributions(d, asked.to_numpy(), far.to_numpy(), axes[2]).set_title("The same, by measurements")
figure.suptitle("Why are these two wines far apart?")
plt.show()

# %%
# Any two wines can be compared on a page, and their values changed.
report(model, X, cultivar, title="Why are two wines far apart?")
