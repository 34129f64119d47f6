"""Which spectra are alike, if their peaks may drift?
==================================================

There are 150 measurements of each of four substances. A measurement is a histogram over 60 bins with narrow peaks, whose
positions drift. Bin by bin, two measurements of one substance have little in common. A distance is learned from 2,000 exact
Earth Mover's Distances. `SemimetricNeighborsTransformer` gives the graph of its nearest neighbours to scikit-learn's estimators
that take precomputed distances. Here spectral clustering finds four groups, and t-SNE draws a map.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import wasserstein_distance
from sklearn.cluster import SpectralClustering
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsTransformer

from semimetric import DistanceApproximator, DistanceRegressor, HistogramFeatures, NeighborIndex, SemimetricNeighborsTransformer

bins = np.arange(60.0)
peaks = [(15,), (30,), (22, 38), (12, 30, 48)]  # of each substance
rng = np.random.default_rng(0)


def measured(substance):
    """Return a spectrum of mass 1: every peak drifts by about 3 bins, and there is noise."""
    centres = np.array(peaks[substance]) + 3 * rng.normal(size=len(peaks[substance]))
    spectrum = np.exp(-0.5 * ((bins[:, None] - centres) / 0.7) ** 2).sum(axis=1) + 0.004 * rng.random(60)
    return spectrum / spectrum.sum()


true = np.repeat(np.arange(4), 150)
spectra = np.array([measured(s) for s in true])

d = (
    DistanceApproximator(
        lambda x, y: wasserstein_distance(bins, bins, x, y),
        DistanceRegressor(directions=HistogramFeatures(bins), tables="warped", n_knots=2, alpha=1e-6),
        n_pairs=2000,
        validation_fraction=0,
    )
    .fit(spectra[::3])
    .semimetric_
)


def groups_in(graph):
    """Four groups in a graph of neighbours, and how well they agree with the substances (1 is perfect)."""
    spectral = SpectralClustering(4, affinity="precomputed_nearest_neighbors", n_neighbors=15, random_state=0)
    found = spectral.fit_predict(graph)
    return found, adjusted_rand_score(true, found)


learned = SemimetricNeighborsTransformer(d, n_neighbors=95).fit_transform(spectra)
_, by_bins = groups_in(KNeighborsTransformer(n_neighbors=95).fit_transform(spectra))
groups, score = groups_in(learned)
print(f"agreement of four groups with the substances: learned {score:.2f}, bin by bin {by_bins:.2f}")
places = TSNE(metric="precomputed", init="random", perplexity=30, random_state=0).fit_transform(learned)

# The nearest neighbours of one spectrum, exactly, among all.
example = 320
_, nearest = NeighborIndex(d).fit(spectra).kneighbors(spectra[[example]], n_neighbors=4)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for level, row in enumerate(nearest[0]):
    colour = "#d1495b" if row == example else "#1f5f8b"
    left.fill_between(bins, -level, 0.9 * spectra[row] / spectra[row].max() - level, color=colour, lw=0)
left.set(title="A spectrum (red) and its nearest neighbours", xlabel="bin", yticks=[])
right.scatter(*places.T, c=groups, cmap="tab10", s=10)
right.set(title=f"A map, and four groups: agreement {score:.2f}, bin by bin {by_bins:.2f}", xticks=[], yticks=[])
for ax in (left, right):
    ax.spines[["top", "right", "left"]].set_visible(False)
figure.suptitle("Which spectra are alike, if their peaks may drift?")
plt.show()
