"""Parts that do not fit one another make no distance, however they are given."""

from dataclasses import replace

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import Grid, PairEmbedding, Schema, Semimetric
from semimetric.data.schema import Feature
from semimetric.distances.features.linear_directions import Directions
from semimetric.distances.model.base_distances import check_probe
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding

GRID = Grid([[0.0, 1.0], [0.0, 2.0]])
TABLES, SCALES = PairEmbedding(GRID), WarpedEmbedding(GRID)


def distance(embedding=TABLES, weights=(1.0, 1.0), epsilon=(0.0, 0.0), names=("a", "b"), **parts):
    return Semimetric(embedding, np.array(weights), np.array(epsilon), names, **parts)


DIRECTION = Directions(np.array([[1.0, -1.0]]), ("a-b",))
KINDS = Grid([[0.0, 1.0, 2.0], [0.0, 24.0]], ["categorical", "periodic"])
COLOUR, HOUR = Feature("colour", "categorical", ("red", "blue")), Feature("hour", "periodic", (), 24.0)
BAD = {
    "NaN": (lambda: distance(weights=(np.nan, 1.0)), "weights add up to nan", "at most 1.1e+307 is required"),
    "infinite sums": (lambda: distance(weights=(1e308, 1e308)), "weights add up to inf", "at most 1.1e+307 is required"),
    "slope": (lambda: distance(epsilon=(np.inf, 1.0)), "epsilon has", "must be >= 0 and finite"),
    "no slope": (lambda: distance(epsilon=(np.nan, 1.0)), "epsilon has", "must be >= 0 and finite"),
    "link": (lambda: distance(link="log"), "link='log'", '"sqrt"'),
    "negative square": (lambda: distance(weights=(-1.0, 1.0), link="sqrt"), 'link="sqrt"', "must be >= 0"),
    "falling scale": (lambda: distance(SCALES, weights=(-1.0, 1.0)), "a scale falls", "must be >= 0"),
    "directions of others": (
        lambda: distance(PairEmbedding(Grid([[0.0, 1.0]] * 2)), names=("a",), directions=DIRECTION),
        "directions are of 2 features", "the vectors have 1",
    ),
    "a direction that may be missing": (
        lambda: distance(
            PairEmbedding(Grid([[0.0, 1.0]] * 3, missing=[True, False, False])), (1.0,) * 5, (0.0,) * 3, directions=DIRECTION
        ),
        "'a-b' is numeric on the grid, or may be missing", "such a level",
    ),
    "categories": (
        lambda: distance(PairEmbedding(KINDS), (1.0,) * 3, schema=Schema((replace(COLOUR, categories=("red",)), HOUR))),
        "'a' has 1 categories and 3 knots", "one more are required",
    ),
    "period": (
        lambda: distance(PairEmbedding(KINDS), (1.0,) * 3, schema=Schema((COLOUR, replace(HOUR, period=12.0)))),
        "'b' has the period 12", "span 24",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_refused(name):
    make, problem, required = BAD[name]
    assert_refused(make, problem, required)


@pytest.mark.parametrize(
    "change", [{"power": 0.0}, {"power": np.nan}, {"weight": np.nan}, {"weight": np.inf}, {"values": np.full(3, np.nan)}]
)
def test_a_base_distance_has_a_finite_weight_and_values(change):
    base = cases.fitted("base")[0].semimetric_.base_distances[0]
    assert_refused(lambda: replace(base, **change), "base distance 'cityblock' has", "required")


FEATURES = {
    "period": (lambda: Feature("hour", "periodic"), "period 0.0", "a finite number > 0"),
    "no categories": (lambda: Feature("colour", "categorical"), "has no categories", "drop it"),
    "equal categories": (lambda: Feature("colour", "categorical", (1, True)), "2 categories, of which 1 differ", "once"),
    "a category of nothing": (lambda: Feature("colour", "categorical", (None,)), "the category None", "required"),
    "directions without a number": (lambda: Directions(np.array([[np.nan]]), ("a",)), "directions have shape (1, 1)", "finite"),
    "directions without a name": (lambda: Directions(np.ones((2, 1)), ("a",)), "directions have shape (2, 1)", "(1, 1)"),
    "bends": (lambda: Directions(np.ones((1, 1)), ("a",), (np.array([1.0, 0.0]),)), "strictly increasing", "sort them"),
}


@pytest.mark.parametrize("name", FEATURES)
def test_a_part_that_is_none_is_refused(name):
    make, problem, required = FEATURES[name]
    assert_refused(make, problem, required)


@pytest.mark.parametrize("value", [-1.0, 0.5, 3.0, np.nan])
def test_a_probe_has_codes_of_the_schema(value):
    schema = Schema((COLOUR, HOUR))
    check_probe(schema, np.array([[2.0, 1.0]]), "the probe")
    assert_refused(
        lambda: check_probe(schema, np.array([[value, 1.0]]), "the probe"), "the probe has a value of 'colour'", "code"
    )
