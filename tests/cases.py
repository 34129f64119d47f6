"""Instances that the law tests are parametrised over: a new member joins by one row."""

import numpy as np
import pytest
from learners import made
from sklearn.base import clone

from semimetric import (
    ConcaveLink,
    DistanceApproximator,
    DistanceRegressor,
    FirstOrder,
    Gram,
    IDEmbedding,
    InputError,
    InteriorPoint,
    Newton,
    PartitionFeatures,
    PL1Embedding,
    PL2Embedding,
    UniformDirections,
)
from semimetric._foundation.types import Pairs, Quadruplets, TripletTuples
from semimetric.data.splits import sample_pairs
from semimetric.distances.learning.measured import PairTargets
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.prior import L1Prior, fit_l1_prior
from semimetric.distances.learning.program import columns_of, make_terms
from semimetric.distances.learning.search import Candidate
from semimetric.distances.learning.structure import build_structure, l1_embedding
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.gower import GapEmbedding
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding
from semimetric.distances.pairs.scales_and_tables import scales_of
from semimetric.distances.programs.comparison_design import ComparisonDesign
from semimetric.distances.programs.design_matrix import PairDesign
from semimetric.distances.programs.losses import Absolute, Hinge, Huber, Squared, SquaredHinge, resolve_loss
from semimetric.distances.programs.penalties import Lasso, Linear, Ridge, Roughness, Shift
from semimetric.distances.programs.program import ConvexProgram


def candidate(n_knots, alpha, losses, **settings):
    """Settings as searches compare them, with their losses."""
    beside = {"tables": None, "directions": None, "link": None, "base_exponents": (), "groups": ()}
    return Candidate(beside | {"n_knots": n_knots, "alpha": alpha} | settings, losses)


def cityblock(X, Y):
    """A distance of two batches, or of two vectors."""
    return np.abs(np.asarray(X) - np.asarray(Y)).sum(axis=-1)


def warped_sum(X, Y):
    """A true distance that weighted L1 misses."""
    return np.abs(np.asarray(X) ** 3 - np.asarray(Y) ** 3).sum(axis=-1) + 0.3 * cityblock(X, Y)


def _touched(grid):
    """Every other vertex of one joint group is a column; the others take a weighted L1."""
    whole = PairEmbedding(grid, [tuple(range(grid.n_features))])
    touched = [v.keys[::2] for v in whole.vertices]
    return PairEmbedding(grid, whole.groups, touched=touched, unseen_slopes=np.ones(grid.n_features))


def _singles_and_pairs(grid):
    """A table for every feature alone, and for every feature and the next; some of these pairs in the other order."""
    n = grid.n_features
    pairs = [(f, f + 1) if f % 2 else (f + 1, f) for f in range(n - 1)]
    return PairEmbedding(grid, [*((f,) for f in range(n)), *pairs])


EMBEDDINGS = {
    "singles": PairEmbedding,
    "pairs": lambda grid: PairEmbedding(grid, "pairs"),
    "joint": lambda grid: PairEmbedding(grid, [tuple(range(grid.n_features))]),
    "singles and pairs": _singles_and_pairs,
    "overlapping": lambda grid: PairEmbedding(grid, [(0,), tuple(reversed(range(grid.n_features)))][: grid.n_features]),
    "swapped": lambda grid: PairEmbedding(grid, "pairs", symmetry="swap"),
    "asymmetric": lambda grid: PairEmbedding(grid, "pairs", symmetry="none"),
    "with diagonal": lambda grid: PairEmbedding(grid, symmetry="none", zero_diagonal=False),
    "touched": _touched,
    "warped": WarpedEmbedding,
}

# for grids with features of any kind
MIXED_EMBEDDINGS = {name: make for name, make in EMBEDDINGS.items() if name != "warped"} | {
    "scales and tables": lambda grid: scales_of(grid, [(f,) for f in range(grid.n_features)]),
    "tables of gaps": lambda grid: scales_of(grid, [(f,) for f in range(grid.n_features)], tabled=range(grid.n_features)),
    "gaps": GapEmbedding,
}

