"""Ctrl-C at a random moment of a fit, a build, a search or a save: it is soon seen, never lost, and nothing is half done."""

import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from learners import made

from semimetric import (
    DistanceRegressor,
    FirstOrder,
    LargeMarginLearner,
    NeighborIndex,
    PairLearner,
    QuadrupletLearner,
    SemimetricClassifier,
    ShardedIndex,
    TripletLearner,
    out_of_core,
)
from soak.attack import Attack
from soak.interruption import interrupted
from soak.saving import SAVERS, inventory, problem

_NUMBERS = {"n_knots": 4, "alpha": 1e-3, "directions": None}
_LABELED = {"n_knots": 4, "alpha": 1e-2, "directions": None, "tables": "warped", "n_passes": 3}


@cache
def tuples(size):
    """Tuples of items, and a number for each."""
    rng = np.random.default_rng(0)
    return rng.random((3000, size, 3)), rng.random(3000)


def _pairs(model, fit):
    pairs, y = tuples(2)
    fit(model, pairs, y if isinstance(model, DistanceRegressor) else np.where(y > 0.5, 1, -1))


def _labeled(model, fit):
    items = problem()[2]
    fit(model, items, items[:, 0] > 0)


_FITS = {
    "regressor": (lambda: DistanceRegressor(**_NUMBERS), _pairs),
    "absolute": (lambda: DistanceRegressor(**_NUMBERS, loss="absolute"), _pairs),
    "first order": (lambda: made(DistanceRegressor, **_NUMBERS, loss="huber", solver=FirstOrder(max_iter=400)), _pairs),
    "pair learner": (lambda: PairLearner(**_NUMBERS), _pairs),
    "triplets": (lambda: TripletLearner(**_NUMBERS), lambda model, fit: fit(model, tuples(3)[0])),
    "quadruplets": (lambda: QuadrupletLearner(**_NUMBERS), lambda model, fit: fit(model, tuples(4)[0])),
    "large margin": (lambda: made(LargeMarginLearner, **_LABELED), _labeled),
}


def learned(name, parts):
    """A call that fits a model, in parts or in memory, after which what the model holds must be whole."""
    make, give = _FITS[name]

    def fit(folder):
        model = make()
        scratch = {"scratch": folder} if name == "large margin" else {}
        how = (
            (lambda *given: out_of_core.fit(*given, memory_limit="2 MB", **scratch))
            if parts
            else lambda m, *given: m.fit(*given)
        )

        def check():
            assert inventory(folder) == []
            if hasattr(model, "semimetric_"):
                assert np.isfinite(model.semimetric_.pairwise(np.random.default_rng(0).random((9, model.n_features_in_)))).all()
                assert model.solution_.gap >= 0

        return lambda: give(model, how), check

    return fit


def saved(name):
    """A call that saves over an old state, after which the old or the new is there and nothing else."""
    saver = SAVERS[name]

    def save(folder):
        path, known = folder / saver.name, saver.known
        saver.save(path, 0)

        def check():
            state = saver.state(path)
            assert inventory(folder) == known.inventories[state], f"{inventory(folder)} is there"

        return lambda: saver.change(path), check

    return save


def asked(folder):
    """A search in a folder of shards, which can be asked again."""
    path = folder / "index"
    ShardedIndex.build(path, problem()[0], problem()[2], n_shards=3)
    queries = np.repeat(problem()[2], 5, axis=0)
    expected = NeighborIndex(problem()[0]).fit(problem()[2]).kneighbors(queries[:9], 3)[0]

    def check():
        assert (out_of_core.kneighbors(path, queries[:9], 3)[0] == expected).all()

    return lambda: out_of_core.kneighbors(path, queries, 3, memory_limit="1 MB"), check


def voted(folder):
    """A classifier that learns, indexes and votes."""
    items, model = problem()[2], SemimetricClassifier(made(LargeMarginLearner, **_LABELED))
    return lambda: model.fit(items, items[:, 0] > 0).predict(items), lambda: None


CALLS = {
    **{f"{name} in parts": learned(name, True) for name in _FITS},
    **{f"{name} in memory": learned(name, False) for name in _FITS},
    **{f"save of {name}": saved(name) for name in SAVERS},
    "search": asked,
    "classifier": voted,
}


def draw(rng):
    return {"what": str(rng.choice(list(CALLS))), "moment": float(rng.random() * 1.1)}  # in units of the time that it takes


@cache
def seconds(what):
    """How long a call takes where nobody interrupts it."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        call, check = CALLS[what](Path(folder))
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        check()
    return took


def attempt(case, folder):
    call, check = CALLS[case["what"]](folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ended = interrupted(call, max(case["moment"] * seconds(case["what"]), 1e-4))
    check()
    return "interrupted" if ended else "done before"


CALLED = Attack(draw, attempt, seconds=120, short=30)
