"""How many pieces has a boundary?
===============================

An M of one class interlocks with a U of another. Boundary points lie where the nearest neighbour changes from one class to the
other, each with the direction that the boundary faces there. A mixture of planes with a Dirichlet process decides how many
straight pieces they make. The eye sees seven, and two of these, above the arms of the U, lie on one line. The strength of the
prior for more pieces (alpha) matters little. A zigzag of nine pieces gets nine. Held-out items choose how thin pieces may be,
and whether there are any: one plane stays unless pieces are right more often.
"""

import matplotlib.pyplot as plt

from semimetric import BoundaryPoints, DPLMClassifier, GibbsChains, SupportPointClassifier
from semimetric.datasets import make_horseshoe, make_zigzag
from semimetric.plotting import plot_boundary_points, plot_n_components, plot_pieces

X, y = make_horseshoe()
unseen, truth = make_horseshoe(5000, 3000, random_state=1)

found = BoundaryPoints().fit(X, y)
pruned = SupportPointClassifier().fit(X, y)
print(f"{len(found.support_)} of {len(X)} items are support points; {len(found.boundary_points_)} boundary points")
right = 100 * pruned.score(X, y), 100 * pruned.score(unseen, truth)
print("the nearest of these alone is right on {:.0f} % of all items, and on {:.1f} % of unseen ones".format(*right))

models = [
    DPLMClassifier(alpha=alpha, chains=GibbsChains(n_sweeps=4000, n_chains=1), local="plane").fit(X, y) for alpha in (1.0, 10.0)
]
for model in models:
    share = model.posterior_n_components_.max()
    right = 100 * model.score(unseen, truth)
    print(f"alpha {model.alpha:g}: {model.n_components_} pieces ({100 * share:.0f} % of states), right on {right:.1f} % unseen")

zigzag = DPLMClassifier(chains=GibbsChains(n_sweeps=1000, n_chains=1), local="plane").fit(*make_zigzag())
choice = zigzag.choice_
one, pieces = 100 * choice.accuracy[0], 100 * choice.accuracy[choice.chosen]
print(f"zigzag: {zigzag.n_components_} pieces; held-out items are right {one:.0f} % by one plane, {pieces:.0f} % by pieces")

figure, axes = plt.subplots(1, 4, figsize=(18, 4.6), layout="constrained", width_ratios=[1.2, 1.2, 1, 1.6])
plot_boundary_points(found, X, y, axes[0])
plot_pieces(models[0], X, y, axes[1])
plot_n_components(models, axes[2])
plot_pieces(zigzag, *make_zigzag(), axes[3])
figure.suptitle("How many pieces has a boundary?")
plt.show()
