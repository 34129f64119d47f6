#!/usr/bin/env python3
"""Answers of the public API to some hundred small questions: a refactoring shows with them that it changed none.

    python tools/answers.py                 writes tools/answers.json
    python tools/answers.py --check         compares with it, prints what differs and exits with 1 if anything does
    python tools/answers.py --only NAME ... asks only questions whose names begin so; also with --check

Data are generated from seeds. The file stores a hash of all that is exact in an answer (shapes, kinds, integers, text, places
of NaN) and nine numbers that sum up its floats. Floats are compared relative to their size (`TOLERANCE`), so that the order in
which threads add does not count. An error is an answer too: only that there is one is compared.

Every question asks a fitted model, an index or a report, made by few functions (`made`, `regressor`, `approximator`, ...).
If a parameter of the API is renamed or moves into a value, it is edited there and in the tables of settings.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import inspect
import json
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone

import semimetric as sm

FILE = Path(__file__).with_suffix(".json")
TOLERANCE = 1e-7  # of floats, relative to their mean or largest size
DIGITS = 9  # significant digits of the numbers in the file
SCRATCH = tempfile.TemporaryDirectory()
QUESTIONS: dict[str, Callable[[], Any]] = {}


# Questions ------------------------------------------------------------------------------------------------------------------


def answer(function: Callable[[], Any]) -> Callable[[], Any]:
    """Register a question under the name of its function."""
    QUESTIONS[function.__name__] = function
    return function


def answer_each(settings: dict[str, Any]) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register a question for each row of a table, under the name of the function and of the row."""

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for name, setting in settings.items():
            QUESTIONS[f"{function.__name__}/{name}"] = lambda setting=setting: function(setting)
        return function

    return register


# Data -----------------------------------------------------------------------------------------------------------------------


def cityblock(x, y):
    return np.abs(np.asarray(x) - np.asarray(y)).sum(axis=-1)


def bent(x, y):
    return np.abs(np.asarray(x) ** 3 - np.asarray(y) ** 3).sum(axis=-1) + 0.3 * cityblock(x, y)


def euclid(x, y):
    return float(np.linalg.norm(np.subtract(x, y)))


def hamming(x, y):
    return sum(a != b for a, b in zip(x, y, strict=True))


def of_means(x, y):
    return euclid(np.mean(x, axis=0), np.mean(y, axis=0))


def warping(x, y):
    """Return the distance of two series along the best alignment of their values."""
    cost = np.abs(np.subtract.outer(np.ravel(x), np.ravel(y)))
    for i, j in np.ndindex(*cost.shape):
        before = [cost[a, b] for a, b in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if a >= 0 and b >= 0]
        cost[i, j] += min(before, default=0.0)
    return float(cost[-1, -1])


rng = np.random.default_rng(7)
X = rng.random((90, 3))
PAIRS = rng.integers(0, 90, (420, 2))
PAIRS = PAIRS[PAIRS[:, 0] != PAIRS[:, 1]][:400]
LEFT, RIGHT = X[PAIRS[:, 0]], X[PAIRS[:, 1]]
DISTANCES = bent(LEFT, RIGHT) + 0.2 * np.abs(LEFT[:, 0] * LEFT[:, 1] - RIGHT[:, 0] * RIGHT[:, 1])
DISTANCES *= rng.uniform(0.95, 1.05, 400)
SKEWED = DISTANCES * np.where(LEFT[:, 0] < RIGHT[:, 0], 1.3, 1.0)
WEIGHTS = rng.integers(0, 4, 400).astype(float)
ASKED = rng.uniform(-0.2, 1.2, (2, 30, 3))  # pairs, some outside the range of X
CLASSES = np.digitize(X @ [1.0, 2.0, 0.0], [1.1, 1.9])
TWO = (CLASSES > 0).astype(int)
NAMES = np.array(["no", "yes"], dtype=object)[TWO]
VALUES = np.sin(3 * X[:, 0]) + X[:, 1]
ALIKE = np.where(np.median(DISTANCES) > DISTANCES, 1, -1)
HOLES = np.where(rng.random(X.shape) < 0.1, np.nan, X)
FRAME = pd.DataFrame(
    {"age": X[:, 0], "hour": 24 * X[:, 1], "colour": pd.Categorical(np.array(["blue", "green", "red"])[rng.integers(0, 3, 90)])}
)
GAPS = FRAME.assign(age=FRAME["age"].where(rng.random(90) > 0.1))
ITEMS = rng.normal(size=(600, 4))  # of searches
QUERIES = 1.1 * rng.normal(size=(12, 4))
WORDS = ["".join(word) for word in rng.choice(list("abcd"), (60, 6))]
SERIES = np.cumsum(rng.normal(size=(40, 8)), axis=1)
CLOUDS = rng.normal(size=(40, 5, 2))
HISTOGRAMS = rng.dirichlet(np.ones(6), 50)
BINS = np.arange(6.0)
BINS_APART = np.abs(BINS[:, None] - BINS)


# Models, made in few places -------------------------------------------------------------------------------------------------

FAST = {"n_knots": 4, "alpha": 1e-3}
PLAIN = FAST | {"directions": None}


NESTED = {
    "columns": (sm.Columns, {"categorical_features": "categorical", "periodic": "periodic", "missing": "missing"}),
    "tables": (
        sm.Tables,
        {n: n for n in ("groups", "knots", "symmetry", "outside", "delta", "base_distances", "base_exponents")},
    ),
    "program": (sm.Program, {n: n for n in ("penalty", "constraints", "prior", "relative", "solver")}),
    "triplets": (sm.Triplets, {"n_impostors": "n_impostors", "mu": "mu", "n_passes": "n_passes", "base": "base"}),
}


def made(kind, **settings):
    """Return an unfitted learner; settings are the flat names of a recipe."""
    if kind is sm.DPLMClassifier:
        nested = sm.GibbsChains().get_params()
        settings = {f"chains__{name}" if name in nested else name: value for name, value in settings.items()}
        return kind().set_params(**settings)
    for name, (make, names) in NESTED.items():
        given = {names[key]: settings.pop(key) for key in names if key in settings}
        if given and name == "tables":
            given["kind"] = settings.pop("tables", inspect.signature(kind).parameters["tables"].default)
        if given:
            settings[name] = make(**given)
    return kind(**settings)


def regressor(**settings):
    return made(sm.DistanceRegressor, **FAST | settings)


def fitted_regressor(y=DISTANCES, items=X, weight=None, **settings):
    return regressor(preprocessor=items, **settings).fit(PAIRS, y, weight)


def approximator(distance, *, features=None, method="regress", n_pairs=300, **settings):
    """Return an unfitted approximator; settings are those of its learner."""
    own = {name: settings.pop(name) for name in ("max_calls", "near", "validation_fraction") if name in settings}
    learner = regressor(**settings)
    return sm.DistanceApproximator(distance, learner, features=features, method=method, n_pairs=n_pairs, **own)


def large_margin(**settings):
    return made(sm.LargeMarginLearner, **PLAIN | {"tables": "warped"} | settings)


