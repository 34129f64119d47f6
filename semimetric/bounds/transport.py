"""Bounds of the Earth Mover's Distance: from below by potentials, from above by plans."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.input_arrays import as_vector
from .._foundation.rounding import rounding_of
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_alpha, check_count, check_items
from .._kernels.transport_plans import cheapest_plans
from ..data.object_lists import listed_objects
from .base import Bounds, Coordinates, chebyshev
from .ground import GroundDistance
from .potentials import best_orders, given_potentials, learned_potentials

__all__ = ["TransportBounds"]

_SAME_MASS = 1e-6  # relative difference up to which masses are taken for equal, with what it costs taken in


class TransportBounds(Bounds):
    """Bounds of the Earth Mover's Distance of histograms on one ground distance.

    Lower bounds are ``max_k |f_k · (x - y)|`` over potentials f_k, of which ``f_ki - f_kj <= c_ij`` is proved for all bins i
    and j in floating point, so that no plan costs less (Kantorovich and Rubinstein 1958). The potentials are projections
    of the bins, distances to every bin, and the duals of exact distances between sampled pairs of the items, each made
    feasible by a c-transform and chosen greedily. All items are projected once, in one product of matrices; the bounds of a
    query are then Chebyshev distances. Upper bounds are the true costs of feasible plans: mass that both have stays, the
    rest is moved along orders of the bins by the north-west corner rule.

    Under an index whose ``rerank=`` returns duals, such as `EarthMoversDistance`, every exact distance of a query gives one
    potential more, which bounds its distances to all other items.

    What is bounded is the total cost of a plan, so for histograms of mass 1 the Earth Mover's Distance. The ground distance
    need not obey the triangle inequality.

    Parameters
    ----------
    cost_matrix : array-like of shape (n_bins, n_bins)
        The ground distance c: symmetric, >= 0, and 0 on the diagonal.
    bin_coordinates : array-like of shape (n_bins,) or (n_bins, n_dimensions), or None, default None
        Where the bins are, for projections.
    n_directions : int, default 16
        Directions of the projections.
    n_learned : int, default 256
        Potentials learned from duals, at most; 4 times as many exact distances are computed in `fit`, by POT. 0 does
        without.
    n_plans : int, default 8
        Orders of the bins along which plans are made.
    normalize : bool, default False
        Whether histograms are divided by their mass. Otherwise all must have the same one.
    tolerance : float, default 1e-9
        By how much the values of the exact distance may be off, as a share of the largest cost of the mass; bounds make
        room for it.
    random_state : int or None, default 0
        Of the pairs that potentials and plans are chosen by.
    verbose : bool or None, default None
        Whether progress is shown; None shows it to those who look, if it takes long.

    Attributes
    ----------
    potentials_ : ndarray of shape (n_potentials, n_bins)
    orders_ : ndarray of shape (n_orders, n_bins)
    mass_ : float
        The mass of the items, 1 if they are normalised.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import TransportBounds
    >>> places = np.arange(4.0)
    >>> bounds = TransportBounds(np.abs(places[:, None] - places), bin_coordinates=places, n_learned=0)
    >>> bounds = bounds.fit([[1.0, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1.0]])
    >>> low, high = bounds.bounds([0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5])
    >>> round(low, 6), round(high, 6)
    (1.0, 1.0)
    >>> bounds.lower([1.0, 0, 0, 0]).round(3)
    array([0. , 1.5, 3. ])
    """

    reads_duals = True

    def __init__(
        self,
        cost_matrix: ArrayLike,
        *,
        bin_coordinates: ArrayLike | None = None,
        n_directions: int = 16,
        n_learned: int = 256,
        n_plans: int = 8,
        normalize: bool = False,
        tolerance: float = 1e-9,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.cost_matrix = cost_matrix
        self.bin_coordinates = bin_coordinates
        self.n_directions = n_directions
        self.n_learned = n_learned
        self.n_plans = n_plans
        self.normalize = normalize
        self.tolerance = tolerance
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: Any = None) -> TransportBounds:
        """Choose potentials and plans for the histograms X, shape (n, n_bins), and project them; y is ignored.

        Raises
        ------
        InputError
            If the cost matrix is no ground distance, or histograms have other bins, negative entries, or unequal masses.
        MissingExtraError
            If potentials are to be learned, and POT is not installed.
        """
        ground = GroundDistance.of(self.cost_matrix)
        check_count("n_directions", self.n_directions)
        check_count("n_learned", self.n_learned, minimum=0)
        check_count("n_plans", self.n_plans)
        check_alpha("tolerance", self.tolerance)
        histograms, masses = self._histograms(listed_objects(X), "X", ground.n_bins)
        potentials = given_potentials(ground, self.bin_coordinates, self.n_directions)
        orders = np.arange(ground.n_bins)[None]
        if len(histograms) > 1:
            orders = best_orders(ground, histograms, potentials, self.n_plans, self.random_state)
        if len(histograms) > 1 and self.n_learned:
            learned = learned_potentials(
                ground, histograms, potentials, self.n_learned, random_state=self.random_state, verbose=self.verbose
            )
            potentials = np.vstack([potentials, learned])
        self.ground_, self.potentials_, self.orders_ = ground, potentials, orders
        self.n_features_in_ = ground.n_bins
        self.mass_ = 1.0 if self.normalize else float(masses.mean())
        self.items_ = Coordinates(histograms @ potentials.T, histograms, masses)
        return self

    def _placed(self, objects: list[Any], name: str) -> Coordinates:
        histograms, masses = self._histograms(objects, name, self.ground_.n_bins)
        self._check_masses(masses, self.mass_, name, "those of the fit have")
        return Coordinates(histograms @ self.potentials_.T, histograms, masses)

    def _histograms(self, objects: list[Any], name: str, n_bins: int) -> tuple[Floats, Floats]:
        """The histograms of mass 1, shape (n, n_bins), and the masses that they had, or 1 if they are to be normalised."""
        if len({np.shape(x) for x in objects}) > 1 or np.shape(objects[0]) != (n_bins,):
            shapes = sorted({str(np.shape(x)) for x in objects})
            raise InputError(
                f"the histograms of {name} have the shapes {', '.join(shapes[:3])}, and the cost matrix {n_bins} bins; "
                f"histograms of {n_bins} bins are required"
            )
        found = as_vector(objects[0], name)[None] if len(objects) == 1 else check_items(np.asarray(objects), name=name)
        if (found < 0).any():
            i, b = np.argwhere(found < 0)[0].tolist()
            raise InputError(f"histogram {i} of {name} has {found[i, b]:g} in bin {b}; entries >= 0 are required: correct it")
        masses = found.sum(axis=1)
        if not masses.all():
            raise InputError(f"histogram {int(np.argmin(masses))} of {name} has no mass; mass > 0 is required: drop it")
        if self.normalize:
            return found / masses[:, None], np.ones(len(masses))
        self._check_masses(masses, float(masses.mean()), name, "on average they have")
        return found / masses[:, None], masses

    def _check_masses(self, masses: Floats, required: float, name: str, whose: str) -> None:
        far = np.abs(masses - required) > _SAME_MASS * required
        if far.any():
            i = int(np.argmax(np.abs(masses - required)))
            raise InputError(
                f"histogram {i} of {name} has mass {masses[i]:g}, and {whose} {required:g}; equal masses are required: divide "
                "each by its sum, or give normalize=True"
            )

    def _lower(self, query: Coordinates, items: Coordinates) -> Floats:
        return self._scaled_down(chebyshev(query, items), query, items, 0.0)

    def _upper(self, query: Coordinates, items: Coordinates) -> Floats:
        plans = np.empty((len(items), 2))
        cheapest_plans(query.histograms[0], items.histograms, self.orders_, self.ground_.cost, plans)
        slack = plans[:, 1] + self._rounding  # what rounding leaves over is moved the longest way
        return (plans[:, 0] + slack * self.ground_.diameter) * np.maximum(query.masses, items.masses)

    def _lower_from_dual(self, query: Coordinates, items: Coordinates, dual: Any) -> Floats:
        values = as_vector(dual, "the dual that rerank.with_dual returns")
        if len(values) != self.ground_.n_bins:
            raise InputError(
                f"rerank.with_dual returned a dual of {len(values)} values for {self.ground_.n_bins} bins; one value for each "
                "bin of the query is required"
            )
        f = self.ground_.from_dual(values, np.flatnonzero(query.histograms[0]))
        bound = np.abs(query.histograms[0] @ f - items.histograms @ f)
        return self._scaled_down(bound, query, items, self.ground_.rounding_of_dual(values))

    def _scaled_down(self, bound: Floats, query: Coordinates, items: Coordinates, rounding: float) -> Floats:
        """Bounds between histograms of mass 1 as those of the masses that they have, with what rounding may hide taken off."""
        slack = self._rounding * self.ground_.diameter + rounding
        return np.maximum(bound - slack, 0.0) * np.minimum(query.masses, items.masses)

    @property
    def _rounding(self) -> float:
        """By how much sums over bins, and the exact distance, may be off: as a share of the largest cost."""
        return 2 * rounding_of(self.ground_.n_bins) + self.tolerance
