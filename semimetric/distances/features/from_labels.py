"""Directions that are fitted to class labels: discriminants, neighbourhood components, discriminants that bend, and trees.

They are fitted to the training items and appended to the raw features. With them a sum over single features can depend on
combinations of features (docs/mathematics.md, section 2).
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from ..._foundation.errors import InputError
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers, Pairs
from .discriminants import discriminants
from .embedded_components import embedded_components
from .linear_directions import Directions
from .partition_features import PartitionFeatures

LABELLED = ("lda", "nca", "discriminant", "combined", "nca-embedded", "forest")
_SHRINKAGE = 0.1  # of linear discriminants
_SAME = 1e-9  # items of a class are the same point if no feature differs by more than this share of its spread
_MOST_ROWS = 2_000  # items that neighbourhood components are fitted to at once
_MOST_COMPONENTS = 32  # of one fit of neighbourhood components
_ITERATIONS = 50  # of one fit of neighbourhood components
_MOST_MAPS = 4  # fits of neighbourhood components, on different samples
_PARTNERS = 8  # near pairs, and far pairs, drawn for every item
_SAMPLED = 0.7  # the share of the items that each map of "combined" is fitted to
_MOST_FEATURES = 220  # the raw features and the directions of "combined" together


def labelled_directions(
    kind: str,
    items: Floats,
    labels: Integers,
    *,
    usable: NDArray[np.bool_],
    weight: Floats | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    n_maps: int = 1,
) -> Directions | None:
    """Return directions of standardised features, as a map of the raw features; None if there is nothing to learn.

    "lda" are Fisher's discriminants with 10 % shrinkage; "nca" at most 32 neighbourhood components (Goldberger et al. 2005),
    fitted to at most four samples of 2,000; "discriminant" are discriminants on a piecewise-linear embedding. "combined" adds
    the components of samples of 70 % or 2,000 items, since those of different samples overfit differently (Breiman 1996).
    "nca-embedded" are components that bend, see `embedded_components`, and "forest" 100 extremely randomised trees of at most
    16 leaves; both read the weights of the items. Linear directions combine the usable features, and are fitted to the items
    that lack none of these; trees use all.
    """
    if kind not in LABELLED:
        raise InputError(f"directions={kind!r} is not known; use None, 'auto', 'pca', {', '.join(map(repr, LABELLED))}")
    if kind == "forest":
        forest = PartitionFeatures(random_state=random_state, n_jobs=n_jobs).fit_weighted(items, labels, weight)
        return Directions.of_trees(forest.partitions_)
    complete = np.isfinite(items[:, usable]).all(axis=1)
    if kind == "nca-embedded":
        counts = None if weight is None else weight[complete]
        part = embedded_components(
            items[complete][:, usable], labels[complete], counts, n_maps=n_maps, random_state=random_state, n_jobs=n_jobs
        )
    else:
        part = _fitted(kind, items[complete][:, usable], labels[complete], random_state, n_jobs)
    if part is None or usable.all():
        return part
    if not part.bends:
        matrix = np.zeros((len(part.matrix), len(usable)))
        matrix[:, usable] = part.matrix
        return Directions(matrix, part.names)
    knots_of_usable = iter(part.bends)
    bends = tuple(next(knots_of_usable) if use else np.zeros(1) for use in usable)  # a feature with one knot has no cell
    return Directions(part.matrix, part.names, bends)


def _fitted(kind: str, items: Floats, labels: Integers, random_state: int | None, n_jobs: int | None) -> Directions | None:
    if items.shape[1] < 2 or len(np.unique(labels)) < 2:
        return None
    rng = np.random.default_rng(random_state)
    if kind == "discriminant":
        return _bent(items, labels, rng)
    if kind == "combined":
        return _combined(items, labels, rng, random_state, n_jobs)
    scaled, spread = _scaled(items)
    if not _classes_spread(scaled, labels):
        return None
    if kind == "lda":
        matrix = _lda(scaled, labels) / spread
    else:
        matrix = _nca(scaled, labels, _disjoint_samples(len(items), rng), random_state, n_jobs) / spread
    matrix = matrix[np.abs(matrix).max(axis=1) > 0]
    return Directions(matrix, tuple(f"{kind}{k}" for k in range(len(matrix)))) if len(matrix) else None


def _classes_spread(scaled: Floats, labels: Integers) -> bool:
    """Return True if the items of some class differ; if every class is a single point, directions can gain nothing."""
    return any(np.ptp(scaled[labels == c], axis=0).max() > _SAME for c in np.unique(labels))


def _lda(scaled: Floats, labels: Integers) -> Floats:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Only one sample available")  # of a class; its covariance then counts as 0
        model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=_SHRINKAGE).fit(scaled, labels)
    count = min(len(model.classes_) - 1, scaled.shape[1])
    return np.real(model.scalings_[:, :count]).T


def _disjoint_samples(n: int, rng: np.random.Generator) -> list[Integers]:
    """Return rows of up to four samples of 2,000 items that share no item; a table of up to 2,000 items is a single sample."""
    order = rng.permutation(n) if n > _MOST_ROWS else np.arange(n)
    count = min(max(n // _MOST_ROWS, 1), _MOST_MAPS)
    return [np.sort(order[k * _MOST_ROWS : (k + 1) * _MOST_ROWS]) for k in range(count)]


def _nca(scaled: Floats, labels: Integers, samples: list[Integers], random_state: int | None, n_jobs: int | None) -> Floats:
    """Return the neighbourhood components of every sample, stacked: shape (n_samples n_components, n_features)."""
    n_components = min(scaled.shape[1], _MOST_COMPONENTS)

    def fitted(block: slice) -> Floats:
        rows = samples[block.start]
        model = NeighborhoodComponentsAnalysis(n_components=n_components, max_iter=_ITERATIONS, random_state=random_state)
        return model.fit(scaled[rows], labels[rows]).components_

    return np.vstack(map_blocks(fitted, len(samples), size=1, n_jobs=n_jobs))


def _combined(
    items: Floats, labels: Integers, rng: np.random.Generator, random_state: int | None, n_jobs: int | None
) -> Directions | None:
    bent = _bent(items, labels, rng)
    if bent is None:
        return None
    n_features = items.shape[1]
    scaled, spread = _scaled(items)
    if not _classes_spread(scaled, labels):
        return bent
    room = (_MOST_FEATURES - n_features - len(bent.matrix)) // min(n_features, _MOST_COMPONENTS)
    samples = [_sample(labels, rng) for _ in range(min(max(room, 1), _MOST_MAPS))]
    maps = _nca(scaled, labels, samples, random_state, n_jobs) / spread
    cells = np.hstack([maps[:, [f]] * np.diff(knots) for f, knots in enumerate(bent.bends)])
    cells = cells[np.abs(cells).max(axis=1) > 0]
    names = tuple(f"nca{k}" for k in range(len(cells)))
    return Directions(np.vstack([cells, bent.matrix]), names + bent.names, bent.bends)


def _scaled(items: Floats) -> tuple[Floats, Floats]:
    """Return features scaled to mean 0 and standard deviation 1, and their standard deviations (1 for a constant feature)."""
    spread = items.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return (items - items.mean(axis=0)) / spread, spread


def _sample(labels: Integers, rng: np.random.Generator) -> Integers:
    share = min(_SAMPLED, _MOST_ROWS / len(labels))
    members = [rng.permutation(np.flatnonzero(labels == c)) for c in np.unique(labels)]
    return np.sort(np.concatenate([m[: int(np.ceil(share * len(m)))] for m in members]))


def _bent(items: Floats, labels: Integers, rng: np.random.Generator) -> Directions | None:
    i = np.repeat(np.arange(len(items)), 4 * _PARTNERS)
    j = rng.integers(0, len(items), len(i))
    pairs = np.column_stack([i, j])
    same = labels[i] == labels[j]
    near = pairs[same & (i != j)]
    far = pairs[~same]
    most = _PARTNERS * len(items)
    near = near[rng.permutation(len(near))[:most]]
    far = far[rng.permutation(len(far))[:most]]
    if not (len(near) and len(far)):
        return None
    near_weight = np.full(len(near), 1.0 / len(near))
    far_weight = np.full(len(far), 1.0 / len(far))
    return discriminants(Pairs(items, near), Pairs(items, far), near_weight, far_weight)


def are_combined(directions: Directions | None) -> bool:
    """Return True if directions are of the kind "combined", by their names: saved directions have only names."""
    kinds = set() if directions is None else {name.rstrip("0123456789") for name in directions.names}
    return kinds == {"nca", "discriminant"}


def grown_to_labels(
    directions: Any, items: Floats, labels: Integers, *, weight: Floats | None = None, random_state: int | None = None
) -> Any:
    """Grow the trees among directions that need a target, and have none, to the labels of the items."""
    if isinstance(directions, (list, tuple)):
        return [grown_to_labels(part, items, labels, weight=weight, random_state=random_state) for part in directions]
    if not isinstance(directions, PartitionFeatures) or hasattr(directions, "partitions_") or not directions.needs_targets:
        return directions
    return directions.grown(items, labels, weight, random_state=random_state)