def rough_distance(groups=None, seed=0, link="identity"):
    """Return a distance over `ITEMS` with random tables, of which no axiom but symmetry helps a search."""
    embedding = sm.PairEmbedding(sm.Grid.fit(ITEMS, n_knots=5), "singles" if groups is None else groups)
    draw = np.random.default_rng(seed)
    weights, epsilon = 0.05 + draw.random(embedding.n_columns) ** 3, draw.random((4, 2))
    return sm.Semimetric(embedding, weights, epsilon, ("a", "b", "c", "d"), link=link)


def index(groups=None, **settings):
    return sm.NeighborIndex(rough_distance(groups), **settings).fit(ITEMS)


def folder():
    """Return a new folder that is deleted at the end."""
    return Path(tempfile.mkdtemp(dir=SCRATCH.name))


def saved_file(array):
    path = folder() / "array.npy"
    np.save(path, array)
    return path


def saved_and_loaded(model, key=None, **options):
    path = folder() / "model.smm"
    model.save(path, key=key)
    return sm.load(path, key=key, **options)


def on_asked(model, left=ASKED[0], right=ASKED[1]):
    """Return what a learned distance answers: distances, contributions, terms, axioms and coordinates beyond its range."""
    d = getattr(model, "semimetric_", model)
    return [
        d.paired(left, right), d.pairwise(left[:6], right[:5]), d.pairwise(left[:6]), d(left[0], right[0]),
        d.contributions(left[:5], right[:5]), d.contribution_names(), d.terms, d.feature_names, d.axioms.name, d.outside(left),
        {name: table.to_frame() for name, table in d.tables().items()},
    ]  # fmt: skip


def on_frame(model, frame):
    d = model.semimetric_
    return [d.paired(frame[:40], frame[40:80]), d.contributions(frame[:5], frame[5:10]), d.terms, d.axioms.name]


def explained(found):
    return [found.to_frame(), found.distances, found.contributions, found.terms, found.shares, found.indices, found.largest()]


# Learned distances ----------------------------------------------------------------------------------------------------------

REGRESSORS = {
    "plain": {},
    "auto": {"n_knots": "auto", "alpha": "auto"},
    "even knots": {"knots": "uniform", "n_knots": np.array([3, 5, 4])},
    "knots at means": {"knots": "kmeans"},
    "metric": {"axioms": "metric"},
    "quasimetric": {"axioms": "quasimetric"},
    "premetric": {"axioms": "premetric"},
    "no axioms": {"axioms": None},
    "square root": {"link": "sqrt"},
    "power": {"link": 0.8},
    "chosen power": {"link": "power"},
    "concave link": {"link": sm.ConcaveLink((0.3, 0.8), (1.5, 1.0, 0.6))},
    "learned link": {"link": "concave", "validation_fraction": 0.4},
    "warped": {"tables": "warped"},
    "warped metric": {"tables": "warped", "axioms": "metric"},
    "pairs": {"groups": "pairs"},
    "joint table": {"groups": [(0, 1, 2)], "n_knots": 3},
    "joint metric": {"groups": [(0, 1), (2,)], "n_knots": 3, "axioms": "metric"},
    "touched cells": {"groups": [(0, 1, 2)], "n_knots": 9},
    "auto groups": {"groups": sm.AutoGroups(max_groups=1)},
    "swapped": {"groups": "pairs", "symmetry": "swap"},
    "principal directions": {"directions": "pca"},
    "even directions": {"directions": sm.UniformDirections((0, 1), n_directions=3), "tables": "warped"},
    "trees": {"directions": sm.PartitionFeatures("random", n_trees=8, max_leaf_nodes=6, random_state=0)},
    "tables of leaves": {
        "directions": sm.PartitionFeatures("random", n_trees=4, max_leaf_nodes=5, random_state=0, leaf_tables="full")
    },
    "absolute loss": {"loss": "absolute"},
    "huber loss": {"loss": "huber"},
    "relative": {"relative": True},
    "lasso": {"penalty": "lasso", "delta": 0.0},
    "roughness": {"penalty": "roughness"},
    "sum of penalties": {"penalty": [sm.Ridge(1e-3, "zero"), sm.Shift(1e-3), sm.Roughness(1e-2, order=2), sm.Lasso(1e-3)]},
    "monotone": {"constraints": [sm.Monotone([0, 1])]},
    "concave": {"constraints": [sm.TranslationInvariant([0, 2]), sm.Concave([0])], "knots": "uniform"},
    "bounded": {"constraints": [sm.Bounded(2.0)], "outside": "clip"},
    "known pairs": {"constraints": [sm.AtMost(X[:4].reshape(2, 2, 3), [0.5, 0.6]), sm.AtLeast(X[4:6][None], [0.4])]},
    "clipped outside": {"outside": "clip"},
    "prior": {"prior": sm.Semimetric.l1(X, weights=[1.0, 2.0, 0.5])},
    "base distance": {"base_distances": [cityblock]},
    "power of a base distance": {"base_distances": [cityblock], "base_exponents": 1.5, "link": 0.7},
    "chosen exponent": {"base_distances": [cityblock], "base_exponents": "auto"},
}


@answer_each(REGRESSORS)
def regression(settings):
    model = fitted_regressor(**settings)
    return [model.predict(PAIRS[:40]), on_asked(model)]


SOLVERS = {
    "gram": {"solver": sm.Gram(tol=1e-10)},
    "newton": {"solver": sm.Newton(), "loss": "huber"},
    "interior point": {"solver": sm.InteriorPoint(), "loss": "absolute"},
    "first order": {"solver": sm.FirstOrder(), "penalty": "lasso"},
    "cutting planes": {"solver": sm.CuttingPlane(all_rows=10), "axioms": "metric"},
    "splitting": {"solver": sm.Splitting(), "axioms": "metric"},
    "reference": {"solver": sm.Reference()},
}


@answer_each(SOLVERS)
def solver(settings):
    return on_asked(fitted_regressor(**settings))[:2]


@answer
def regression_weighted():
    return on_asked(fitted_regressor(weight=WEIGHTS))


@answer
def regression_asymmetric():
    return on_asked(fitted_regressor(SKEWED, axioms="premetric", groups="pairs"))


@answer
def regression_in_steps():
    model = regressor(preprocessor=X)
    for rows in np.array_split(np.arange(400), 3):
        model.partial_fit(PAIRS[rows], DISTANCES[rows])
    return on_asked(model)


@answer
def regression_scores():
    model = fitted_regressor()
    return [
        model.score(PAIRS, DISTANCES), model.pair_distance(PAIRS[:9]), model.pair_score(PAIRS[:9]),
        model.get_metric()(X[0], X[1]),
        fitted_regressor(tables="warped").transform(X[:9]), fitted_regressor(tables="warped").get_feature_names_out(),
    ]  # fmt: skip


