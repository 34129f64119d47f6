"""Learning from very many numbers: the features are screened, and a distance is learned from few of them.

whole structure -> screening -> directions moved -> narrow pairs (what is kept as raw features) -> `fit_distances` -> whole

What is kept is learned exactly as any narrow problem: as the recipe asks, or as scales where there are directions or more than
400 features are kept. In the distance that comes of it, directions without a weight are left out, and raw numbers that were not
kept share one tiny multiple of the weighted L1 distance over all of them, which makes the distance of different items positive;
it is a fraction of 1e-6 (``delta``), where a floor under each weight would add up.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ..._foundation.errors import SemimetricWarning, TooFewError, silent, warn
from ..._foundation.threads import blocks
from ..._foundation.types import Floats, Integers, Pairs
from ..._kernels.pair_gaps import add_slopes, fill_gaps
from ...data.feature_groups import only_singles
from ...data.grid import Grid
from ...data.schema import Names, Schema
from ...data.splits import item_disjoint_splits
from ..features.fitted_directions import fit_directions
from ..features.linear_directions import Directions
from ..model.semimetric import Semimetric
from ..pairs.full_tables import PairEmbedding
from ..pairs.monotone_scales import WarpedEmbedding
from ..solvers.column_generation import generate_columns
from .measured import MeasuredDistances, PairTargets
from .measured_fit import (
    Chosen,
    choose,
    choose_numbers,
    choose_shared,
    compare_links,
    fit_distances,
    learn,
    may_have_layout,
    straight_errors,
    sums_over_bins,
)
from .options import Recipe, is_chosen, wide
from .program import Learned, proved
from .search import Choices
from .structure import Structure, build_structure

_ALPHA = 1e-3  # of the l1 penalty: with columns that are >= 0 the bound does most of the pruning
_LEAST_SIZE = 0.1  # of the typical size: a feature that hardly ever differs must not be cheap
_SHARES = (1.0, 0.75, 0.5, 0.35, 0.25)  # of the features with weight: how many of them are kept is compared
_AS_GOOD = 1.02  # times the least held-out loss: the fewest features that reach it are kept
_MOST_KEPT = 1_000
_MOST_ENTRIES = 1 << 27  # of all features of the items of a sample of the pairs, each of four bytes
_MOST_PAIRS = 20_000
_PAIRS_OF_SIZES = 2_000  # of which the sizes of columns are computed
_BLOCK = 1024  # items whose features are computed at once
_REFIT_TOL = 1e-5


Split = tuple[Integers, Integers]


class Screened(NamedTuple):
    """The features that screening selected, with their weights."""

    kept: Integers  # the numbers of the features that are kept
    # Shape (n_kept,); the best weights of these alone, in units of the mean target for a feature across its range.
    weights: Floats
    split: Split | None  # the pairs that were fitted to for the comparison, and those that were held out; None if none could be
    trained: Floats  # shape (n_kept,); the best weights for the pairs that were fitted to in the comparison
    # The loss on held-out pairs by the number of features, in units of the mean target; empty if none could be held out.
    losses: dict[int, float]


@dataclass(frozen=True, eq=False)
class GapColumns:
    """The columns |u_f(x) - u_f(y)| of pairs, which are made a few at a time; each row is multiplied by a number."""

    features: np.ndarray  # shape (n_items, n_features)
    pairs: Integers  # shape (m, 2); rows of ``features``
    scale: Floats  # shape (m,); what each row is multiplied by

    @property
    def n_columns(self) -> int:
        """The number of features."""
        return self.features.shape[1]

    @cached_property
    def _sides(self) -> tuple[Integers, Integers]:
        return np.ascontiguousarray(self.pairs[:, 0]), np.ascontiguousarray(self.pairs[:, 1])

    def slopes(self, r: Floats) -> Floats:
        """Aᵀ r, shape (n_features,)."""
        out = np.zeros(self.n_columns)
        add_slopes(self.features, *self._sides, (r * self.scale).astype(np.float32), out)
        return out

    def take(self, columns: Integers) -> Floats:
        """Some of the columns, shape (m, len(columns)), float64."""
        out = np.empty((len(self.pairs), len(columns)))
        fill_gaps(np.ascontiguousarray(self.features[:, columns], dtype=np.float64), *self._sides, self.scale, out)
        return out

    def rows(self, rows: Integers) -> "GapColumns":
        """The columns of some of the pairs."""
        return GapColumns(self.features, self.pairs[rows], self.scale[rows])


def screen(structure: Structure, data: PairTargets, *, random_state: int | None) -> Screened:
    """Choose among all features of a structure.

    ``structure``: of numbers alone; its grid has the range of every feature. ``data``: A `sample` of them, where there are
    many. ``random_state``: the seed of the split.
    """
    used, index = np.unique(data.tuples.index, return_inverse=True)
    scale = np.ones(len(data.targets)) if data.scale is None else data.scale
    A = GapColumns(_scaled_features(structure, data.tuples.items[used]), index.reshape(-1, 2).astype(np.int64), scale)
    split = _split(data, random_state)
    fraction, losses, start = (1.0, {}, None) if split is None else _share(A, data, *split)
    weights, size = _fitted(A, data.targets, data.weight, start)
    most = min(max(round(fraction * np.count_nonzero(weights)), 1), _MOST_KEPT)
    kept = np.sort(_largest(weights * size if weights.any() else size, most))
    best = _refitted(A, data, weights, kept)[kept]
    if split is None:
        return Screened(kept, best, None, best, losses)
    trained = _refitted(A.rows(split[0]), data.take(split[0]), weights, kept)[kept]
    return Screened(kept, best, split, trained, losses)


def _split(data: PairTargets, random_state: int | None) -> Split | None:
    """Rows of the pairs to fit to and to score on, which share no item; None if too few can be held out."""
    try:
        return next(iter(item_disjoint_splits(data.tuples, n_splits=1, random_state=random_state)))
    except TooFewError:
        return None


def _share(A: GapColumns, data: PairTargets, train: Integers, held: Integers) -> tuple[float, dict[int, float], Floats]:
    """The share of the features with weight to keep, the held-out losses, and the weights for the pairs that were fitted to."""
    fit_to, scored_on = data.take(train), data.take(held)
    of_train, of_held = A.rows(train), A.rows(held)
    weights, size = _fitted(of_train, fit_to.targets, fit_to.weight)
    n = int(np.count_nonzero(weights))
    losses: dict[int, float] = {}
    for most in sorted({min(max(round(share * n), 1), _MOST_KEPT) for share in _SHARES}, reverse=True):
        kept = _largest(weights * size, most)
        refitted = _refitted(of_train, fit_to, weights, kept)
        residual = of_held.take(kept) @ refitted[kept] - scored_on.targets
        losses[len(kept)] = float(scored_on.weight @ (residual * residual)) / 2
    fewest: int = min(k for k, loss in losses.items() if loss <= _AS_GOOD * min(losses.values()))
    return fewest / max(n, 1), losses, weights


def _fitted(A: GapColumns, target: Floats, weight: Floats, start: Floats | None = None) -> tuple[Floats, Floats]:
    """The weights of the program, and the mean of every column, both (n_features,); columns of ``start`` come first."""
    means, squares = A.slopes(weight), _mean_squares(A, weight)
    typical = float(np.median(squares[squares > 0])) if (squares > 0).any() else 1.0
    size = np.sqrt(np.maximum(squares, _LEAST_SIZE**2 * typical))
    cost = np.where(means > 0, _ALPHA * size, np.inf)
    return generate_columns(A, target, weight, cost, start=start).weights, means


def _refitted(A: GapColumns, data: PairTargets, weights: Floats, kept: Integers) -> Floats:
    """The best weights of some of the features without a penalty, from those with all."""
    cost = np.full(A.n_columns, np.inf)
    cost[kept] = 0.0
    start = np.where(np.isfinite(cost), weights, 0.0)
    return generate_columns(A, data.targets, data.weight, cost, start=start, tol=_REFIT_TOL).weights


def _mean_squares(A: GapColumns, weight: Floats) -> Floats:
    """The weighted mean square of every column over a sample of the pairs, shape (n_features,), block by block."""
    rows = np.arange(0, len(weight), max(len(weight) // _PAIRS_OF_SIZES, 1))
    part, share = A.rows(rows), weight[rows] / weight[rows].sum()
    return np.concatenate([share @ np.square(part.take(np.arange(b.start, b.stop))) for b in blocks(A.n_columns, _BLOCK)])


def _largest(sizes: Floats, n: int) -> Integers:
    order = np.argsort(-sizes, kind="stable")[:n]
    return order[sizes[order] > 0]


def sample(structure: Structure, data: PairTargets, *, random_state: int | None) -> PairTargets:
    """A sample of the pairs, whose items have no more features than can be held; all of them, if they are few."""
    n_features = structure.embedding.grid.n_features
    most_items = max(_MOST_ENTRIES // n_features, 64)
    many = len(np.unique(data.tuples.index)) > most_items
    most = min(_MOST_PAIRS, most_items // 2) if many else _MOST_PAIRS
    n = len(data.target)
    return data if n <= most else data.take(np.sort(np.random.default_rng(random_state).choice(n, most, replace=False)))


def _scaled_features(structure: Structure, items: Floats) -> np.ndarray:
    """All features of the items in units of their range, float32; a constant feature is 0."""
    grid = structure.embedding.grid
    out = np.empty((len(items), grid.n_features), np.float32)
    width = np.where(grid.varies, grid.widths, np.inf)
    for block in blocks(len(items), _BLOCK):
        out[block] = (structure.features_of(items[block]) - grid.low) / width
    return out


_MOST_STEPS = 40
_PATIENCE = 6  # steps without a gain on held-out pairs, after which no further one is taken
_MEMORY = 8  # steps that L-BFGS remembers; its own tolerances, which are absolute, would end where the loss is small
_LEAST = 1e-10  # of the held-out loss, in units of the mean target: below, nothing but rounding is left to gain
_GAIN = 0.98  # of the held-out loss: moving must lower it to less, or nothing is moved
_MOST_NUMBERS = 1 << 26  # of differences of pairs, each of four bytes
_DIRECTION_BLOCK = 4096

_Singles = NDArray[np.float32]


def moved(rows: Floats, data: PairTargets, screened: Screened) -> Floats | None:
    """The rows moved, shape (n_rows, n_features); None where moving gains nothing on held-out pairs, or none are held out.

    ``rows``: shape (n_rows, n_features); the directions that were kept, in units in which their weights are those of
    ``screened``. ``data``: pairs over raw features, which were screened.
    """
    if screened.split is None or data.tuples.items.shape[1] * len(data.targets) > _MOST_NUMBERS:
        return None
    train, held = screened.split
    of_all = _ItemDifferences(data)
    of_train, of_held = _ItemDifferences(data.take(train)), _ItemDifferences(data.take(held))
    path = _Path(of_held)
    if of_held.loss((rows * screened.trained[:, None]).astype(np.float32)) < _LEAST:
        return None
    of_train.stepped((rows * screened.trained[:, None]).astype(np.float32), _MOST_STEPS, path)
    if path.least > _GAIN * path.first:
        return None
    return of_all.stepped(path.best, path.n_best).astype(np.float64)  # which has more pairs, and so fits some more


class _Path:
    """The best of the points on the way, by held-out pairs; it ends where these have not gained for a while."""

    def __init__(self, held: "_ItemDifferences") -> None:
        self.held, self.n, self.n_best = held, 0, 0
        self.first = self.least = np.inf

    def begin(self, rows: _Singles) -> None:
        """Begin with the rows that nothing has moved."""
        self.best, self.first = rows, self.held.loss(rows)
        self.least = self.first

    def add(self, rows: _Singles) -> None:
        """Take one point more; StopIteration where the path is to end."""
        self.n += 1
        loss = self.held.loss(rows)
        if loss < self.least:
            self.best, self.least, self.n_best = rows, loss, self.n
        if self.n - self.n_best >= _PATIENCE:
            raise StopIteration


class _ItemDifferences:
    """The differences of pairs, with the targets; rows and targets are multiplied by the scale of their pair."""

    def __init__(self, data: PairTargets) -> None:
        pairs, scale = data.tuples, np.ones(len(data.targets)) if data.scale is None else data.scale
        self.values = np.empty((len(scale), pairs.items.shape[1]), np.float32)
        for block in blocks(len(scale), _DIRECTION_BLOCK):
            self.values[block] = (pairs.items[pairs.left[block]] - pairs.items[pairs.right[block]]) * scale[block, None]
        self.target, self.weight = data.targets.astype(np.float32), data.weight.astype(np.float32)

    def loss(self, rows: _Singles) -> float:
        """The loss of the sum over these rows."""
        residual = np.abs(self.values @ rows.T).sum(axis=1) - self.target
        return float(self.weight @ (residual * residual)) / 2

    def stepped(self, rows: _Singles, n_steps: int, path: _Path | None = None) -> _Singles:
        """The rows after some steps; a path receives each of them."""
        if path is not None:
            path.begin(rows)

        def record(flat: Floats) -> None:
            if path is not None:
                path.add(flat.reshape(rows.shape).astype(np.float32))

        found = minimize(
            self._loss_and_slopes, rows.ravel().astype(np.float64), args=(rows.shape,), jac=True, method="L-BFGS-B",
            callback=record, options={"maxiter": n_steps, "maxcor": _MEMORY, "gtol": 0.0, "ftol": 0.0},
        )  # fmt: skip
        out: _Singles = found.x.reshape(rows.shape).astype(np.float32)
        return out

    def _loss_and_slopes(self, flat: Floats, shape: tuple[int, int]) -> tuple[float, Floats]:
        """The loss, and its gradient, flat: block by block, so that products of pairs and rows stay small."""
        rows = flat.reshape(shape).astype(np.float32)
        loss, slopes = 0.0, np.zeros(shape)
        for block in blocks(len(self.target), _DIRECTION_BLOCK):
            values = self.values[block]
            along = values @ rows.T
            residual = np.abs(along).sum(axis=1) - self.target[block]
            weighted = self.weight[block] * residual
            loss += float(weighted @ residual) / 2
            slopes += (np.sign(along) * weighted[:, None]).T @ values
        return loss, slopes.ravel()


_MOST_FEATURES = 600  # numbers and directions that vary; of more the knots are not compared for each
_MOST_SCALES = 150  # with directions and scales alone, as sums over bins have: of more, those that are kept do as well, sooner
_ITEM_BLOCK = 1024  # items whose features are computed at once
_MOST_WITH_TABLES = 400  # that are kept: of more, tables take ten times as long as scales, and are no better
_NEAR_LINK = 1.1  # times the error of the sum itself: a power beyond it with the first screening is not tried with another
_GAIN_UNDER_LINK = 0.9  # times the error with what screening kept without a link: fewer features win by less with few pairs


class ScreenedFit(NamedTuple):
    """Result of learning from many features: what was chosen for those that are kept, and what was learned."""

    chosen: Chosen
    learned: Learned

    @property
    def has_screened(self) -> bool:
        """True if features were screened, on all pairs; where all features share a table, none were."""
        return self.chosen.recipe.tables != "shared"


def fit_screened(recipe: Recipe, data: MeasuredDistances, names: Names, *, knots: bool, alpha: bool) -> ScreenedFit | None:
    """Learn by screening; None if features are few, or knots are given, or screening cannot give what the recipe asks for."""
    wide_one = _wide_structure(recipe, data, Schema.of(names)) if knots and _allows_screening(recipe) else None
    if wide_one is None:
        return None
    whole, about_constants = wide_one
    if recipe.tables == "auto":
        if (shared := choose_shared(recipe, data, names, alpha=alpha)) is not None:
            return ScreenedFit(shared, learn(shared.recipe, data, names))
        if (found := _of_bins(recipe, data, names, knots=knots, alpha=alpha)) is not None:
            return found
        recipe = replace(recipe, tables="full")
    for message in about_constants:
        warn(message, cause="constant features")
    plain = replace(recipe, link="identity") if recipe.link == "auto" else recipe
    narrow = _screened(whole, data, plain)
    if whole.directions is not None or len(narrow.kept) > _MOST_WITH_TABLES:
        asked = replace(plain, directions=None, tables="warped", delta=0.0, effort=wide(recipe.effort))
        near = narrow.data(data)
        chosen = Chosen(*choose_numbers(asked, near, narrow.schema, knots=True, alpha=alpha))
    else:
        narrow, asked, links = _linked(whole, narrow, recipe, data, alpha=alpha)
        near = narrow.data(data)
        chosen = choose(asked, near, narrow.schema, knots=True, alpha=alpha)._replace(links=links)
    structure = build_structure(chosen.recipe, near.items, narrow.schema)
    learned = fit_distances(chosen.recipe, structure, near.scaled(chosen.recipe, structure))
    used = replace(chosen.recipe, directions=narrow.directions, delta=recipe.delta, effort=recipe.effort)

    def widened(d: Semimetric) -> Semimetric:
        return proved(used, narrow.widened(d, recipe))

    built = learned.built
    if not isinstance(built, str):
        made = built.assemble
        built = replace(built, assemble=lambda weights: widened(made(weights)))
    return ScreenedFit(chosen._replace(recipe=used), Learned(widened(learned.semimetric), learned.solution, built))


def _of_bins(recipe: Recipe, data: MeasuredDistances, names: Names, *, knots: bool, alpha: bool) -> ScreenedFit | None:
    """Learn from sums over the bins of histograms, if they have a layout that gains."""
    if not may_have_layout(recipe, data, names):
        return None
    of_bins = sums_over_bins(recipe, data, straight_errors(recipe, data, names, alpha=alpha), alpha=alpha)
    if of_bins is None:
        return None
    with silent(*of_bins.no_news):
        found = fit_screened(of_bins.recipe, data, names, knots=knots, alpha=alpha)
    return None if found is None else found._replace(chosen=found.chosen._replace(tables=of_bins.tables))


def _linked(
    whole: Structure, narrow: "_Narrow", recipe: Recipe, data: MeasuredDistances, *, alpha: bool
) -> tuple["_Narrow", Recipe, Choices]:
    """Decide ``link="auto"`` for the kept features; return the problem, its recipe with a link, and what was compared.

    Other features may count under a power: a sum of many mimics a root of few. So where a power comes near to the sum, the
    features are screened once more under it, and these are taken if a power of them gains.
    """
    asked = replace(recipe, directions=None, delta=0.0)
    linked, links = compare_links(asked, narrow.data(data), narrow.schema, knots=True, alpha=alpha)
    if not _power_may_gain(links):
        return narrow, linked, links
    again = _screened(whole, data, replace(recipe, link="sqrt" if linked.link == "identity" else linked.link))
    if len(again.kept) > _MOST_WITH_TABLES:
        return narrow, linked, links
    relinked, compared = compare_links(asked, again.data(data), again.schema, knots=True, alpha=alpha)
    gains = relinked.link != "identity" and compared.chosen.loss < _GAIN_UNDER_LINK * links.chosen.loss
    return (again, relinked, compared) if gains else (narrow, linked, links)


def _power_may_gain(links: Choices) -> bool:
    """Return True if links were compared, and a power is not much worse than the sum itself."""
    losses = {straight: [c.loss for c in links if (c.settings["link"] == 1.0) == straight] for straight in (True, False)}
    return bool(losses[False]) and min(losses[False]) <= _NEAR_LINK * min(losses[True], default=np.inf)


def _screened(whole: Structure, data: MeasuredDistances, recipe: Recipe) -> "_Narrow":
    """Return the problem of what screening keeps under the link of the recipe, with its directions moved."""
    targets = sample(whole, data.targets(recipe, whole), random_state=recipe.random_state)
    return _moved(whole, screen(whole, targets, random_state=recipe.random_state), targets)


def _wide_structure(recipe: Recipe, data: MeasuredDistances, schema: Schema) -> tuple[Structure, list[str]] | None:
    """Return the structure of all features, and what to say of constant ones; None if features are not screened."""
    most = _most_unscreened(recipe)
    if not schema.plain or (recipe.directions is None and len(schema.names) <= most):
        return None
    directions = fit_directions(recipe.directions, data.items, names=schema.names, random_state=recipe.random_state)
    n_directions = 0 if directions is None else directions.n_linear
    if len(schema.names) + n_directions <= most:
        return None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SemimetricWarning)
        whole = build_structure(replace(recipe, directions=directions, tables="warped", n_knots=2), data.items, schema)
    if not is_screened(recipe, whole):
        return None  # what learns from them otherwise warns of them
    return whole, [str(warning.message) for warning in said]


def is_screened(recipe: Recipe, structure: Structure) -> bool:
    """Return True if the features of a structure are screened before anything is learned."""
    grid = structure.embedding.grid
    return _allows_screening(recipe) and grid.plain and int(grid.varies.sum()) > _most_unscreened(recipe)


def _most_unscreened(recipe: Recipe) -> int:
    return _MOST_SCALES if recipe.tables == "warped" and recipe.directions is not None else _MOST_FEATURES


def _allows_screening(recipe: Recipe) -> bool:
    """Return True if a recipe asks for single features, placed knots, a given link and a symmetric distance alone."""
    metric = recipe.axioms == "semimetric" or (recipe.axioms == "metric" and recipe.tables == "warped")
    beside = len(recipe.constraints) > 0 or len(recipe.base_distances) > 0 or recipe.prior is not None
    return (
        metric
        and recipe.tables != "shared"
        and not beside
        and (recipe.link == "auto" or not is_chosen(recipe.link))
        and only_singles(recipe.groups)
        and isinstance(recipe.knots, str)
    )


def _moved(whole: Structure, screened: Screened, targets: PairTargets) -> "_Narrow":
    """The problem of what was kept, moved and made directions if directions were given and that gains."""
    narrow = _Narrow(whole, screened.kept)
    if whole.directions is None or whole.directions.bends:
        return narrow
    rows = np.vstack([np.eye(whole.n_raw)[narrow.raw], whole.directions.matrix[narrow.rows]])
    found = moved(rows / whole.embedding.grid.widths[narrow.kept, None], targets, screened)
    if found is None:
        return narrow
    combining = np.flatnonzero(np.abs(found).max(axis=1) > 0)
    names = tuple(f"{narrow.schema.names[k]} moved" for k in combining)
    directions = Directions(found[combining], names)
    return _Narrow(replace(whole, directions=directions), whole.n_raw + np.arange(len(names)))


@dataclass(frozen=True, eq=False)
class _Narrow:
    """The problem of the kept features of a structure."""

    whole: Structure  # of numbers alone; its grid has the range of every raw feature
    kept: Integers  # increasing; the numbers of the kept features: raw ones, then directions

    @property
    def raw(self) -> Integers:
        """The kept raw features."""
        return self.kept[self.kept < self.whole.n_raw]

    @property
    def rows(self) -> Integers:
        """The kept directions by their numbers among all directions."""
        return self.kept[self.kept >= self.whole.n_raw] - self.whole.n_raw

    @property
    def directions(self) -> Directions | None:
        """The kept directions."""
        return None if self.whole.directions is None else self.whole.directions.select(self.rows)

    @property
    def schema(self) -> Schema:
        """The schema of the kept features."""
        features, rows = self.whole.schema.features, self.rows
        names = [] if self.whole.directions is None else [self.whole.directions.names[r] for r in rows]
        return Schema((*(features[f] for f in self.raw), *Schema.numeric(names).features))

    def data(self, data: MeasuredDistances) -> MeasuredDistances:
        """The same pairs over the kept features."""
        items, directions = data.pairs.items, self.directions
        out = np.empty((len(items), len(self.kept)))
        for block in blocks(len(items), _ITEM_BLOCK):
            features = items[block] if directions is None else directions.append(items[block])
            out[block] = features[:, np.append(self.raw, np.arange(items.shape[1], features.shape[1]))]
        return MeasuredDistances.of_arrays(Pairs(out, data.pairs.index), data.y, data.weight)

    def widened(self, d: Semimetric, recipe: Recipe) -> Semimetric:
        """The distance over all raw features, of one over the kept ones."""
        assert isinstance(d.embedding, (WarpedEmbedding, PairEmbedding))  # of single numbers
        columns = np.split(d.weights, np.flatnonzero(np.diff(d.embedding.group_of_column)) + 1)
        of_kept = {int(f): k for k, f in enumerate(self.kept)}
        least = recipe.delta * float(d.weights.mean())
        n_raw, grid = self.whole.n_raw, self.whole.embedding.grid
        wanted = [int(f) for f in self.rows + n_raw if columns[of_kept[int(f)]].any()]
        knots, weights, slopes, floors = [], [], [], []
        for f in [*range(n_raw), *wanted]:
            place = of_kept.get(f)
            found = grid.knots[f] if place is None else d.embedding.grid.knots[place]
            floor = least / (float(found[-1] - found[0]) or 1.0) if f < n_raw else 0.0
            knots.append(found)
            weights.append(np.zeros(len(found) - 1) if place is None else columns[place])
            slopes.append(np.maximum([0.0, 0.0] if place is None else d.epsilon[place], floor))
            floors.append(floor)
        rows = np.array(wanted, dtype=np.int64) - n_raw
        directions = None if self.whole.directions is None else self.whole.directions.select(rows)
        embedding = type(d.embedding)(Grid(knots))
        values: Floats = np.maximum(np.concatenate(weights), embedding.prior(np.array(floors)))
        return Semimetric(
            embedding, values, np.array(slopes), self.whole.names, directions, (), d.link, self.whole.schema
        )  # fmt: skip