# embeddings of single vectors
MAPS = {
    "singles": PL1Embedding(4),
    "singles in a line": PL1Embedding(4, knots="quantile", extrapolation="linear", missing="indicator"),
    "singles that keep zeros": PL1Embedding(4, zero_preserving=True, missing="zeros"),
    "trees": PL1Embedding(4, knots="tree", extrapolation="error"),
    "all pairs": PL2Embedding(3, shared_knots=True),
    "pairs that keep zeros": PL2Embedding(3, zero_preserving=True, missing="indicator"),
    "neighbours": PL2Embedding(3, knots="uniform", pairs="chain", extrapolation="linear"),
    "best pairs": PL2Embedding(3, pairs="best", n_pairs=1, missing="zeros"),
    "groups": IDEmbedding(3, missing="indicator"),
    "touched": IDEmbedding(4, groups="all", most_vertices=1, missing="zeros"),
}

LOSSES = {"squared": Squared(), "absolute": Absolute(), "huber": Huber(0.2)}

MARGIN_LOSSES = {"hinge": Hinge(), "squared hinge": SquaredHinge()}

PENALTIES = {
    "nothing": (),
    "ridge": (Ridge(1e-2),),
    "ridge towards zero": (Ridge(1e-2, towards="zero"),),
    "roughness": (Roughness(1e-2, order=1),),
    "second differences": (Roughness(1e-2, order=2),),
    "shift": (Shift(1e-3),),
    "lasso": (Lasso(1e-2),),
    "mixed": (Ridge(1e-3), Shift(1e-3), Roughness(1e-2), Lasso(1e-3)),
}

# solver: the relative gap to which it must agree with Reference
SOLVERS = {
    "gram": (Gram(), 1e-7),
    "newton": (Newton(), 1e-7),
    "interior point": (InteriorPoint(), 1e-5),
    "first order": (FirstOrder(), 1e-3),
}

TREES = PartitionFeatures("random", n_trees=8, max_leaf_nodes=6, random_state=0)

# parameters of DistanceRegressor, without "auto"
FAST = {"n_knots": 4, "alpha": 1e-3}
RECIPES = {
    "singles": FAST,
    "pairs": FAST | {"groups": "pairs"},
    "joint": FAST | {"groups": [(0, 1, 2)], "n_knots": 3},
    "touched": {"groups": [(0, 1, 2)], "n_knots": 11, "alpha": 1e-3},
    "swapped": FAST | {"groups": "pairs", "symmetry": "swap"},
    "premetric": FAST | {"axioms": "premetric"},
    "no axioms": FAST | {"axioms": None},
    "warped": FAST | {"tables": "warped", "axioms": "metric"},
    "square root": FAST | {"link": "sqrt"},
    "power": FAST | {"link": 0.8},
    "concave link": FAST | {"link": ConcaveLink((0.3, 0.8), (1.5, 1.0, 0.6)), "groups": "pairs"},
    "powers of a base": FAST | {"link": 0.7, "base_distances": (cityblock,), "base_exponents": 1.5},
    "relative": FAST | {"relative": True},
    "absolute": FAST | {"loss": "absolute"},
    "huber": FAST | {"loss": "huber", "penalty": "roughness"},
    "lasso": FAST | {"penalty": "lasso", "delta": 0.0},
    "base": FAST | {"base_distances": (cityblock,)},
    "pca": FAST | {"directions": "pca", "knots": "kmeans"},
    "categories": FAST | {"categorical_features": [1]},
    "periodic": FAST | {"periodic": {0: 2.0}, "groups": [(0,), (1, 2)]},
    "missing": FAST | {"missing": "level"},
    "mixed warped": FAST | {"tables": "warped", "categorical_features": [2], "periodic": {1: 2.0}},
    "directions": FAST | {"directions": UniformDirections((0, 1), n_directions=3), "tables": "warped", "knots": "uniform"},
    "trees": FAST | {"directions": TREES},
    "metric trees": FAST
    | {"directions": [UniformDirections((0, 1), n_directions=3), TREES], "tables": "warped", "axioms": "metric"},
    "tables of leaves": FAST | {"directions": clone(TREES).set_params(leaf_tables="full")},
}

ESTIMATORS = {
    "regressor": DistanceRegressor(**FAST),
    "warped regressor": DistanceRegressor(n_knots=3, alpha=1e-3, tables="warped"),
    "auto regressor": DistanceRegressor(n_knots=3),
    "approximator": made(DistanceApproximator, cityblock, n_pairs=200, **FAST),
    "vertices": DistanceApproximator(cityblock, DistanceRegressor(n_knots=3), method="vertices"),
}


