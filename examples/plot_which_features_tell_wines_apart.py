"""Which features tell wines apart?
================================

There are three cultivars of wine, with thirteen measurements for each wine. A distance is learned under which wines are closer
to their own cultivar than to the others. It is a sum of one scale for every measurement, so it shows which of them matter. For
a single wine it shows which ones bring its neighbours near and which still hold them away.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from semimetric import LargeMarginLearner, SemimetricClassifier, report
from semimetric.plotting import plot_explanation, plot_importances

data = load_wine(as_frame=True)
X = data.data.rename(columns={"od280/od315_of_diluted_wines": "od280/od315"})
cultivar = data.target.map(lambda k: f"cultivar {k + 1}").to_numpy()
train, test, y, truth = train_test_split(X, cultivar, test_size=0.3, stratify=cultivar, random_state=0)

# Units do not matter: nothing is standardised. Settings are given, so that nothing is searched for.
learner = LargeMarginLearner(n_knots=6, alpha=1e-2, directions=None, tables="warped")
model = SemimetricClassifier(learner, n_neighbors=3).fit(train, y)
print(f"wrong on {100 * (1 - model.score(test, truth)):.1f} % of {len(test)} wines that it never saw")

for share, name in sorted(zip(model.learner_.feature_importances_, X.columns, strict=True), reverse=True)[:5]:
    print(f"{name:<22} {100 * share:4.1f} % of the distance to wines of other cultivars")

# Show one wine, its six nearest, and the part of every term in each distance.
asked = test.iloc[[0]]
explanation = model.explain_neighbors(asked, 6)
print(f"a wine of {truth[0]}, said to be of {model.predict(asked)[0]}; its neighbours:")
print(explanation)

figure, axes = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
plot_importances(model, axes[0]).set_title("What separates the cultivars")
plot_explanation(explanation, axes[1], most=6).set_title(f"The neighbours of one wine of {truth[0]}")
figure.suptitle("Which features tell wines apart?")
plt.show()

# %%
# Decide: trust the label of a wine if its probability is .9 at least, and give the others to a taster.
unsure = model.predict_proba(test).max(axis=1) < 0.9
wrong = (model.predict(test) != truth)[~unsure].sum()
print(f"{unsure.sum()} of {len(test)} wines go to a taster; {wrong} of the others are wrong")

# %%
# Write the same as a page: tables, neighbours and votes, which are computed again as one changes the values of a wine.
report(model, test, truth, title="Which features tell wines apart?")
