"""The arguments of a search, checked: the algorithm, how many neighbours, within which radius, among how many candidates."""

from typing import NamedTuple

import numpy as np

from ..._foundation.errors import InputError
from ..._foundation.validation import check_choice, check_count

ALGORITHMS = ("exact", "approximate", "graph", "brute")


class SearchRequest(NamedTuple):
    """The number k of neighbours, the algorithm, and what the approximate ones refine or keep (items) and visit (lists)."""

    k: int
    algorithm: str = "exact"
    n_candidates: int = 100
    n_probe: int = 16


def check_neighbors(algorithm: str, n_neighbors: int, n_items: int) -> int:
    """Return the number of neighbours, for a known algorithm and at most ``n_items`` of them."""
    check_choice("algorithm", algorithm, ALGORITHMS)
    k = check_count("n_neighbors", n_neighbors)
    if k > n_items:
        raise InputError(f"n_neighbors={k}, but there are {n_items} items to answer; ask for fewer")
    return k


def check_radius(radius: float, least: float) -> None:
    """Refuse a radius that is not finite, or that no distance can be within, as none is below ``least``."""
    number = isinstance(radius, (int, float, np.number)) and np.isfinite(radius)
    if not number or radius < least:
        raise InputError(f"radius={radius!r}: a finite number is required, >= 0 for distances that are")


def candidate_count(n_candidates: int | None, k: int) -> int:
    """Return the number of items that the approximate search refines for k neighbours, or that a walk keeps."""
    return max(100, 10 * k) if n_candidates is None else max(check_count("n_candidates", n_candidates), k)