FRAMES = {
    "kinds": {"periodic": {"hour": 24.0}},
    "missing as a level": {"periodic": {"hour": 24.0}, "missing": "level", "frame": GAPS},
    "named categories": {"categorical_features": ["colour"], "groups": [("age", "colour"), ("hour",)]},
    "warped": {"tables": "warped", "periodic": {"hour": 24.0}},
}


@answer_each(FRAMES)
def regression_of_frames(settings):
    frame = settings.get("frame", FRAME)
    options = {name: value for name, value in settings.items() if name != "frame"}
    return on_frame(fitted_regressor(items=frame, **options), frame)


@answer
def regression_of_codes():
    items = np.column_stack([X[:, :2], CLASSES])
    return on_asked(fitted_regressor(items=items, categorical_features=[2], periodic={0: 1.0}), items[:20], items[20:40])


APPROXIMATORS = {
    "vectors": lambda: (approximator(bent), X),
    "one by one": lambda: (approximator(euclid), X),
    "vertices": lambda: (approximator(cityblock, method="vertices", n_knots=3), X),
    "warped metric": lambda: (approximator(cityblock, tables="warped", axioms="metric", relative=True), X),
    "histograms": lambda: (approximator(cityblock, directions=sm.HistogramFeatures(BINS), tables="warped"), HISTOGRAMS),
    "chosen settings": lambda: (approximator(bent, n_knots="auto", alpha="auto"), X),
    "words": lambda: (approximator(hamming, features=sm.StringFeatures(max_grams=20)), WORDS),
    "landmarks": lambda: (approximator(hamming, features=sm.LandmarkFeatures(n_landmarks=4)), WORDS),
    "series": lambda: (approximator(warping, features=sm.SeriesFeatures(n_path=4, n_quantiles=2, n_windows=2)), list(SERIES)),
    "point clouds": lambda: (approximator(of_means, features=sm.PointCloudFeatures(n_directions=4, n_centers=4)), list(CLOUDS)),
}


@answer_each(APPROXIMATORS)
def approximation(make):
    model, items = make()
    model.fit(items)
    pairs = [(items[k], items[k + 9]) for k in range(20)]
    vectors = isinstance(items, np.ndarray)
    return [
        model.pairwise(items[:7], items[7:12]),
        model.predict(np.asarray(pairs) if vectors else pairs),
        model.semimetric_.terms,
    ]


MARGINS = {
    "warped": {},
    "full": {"tables": "full"},
    "auto": {"n_knots": "auto", "alpha": "auto", "directions": "auto", "tables": "auto"},
    "discriminant directions": {"directions": "lda"},
    "combined directions": {"directions": "combined", "tables": "full"},
    "impostors": {"n_targets": 2, "n_impostors": 4, "mu": 0.5, "n_passes": 2},
    "prior": {"prior": sm.Semimetric.l1(X, weights=[1.0, 2.0, 0.5])},
    "metric": {"axioms": "metric", "loss": "hinge"},
}


@answer_each(MARGINS)
def large_margins(settings):
    return on_asked(large_margin(**settings).fit(X, CLASSES))


@answer
def large_margins_of_frames():
    return on_frame(large_margin(periodic={"hour": 24.0}, missing="level").fit(GAPS, NAMES), GAPS)


TUPLES = {
    "plain": PLAIN,
    "full": PLAIN | {"tables": "full", "loss": "hinge"},
    "directions": FAST | {"directions": "pca"},
    "auto": {},
}


@answer_each(TUPLES)
def pair_learner(settings):
    model = made(sm.PairLearner, preprocessor=X, **settings).fit(PAIRS, ALIKE)
    out = [on_asked(model), model.predict(PAIRS), model.decision_function(PAIRS[:40]), model.score(PAIRS, ALIKE)]
    for method in ("sigmoid", "isotonic"):
        out += [model.calibrate_probabilities(PAIRS, ALIKE, method).predict_proba(PAIRS[:40])]
    return [*out, model.calibrate_threshold(PAIRS, ALIKE).predict(PAIRS)]


@answer_each(TUPLES)
def triplet_learner(settings):
    triplets = np.column_stack([PAIRS[:200], PAIRS[200:, 1]])
    swap = bent(*X[triplets[:, :2].T]) > bent(*X[triplets[:, ::2].T])
    triplets = np.where(swap[:, None], triplets[:, [0, 2, 1]], triplets)
    model = made(sm.TripletLearner, preprocessor=X, **settings).fit(triplets)
    return [on_asked(model), model.predict(triplets), model.decision_function(triplets[:40])]


@answer_each(TUPLES)
def quadruplet_learner(settings):
    order = DISTANCES[:200] > DISTANCES[200:]
    quadruplets = np.column_stack([PAIRS[:200], PAIRS[200:]])
    quadruplets = np.where(order[:, None], quadruplets[:, [2, 3, 0, 1]], quadruplets)
    model = made(sm.QuadrupletLearner, preprocessor=X, **settings).fit(quadruplets)
    return [on_asked(model), model.predict(quadruplets), model.decision_function(quadruplets[:40])]


@answer
def kernel_ridge():
    frame = made(sm.KernelRidgeLearner, effort="fast").fit(FRAME, VALUES)
    return [on_asked(made(sm.KernelRidgeLearner, n_knots=5).fit(X, VALUES, WEIGHTS[:90])), on_frame(frame, FRAME)]


# Distances as such ----------------------------------------------------------------------------------------------------------


@answer
def given_distances():
    gower = sm.gower(GAPS, periodic={"hour": 24.0}, weights={"age": 2.0})
    l1, emd = sm.Semimetric.l1(X, weights=[1.0, 2.0, 0.5]), sm.Semimetric.emd(BINS)
    return [
        gower.pairwise(GAPS[:9]),
        gower.terms,
        on_asked(l1),
        on_asked(emd, HISTOGRAMS[:9], HISTOGRAMS[9:18]),
        l1.transform(X[:9]),
    ]


@answer
def distances_of_distances():
    one, other = fitted_regressor().semimetric_, fitted_regressor(n_knots=3).semimetric_
    mean = sm.Semimetric.mean([one, other], weights=[1.0, 2.0])
    return [on_asked(mean), on_asked(one.reweighted({"x0": 2.0, "x2": 0.0})), one.get_numba_metric()(X[0], X[1])]


@answer
def axioms():
    out = []
    for name in ("plain", "metric", "square root", "pairs", "quasimetric", "no axioms", "trees", "warped"):
        found = fitted_regressor(**REGRESSORS[name]).semimetric_.certify()
        out += [found.axioms.name, found.triangle, sorted(found.proofs), found.triple, found.excess]
    return out


@answer
def explanations():
    out = []
    for name in ("plain", "pairs", "principal directions", "trees", "square root", "warped"):
        d = fitted_regressor(**REGRESSORS[name]).semimetric_
        out += [explained(d.explain(ASKED[0, 0], X[:9], by=by)) for by in ("features", "terms")]
    return [*out, fitted_regressor(**REGRESSORS["trees"]).semimetric_.rules]


