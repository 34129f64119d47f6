"""Pairs, triplets and quadruplets over the same items, and the learners of each."""

import cases
import numpy as np
import pytest
from learners import made

from semimetric import PairLearner, QuadrupletLearner, TripletLearner

RNG = np.random.default_rng(0)
ITEMS = RNG.random((80, 3))
INDEX = RNG.integers(0, 80, (600, 4))
FAST = {"n_knots": 4, "alpha": 1e-3, "directions": None}


def true(a, b, items=ITEMS):
    return cases.warped_sum(items[a], items[b])


PAIRS = INDEX[:, :2]
D = true(*PAIRS.T)
Y = np.where(D < np.median(D), 1, -1)
QUADRUPLETS = np.where((true(*INDEX[:, :2].T) < true(*INDEX[:, 2:].T))[:, None], INDEX, INDEX[:, [2, 3, 0, 1]])
TRIPLETS = INDEX[:, :3]
TRIPLETS = np.where((true(*TRIPLETS[:, :2].T) < true(*TRIPLETS[:, [0, 2]].T))[:, None], TRIPLETS, TRIPLETS[:, [0, 2, 1]])
LEARNERS = {
    "pairs": (PairLearner, PAIRS, (Y,)),
    "triplets": (TripletLearner, TRIPLETS, ()),
    "quadruplets": (QuadrupletLearner, QUADRUPLETS, ()),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)
one_learner_quickly = pytest.mark.parametrize(  # where one class stands for all: fits of the others are among the slow tests
    "name", ["pairs", *(pytest.param(name, marks=pytest.mark.slow) for name in ("triplets", "quadruplets"))]
)


def learned(name, **changes):
    kind, tuples, y = LEARNERS[name]
    return made(kind, **FAST | {"preprocessor": ITEMS} | changes).fit(tuples, *y), tuples, y
