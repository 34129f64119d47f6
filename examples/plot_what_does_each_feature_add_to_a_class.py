"""What does each feature add to the score of a class?
===================================================

A linear machine on PL2 is a sum of functions of one feature and of two. The functions of two features can contain functions of
one. So the sum is first split in the only way in which they do not (`Shapes.purified`); the machine stays the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from semimetric import PL2Embedding, report
from semimetric.plotting import plot_curve, plot_surface
from semimetric.vectors import Shapes

wine = load_wine()
X, test, y, truth = train_test_split(wine.data, wine.target, stratify=wine.target, random_state=0)
embedding = PL2Embedding(n_knots=6).fit(X)
machine = LinearSVC(C=1.0).fit(embedding.transform(X), y)
print(f"accuracy on items held out: {machine.score(embedding.transform(test), truth):.3f}")

shapes = [Shapes.of(embedding, w, b).purified(X) for w, b in zip(machine.coef_, machine.intercept_, strict=True)]
spread = np.array([[np.ptp(s.curves[f]) for f in s.curves] for s in shapes]).sum(axis=0)
strongest = np.argsort(spread)[::-1][:2]
pair = max(shapes[1].tables, key=lambda p: np.ptp(shapes[1].tables[p]))

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for ax, feature in zip(axes, strongest, strict=False):
    for name, functions in zip(wine.target_names, shapes, strict=True):
        plot_curve(functions, int(feature), ax, name=wine.feature_names[feature], label=name)
names = [wine.feature_names[f] for f in pair]
plot_surface(shapes[1], pair, axes[2], names=names).set_title(f"class_1: {names[0]} with {names[1]}", fontsize=9)
figure.suptitle("What does each feature add to the score of a class?")
plt.show()

# %%
# The same as a page, which computes the scores again as one changes the values of a wine.
report(make_pipeline(embedding, machine), test, truth, title="What does each feature add?")