def sample(seed=0, n_items=40, n_pairs=150, n_features=3):
    """Items, pairs of them by index, and a distance that is neither weighted L1 nor noise-free."""
    rng = np.random.default_rng(seed)
    items = rng.random((n_items, n_features))
    index = sample_pairs(items, n_pairs, random_state=seed)
    y = warped_sum(items[index[:, 0]], items[index[:, 1]]) * rng.uniform(0.9, 1.1, len(index))
    return items, index, y


def fitted(name, **changes):
    """A `DistanceRegressor` with the parameters of a recipe, its items, its pairs and their distances."""
    items, index, y = sample()
    return made(DistanceRegressor, **RECIPES[name] | changes, preprocessor=items).fit(index, y), items, index, y


def program(penalties=(), **parameters):
    """A small convex program made as `fit_distances` makes it."""
    items, index, y = sample(n_pairs=80)
    recipe = Recipe(**{"n_knots": 3, "penalty": penalties} | parameters).checked()
    structure = build_structure(recipe, items, ("u", "v", "w"))
    task = PairTargets.of(recipe, structure, Pairs(items, index), y, np.full(len(y), 1.0 / len(y)))
    base = fit_l1_prior(structure, task.design(structure, l1_embedding(structure), None).moments(task.targets, task.weight))
    terms = make_terms(recipe, structure, base)
    design = task.design(structure, structure.embedding, None)
    return ConvexProgram(
        design, task.targets, task.weight, resolve_loss(recipe.loss), recipe.penalties(), terms.columns, terms.lower
    )


def takes(solver, loss):
    """Whether a solver of `SOLVERS` takes a loss."""
    return (solver != "gram" or loss.quadratic) and (solver != "newton" or loss.curvature > 0)


def margin_program(kind, loss, penalties=(), *, tables="full", seed=0):
    """A small program of comparisons that contradict one another, by hand: min mean loss(margin + near - far) + penalty."""
    rng = np.random.default_rng(seed)
    items = rng.random((40, 3))
    recipe = Recipe(n_knots=3, tables=tables).checked()
    structure = build_structure(recipe, items, ("u", "v", "w"))
    index = rng.integers(0, 40, (70, 4))
    near, far = (warped_sum(items[index[:, a]], items[index[:, b]]) for a, b in ((0, 1), (2, 3)))
    if kind == "pairs":
        y = np.where(near + rng.normal(0, 0.3, 70) < np.median(near), 1.0, -1.0)
        design = PairDesign(structure.embedding, Pairs(items, index[:, :2]), base=-np.ones((70, 1)), scale=y)
        n_base = 1
    else:
        index = np.where((near + rng.normal(0, 0.3, 70) < far)[:, None], index, index[:, [2, 3, 0, 1]])
        tuples = Quadruplets(items, index) if kind == "quadruplets" else TripletTuples(items, index[:, :3])
        design, n_base = ComparisonDesign.of(structure.embedding, tuples), 0
    base = L1Prior(np.ones(3) / 3, np.ones(3))
    columns = columns_of(structure.embedding, base, n_base)
    weight = rng.random(70)
    weight /= weight.sum()
    if kind == "pull":
        penalties = (*penalties, Linear(0.2 * design.near.rmatvec(weight)))
    lower = np.append(np.full(structure.embedding.n_columns, 1e-3), np.zeros(n_base))
    return ConvexProgram(design, np.full(70, -1.0), weight, loss, penalties, columns, lower)


def assert_refused(call, given, required, remedy="", error=InputError):
    """An error whose message, with its notes, says what was given, what is required, and what to do."""
    with pytest.raises(error) as caught:
        call()
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    for part in (given, required, remedy):
        assert part in text, f"{part!r} is not in {text}"
    return caught.value


def assert_absent(model, name, *parts):
    """A method that the model has not, as scikit-learn asks for it; the cause of the AttributeError says why."""
    assert not hasattr(model, name)
    with pytest.raises(AttributeError) as caught:
        getattr(model, name)
    for part in parts:
        assert part in str(caught.value.__cause__), f"{part!r} is not in {caught.value.__cause__!s}"