@answer
def counterfactuals():
    out = []
    for name in ("plain", "pairs", "principal directions", "square root", "warped"):
        d = fitted_regressor(**REGRESSORS[name]).semimetric_
        for within, features in ((None, None), (0.6, None), (0.4, [0, 2])):
            found = d.counterfactual(X[0], X[2], within, features=features)
            out += [found.to_frame(), found.item, found.before, found.distance, found.reached]
    return out


@answer
def repair():
    d = fitted_regressor(groups=[(0, 1), (2,)], n_knots=3).semimetric_
    return [on_asked(sm.metric_repair(d, method)) for method in ("closure", "nearest")]


@answer
def calibration():
    d = large_margin().fit(X, CLASSES).semimetric_
    return [on_asked(sm.calibrate_distance(d, PAIRS, DISTANCES, weight, preprocessor=X)) for weight in (None, WEIGHTS)]


# Search ---------------------------------------------------------------------------------------------------------------------

SEARCHES = {
    "exact": {},
    "exact, 16 bits": {"storage": "uint16"},
    "brute": {"algorithm": "brute"},
    "approximate": {"algorithm": "approximate", "n_lists": 8, "n_probe": 2, "n_candidates": 20},
    "approximate, 16 bits": {"algorithm": "approximate", "n_candidates": 15, "storage": "uint16"},
    "graph": {"algorithm": "graph", "n_candidates": 20},
    "query last": {"side": "query-last"},
    "pairs": {"groups": "pairs"},
    "pairs, brute": {"groups": "pairs", "algorithm": "brute"},
    "joint, 16 bits": {"groups": [(0, 1, 2), (3,)], "storage": "uint16"},
    "lists": {"n_lists": 4, "n_jobs": 2},
}


@answer_each(SEARCHES)
def search(settings):
    found = index(**settings)
    return [
        found.kneighbors(QUERIES, 5), found.kneighbors(None, 3), found.kneighbors(QUERIES, 4, where="a > 0 and b < 1"),
        found.kneighbors(QUERIES, 4, where=np.arange(600) % 3 == 0), found.search(QUERIES, 3).at_once,
        found.estimate_recall(QUERIES, 5),
    ]  # fmt: skip


@answer
def search_within():
    found = index()
    return [
        found.radius_neighbors(QUERIES, 1.5), found.radius_neighbors(QUERIES, 1.5, where="c >= 0"),
        found.kneighbors_graph(QUERIES, 4, mode="distance"), found.kneighbors_graph(n_neighbors=2),
        index("pairs").radius_neighbors(QUERIES, 3.0), index(storage="uint16").radius_neighbors(QUERIES, 1.5),
    ]  # fmt: skip


@answer
def search_repeated():
    out = []
    for settings in ({}, {"storage": "uint16"}, {"algorithm": "graph"}, {"groups": "pairs"}):
        found = index(**settings)
        found.add(QUERIES * 0.9, ids=np.arange(1000, 1012))
        found.remove(np.arange(0, 600, 4))
        other = found.with_semimetric(rough_distance(settings.get("groups"), seed=3))
        out += [found.kneighbors(QUERIES, 5), other.kneighbors(QUERIES, 5), found.ids_, found.get_items([1, 1003])]
        out += [saved_and_loaded(found).kneighbors(QUERIES, 5)]
    return out


@answer
def search_reranked():
    found = index(rerank=cityblock, n_candidates=30)
    tuned = index(n_lists=8)
    recall = tuned.tune(np.random.default_rng(2).normal(size=(40, 4)), recall=1.0, n_neighbors=3).recall.mean >= 0.9
    return [found.kneighbors(QUERIES, 5), recall]


@answer
def search_explained():
    found = index()
    return [
        explained(found.explain(QUERIES[0], n_neighbors=4)), explained(found.explain(QUERIES[1], [3, 7], by="terms")),
        found.explain_graph(found.kneighbors_graph(n_neighbors=2)[:20], ITEMS[:20]),
    ]  # fmt: skip


@answer
def search_of_frames():
    found = sm.NeighborIndex("gower").fit(GAPS)
    return [
        found.kneighbors(GAPS[:9], 4), found.kneighbors(GAPS[:9], 4, where='colour in ("red", "blue") and hour < 12'),
        sm.NeighborIndex("l1").fit(X, ids=[f"item {k}" for k in range(90)]).kneighbors(X[:5] + 0.01, 3),
    ]  # fmt: skip


REFINED = {
    "landmarks": (lambda: (None, hamming, sm.LandmarkBounds(hamming, n_landmarks=4)), WORDS),
    "edits": (lambda: (None, hamming, sm.EditBounds()), WORDS),
    "learned words": (
        lambda: (approximator(hamming, features=sm.StringFeatures(max_grams=20)).fit(WORDS), hamming,
                 [sm.LandmarkBounds(hamming, n_landmarks=3)]), WORDS),
    "transport": (
        lambda: (sm.Semimetric.emd(BINS), sm.EarthMoversDistance(BINS_APART),
                 sm.TransportBounds(BINS_APART, bin_coordinates=BINS, n_learned=32)), HISTOGRAMS),
    "vectors": (lambda: ("l1", euclid, sm.LandmarkBounds(euclid)), X),
}  # fmt: skip


@answer_each(REFINED)
def filter_refine(setting):
    make, items = setting
    learned, rerank, bounds = make()
    found = sm.FilterRefineIndex(learned, rerank, bounds=bounds).fit(items[8:])
    few = sm.FilterRefineIndex(learned, rerank, bounds=bounds, max_calls=24).fit(items[8:])
    near = found.search(items[:5], 3)
    stopped, within = few.search(items[:5], 3), found.search_radius(items[:5], float(near.distances[:, -1].mean()))
    return [*near, *stopped, *within]


@answer
def bounds():
    edits = sm.EditBounds().fit(WORDS)
    landmarks = sm.LandmarkBounds(euclid, n_landmarks=5).fit(X)
    transport = sm.TransportBounds(BINS_APART, bin_coordinates=BINS, n_learned=16).fit(HISTOGRAMS)
    clipped = sm.BoundedDistance(sm.Semimetric.l1(X), landmarks)
    exact = sm.EarthMoversDistance(BINS_APART)
    return [
        edits.lower(WORDS[0]), edits.upper(WORDS[0]), landmarks.lower(ASKED[0, 0]), landmarks.upper(ASKED[0, 0]),
        transport.lower(HISTOGRAMS[3]), transport.upper(HISTOGRAMS[3]), transport.pairwise(HISTOGRAMS[:4], HISTOGRAMS[4:8]),
        clipped.paired(*ASKED), clipped.pairwise(X[:5]), exact(HISTOGRAMS[0], HISTOGRAMS[1]),
        exact.with_dual(HISTOGRAMS[0], HISTOGRAMS[1])[0],
    ]  # fmt: skip


