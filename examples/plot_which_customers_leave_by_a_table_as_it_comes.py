"""Which customers leave, by a table as it comes?
==============================================

A table of customers has ids, names, text, dates, gaps and a column that says nothing. It is read from a file and given to a
classifier without a word about its columns. One line says what was understood, one warning what was left out. The hundred who
are most likely to leave are called, and the page that `report` makes is for whoever decides.
"""

import io
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import semimetric as sm

# A file as a company has it: long contracts keep customers, years do, and calls for help announce that one leaves.
rng = np.random.default_rng(0)
n = 5000
contract = rng.choice(["monthly", "yearly", "two years"], n, p=[0.55, 0.25, 0.2])
since = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), unit="D")
calls, spends = rng.poisson(1.5, n), rng.gamma(4.0, 15.0, n).round(2)
years = (pd.Timestamp("2026-01-01") - since).days / 365
risk = 1.6 * (contract == "monthly") + 0.9 * np.maximum(calls - 2, 0) - 0.5 * years
file = pd.DataFrame(
    {
        "customer_id": rng.permutation(n) + 10_000,
        "name": [f"Customer {k}" for k in range(n)],
        "contract": contract,
        "since": since.strftime("%Y-%m-%d"),
        "calls": np.where(rng.random(n) < 0.1, np.nan, calls),  # nobody counted them
        "spends": spends,
        "newsletter": rng.random(n) < 0.4,
        "region": pd.Series(rng.choice(["north", "south", "west"], n)).where(rng.random(n) > 0.05),
        "country": "DE",
        "leaves": np.where(rng.random(n) < 1 / (1 + np.exp(-2 * risk)), "leaves", "stays"),
    }
).to_csv(index=False)

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    customers = pd.read_csv(io.StringIO(file))
    X, y = customers.drop(columns="leaves"), customers["leaves"]
    model = sm.SemimetricClassifier().fit(X[:4000], y[:4000])
    right = model.score(X[4000:], y[4000:])
print(model.columns_)
print("\n".join(str(warning.message) for warning in told))
guess = y[4000:].value_counts(normalize=True).max()
print(f"{100 * right:.1f} % of the other 1,000 customers are predicted rightly, {100 * guess:.1f} % by the larger class")

figure, (left, middle, right_hand) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained", width_ratios=[1.3, 1, 1])
kept = {"numbers": "tab:blue", "categories": "tab:orange", "times": "tab:green", "yes or no": "tab:purple"}
colours = kept | {"left out": "lightgrey"}
kinds = {f.name: f.kind_in_words for f in model.columns_.features} | dict.fromkeys(model.columns_.dropped, "left out")
parts = dict(zip(model.columns_.names, 100 * model.feature_importances_, strict=True))
order = sorted(kinds, key=lambda name: parts.get(name, -1.0))
left.barh(order, [parts.get(name, 0.0) for name in order], color=[colours[kinds[name]] for name in order])
for k, name in enumerate(order):
    if name not in parts:
        left.text(0.5, k, "left out", va="center", color="grey", fontsize=9)
left.set(title="how the columns were read, and what they count", xlabel="% of the distance")
left.legend([plt.Rectangle((0, 0), 1, 1, color=c) for c in colours.values()], list(colours), frameon=False, loc="lower right")

# One column of one customer is changed, and the model asked again.
leaving = list(model.classes_).index("leaves")
one = X.iloc[[4003]]
dates = pd.date_range("2020-01-01", "2025-06-01", periods=40)
for name in ("monthly", "yearly", "two years"):
    asked = pd.concat([one] * len(dates)).assign(since=dates.strftime("%Y-%m-%d"), contract=name)
    middle.plot(dates, model.predict_proba(asked)[:, leaving], label=name)
middle.set(title="one customer, had he come at", ylabel="probability that he leaves", ylim=(0, 1))
middle.legend(title="contract", frameon=False)
middle.tick_params(axis="x", rotation=30)
numbers = [*range(7), None]
asked = pd.concat([one] * len(numbers)).assign(calls=numbers)
chance = model.predict_proba(asked)[:, leaving]
right_hand.bar([str(k) if k is not None else "?" for k in numbers], chance, color=["tab:blue"] * 7 + ["lightgrey"])
right_hand.set(title="had he called", xlabel="times", ylim=(0, 1))
for ax in figure.axes:
    ax.spines[["top", "right"]].set_visible(False)
figure.suptitle("Which customers leave, by a table as it comes?")
plt.show()

# %%
# Decide: call the hundred of the other 1,000 who are most likely to leave. The page is for whoever does so.
chances = model.predict_proba(X[4000:])[:, leaving]
leave = (y[4000:] == "leaves").to_numpy()
print(f"{leave[np.argsort(-chances)[:100]].sum()} of the 100 leave; of 100 drawn at random {100 * leave.mean():.0f} would")
sm.report(model, X[4000:], y[4000:])
