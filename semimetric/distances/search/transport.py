"""Bounds of the Earth Mover's Distance: from below by potentials, from above by plans."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heapreplace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from ..._foundation.arrays import as_floats, as_vector, rounding_of
from ..._foundation.errors import InputError
from ..._foundation.optional_imports import optional
from ..._foundation.progress import progress_bar
from ..._foundation.threads import end_if_interrupted
from ..._foundation.types import ArrayLike, Floats, Integers, freeze
from ..._foundation.validation import check_alpha, check_cost_matrix, check_count, check_items
from ..._kernels.transport_plans import cheapest_plans, has_no_detour, no_steeper, steepest_slope
from ...data.object_lists import listed_objects
from ..features.histograms import SAME_MASS
from ..features.uniform_directions import half_sphere
from .bounds import Bounds, Coordinates, chebyshev

_UNIT = 2.0**-52
_MOST_CHECKED = 1_024  # bins between whose costs all triangles are checked


@dataclass(frozen=True, eq=False)
class GroundDistance:
    """The costs of moving mass between bins, and the lengths of the shortest paths, which potentials are measured by.

    A potential of the shortest paths is one of the costs, as no shortest path is longer than the cost between its ends. The
    shortest paths obey the triangle inequality, whatever the costs do, up to ``defect``.
    """

    cost: Floats  # (n_bins, n_bins)
    paths: Floats  # (n_bins, n_bins), the lengths of the shortest paths
    defect: float  # the most by which rounding breaks the triangle inequality

    def __post_init__(self) -> None:
        freeze(self, "cost", "paths")

    @classmethod
    def of(cls, cost_matrix: ArrayLike) -> GroundDistance:
        """Return the ground distance of a cost matrix."""
        cost = check_cost_matrix(cost_matrix)
        paths = cost.copy()
        for k in range(len(paths)):
            np.minimum(paths, paths[:, k, None] + paths[k], out=paths)
        return cls(cost, paths, max(0.0, *(float((paths - (paths[:, k, None] + paths[k])).max()) for k in range(len(paths)))))

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.cost)

    @property
    def diameter(self) -> float:
        """The largest cost."""
        return float(self.cost.max())

    def feasible(self, potentials: Floats) -> Floats:
        """Scale potentials (n, n_bins) down until ``f_i - f_j <= c_ij`` is proved for all bins, with 0 in their middle.

        Differences of floats are rounded to nearest, so a difference that comes out below c_ij is not above it.
        """
        same = np.argmax(self.paths == 0.0, axis=1)  # bins without a distance between them have the value of the first
        below = np.where(self.cost > 0.0, np.nextafter(self.cost, 0.0), 0.0)
        return np.array([self._feasible(f[same], below) for f in potentials]).reshape(-1, self.n_bins)

    def _feasible(self, f: Floats, below: Floats) -> Floats:
        if not below.any():
            return np.zeros(self.n_bins)
        f = f / max(steepest_slope(f, self.cost), 1.0)
        f = f - (f.max() + f.min()) / 2
        shrink = 4 * _UNIT
        while not no_steeper(f, below):  # where costs are tiny beside the values, whose rounding they must make room for
            f, shrink = f * (1.0 - min(shrink, 0.5)), 2 * shrink
        return f

    def from_dual(self, dual: Floats, bins: np.ndarray) -> Floats:
        """Return the potential ``f_i = max_j (dual_j - c_ij)`` over some bins j: shape (n_bins,), with 0 in its middle.

        This c-transform is feasible whatever the dual is, up to `rounding_of_dual`. If the dual is a best one of a transport
        problem whose first histogram lies in these bins, and costs are paths, its bound is the distance itself.
        """
        f = (dual[bins] - self.paths[:, bins]).max(axis=1)
        return f - (f.max() + f.min()) / 2

    def rounding_of_dual(self, dual: Floats) -> float:
        """Return by how much a difference of values of `from_dual` may exceed its cost, through rounding."""
        return self.defect + 8 * _UNIT * (float(np.abs(dual).max()) + self.diameter)


class NetworkSimplex:
    """A distance that is the least cost of a transport plan, by the network simplex of POT."""

    max_iter: int

    @cached_property
    def _solve(self) -> Any:
        return optional("ot").emd2

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_solve"}

    def _least_cost(self, a: Floats, b: Floats, cost: Floats) -> tuple[float, Floats]:
        """Return the least cost of plans from masses a > 0 to b > 0, of equal sums, and the dual variables of a.

        It is 0 to the bit where all masses can stay, which the solver would leave to rounding.
        """
        if np.array_equal(a, b) and not np.diagonal(cost).any() and cost.min() >= 0:
            return 0.0, np.zeros(len(a))
        of_mass, of_cost = (
            _exponent(float(a.sum())),
            _exponent(float(np.abs(cost).max())),
        )  # far from 1 POT is wrong, or crashes
        value, log = self._solve(
            np.ldexp(a, -of_mass), np.ldexp(b, -of_mass), np.ldexp(cost, -of_cost),
            numItermax=self.max_iter, log=True, center_dual=False, check_marginals=False,
        )  # fmt: skip
        if log["warning"] is not None:
            raise InputError(f"the solver gave no exact distance ({log['warning']}); give a larger max_iter=")
        return float(np.ldexp(value, of_mass + of_cost)), np.ldexp(log["u"], of_cost)


class EarthMoversDistance(NetworkSimplex):
    """The exact Earth Mover's Distance on one ground distance, by the network simplex of POT.

    It is the least total cost ``sum_ij F_ij c_ij`` of plans F >= 0 whose row sums are x and column sums y. Beside it the solver
    finds dual variables, which `with_dual` returns. An index with this distance as ``rerank=`` reads the dual of each exact
    distance: it bounds the distances of the query to all other items, see `TransportBounds`.

    Where costs obey the triangle inequality, the mass that both histograms have in a bin stays there, and the solver receives
    the rest. The first call checks this, up to rounding, for at most 1,024 bins, which takes .2 s for so many.

    Masses that differ by at most 1e-6 of the larger, as sums of float32 do, are taken for equal. The distance is that of
    the two histograms of mass 1, times the mean of their masses, so it lies within the bounds of `TransportBounds`.

    Parameters
    ----------
    cost_matrix : array-like of shape (n_bins, n_bins)
        The ground distance c between the bins.
    max_iter : int, default 1000000
        Iterations of the network simplex, after which it is an error.

    Raises
    ------
    MissingExtraError
        If POT is not installed.

    Examples
    --------
    >>> from semimetric import EarthMoversDistance
    >>> emd = EarthMoversDistance([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> emd([1.0, 0.0, 0.0], [0.0, 0.5, 0.5])
    2.0
    >>> value, dual = emd.with_dual([1.0, 0.0, 0.0], [0.0, 0.5, 0.5])
    >>> dual.shape
    (3,)
    """

    def __init__(self, cost_matrix: ArrayLike, *, max_iter: int = 1_000_000) -> None:
        self.cost_matrix = check_items(cost_matrix, name="cost_matrix")
        if self.cost_matrix.shape[0] != self.cost_matrix.shape[1]:
            raise InputError(f"cost_matrix has shape {self.cost_matrix.shape}; a square matrix is required")
        self.max_iter = max_iter
        optional("ot")

    def __repr__(self) -> str:
        return f"EarthMoversDistance(<cost_matrix of shape {self.cost_matrix.shape}>)"

    def __call__(self, x: ArrayLike, y: ArrayLike) -> float:
        """Return the distance of two histograms (n_bins,) of equal mass."""
        return self._transported(*self._masses(x, y))[0]

    def with_dual(self, x: ArrayLike, y: ArrayLike) -> tuple[float, Floats]:
        """Return the distance, and the dual variables of the bins of x, shape (n_bins,); they are 0 where x has no mass."""
        a, b = self._masses(x, y)
        value, sources, potentials = self._transported(a, b)
        dual = np.zeros(len(a))
        dual[sources] = potentials
        held = a > 0.0
        held[sources] = False
        stays = np.flatnonzero(held)
        if len(sources) and len(stays):  # the highest values that are no steeper than costs, which keeps the dual a best one
            dual[stays] = (potentials[:, None] - self.cost_matrix[np.ix_(sources, stays)]).max(axis=0)
        return value, dual

    def _masses(self, x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
        """Return two histograms of equal mass, or refuse them."""
        a, b = as_vector(x, "x"), as_vector(y, "y")
        n = len(self.cost_matrix)
        if a.shape != (n,) or b.shape != (n,):
            raise InputError(f"the histograms have {len(a)} and {len(b)} bins, and the cost matrix {n}; {n} bins are required")
        left, right, mass, other = float(a.min()), float(b.min()), float(a.sum()), float(b.sum())
        if min(left, right) < 0 or not abs(mass - other) <= SAME_MASS * max(mass, other) or not mass > 0:
            raise InputError(
                f"the histograms have the masses {mass:.9g} and {other:.9g}, and the least entry {min(left, right):g}; equal "
                f"masses > 0, to {SAME_MASS:g} of them, and entries >= 0 are required: divide each by its sum"
            )
        if mass != other:
            middle = mass / 2 + other / 2
            a, b = a * (middle / mass), b * (middle / other)
        return a, b

    def _transported(self, a: Floats, b: Floats) -> tuple[float, Integers, Floats]:
        """Return the least cost, the bins of which mass is moved, and their dual variables."""
        if self._mass_stays:
            a, b = np.maximum(a - b, 0.0), np.maximum(b - a, 0.0)
        rows, columns = np.flatnonzero(a), np.flatnonzero(b)  # for which POT need not guess dual variables, which takes long
        if not (len(rows) and len(columns)):
            return 0.0, rows[:0], a[:0]
        value, potentials = self._least_cost(a[rows], b[columns], self.cost_matrix[np.ix_(rows, columns)])
        return value, rows, potentials

    @cached_property
    def _mass_stays(self) -> bool:
        """True if mass that both histograms have need not be moved: staying is free, and no detour is cheaper than a cost."""
        c = self.cost_matrix
        return len(c) <= _MOST_CHECKED and not np.diagonal(c).any() and c.min() >= 0.0 and has_no_detour(c, 4 * _UNIT)


def _exponent(size: float) -> int:
    """Return the power of two by which a size is divided to lie between 1 and 2, without rounding; 0 for nothing."""
    return int(np.frexp(size)[1]) - 1 if size > 0.0 else 0


_NEAR = 64  # neighbours among which near pairs are drawn
_POOL = 4  # pairs that are solved for each potential that is kept
_SCORED = 2000  # pairs by which potentials and orders are chosen


def given_potentials(ground: GroundDistance, coordinates: ArrayLike | None, n_directions: int) -> Floats:
    """Return feasible potentials that need no histograms: projections of the bins, and distances to each bin, (n, n_bins)."""
    projections = np.empty((0, ground.n_bins))
    if coordinates is not None:
        places = as_floats(coordinates, "bin_coordinates")
        places = places[:, None] if places.ndim == 1 else places
        if places.ndim != 2 or len(places) != ground.n_bins or not np.isfinite(places).all():
            raise InputError(
                f"bin_coordinates have shape {places.shape} for {ground.n_bins} bins; one row of finite numbers for each is "
                "required"
            )
        projections = _scaled_up(ground, (places @ _directions(places.shape[1], n_directions).T).T)
    return ground.feasible(np.vstack([projections, ground.paths]))


def _directions(dimension: int, n: int) -> Floats:
    """Return unit vectors, of which no two point along one line: evenly around the half circle, else drawn."""
    if dimension in (1, 2):
        return half_sphere(dimension, n, 0)
    drawn = np.random.default_rng(0).standard_normal((n, dimension))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _scaled_up(ground: GroundDistance, potentials: Floats) -> Floats:
    """Return potentials that are as steep as the ground distance allows; those that are flat are left out."""
    apart = ground.paths > 0.0
    out = []
    for f in potentials:
        gaps = np.abs(f[:, None] - f[None, :])
        steepest = float((gaps[apart] / ground.paths[apart]).max()) if apart.any() else 0.0
        if steepest > 0.0:
            out.append(f / steepest)
    return np.array(out).reshape(-1, ground.n_bins)


def sampled_pairs(values: Floats, n: int, random_state: int | None) -> Integers:
    """Draw pairs of rows (n, 2), half of them near one another by the largest difference of their values."""
    rng = np.random.default_rng(random_state)
    first = rng.integers(0, len(values), n)
    second = (first + rng.integers(1, len(values), n)) % len(values)
    pool = rng.choice(len(values), min(len(values), 2000), replace=False)
    for k in range(0, n, 2):
        gaps = cdist(values[first[k], None], values[pool], "chebyshev")[0]
        gaps[pool == first[k]] = np.inf
        near = np.argsort(gaps, kind="stable")[: min(_NEAR, len(pool) - 1)]
        second[k] = pool[rng.choice(near)]
    return np.column_stack([first, second])


def learned_potentials(
    ground: GroundDistance, histograms: Floats, given: Floats, n: int, *, random_state: int | None, verbose: bool | None
) -> Floats:
    """Return at most n feasible potentials, chosen one by one: those that raise the bounds of further pairs the most."""
    values = histograms @ given.T
    pairs = sampled_pairs(values, _POOL * n, random_state)
    emd, candidates = EarthMoversDistance(ground.cost), []
    with progress_bar(len(pairs), "potentials", verbose=verbose, unit="pair") as bar:
        for i, j in pairs:
            end_if_interrupted()
            _, dual = emd.with_dual(histograms[i], histograms[j])
            candidates.append(ground.from_dual(dual, np.flatnonzero(histograms[i])))
            bar.update()
    pool = ground.feasible(np.array(candidates))
    scored = sampled_pairs(values, _SCORED, None if random_state is None else random_state + 1)
    gaps = histograms[scored[:, 0]] - histograms[scored[:, 1]]
    return pool[_greedy(np.abs(gaps @ given.T).max(axis=1), np.abs(gaps @ pool.T), n)]


def _greedy(known: Floats, offered: Floats, n: int) -> list[int]:
    """Return the columns of ``offered`` (n_pairs, n_columns) that, one by one, raise the largest values relatively most.

    The gain of a column can only fall as others are chosen. So a column whose fresh gain is the largest of all gains, fresh or
    stale, is the next one (Minoux 1978).
    """
    best, share = known.copy(), 1.0 / np.maximum(np.maximum(known, offered.max(axis=1)), 1e-300)
    columns = np.ascontiguousarray(offered.T)
    queue = [(-float(share @ np.maximum(column - best, 0.0)), k) for k, column in enumerate(columns)]
    heapify(queue)
    chosen: list[int] = []
    while queue and len(chosen) < n:
        end_if_interrupted()
        _, k = queue[0]
        gain = float(share @ np.maximum(columns[k] - best, 0.0))
        if len(queue) > 1 and -gain > min(queue[1:3])[0]:
            heapreplace(queue, (-gain, k))
            continue
        if not gain > 0.0:
            break
        heappop(queue)
        chosen.append(k)
        np.maximum(best, columns[k], out=best)
    return chosen


def best_orders(ground: GroundDistance, histograms: Floats, given: Floats, n: int, random_state: int | None) -> Integers:
    """Return at most n orders of the bins (n, n_bins) along which plans between the histograms are cheapest."""
    every = np.unique(np.argsort(given, axis=1, kind="stable"), axis=0)
    scored = sampled_pairs(histograms @ given.T, min(_SCORED, 8 * len(histograms)) // 4, random_state)
    out, costs = np.empty((1, 2)), np.empty((len(scored), len(every)))
    for row, (i, j) in enumerate(scored):
        end_if_interrupted()
        for k in range(len(every)):
            cheapest_plans(histograms[i], histograms[j, None], every[k, None], ground.cost, out)
            costs[row, k] = out[0, 0]
    highest = costs.max(initial=0.0)
    return np.ascontiguousarray(every[_greedy(np.zeros(len(costs)), highest - costs, n) or [0]])


class TransportBounds(Bounds):
    """Bounds of the Earth Mover's Distance of histograms on one ground distance.

    Lower bounds are ``max_k |f_k · (x - y)|`` over potentials f_k. For all bins i and j ``f_ki - f_kj <= c_ij`` is proved in
    floating point, so that no plan costs less (Kantorovich and Rubinstein 1958). The potentials are projections of the bins,
    distances to every bin, and the duals of exact distances between sampled pairs of the items. Duals are made feasible by a
    c-transform and chosen greedily. All items are projected once, in one product of matrices; the bounds of a query are then
    Chebyshev distances. Upper bounds are the true costs of feasible plans. In these, mass that both have stays, and the rest is
    moved along orders of the bins by the north-west corner rule.

    An index whose ``rerank=`` returns duals, such as `EarthMoversDistance`, gains one potential with every exact distance of a
    query. It bounds the distances of the query to all other items.

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
        True divides histograms by their mass; False requires the same mass of all.
    tolerance : float, default 1e-9
        By how much the values of the exact distance may be off, as a share of the largest cost of the mass; bounds make
        room for it.
    random_state : int or None, default 0
        Of the pairs that potentials and plans are chosen by.
    verbose : bool or None, default None
        True shows progress; None shows it in a terminal or notebook, if it takes long.

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

        An InputError refuses a cost matrix that is no ground distance, and histograms with other bins, negative entries or
        unequal masses. A MissingExtraError says that potentials are to be learned without POT.
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
        """Return histograms of mass 1, shape (n, n_bins), and the masses that they had, or 1 if they are normalised."""
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
        far = np.abs(masses - required) > SAME_MASS * required
        if far.any():
            i = int(np.argmax(np.abs(masses - required)))
            raise InputError(
                f"histogram {i} of {name} has mass {masses[i]:.9g}, and {whose} {required:.9g}; equal masses are required: "
                "divide each by its sum, or give normalize=True"
            )

    def lower_at(self, query: Coordinates, items: Coordinates) -> Floats:
        return self._scaled_down(chebyshev(query, items), query, items, 0.0)

    def upper_at(self, query: Coordinates, items: Coordinates) -> Floats:
        plans = np.empty((len(items), 2))
        cheapest_plans(query.histograms[0], items.histograms, self.orders_, self.ground_.cost, plans)
        slack = plans[:, 1] + self._rounding  # what rounding leaves over is moved the longest way
        return (plans[:, 0] + slack * self.ground_.diameter) * np.maximum(query.masses, items.masses)

    def lower_at_dual(self, query: Coordinates, items: Coordinates, dual: Any) -> Floats:
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
        """Scale bounds between histograms of mass 1 to the masses that they have, less the errors of rounding."""
        slack = self._rounding * self.ground_.diameter + rounding
        return np.maximum(bound - slack, 0.0) * np.minimum(query.masses, items.masses)

    @property
    def _rounding(self) -> float:
        """By how much sums over bins, and the exact distance, may be off: as a share of the largest cost."""
        return 2 * rounding_of(self.ground_.n_bins) + self.tolerance
