"""What is a metric worth, when measurements are few and noisy?
============================================================

A journey between two places takes as long as its length, up to a point where a faster road pays. Each was timed once, with an
error of a third. Tables with a weak penalty, learned from few journeys, claim that some are faster with a detour. The triangle
inequality, imposed while learning, forbids this everywhere, and errs less on journeys that were not timed.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import DistanceRegressor

rng = np.random.default_rng(0)
places = rng.random((120, 2))


def journey(x, y):
    return np.minimum(np.abs(x - y), 0.35).sum(axis=1)


test = rng.integers(0, 120, (3000, 2))
truth = journey(places[test[:, 0]], places[test[:, 1]])
sizes = (60, 120, 250, 500, 1000)
errors = {"semimetric": [], "metric": []}
for n in sizes:
    pairs = rng.integers(0, 120, (n, 2))
    timed = journey(places[pairs[:, 0]], places[pairs[:, 1]]) * rng.normal(1.0, 0.33, n).clip(0.05)
    for axioms, found in errors.items():
        model = DistanceRegressor(n_knots=7, alpha=1e-6, axioms=axioms, preprocessor=places).fit(pairs, timed)
        found.append(np.sqrt(np.mean((model.predict(test) - truth) ** 2)) / truth.mean())
        if n == 120:
            print(model.semimetric_.certify())  # the proof, or three places that break the axiom

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for axioms, found in errors.items():
    left.plot(sizes, found, marker="o", label=axioms)
left.set(xscale="log", xlabel="journeys timed", ylabel="error on others (root mean square / mean)")
left.legend()

t = np.linspace(*np.quantile(places[:, 0], (0.01, 0.99)), 80)
line = np.column_stack([t, np.full(80, 0.5)])
for axioms, style in (("semimetric", "--"), ("metric", "-")):
    pairs = np.random.default_rng(1).integers(0, 120, (120, 2))
    noise = np.random.default_rng(2).normal(1.0, 0.33, 120).clip(0.05)
    timed = journey(places[pairs[:, 0]], places[pairs[:, 1]]) * noise
    d = DistanceRegressor(n_knots=7, alpha=1e-6, axioms=axioms, preprocessor=places).fit(pairs, timed).semimetric_
    right.plot(t, d.pairwise(line[:1], line)[0], style, label=axioms)
right.plot(t, np.minimum(t - t[0], 0.35), color="grey", label="truth")
right.set(xlabel="place", ylabel="time from the first place, of 120 journeys")
right.legend()
figure.suptitle("What is a metric worth, when measurements are few and noisy?")
plt.show()
