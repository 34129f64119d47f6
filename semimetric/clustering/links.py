"""Links between items that a clustering keeps: pairs that share a cluster, and pairs that do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import connected_components

from .._foundation.errors import ConvergenceWarning, InputError, warn
from .._foundation.types import Floats, Integers

__all__ = ["Links"]


@dataclass(frozen=True, eq=False)
class Links:
    """Must-link and cannot-link pairs of n items, by the parts of items that must be together.

    Parameters
    ----------
    part : ndarray of shape (n_items,), int64
        The number of the part that each item is in: items are in one part if must-links connect them.
    apart : ndarray of shape (n_pairs, 2), int64
        Pairs of parts that cannot-links keep apart, each once.
    example : ndarray of shape (n_parts,), int64
        The first item of each part, for messages.
    """

    part: Integers
    apart: Integers
    example: Integers

    @classmethod
    def of(cls, must_link: Any, cannot_link: Any, n_items: int) -> Links:
        """Links of pairs of row numbers, each array-like of shape (n_pairs, 2), or None.

        Raises
        ------
        InputError
            If they are no pairs of row numbers of ``n_items`` items, or contradict one another.
        """
        must, cannot = _pairs("must_link", must_link, n_items), _pairs("cannot_link", cannot_link, n_items)
        graph = sparse.coo_array((np.ones(len(must)), tuple(must.T)), shape=(n_items, n_items))
        part = connected_components(graph, directed=False)[1].astype(np.int64)
        apart = part[cannot]
        same = np.flatnonzero(apart[:, 0] == apart[:, 1])
        if len(same):
            i, j = cannot[same[0]]
            if i == j:
                raise InputError(f"cannot_link has a pair of the item {i} and itself; drop it")
            raise InputError(
                f"cannot_link has the items {i} and {j}, which must_link puts into one cluster; drop one of the links"
            )
        apart = np.unique(np.sort(apart, axis=1), axis=0)
        return cls(part, apart, np.unique(part, return_index=True)[1])

    def __bool__(self) -> bool:
        return len(self.example) < len(self.part) or len(self.apart) > 0

    def assigned(self, costs: Floats) -> Integers:
        """The clusters (n_items,) of least summed cost that keep all links, from the cost (n_items, n_clusters) of each.

        Parts that no cannot-link touches take their cheapest cluster. The others are assigned by integer programs, one for
        all parts that cannot-links connect.

        Raises
        ------
        InputError
            If the parts need more clusters than there are.
        """
        of_parts = np.zeros((len(self.example), costs.shape[1]))
        np.add.at(of_parts, self.part, costs)
        labels = of_parts.argmin(axis=1)
        graph = sparse.coo_array((np.ones(len(self.apart)), tuple(self.apart.T)), shape=(len(labels), len(labels)))
        tied = connected_components(graph, directed=False)[1]
        for number in np.unique(tied[self.apart[labels[self.apart[:, 0]] == labels[self.apart[:, 1]], 0]]):
            parts = np.flatnonzero(tied == number)
            labels[parts] = self._kept_apart(parts, of_parts[parts])
        return labels[self.part]

    def _kept_apart(self, parts: Integers, costs: Floats) -> Integers:
        """The clusters (n,) of these parts, by an integer program with a 0 or 1 for every part and cluster."""
        n, k = costs.shape
        pairs = np.searchsorted(parts, self.apart[np.isin(self.apart[:, 0], parts)])
        once = sparse.kron(sparse.eye_array(n), np.ones((1, k)))
        ends = sparse.coo_array(
            (np.ones(2 * len(pairs)), (np.repeat(np.arange(len(pairs)), 2), pairs.ravel())), shape=(len(pairs), n)
        )
        rules = [LinearConstraint(once, 1, 1), LinearConstraint(sparse.kron(ends, sparse.eye_array(k)), -np.inf, 1)]
        more = costs - costs.min(axis=1, keepdims=True)  # each part pays its least cost anyway, beside which others may be tiny
        options = {"time_limit": 60, "mip_rel_gap": 0.0}
        unit = more.max() or 1.0
        found = milp(more.ravel() / unit, integrality=1, bounds=Bounds(0, 1), constraints=rules, options=options)
        if found.x is None:
            items = ", ".join(map(str, self.example[parts][:5]))
            raise InputError(
                f"no assignment to {k} clusters that keeps all links of the items {items} ... was found ({found.message}); "
                "more clusters or fewer links are required"
            )
        if found.status != 0:
            warn(f"clusters of {n} linked items are not proved to be the best: {found.message}", ConvergenceWarning)
        return found.x.reshape(n, k).argmax(axis=1).astype(np.int64)


def _pairs(name: str, given: Any, n_items: int) -> Integers:
    """Pairs of row numbers, shape (n_pairs, 2)."""
    if given is None:
        return np.empty((0, 2), dtype=np.int64)
    pairs: NDArray[Any] = np.asarray(given)
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InputError(
            f"{name}= is {pairs.dtype} of shape {pairs.shape}; pairs of row numbers, integers (n_pairs, 2), are required"
        )
    if pairs.min() < 0 or pairs.max() >= n_items:
        wrong = pairs.min() if pairs.min() < 0 else pairs.max()
        raise InputError(f"{name}= has the row number {wrong}, but there are {n_items} items; give 0 to {n_items - 1}")
    return pairs.astype(np.int64)
