"""
How many measurements tell wines apart?
=======================================

A distance that is learned from classes weighs all 13 measurements of a wine. Each of them costs money. So we add a term to
the program that the learner has solved: the norm of the weights of each measurement, which are then dropped together (the
group lasso of Yuan and Lin 2006). The learner has no such penalty; CVXPY solves the program with it.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import semimetric as sm

data = load_wine()
X, X_test, y, y_test = train_test_split(data.data, data.target, test_size=0.5, stratify=data.target, random_state=0)
model = sm.LargeMarginLearner(directions=None, tables="warped", n_knots=4, alpha=1e-3).fit(X, y)

# The program of the last pass, and the number of the measurement of every weight. A measurement costs the norm of its weights,
# each in the unit that the learner's own penalty measures it with.
program = model.program_
built = program.to_cvxpy()
group, unit = program.columns.group, program.columns.unit
term = sum(cp.norm(cp.multiply(1 / unit[group == k], built.weights[np.flatnonzero(group == k)])) for k in np.unique(group))
strength = cp.Parameter(nonneg=True)
mine = cp.Problem(cp.Minimize(built.problem.objective.expr + strength * term), built.problem.constraints)

strengths = np.geomspace(1e-4, 0.1, 7)
shares, right = [], []
for strength.value in strengths:
    mine.solve(solver="CLARABEL")
    d = model.semimetric_from_weights(built.weights.value)
    parts = d.contributions(X[:-1], X[1:])[:, : X.shape[1]].mean(axis=0)
    shares.append(parts / parts.sum())
    neighbors = KNeighborsClassifier(3, metric="precomputed").fit(d.pairwise(X), y)
    right.append(neighbors.score(d.pairwise(X_test, X), y_test))
shares = np.array(shares)

figure, (left, last) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
figure.suptitle("How many measurements tell wines apart?")
named_at = len(strengths) // 2  # the strength by which measurements are named
for k in np.argsort(-shares[named_at]):
    named = shares[named_at, k] > 0.02
    left.plot(strengths, shares[:, k], label=data.feature_names[k] if named else None, color=None if named else "lightgray")
left.set(xscale="log", xlabel="strength of the added term", ylabel="share of the distance", title="measurements")
left.legend(fontsize="small")
counts = (shares > 0.01).sum(axis=1)
last.plot(counts, right, "o-")
last.set(xlabel="measurements with more than 1 % of the distance", ylabel="right classes, by the 3 nearest wines")
last.set_title("wines that were not learned from")
plt.show()