@answer
def sharded():
    out = []
    for settings in ({}, {"storage": "uint16"}, {"partition": "kmeans"}):
        place = folder() / "shards"
        found = sm.ShardedIndex.build(place, rough_distance(), ITEMS, n_shards=3, **settings)
        out += [found.kneighbors(QUERIES, 5), found.kneighbors(QUERIES, 5, algorithm="approximate", n_candidates=20)]
        found.add(QUERIES * 0.9, ids=np.arange(1000, 1012))
        found.remove(np.arange(0, 600, 4))
        found.rebalance(2)
        out += [found.kneighbors(QUERIES, 5), found.radius_neighbors(QUERIES, 1.5), sm.load(place).kneighbors(QUERIES, 2)]
        out += [sm.out_of_core.kneighbors(place, QUERIES, 3), found.kneighbors_graph(QUERIES, 3), found.get_items([1, 1003])]
    return [*out, explained(found.explain(QUERIES[0], n_neighbors=3))]


# Estimators on neighbours ---------------------------------------------------------------------------------------------------

VOTES = {
    "auto": {},
    "uniform": {"n_neighbors": 3, "weights": "uniform"},
    "distance": {"n_neighbors": 5, "weights": "distance", "algorithm": "brute"},
    "kernel": {"weights": "kernel", "class_weight": "balanced"},
}


@answer_each(VOTES)
def classifier(settings):
    model = sm.SemimetricClassifier(large_margin(), **settings).fit(X, CLASSES, WEIGHTS[:90])
    return [
        model.predict(ASKED[0]), model.predict_proba(ASKED[0]), model.kneighbors(ASKED[0], 3), model.n_neighbors_,
        explained(model.explain_neighbors(ASKED[0, 0])),
    ]  # fmt: skip


@answer
def classifier_without_settings():
    model = sm.SemimetricClassifier().fit(FRAME, NAMES)
    return [model.predict(FRAME[:40]), model.predict_proba(FRAME[:40]), model.kneighbors(FRAME[:9], 3)]


@answer_each({name: {k: v for k, v in row.items() if k != "class_weight"} for name, row in VOTES.items()})
def values_by_votes(settings):
    model = sm.SemimetricRegressor(regressor(), n_pairs=300, **settings).fit(X, VALUES)
    median = sm.SemimetricRegressor(regressor(), n_pairs=300, average="median", **settings).fit(X, VALUES)
    return [model.predict(ASKED[0]), median.predict(ASKED[0]), model.kneighbors(ASKED[0], 3), model.n_neighbors_]


@answer
def values_without_settings():
    model = sm.SemimetricRegressor().fit(X, VALUES)
    return [model.predict(ASKED[0]), model.kneighbors(ASKED[0], 3), explained(model.explain_neighbors(ASKED[0, 0]))]


@answer
def clusters():
    plain = sm.SemimetricClusterer("l1", n_clusters=3, random_state=1).fit(X)
    linked = sm.SemimetricClusterer(n_clusters=2).fit(FRAME, must_link=[(2, 5)], cannot_link=[(0, 1), (3, 4)])
    links = {"must_link": [(0, 1), (2, 3), (4, 5)], "cannot_link": [(0, 2), (1, 4), (3, 6)]}
    learned = sm.SemimetricClusterer("l1", learner=made(sm.PairLearner, **PLAIN), n_clusters=2).fit(X, **links)
    out = [[m.labels_, m.medoid_indices_, m.inertia_] for m in (plain, linked, learned)]
    return [*out, plain.predict(ASKED[0]), plain.transform(ASKED[0]), plain.cluster_centers_, explained(plain.explain(X[0]))]


@answer
def imputed():
    out = [
        sm.SemimetricImputer(n_neighbors=3, weights=weights).fit(HOLES).transform(HOLES) for weights in ("uniform", "distance")
    ]
    return [*out, sm.SemimetricImputer().fit_transform(GAPS)]


@answer
def outliers():
    out = []
    for settings in ({"method": "lof"}, {"method": "distance", "contamination": 0.2}):
        model = sm.SemimetricOutlierDetector("l1", n_neighbors=5, **settings).fit(X)
        out += [model.score_samples(ASKED[0]), model.decision_function(ASKED[0]), model.predict(ASKED[0]), model.fit_predict(X)]
    return [
        *out,
        sm.SemimetricOutlierDetector(n_neighbors=4).fit(FRAME).score_samples(FRAME),
        explained(model.explain(ASKED[0, 0])),
    ]


@answer
def neighbor_graphs():
    given = sm.SemimetricNeighborsTransformer(rough_distance(), n_neighbors=3).fit(ITEMS)
    learned = sm.SemimetricNeighborsTransformer(learner=large_margin(), mode="connectivity").fit(X, CLASSES)
    walked = sm.SemimetricNeighborsTransformer(rough_distance(), algorithm="graph").fit_transform(ITEMS)
    return [given.transform(QUERIES), learned.transform(ASKED[0]), walked, given.get_feature_names_out()[:3]]


# Embeddings, linear machines and pieces -------------------------------------------------------------------------------------

EMBEDDINGS = {
    "PL1": sm.PL1Embedding(4),
    "PL1 at quantiles, straight outside": sm.PL1Embedding(4, knots="quantile", extrapolation="linear", missing="indicator"),
    "PL1 from zero": sm.PL1Embedding(4, zero_preserving=True, missing="zeros"),
    "PL1 of trees": sm.PL1Embedding(4, knots="tree"),
    "PL2": sm.PL2Embedding(3, shared_knots=True),
    "PL2 of neighbours": sm.PL2Embedding(3, knots="uniform", pairs="chain", extrapolation="linear"),
    "PL2 of the best": sm.PL2Embedding(3, pairs="best", n_pairs=1, missing="zeros"),
    "ID": sm.IDEmbedding(3, missing="indicator"),
    "ID of all": sm.IDEmbedding(4, groups="all", most_vertices=1),
    "splines": sm.BSplineEmbedding(4, degree=3, knots="quantile", missing="indicator"),
    "penalised splines": sm.BSplineEmbedding(3, degree=2, penalty_order=2, null_space_ridge=0.01),
    "chi-squared": sm.AdditiveChi2Embedding(3),
    "waves": sm.FourierEmbedding(3, span="half", missing="zeros"),
    "polynomials": sm.HermiteEmbedding(3, penalty_order=2, scale="standard"),
    "cones": sm.ConicEmbedding(p=2),
    "cones of classes": sm.ConicEmbedding(expand="each", anchors="class", band=(0, 100), concatenate=False),
    "cones at means": sm.ConicEmbedding(2, "each", anchors="kmeans", n_anchors=2),
}


@answer_each(EMBEDDINGS)
def embedding(unfitted):
    holes = unfitted.missing != "error"
    model = clone(unfitted).fit(HOLES if holes else X, CLASSES)
    asked = np.abs(ASKED[0])
    loaded = saved_and_loaded(model)
    parts = list(sm.out_of_core.transform(model, X, memory_limit="16 MiB"))
    names = list(model.get_feature_names_out())
    return [model.transform(asked), loaded.transform(asked), parts, names, model.transform(HOLES) if holes else None]


@answer
def embeddings_in_steps():
    out = []
    for model in (sm.PL1Embedding(4), sm.PL2Embedding(3), sm.IDEmbedding(3)):
        model.partial_fit(X[:50]).partial_fit(X[50:])
        out += [model.transform(ASKED[0])]
    return out


