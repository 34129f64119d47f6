"""Can a database find the nearest rows by a learned distance?
===========================================================

A database learns nothing, but it adds and compares numbers. `to_sql` writes a learned distance in its language: a scale is a
CASE over knots, a category a comparison. Here SQLite, which comes with Python, searches houses whose prices are alike. It gives
the neighbours that Python gives, and rows that are inserted later are found as well. DuckDB and PostgreSQL have scripts in
their own dialects.
"""

import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from semimetric import SemimetricRegressor

rng = np.random.default_rng(6)
n = 1500
houses = pd.DataFrame({"area": rng.gamma(6.0, 18.0, n).round(), "rooms": rng.integers(1, 8, n), "floor": rng.integers(0, 9, n)})
houses["town"] = rng.choice(["Rome", "Oslo", "Cork"], n)
price = 40 * np.minimum(houses["area"], 120) ** 0.7 * houses["town"].map({"Rome": 1.0, "Oslo": 1.5, "Cork": 0.6})
price = price * rng.normal(1.0, 0.03, n)
known, new = houses[:1400], houses[1400:]

model = SemimetricRegressor(effort="fast", random_state=0).fit(known, price[:1400])
d = model.semimetric_
sql = d.to_sql("sqlite", table="houses", key="id")

base = sqlite3.connect(":memory:")
known.rename_axis("id").reset_index().to_sql("houses", base, index=False)
base.executescript(sql.script)
new.rename_axis("id").reset_index().to_sql("houses", base, index=False, if_exists="append")  # triggers keep the coordinates
print(sql.nearest(5))

# The five nearest of each new house among all others: by the learned distance in SQL, and by Euclid's on scaled columns.
ids = new.index.tolist()
found = [[row for row in base.execute(sql.nearest(6), (key,)) if row[0] != key][:5] for key in ids]
by_sql = np.array([[key for key, _ in rows] for rows in found])
error = max(
    abs(gap - d.pairwise(houses.loc[[a]], houses.loc[[b]])[0, 0]) for a, r in zip(ids, found, strict=True) for b, gap in r
)
print(f"largest difference between SQLite and Python: {error:.1g}")
scaled = pd.get_dummies(houses, dtype=float)
scaled = ((scaled - scaled.mean()) / scaled.std()).to_numpy()
gaps = ((scaled[ids, None] - scaled) ** 2).sum(axis=2)
gaps[np.arange(len(ids)), ids] = np.inf
by_euclid = np.argsort(gaps, axis=1)[:, :5]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
stored = pd.read_sql("SELECT houses.area, near.area AS scale FROM houses JOIN houses_semimetric AS near USING (id)", base)
base.close()
left.scatter(stored["area"], stored["scale"], s=8, color="tab:blue")
left.set(xlabel="area, as it is in the table", ylabel="the coordinate that SQLite keeps", title="A scale is a CASE over knots")
for name, rows, colour in (("learned, in SQL", by_sql, "tab:blue"), ("Euclid, scaled columns", by_euclid, "tab:orange")):
    apart = 100 * np.abs(price.to_numpy()[rows] / price.to_numpy()[ids, None] - 1).ravel()
    right.plot(np.sort(apart), np.linspace(0, 1, apart.size), color=colour, label=f"{name}: median {np.median(apart):.0f} %")
right.set(xlabel="difference in price, %", ylabel="share of the five nearest", xlim=(0, 60), title="Prices of neighbours")
right.legend(frameon=False, loc="lower right")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
figure.suptitle("Are the nearest houses, found in SQLite, alike in price?")
plt.show()
