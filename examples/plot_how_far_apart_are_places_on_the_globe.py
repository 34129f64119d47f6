"""How far apart are places on the globe?
======================================

The great-circle distance is the fraction of the half spheres that separate two places: an L1 distance, if every half sphere is
a feature. `DistanceApproximator` does not know this. It calls the distance on some pairs of places, and learns a sum of
one-dimensional distances between the heights of both above planes through the middle of the globe. The learned scales are
steepest where a height crosses 0, as they should be. Bounds by landmarks then give exact neighbours for few calls.
"""

import matplotlib.pyplot as plt
import numpy as np

from semimetric import DistanceApproximator, DistanceRegressor, FilterRefineIndex, LandmarkBounds, UniformDirections
from semimetric.plotting import plot_predicted

CITIES = {
    "Auckland": (-36.8, 174.8), "Cairo": (30.0, 31.2), "Lima": (-12.0, -77.0), "Mumbai": (19.1, 72.9), "Nairobi": (-1.3, 36.8),
    "Reykjavik": (64.1, -21.9), "San Francisco": (37.8, -122.4), "Suva": (-18.1, 178.4), "Tokyo": (35.7, 139.7),
}  # fmt: skip


def great_circle(x, y):
    """Kilometres between two places, each (latitude, longitude) in degrees (the haversine formula)."""
    (a, b), (c, d) = np.radians(x), np.radians(y)
    half = np.sin((a - c) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((b - d) / 2) ** 2
    return 2 * 6371 * np.arcsin(np.sqrt(min(half, 1.0)))


def on_the_sphere(places):
    """Return three coordinates of every place, which have no jump at the date line."""
    latitude, longitude = np.radians(places).T
    return np.column_stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)])


rng = np.random.default_rng(0)
drawn = np.column_stack([np.degrees(np.arcsin(rng.uniform(-1, 1, 1500))), rng.uniform(-180, 180, 1500)]).tolist()
seen, others = drawn[:1000], drawn[1000:]

model = DistanceApproximator(
    great_circle,
    DistanceRegressor(directions=UniformDirections(n_directions=100), tables="warped", n_knots=12, alpha=1e-6),
    features=on_the_sphere,
    n_pairs=6000,
).fit(seen)
print(model.error_)

# Predict pairs of unseen places, with intervals that hold nine true distances in ten.
pairs = [(others[i], others[j]) for i, j in rng.integers(0, len(others), (800, 2)) if i != j]
true = np.array([great_circle(*pair) for pair in pairs])
predicted = model.predict(pairs, interval=0.9)
inside = np.mean((predicted.lower <= true) & (true <= predicted.upper))
print(f"{len(pairs)} pairs of other places: {inside:.0%} lie within their intervals of 90 %")

# Find the exact neighbours of cities: bounds by landmarks discard most places, and prove the answer.
bounds = LandmarkBounds(great_circle, n_landmarks=8)
index = FilterRefineIndex(model.semimetric_, great_circle, bounds=bounds).fit(seen, features=model.encode(seen))
cities = list(CITIES.values())
found = index.search(cities, n_neighbors=5, features=model.encode(cities))
exact = np.array([np.sort([great_circle(city, place) for place in seen])[:5] for city in cities])
print(f"the 5 nearest of {len(seen)} places: {found.n_calls.mean():.0f} calls instead of {len(seen)} for each of {len(cities)}")
print(f"all are proved: {found.certified.all()}; they are those of all calls: {np.allclose(found.distances, exact)}")

figure, (first, second) = plt.subplots(1, 2, figsize=(12.5, 5), layout="constrained", width_ratios=(1, 1.7))
plot_predicted(true, predicted, first)
first.set(title="Places that it never saw: intervals of 90 %", xlabel="km", ylabel="learned distance, km")
around, up = np.meshgrid(np.linspace(-180, 180, 145), np.linspace(-90, 90, 73))
grid = np.column_stack([up.ravel(), around.ravel()])
suva = model.semimetric_.pairwise(model.encode([CITIES["Suva"]]), model.encode(grid.tolist())).reshape(up.shape)
picture = second.contourf(around, up, suva / 1000, levels=np.arange(0, 21, 2), cmap="YlGnBu_r", extend="both")
for name, (latitude, longitude) in CITIES.items():
    second.plot(longitude, latitude, "o", color="#c0392b", markersize=4)
    second.annotate(name, (longitude, latitude), xytext=(4, 4), textcoords="offset points", fontsize=8)
second.set(title="Learned distance to Suva, across the date line", xlabel="longitude", ylabel="latitude", aspect="equal")
figure.colorbar(picture, ax=second, label="1000 km", shrink=0.7)
figure.suptitle("How far apart are places on the globe?")
plt.show()