@answer
def schemas():
    schema = sm.Schema.fit(GAPS, periodic={"hour": 24.0}, missing="level")
    encoded = schema.encode(GAPS)
    return [encoded, schema.decode(encoded[:9]), schema.kinds, schema.names]


@answer
def directions():
    even = sm.UniformDirections((0, 1), n_directions=5).fit(X)
    trees = sm.PartitionFeatures("random", n_trees=4, max_leaf_nodes=5, random_state=0).fit(X)
    bins = sm.HistogramFeatures(BINS, bins=True).fit(HISTOGRAMS)
    circle = sm.HistogramFeatures(BINS, periodic={0: 6.0}, n_edges=0, ball_radii=()).fit(HISTOGRAMS)
    return [even.transform(ASKED[0]), trees.transform(ASKED[0]), *(m.transform(HISTOGRAMS[:9]) for m in (bins, circle))]


OBJECTS = {
    "words": (sm.StringFeatures(max_grams=30), WORDS),
    "series": (sm.SeriesFeatures(n_path=4, n_quantiles=3, n_windows=2), list(SERIES)),
    "point clouds": (sm.PointCloudFeatures(n_directions=4, n_centers=5), list(CLOUDS)),
    "landmarks": (sm.LandmarkFeatures(hamming, n_landmarks=4), WORDS),
}


@answer_each(OBJECTS)
def object_features(setting):
    unfitted, items = setting
    model = clone(unfitted).fit(items[:30])
    return [model.transform(items), model.get_feature_names_out()]


MACHINES = {
    "plain": {},
    "hinge": {"embedding": sm.BSplineEmbedding(4), "loss": "hinge"},
    "crammer and singer": {"embedding": sm.PL1Embedding(4), "loss": "hinge", "multi_class": "crammer_singer"},
    "pegasos": {"embedding": "linear", "solver": "pegasos", "fit_intercept": False},
    "newton": {"embedding": sm.ConicEmbedding(2, "each"), "solver": "newton"},
    "pairs": {"embedding": sm.PL2Embedding(3), "calibration": "logistic", "class_weight": "balanced"},
    "ID": {"embedding": sm.IDEmbedding(3), "calibration": "isotonic"},
    "waves": {"embedding": sm.FourierEmbedding(2), "C": 3.0},
    "polynomials": {"embedding": sm.HermiteEmbedding(3), "positive": True},
    "chi-squared": {"embedding": sm.AdditiveChi2Embedding(2)},
    "blocks": {"embedding": sm.PL1Embedding(4), "block_size": 20},
}


@answer_each(MACHINES)
def machine(settings):
    out = []
    for labels in (NAMES, CLASSES):
        model = sm.EmbeddedLinearClassifier(**{"tol": 1e-3} | settings).fit(X, labels, WEIGHTS[:90])
        out += [model.predict(X), model.decision_function(np.abs(ASKED[0])), model.coef_, model.intercept_]
        out += [model.predict_proba(X[:20])] if "calibration" in settings else []
    return out


@answer
def machine_in_steps():
    model = sm.EmbeddedLinearClassifier(sm.PL1Embedding(3))
    model.partial_fit(X[:50], CLASSES[:50], classes=[0, 1, 2]).partial_fit(X[50:], CLASSES[50:])
    return [model.decision_function(ASKED[0]), model.coef_, model.intercept_]


VALUE_MACHINES = {
    "plain": {},
    "absolute": {"embedding": sm.PL2Embedding(3), "epsilon": 0.1, "loss": "epsilon_insensitive"},
    "newton": {"embedding": sm.BSplineEmbedding(5, degree=3), "solver": "newton", "C": 3.0},
    "linear": {"embedding": "linear", "positive": True},
}


@answer_each(VALUE_MACHINES)
def value_machine(settings):
    model = sm.EmbeddedLinearRegressor(**{"tol": 1e-3} | settings).fit(X, VALUES, WEIGHTS[:90])
    return [model.predict(ASKED[0]), model.coef_, model.intercept_]


@answer
def boundary_points():
    found = sm.BoundaryPoints().fit(X, NAMES)
    other = sm.BoundaryPoints(neighbors=sm.NeighborIndex(sm.Semimetric.l1(X))).fit(X, TWO)
    return [
        [m.boundary_points_, m.directions_, m.multiplicities_, m.pairs_, m.support_, m.support_share_] for m in (found, other)
    ]


@answer
def support_points():
    out = []
    for settings in ({}, {"neighbors": sm.NeighborIndex(sm.Semimetric.l1(X))}):
        model = sm.SupportPointClassifier(**settings).fit(X, NAMES)
        out += [model.predict(ASKED[0]), model.support_points_, model.support_codes_]
    return out


CHAINS = {"n_sweeps": 100, "n_chains": 1}
PIECES = {
    "chosen number": CHAINS,
    "planes": CHAINS | {"local": "plane", "multi_class": "ovr"},
    "given number": {"n_components": 2},
    "given number of planes": {"n_components": 2, "local": "plane", "refine": False},
}


@answer_each(PIECES)
def pieces(settings):
    model = made(sm.DPLMClassifier, **settings)
    Z, y = sm.datasets.make_horseshoe(30, 20)
    three = model.fit(X[:, :2], CLASSES)
    out = [three.predict(ASKED[0, :, :2]), three.decision_function(ASKED[0, :, :2])]
    out += [model.fit(Z, y).predict(Z), model.decision_function(Z)]
    return [*out, model.predict_proba(Z)] if hasattr(model, "predict_proba") else out


@answer
def hyperplanes():
    Z = X.copy()
    Z[:45, 2] = 0.01 * Z[:45, 2]
    Z[45:, 0] = 2 + 0.01 * Z[45:, 0]
    out = []
    for model in (sm.HyperplaneMixture(n_sweeps=100, n_chains=1), sm.HyperplaneMixture(2)):
        model.fit(Z)
        out += [
            model.labels_,
            model.n_components_,
            np.abs(model.normals_),
            model.centres_,
            model.predict(X),
            model.distances(X),
        ]
    return out


# Parts, files and reports ---------------------------------------------------------------------------------------------------

PARTS = {
    "plain": {},
    "warped": {"tables": "warped"},
    "huber": {"loss": "huber"},
    "pairs": {"groups": "pairs"},
    "lasso": {"penalty": "lasso"},
}


@answer_each(PARTS)
def parts_of_pairs(settings):
    files = saved_file(np.stack([LEFT, RIGHT], axis=1)), saved_file(DISTANCES)
    in_parts = sm.out_of_core.fit(regressor(**settings), *files, memory_limit="16 MiB")
    by_row = sm.out_of_core.fit(regressor(preprocessor=saved_file(X), **settings), PAIRS, DISTANCES, WEIGHTS)
    return [on_asked(in_parts), on_asked(by_row)]


