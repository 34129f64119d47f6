"""Conic embeddings: vectors with their distances to anchors, for non-linear functions (Ceylan and Birbil, paper 4).

    phi_{p,1}(x | a) = (x, ||x - a||_p^p)                            one more feature
    phi_{p,d}(x | a) = (x, |x_1 - a_1|^p, ..., |x_d - a_d|^p)        twice the features
    phi_{p,M}(x) = (x, ||x - a^(1)||_p^p, ..., ||x - a^(M)||_p^p)    a^(j) the nearest to x of the anchors of class j

The level sets of a linear function of phi_{p,1} are those of a cone over the anchor: for p = 1 polyhedral conic functions,
``w (x - a) + w_{d+1} ||x - a||_1 - b`` (§S.3, eqs 6 and 7; the anchor of the first term only shifts b).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._foundation.arrays import as_classes, check_sorted_classes
from ..._foundation.errors import InputError
from ..._foundation.stored import Stored, StoredIfSet, storable
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice, check_count, check_items
from .anchors import AnchorSet, as_sets, check_band, check_power, class_anchors, cluster_centers, powers
from .base import DenseMap, Term

EXPAND = ("one", "each")
ANCHORS = ("mean", "class", "kmeans")
_CLUSTERS = 8  # of anchors="kmeans" with n_anchors=None


@storable
class ConicEmbedding(DenseMap):
    """The features of x, and its distances to anchors to the power p.

    These are the maps phi_{p,1}, phi_{p,d} and phi_{p,M} of Ceylan & Birbil (2020).

    Bring the features to one scale first. LIBLINEAR can stop after 1,000 steps far from its optimum on the long tails of
    powers; ``EmbeddedLinearClassifier(ConicEmbedding(2, "each"), solver="newton")`` has the same objective and does not mind.

    Parameters
    ----------
    p : float, default 1
        The power and the norm, > 0. Level sets are polyhedra for 1, ellipsoids for 2, and boxes for ``float("inf")``, where the
        distance is the largest ``|x_l - a_l|``, without a power.
    expand : {"one", "each"}, default "one"
        "one": a column for every set, the distance to its nearest anchor. "each": a column ``|x_l - a_l|^p`` for every feature
        and anchor.
    anchors : {"mean", "class", "kmeans"}, array or list of arrays, default "mean"
        "mean": the mean item. "class": for every class its items within ``band`` (§S.2). "kmeans": the centres of ``n_anchors``
        clusters. An array of shape (n_features,) is one anchor, one of shape (n_anchors, n_features) a set. A list of arrays,
        at least one with two dimensions, is a list of sets.
    n_anchors : int or None, default None
        Number of clusters for "kmeans", 8 if None. For "class", the centres of so many clusters replace the items of every
        class.
    concatenate : bool, default True
        True gives every anchor columns with "each". False takes the nearest of each set, as the paper does (eq. 2): fewer
        columns, but f jumps where the nearest anchor changes.
    band : tuple of float, default (30, 50)
        For "class", the percentiles (low, high) of the distance to the nearest item of another class.
    band_p : float or None, default None
        The norm of that distance; ``p`` if None.
    missing : {"error", "zeros"}, default "error"
        With "zeros" a missing value adds nothing; means leave it out, and sets and clusters are made of complete items.
    dtype : float64 or float32, default float64
    n_jobs : int or None, default None
        Threads: None is one, -1 all.
    random_state : int or None, default 0
        The seed of the clusters.

    Attributes
    ----------
    anchors_ : list of ndarray of shape (n_anchors, n_features)
        The sets of anchors, in the order of their columns.
    classes_ : ndarray
        The class of each set, with ``anchors="class"`` only.

    Raises
    ------
    InputError
        If p is no number > 0, anchors have other features than X or are no finite numbers, a set is empty, X has one item and
        anchors are to be found, "class" has fewer than two classes, or the band leaves a class no anchor.

    Examples
    --------
    >>> inner, outer = [[0.0, 1.0], [0.0, -1.0]], [[3.0, 0.0], [-3.0, 0.0]]
    >>> embedding = ConicEmbedding(p=2).fit(inner + outer)
    >>> embedding.transform(inner + outer)
    array([[ 0.,  1.,  1.],
           [ 0., -1.,  1.],
           [ 3.,  0.,  9.],
           [-3.,  0.,  9.]])
    >>> embedding.get_feature_names_out().tolist()
    ['x0', 'x1', '|x - a0|_2^2']
    """

    missing_choices = ("error", "zeros")
    anchors_: Stored[list[Floats]]
    classes_: StoredIfSet[NDArray[Any]]

    def __init__(
        self,
        p: float = 1.0,
        expand: str = "one",
        *,
        anchors: Any = "mean",
        n_anchors: int | None = None,
        concatenate: bool = True,
        band: tuple[float, float] = (30.0, 50.0),
        band_p: float | None = None,
        missing: str = "error",
        dtype: Any = np.float64,
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.p = p
        self.expand = expand
        self.anchors = anchors
        self.n_anchors = n_anchors
        self.concatenate = concatenate
        self.band = band
        self.band_p = band_p
        self.missing = missing
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, items: Any, y: ArrayLike | None) -> None:
        self._check_parameters()
        if hasattr(self, "classes_"):  # left by an earlier fit
            del self.classes_
        self.anchors_ = self._find_anchors(items, y)
        self._lay_out()

    def check_restored(self) -> None:
        super().check_restored()
        self._check_parameters()
        d, anchors = self.n_features_in_, self.anchors_
        if not anchors or not all(a.ndim == 2 and len(a) and a.shape[1] == d and np.isfinite(a).all() for a in anchors):
            raise InputError(f"anchors_ are not sets of finite points of {d} features, at least one in each; restore the file")
        of_classes = isinstance(self.anchors, str) and self.anchors == "class"
        if of_classes != hasattr(self, "classes_"):
            raise InputError("classes_ are missing although there is a set of anchors for each, or the other way round")
        if of_classes:
            check_sorted_classes(self.classes_, len(anchors))
        self._lay_out()

    def _lay_out(self) -> None:
        of_classes = isinstance(self.anchors, str) and self.anchors == "class"
        self._set_names = [f"A[{c}]" for c in self.classes_] if of_classes else [
            f"{'a' if len(anchors) == 1 else 'A'}{k}" for k, anchors in enumerate(self.anchors_)
        ]  # fmt: skip
        p = float(self.p)
        self._sets = [AnchorSet(anchors, p, n_jobs=self.n_jobs) for anchors in self.anchors_]
        d = self.n_features_in_
        linear = [Term((f,), f, f + 1) for f in range(d)]
        if self.expand == "one":
            cones = [Term(tuple(range(d)), d + k, d + k + 1) for k in range(len(self._sets))]
        else:
            count = sum(map(len, self.anchors_)) if self.concatenate else len(self.anchors_)
            cones = [Term((k % d,), d + k, d + k + 1) for k in range(count * d)]
        self.terms_ = (*linear, *cones)
        self.n_columns_ = len(self.terms_)

    def values(self, items: Floats) -> Floats:
        out = np.empty((len(items), self.n_columns_))
        d = items.shape[1]
        out[:, :d] = np.nan_to_num(items, nan=0.0)
        start = d
        for part in _parts(items, self._sets, self.expand, self.concatenate):
            out[:, start : start + part.shape[1]] = part
            start += part.shape[1]
        if not (out[:, d:] <= np.finfo(self.dtype).max).all():
            raise InputError(
                f"a distance to the power p={self.p:g} is too large for {np.dtype(self.dtype)}; scale the features, or use a "
                "smaller p"
            )
        return out

    @property
    def names(self) -> Sequence[str]:
        """The names of the features, then names such as ``|x - a0|_1^1``, ``|x - A[ham]|_2^2`` and ``|x0 - 0.5|^2``."""
        features, sets = self.feature_names, self._set_names
        if self.expand == "one":
            power = "inf" if self.p == np.inf else f"{self.p:g}^{self.p:g}"
            return features + [f"|x - {name}|_{power}" for name in sets]
        power = "" if self.p == np.inf else f"^{self.p:g}"
        if not self.concatenate and any(len(a) > 1 for a in self.anchors_):
            return features + [f"|{x} - {name}|{power}" for name in sets for x in features]
        every = np.concatenate(self.anchors_)
        which = [f"@a{k}" for k in range(len(every))] if len(every) > 1 else [""]
        return features + [
            f"|{_less(x, v)}|{power}{end}" for anchor, end in zip(every, which, strict=True)
            for x, v in zip(features, anchor, strict=True)
        ]  # fmt: skip

    def _check_parameters(self) -> None:
        check_power("p", self.p)
        check_choice("expand", self.expand, EXPAND)
        check_choice("missing", self.missing, self.missing_choices)
        check_choice("concatenate", self.concatenate, (True, False))
        check_band(self.band)
        if self.band_p is not None:
            check_power("band_p", self.band_p)
        if self.n_anchors is not None:
            check_count("n_anchors", self.n_anchors)
        if isinstance(self.anchors, str):
            check_choice("anchors", self.anchors, ANCHORS)

    def _find_anchors(self, items: Floats, y: ArrayLike | None) -> list[Floats]:
        if not isinstance(self.anchors, str):
            return as_sets(self.anchors, items.shape[1])
        if len(items) < 2:
            raise InputError(
                f"anchors={self.anchors!r} are found among the items, but there is one sample; give more, or an array anchors="
            )
        if self.anchors == "mean":
            return [_mean(items)[None]]
        if self.anchors == "kmeans":
            n = _CLUSTERS if self.n_anchors is None else self.n_anchors
            return [cluster_centers(_complete(items)[0], n, self.random_state)]
        return self._of_classes(items, y)

    def _of_classes(self, items: Floats, y: ArrayLike | None) -> list[Floats]:
        self.classes_, labels = _labels(items, y)
        items, complete = _complete(items)
        if len(np.unique(labels[complete])) < len(self.classes_):
            raise InputError(
                "a class has no item without missing values to be an anchor; fill them in, or give an array anchors="
            )
        p = float(self.p if self.band_p is None else self.band_p)
        sets = class_anchors(items, labels[complete], band=check_band(self.band), p=p, n_jobs=self.n_jobs)
        for c, anchors in zip(self.classes_, sets, strict=True):
            if not len(anchors):
                raise InputError(f"band={self.band!r} leaves class {c!r} no anchor; widen the band of percentiles")
        if self.n_anchors is None:
            return sets
        return [cluster_centers(anchors, self.n_anchors, self.random_state) for anchors in sets]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = isinstance(self.anchors, str) and self.anchors == "class"
        return tags


def conic_kernel(X: ArrayLike, Z: ArrayLike, *, p: float = 1.0, expand: str = "one", anchor: Any = None) -> Floats:
    """Return inner products ``k_{p,1}`` or ``k_{p,d}`` of conic embeddings, for ``SVC(kernel=partial(conic_kernel, p=2))``.

        k(x, z | a) = <x, z> + ||x - a||_p^p ||z - a||_p^p,   or   <x, z> + sum_l |x_l - a_l|^p |z_l - a_l|^p

    See Ceylan & Birbil 2020, section 2. A linear model on `ConicEmbedding` finds the same function faster.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
    Z : array-like of shape (m, n_features)
    p : float, default 1
    expand : {"one", "each"}, default "one"
    anchor : None, array or list of arrays
        None is the origin, which is the mean of standardised items; else as ``anchors=`` of `ConicEmbedding`.

    Returns
    -------
    ndarray of shape (n, m)

    Raises
    ------
    InputError
        If the data, the anchor or a parameter cannot be used.

    Examples
    --------
    >>> conic_kernel([[1.0, 2.0]], [[3.0, 0.0], [0.0, -1.0]])
    array([[12.,  1.]])
    """
    check_choice("expand", expand, EXPAND)
    x = check_items(X)
    z = check_items(Z, name="Z", n_features=x.shape[1])
    sets = as_sets(np.zeros(x.shape[1]) if anchor is None else anchor, x.shape[1])
    searched = [AnchorSet(a, check_power("p", p)) for a in sets]
    left, right = (np.hstack([items, *_parts(items, searched, expand, True)]) for items in (x, z))
    return left @ right.T


def _parts(items: Floats, sets: list[AnchorSet], expand: str, concatenate: bool) -> Iterator[Floats]:
    """Return the columns that follow the features, one set of anchors after another: arrays of shape (n, number of columns)."""
    for chosen in sets:
        if expand == "one":
            yield chosen.distances(items)[:, None]
        elif concatenate:
            yield from (powers(items, anchor, chosen.p) for anchor in chosen.anchors)
        else:
            yield powers(items, chosen.anchors[chosen.nearest(items)], chosen.p)


def _mean(items: Floats) -> Floats:
    """Return the mean of the values of every feature that are not missing, 0 if all are: shape (n_features,)."""
    known = ~np.isnan(items)
    return np.where(known, items, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _complete(items: Floats) -> tuple[Floats, np.ndarray]:
    """Return the items without missing values, and a mask of them, shape (n_items,)."""
    complete = np.asarray(~np.isnan(items).any(axis=1))
    if not complete.any():
        raise InputError("no item is without missing values, so none can be an anchor; fill them in, or give an array anchors=")
    return items[complete], complete


def _labels(items: Floats, y: ArrayLike | None) -> tuple[np.ndarray, Integers]:
    """Return the classes, and the number of the class of each item, shape (n_items,)."""
    if y is None:
        raise InputError(
            'anchors="class" requires y to be passed, but the target y is None; give the classes, or other anchors'
        )
    labels = as_classes(y, items)
    classes, number = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y has one class, {classes[0]!r}; two or more are required: give other anchors to describe one class")
    return classes, number.astype(np.int64)


def _less(name: str, value: float) -> str:
    return f"{name} - {value:.6g}" if value >= 0 else f"{name} + {-value:.6g}"
