"""Directions that class labels choose: linear discriminants, neighbourhood components, discriminants that bend.

They are fitted to the training items and join the raw features, so that a sum over single features can see combinations of
them (docs/mathematics.md, section 2).
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from ..._foundation.errors import InputError
from ..._foundation.threads import map_blocks
from ..._foundation.types import Floats, Integers, Pairs
from .discriminants import discriminants
from .linear_directions import Directions

__all__ = ["LABELLED", "are_combined", "labelled_directions"]

LABELLED = ("lda", "nca", "discriminant", "combined")
_SHRINKAGE = 0.1
_SAME = 1e-9  # of a feature's spread
_MOST_ROWS, _MOST_COMPONENTS, _ITERATIONS, _MOST_MAPS = 2_000, 32, 50, 4
_PARTNERS = 8  # pairs of either kind drawn for every item
_SAMPLED = 0.7  # of the items, for each map of "combined"
_MOST_FEATURES = 220  # raw ones and directions of "combined" together


def labelled_directions(
    kind: str,
    items: Floats,
    labels: Integers,
    *,
    usable: NDArray[np.bool_],
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> Directions | None:
    """Directions for standardised features, as a map of the raw ones; None where there are none, or every class is a point.

    They combine usable features, and are fitted to the items that have all of them.

    Parameters
    ----------
    kind : {"lda", "nca", "discriminant", "combined"}
        Fisher's discriminants with 10 % shrinkage; neighbourhood components (Goldberger et al. 2005; at most 32, on
        2,000 items, of larger tables on up to four samples of 2,000); discriminants on a piecewise-linear embedding; or
        these and the components of up to four samples, of 70 % of the items or 2,000 (as bagging does, Breiman 1996):
        components follow their items too closely, each set of them in other ways.
    items : ndarray of shape (n_items, n_features)
    labels : ndarray of shape (n_items,)
    usable : ndarray of shape (n_features,), bool
    random_state : int or None
    n_jobs : int or None
        Threads, where there are several samples.
    """
    if kind not in LABELLED:
        raise InputError(f"directions={kind!r} is not known; use None, 'auto', 'pca', {', '.join(map(repr, LABELLED))}")
    whole = np.isfinite(items[:, usable]).all(axis=1)
    part = _fitted(kind, items[whole][:, usable], labels[whole], random_state, n_jobs)
    if part is None or usable.all():
        return part
    if not part.bends:
        matrix = np.zeros((len(part.matrix), len(usable)))
        matrix[:, usable] = part.matrix
        return Directions(matrix, part.names)
    bends, given = [], iter(part.bends)
    for use in usable:
        bends.append(next(given) if use else np.zeros(1))  # one knot has no cell
    return Directions(part.matrix, part.names, tuple(bends))


def _fitted(kind: str, items: Floats, labels: Integers, random_state: int | None, n_jobs: int | None) -> Directions | None:
    if items.shape[1] < 2 or len(np.unique(labels)) < 2:
        return None
    rng = np.random.default_rng(random_state)
    if kind == "discriminant":
        return _bent(items, labels, rng, random_state)
    if kind == "combined":
        return _combined(items, labels, rng, random_state, n_jobs)
    scaled, spread = _scaled(items)
    if not _scattered(scaled, labels):
        return None
    matrix = _lda(scaled, labels) if kind == "lda" else _nca(scaled, labels, _apart(len(items), rng), random_state, n_jobs)
    matrix = matrix / spread
    matrix = matrix[np.abs(matrix).max(axis=1) > 0]
    return Directions(matrix, tuple(f"{kind}{k}" for k in range(len(matrix)))) if len(matrix) else None


def _scattered(scaled: Floats, labels: Integers) -> bool:
    """Whether members of some class differ: where every class is a point, there is nothing to be gained by combining."""
    return any(np.ptp(scaled[labels == c], axis=0).max() > _SAME for c in np.unique(labels))


def _lda(scaled: Floats, labels: Integers) -> Floats:
    model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=_SHRINKAGE).fit(scaled, labels)
    count = min(len(model.classes_) - 1, scaled.shape[1])
    return np.real(model.scalings_[:, :count]).T


def _apart(n: int, rng: np.random.Generator) -> list[Integers]:
    """One sample, or several that share no item where the table is large: more of it is seen, in linear time."""
    order = rng.permutation(n) if n > _MOST_ROWS else np.arange(n)
    count = min(max(n // _MOST_ROWS, 1), _MOST_MAPS)
    return [np.sort(order[k * _MOST_ROWS : (k + 1) * _MOST_ROWS]) for k in range(count)]


def _nca(scaled: Floats, labels: Integers, samples: list[Integers], random_state: int | None, n_jobs: int | None) -> Floats:
    """One map a sample."""
    n_components = min(scaled.shape[1], _MOST_COMPONENTS)

    def fitted(block: slice) -> Floats:
        rows = samples[block.start]
        model = NeighborhoodComponentsAnalysis(n_components=n_components, max_iter=_ITERATIONS, random_state=random_state)
        return model.fit(scaled[rows], labels[rows]).components_

    return np.vstack(map_blocks(fitted, len(samples), size=1, n_jobs=n_jobs))


def _combined(
    items: Floats, labels: Integers, rng: np.random.Generator, random_state: int | None, n_jobs: int | None
) -> Directions | None:
    """Discriminants and the components of samples, as directions over the cells of the discriminants."""
    bent = _bent(items, labels, rng, random_state)
    if bent is None:
        return None
    n_features = items.shape[1]
    scaled, spread = _scaled(items)
    if not _scattered(scaled, labels):
        return bent
    room = (_MOST_FEATURES - n_features - len(bent.matrix)) // min(n_features, _MOST_COMPONENTS)
    samples = [_sample(labels, rng) for _ in range(min(max(room, 1), _MOST_MAPS))]
    maps = _nca(scaled, labels, samples, random_state, n_jobs) / spread
    cells = np.hstack([maps[:, [f]] * np.diff(knots) for f, knots in enumerate(bent.bends)])
    cells = cells[np.abs(cells).max(axis=1) > 0]
    names = tuple(f"nca{k}" for k in range(len(cells)))
    return Directions(np.vstack([cells, bent.matrix]), names + bent.names, bent.bends)


def _scaled(items: Floats) -> tuple[Floats, Floats]:
    """Features of mean 0 and spread 1, and what their spread was."""
    spread = items.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return (items - items.mean(axis=0)) / spread, spread


def _sample(labels: Integers, rng: np.random.Generator) -> Integers:
    """Rows of some 70 % of every class, and of some 2,000 at most."""
    share = min(_SAMPLED, _MOST_ROWS / len(labels))
    members = [rng.permutation(np.flatnonzero(labels == c)) for c in np.unique(labels)]
    return np.sort(np.concatenate([m[: int(np.ceil(share * len(m)))] for m in members]))


def _bent(items: Floats, labels: Integers, rng: np.random.Generator, random_state: int | None) -> Directions | None:
    """Near pairs are of one class, far ones of two."""
    i = np.repeat(np.arange(len(items)), 4 * _PARTNERS)
    j = rng.integers(0, len(items), len(i))
    same, distinct = labels[i] == labels[j], i != j
    near, far = (np.column_stack([i, j])[keep] for keep in (same & distinct, ~same))
    most = _PARTNERS * len(items)
    near, far = near[rng.permutation(len(near))[:most]], far[rng.permutation(len(far))[:most]]
    if not (len(near) and len(far)):
        return None
    weights = (np.full(len(p), 1.0 / len(p)) for p in (near, far))
    return discriminants(Pairs(items, near), Pairs(items, far), *weights, random_state=random_state)


def are_combined(directions: Directions | None) -> bool:
    """Whether directions are those of the kind "combined", in this fit or an earlier one: saved directions keep names only."""
    kinds = set() if directions is None else {name.rstrip("0123456789") for name in directions.names}
    return kinds == {"nca", "discriminant"}