@answer
def parts_of_parquet():
    path = folder() / "pairs.parquet"
    sides = [pd.DataFrame(rows, columns=list("abc")).add_prefix(side) for rows, side in ((LEFT, "left."), (RIGHT, "right."))]
    pd.concat(sides, axis=1).assign(measured=DISTANCES).to_parquet(path)
    return on_asked(sm.out_of_core.fit(regressor(), path, "measured"))


@answer
def parts_of_comparisons():
    pairs = sm.out_of_core.fit(made(sm.PairLearner, **PLAIN), np.stack([LEFT, RIGHT], axis=1), ALIKE)
    triplets = sm.out_of_core.fit(made(sm.TripletLearner, **PLAIN), X.reshape(-1, 3, 3))
    quadruplets = sm.out_of_core.fit(made(sm.QuadrupletLearner, **PLAIN), X[:88].reshape(-1, 4, 3))
    return [on_asked(model) for model in (pairs, triplets, quadruplets)]


@answer
def parts_of_labelled_items():
    return on_asked(sm.out_of_core.fit(large_margin(), saved_file(X), saved_file(CLASSES), memory_limit="32 MiB"))


@answer
def parts_of_distances():
    d, place = fitted_regressor().semimetric_, folder()
    square = sm.out_of_core.pairwise(d, X, to=place / "square.parquet", memory_limit="16 MiB")
    oblong = sm.out_of_core.pairwise(d, X, ASKED[0], to=place / "oblong.parquet")
    return [pd.read_parquet(path) for path in (square, oblong)]


@answer
def parts_on_workers():
    from dask.distributed import Client

    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        files = saved_file(np.stack([LEFT, RIGHT], axis=1)), saved_file(DISTANCES)
        model, place = sm.out_of_core.fit(regressor(), *files, client=client), folder()
        sm.out_of_core.build_index(place / "shards", rough_distance(), ITEMS, client=client)
        near = sm.out_of_core.kneighbors(place / "shards", QUERIES, 4, client=client)
        within = sm.out_of_core.radius_neighbors(place / "shards", QUERIES, 1.5, client=client)
        matrix = pd.read_parquet(sm.out_of_core.pairwise(model.semimetric_, X, to=place / "square.parquet", client=client))
    return [on_asked(model), near, within, matrix]


SAVED = {
    "regressor": lambda: (fitted_regressor(groups="pairs", link="sqrt"), lambda m: m.predict(PAIRS[:40])),
    "large margin of a frame": lambda: (large_margin().fit(FRAME, NAMES), lambda m: on_frame(m, FRAME)),
    "trees": lambda: (fitted_regressor(**REGRESSORS["trees"]), lambda m: m.predict(PAIRS[:40])),
    "approximator": lambda: (
        approximator(hamming, features=sm.StringFeatures(max_grams=20)).fit(WORDS), lambda m: m.pairwise(WORDS[:9])),
    "large margin": lambda: (large_margin().fit(X, CLASSES), lambda m: m.transform(ASKED[0])),
    "pairs": lambda: (
        made(sm.PairLearner, **PLAIN).fit(np.stack([LEFT, RIGHT], axis=1), ALIKE),
        lambda m: m.decision_function(ASKED.swapaxes(0, 1))),
    "kernel ridge": lambda: (made(sm.KernelRidgeLearner, n_knots=5).fit(X, VALUES), lambda m: m.transform(ASKED[0])),
    "classifier": lambda: (sm.SemimetricClassifier(large_margin()).fit(X, NAMES), lambda m: m.predict_proba(ASKED[0])),
    "values by votes": lambda: (sm.SemimetricRegressor(regressor(), n_pairs=300).fit(X, VALUES), lambda m: m.predict(ASKED[0])),
    "clusters": lambda: (sm.SemimetricClusterer("l1", n_clusters=3).fit(X), lambda m: m.predict(ASKED[0])),
    "imputer": lambda: (sm.SemimetricImputer(n_neighbors=2).fit(HOLES), lambda m: m.transform(HOLES)),
    "outliers": lambda: (sm.SemimetricOutlierDetector("l1", n_neighbors=3).fit(X), lambda m: m.score_samples(ASKED[0])),
    "transformer": lambda: (sm.SemimetricNeighborsTransformer(rough_distance()).fit(ITEMS), lambda m: m.transform(QUERIES)),
    "machine": lambda: (sm.EmbeddedLinearClassifier(calibration="logistic").fit(X, NAMES), lambda m: m.predict_proba(ASKED[0])),
    "value machine": lambda: (sm.EmbeddedLinearRegressor(sm.PL2Embedding(3)).fit(X, VALUES), lambda m: m.predict(ASKED[0])),
    "pieces": lambda: (made(sm.DPLMClassifier, **CHAINS).fit(X, TWO), lambda m: m.decision_function(ASKED[0])),
    "support points": lambda: (sm.SupportPointClassifier().fit(X, NAMES), lambda m: m.predict(ASKED[0])),
    "hyperplanes": lambda: (sm.HyperplaneMixture(2).fit(X), lambda m: m.predict_proba(ASKED[0])),
    "index": lambda: (index(), lambda m: m.kneighbors(QUERIES)),
    "index of pairs": lambda: (index("pairs", storage="uint16"), lambda m: m.kneighbors(QUERIES)),
    "distance": lambda: (rough_distance([(0, 1), (2,), (3,)], link="sqrt"), lambda m: m.pairwise(QUERIES)),
}  # fmt: skip


@answer_each(SAVED)
def saved(make):
    model, ask = make()
    before, after = ask(model), ask(saved_and_loaded(model, key=b"sixteen bytes or more"))
    return [before, after, parted(before) == parted(after)]


@answer
def saved_distances():
    d = fitted_regressor(base_distances=[cityblock]).semimetric_
    return [on_asked(saved_and_loaded(fitted_regressor())), on_asked(saved_and_loaded(d, base_distances=[cityblock]))]


REPORTS = {
    "regressor": lambda: ((fitted_regressor(), X), {"pairs": PAIRS, "distances": DISTANCES}),
    "frame": lambda: ((fitted_regressor(items=GAPS, missing="level").semimetric_, GAPS), {}),
    "trees": lambda: ((fitted_regressor(**REGRESSORS["trees"]), X), {}),
    "classes": lambda: ((large_margin().fit(X, CLASSES), X, CLASSES), {}),
    "votes": lambda: ((sm.SemimetricClassifier(large_margin()).fit(X, CLASSES), X, CLASSES), {}),
    "machine": lambda: ((sm.EmbeddedLinearClassifier(sm.PL1Embedding(4)).fit(X, CLASSES), X, CLASSES), {}),
    "machine of pairs": lambda: ((sm.EmbeddedLinearRegressor(sm.PL2Embedding(3)).fit(X, VALUES), X, VALUES), {}),
    "pieces": lambda: ((made(sm.DPLMClassifier, n_components=2).fit(X[:, :2], TWO), X[:, :2], TWO), {}),
    "several distances": lambda: (
        ([fitted_regressor(), fitted_regressor(tables="warped")], X), {"pairs": PAIRS, "distances": DISTANCES}),
    "several machines": lambda: (
        ([sm.EmbeddedLinearClassifier(e).fit(X, TWO) for e in (sm.PL1Embedding(4), "linear")], X, TWO), {}),
}  # fmt: skip


@answer_each(REPORTS)
def report(make):
    arguments, options = make()
    found = sm.report(*arguments, **options, title="Answers")
    facts = json.loads(found.to_json())
    facts.pop("versions")
    return [without_prose(facts), list(numbers_of_page(found.page))]


def without_prose(value):
    """Return a value of JSON in which a text of several words is the list of its numbers; rows of seconds are left out."""
    if isinstance(value, dict):
        return {key: without_prose(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [without_prose(inside) for inside in value if not str(inside).startswith("['seconds")]
    if isinstance(value, str) and " " in value:
        return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", value)]
    return value


def numbers_of_page(value):
    """Yield the numbers that a page holds, packed or not, in the order of their keys."""
    if isinstance(value, dict):
        if set(value) >= {"type", "base64"}:
            yield from np.frombuffer(base64.b64decode(value["base64"]), value["type"]).astype(float).tolist()
        else:
            for key in sorted(value):
                yield from numbers_of_page(value[key])
    elif isinstance(value, list | tuple):
        for inside in value:
            yield from numbers_of_page(inside)
    elif isinstance(value, np.ndarray):
        yield from numbers_of_page(value.tolist())
    elif isinstance(value, int | float | np.number) and not isinstance(value, bool):
        yield float(value)


@answer
def datasets():
    pairs = [sm.datasets.make_distance_pairs(name, 50, n_items=30) for name in sorted(sm.datasets.KNOWN_DISTANCES)]
    answers = sm.datasets.make_triplet_answers(40, n_items=20)
    planar = [sm.datasets.make_horseshoe(20, 10), sm.datasets.make_s_shape(30), sm.datasets.make_zigzag(30)]
    seen = [sm.datasets.perceived(answers.items), sm.datasets.load_digit_histograms().histograms[:9]]
    exact = sm.datasets.exact_emd(HISTOGRAMS[:3], HISTOGRAMS[3:6], BINS[:, None])
    return [[[p.items, p.pairs, p.distances] for p in pairs], answers.items, answers.triplets, seen, planar, exact]


# Digests --------------------------------------------------------------------------------------------------------------------


def leaves(value: Any) -> Iterator[Any]:
    """Yield arrays and marks of structure: of frames their columns, of sparse matrices their dense values."""
    if isinstance(value, dict):
        yield f"dict {len(value)}"
        for key in sorted(value, key=str):
            yield str(key)
            yield from leaves(value[key])
    elif isinstance(value, pd.DataFrame):
        yield from leaves({str(name): value[name].tolist() for name in value})
    elif isinstance(value, list | tuple):
        simple = bool(value) and all(isinstance(v, float | int) and not isinstance(v, bool) for v in value)
        yield f"list {len(value)}"
        yield from [np.asarray(value)] if simple else (leaf for inside in value for leaf in leaves(inside))
    elif sparse.issparse(value):
        yield np.asarray(value.toarray())
    elif isinstance(value, np.ndarray) and value.dtype == object:
        yield from leaves(value.tolist())
    else:
        yield "None" if value is None else np.asarray(value)


def parted(value: Any) -> tuple[str, list[float]]:
    """Return all that is exact in an answer as text, and its finite floats; -0 is 0, and other floats stand in the text."""
    exact, floats = [], []
    for leaf in leaves(value):
        if isinstance(leaf, str):
            exact.append(leaf)
        elif leaf.dtype.kind == "f":
            flat = leaf.astype(float).ravel() + 0.0
            finite = np.isfinite(flat)
            exact.append(f"floats {leaf.shape} {[(int(k), str(flat[k])) for k in np.flatnonzero(~finite)]}")
            floats.extend(flat[finite].tolist())
        elif leaf.dtype.kind in "iub":
            exact.append(
                f"{'truths' if leaf.dtype.kind == 'b' else 'integers'} {leaf.shape} {leaf.astype(int).ravel().tolist()}"
            )
        else:
            exact.append(f"texts {leaf.shape} {[str(v) for v in leaf.ravel()]}")
    return "\n".join(exact), floats


def digest(value: Any) -> dict[str, Any]:
    """Return a hash of what is exact, and nine numbers: five means, then the first, last, least and largest float."""
    exact, floats = parted(value)
    out: dict[str, Any] = {"exact": hashlib.sha256(exact.encode()).hexdigest()[:16], "n_floats": len(floats)}
    if floats:
        x = np.asarray(floats)
        weights = np.random.default_rng(0).uniform(0.5, 1.5, (3, len(x)))
        numbers = [np.abs(x).mean(), x.mean(), *(weights @ x / len(x)), x[0], x[-1], x.min(), x.max()]
        out["numbers"] = [float(f"{number:.{DIGITS}g}") + 0.0 for number in numbers]
    return out


def same(then: dict[str, Any], now: dict[str, Any]) -> bool:
    """Return True if two digests agree: means within `TOLERANCE` of the mean size, single floats of the largest size."""
    if any(then.get(key) != now.get(key) for key in ("error", "exact", "n_floats")):
        return False
    a, b = (np.asarray(d.get("numbers", [0.0] * 9)) for d in (then, now))
    largest = np.abs(a[5:]).max()
    return bool(np.all(np.abs(a - b) <= TOLERANCE * np.where(np.arange(9) < 5, a[0], largest)))


def asked(name: str) -> dict[str, Any]:
    """Return the digest of an answer, or the fact that there is an error, which is printed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return digest(QUESTIONS[name]())
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {str(error)[:300]}")
        return {"error": True}


def main() -> int:
    """Ask the questions; write or compare the answers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the file in place of writing it")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="questions whose names begin with one of these")
    parser.add_argument("--times", action="store_true", help="print the seconds that each question took")
    options = parser.parse_args()
    names = [name for name in QUESTIONS if not options.only or name.startswith(tuple(options.only))]
    then = json.loads(FILE.read_text()) if FILE.exists() else {}
    now, times = {}, {}
    for name in names:
        start = time.perf_counter()
        now[name] = asked(name)
        times[name] = time.perf_counter() - start
    if options.times:
        for name in sorted(times, key=times.__getitem__)[-25:]:
            print(f"{times[name]:6.2f} s  {name}")
        print(f"{sum(times.values()):6.2f} s  in all")
    if not options.check:
        found = then | now if options.only else now
        lines = (f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found) if name in QUESTIONS)
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{len(names)} answers written")
        return 0
    differing = [name for name in names if name not in then or not same(then[name], now[name])]
    for name in differing:
        print(f"{name}\n  then {json.dumps(then.get(name))}\n  now  {json.dumps(now[name])}")
    missing = [] if options.only else sorted(set(then) - set(names))
    for name in missing:
        print(f"{name}: it is in the file, and no question has this name")
    print(f"{len(names) - len(differing)} of {len(names)} answers are as before")
    return int(bool(differing or missing))


if __name__ == "__main__":
    sys.exit(main())
