"""Joint tables of few columns, and sums over bins, which the default of measured distances compares with single tables."""

import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist, jensenshannon

import semimetric
from semimetric import (
    Columns,
    DistanceApproximator,
    DistanceRegressor,
    EarthMoversDistance,
    HistogramFeatures,
    Monotone,
    Program,
    Tables,
)
from semimetric._foundation.types import Pairs
from semimetric.distances.features.histograms import layouts
from semimetric.distances.learning.measured import MeasuredDistances
from semimetric.distances.learning.measured_fit import HeldOutDistances, error_and_disorder, relative_error
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.structure import build_structure


def drawn(distance, n_columns=2, n_pairs=3_000, n_items=400, seed=0):
    """Items in a cube, row numbers of pairs, and their distances."""
    rng = np.random.default_rng(seed)
    items, left = rng.random((n_items, n_columns)), rng.integers(0, n_items, n_pairs)
    index = np.column_stack([left, (left + rng.integers(1, n_items, n_pairs)) % n_items])
    return items, index, distance(items[index[:, 0]], items[index[:, 1]])


def polar(x, y):
    """Euclid's distance of points that are given by radius and angle."""

    def plane(z):
        return z[:, :1] * np.c_[np.cos(2 * np.pi * z[:, 1]), np.sin(2 * np.pi * z[:, 1])]

    return np.linalg.norm(plane(x) - plane(y), axis=1)


def with_product(x, y):
    return np.abs(x - y).sum(axis=1) + 3 * np.abs(x[:, 1] * x[:, 3] - y[:, 1] * y[:, 3])


def largest(x, y):
    return np.abs(x - y).max(axis=1)


def fitted(drawn, **options):
    items, index, y = drawn
    return DistanceRegressor(preprocessor=items, validation_fraction=0, **options).fit(index, y)


def median_error(model, distance, n_columns=2):
    items, index, y = drawn(distance, n_columns, seed=1)
    return float(np.median(np.abs(model.set_params(preprocessor=items).predict(index) / y - 1)))


def test_two_columns_that_act_together_have_a_joint_table(tmp_path):
    model, single = fitted(drawn(polar)), fitted(drawn(polar), tables="full")
    assert (model.groups_, model.recipe_.groups) == (((0, 1),), "pairs")
    assert "* x1" in repr(model.group_choices_)
    assert model.group_choices_.chosen is model.group_choices_[1]
    assert median_error(model, polar) < 0.3 * median_error(single, polar)
    model.save(tmp_path / "model.npz")
    again = semimetric.load(tmp_path / "model.npz")
    assert (again.recipe_, again.group_choices_) == (model.recipe_, model.group_choices_)


def test_of_more_columns_those_that_act_together_are_found():
    model, single = fitted(drawn(with_product, 5)), fitted(drawn(with_product, 5), tables="full")
    assert [g for g in model.groups_ if len(g) > 1] == [(1, 3)]
    assert [model.group_choices_.setting_text(c) for c in model.group_choices_] == ["a table for all features", "+ x1 * x3"]
    assert median_error(model, with_product, 5) < 0.7 * median_error(single, with_product, 5)


def test_columns_that_count_one_by_one_keep_tables_of_their_own():
    model = fitted(drawn(lambda x, y: np.abs(x - y).sum(axis=1)))
    assert (model.recipe_.groups, model.group_choices_) == ("singles", ())  # it is nearly exact, and nothing was compared


def test_a_smaller_error_is_not_taken_for_near_pairs_in_the_wrong_order():
    items, index, y = drawn(largest, n_pairs=6_000)
    near = np.argsort(largest(np.repeat(items, len(items), 0), np.tile(items, (len(items), 1))), kind="stable")[400:2_400]
    index = np.vstack([index, np.column_stack([near // len(items), near % len(items)])])
    y = largest(items[index[:, 0]], items[index[:, 1]])
    model, joint = fitted((items, index, y)), fitted((items, index, y), tables=Tables(groups="pairs"))
    assert model.recipe_.groups == "singles"
    assert len(model.group_choices_) == 2
    assert median_error(joint, largest) < median_error(model, largest)


@pytest.mark.parametrize(
    "options",
    [
        {"tables": "full"},
        {"tables": Tables("auto", groups=[(0,), (1,)])},
        {"axioms": "metric"},
        {"n_knots": 4},
        {"directions": "pca"},
        {"program": Program(constraints=[Monotone()])},
        {"link": "concave"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_is_given_is_not_compared(options):
    model = fitted(drawn(polar, n_pairs=600), **options)
    assert model.group_choices_ == ()
    assert all(len(group) == 1 for group in model.groups_)


def test_tables_of_many_categories_leave_no_room_for_joint_ones():
    items, index, y = drawn(polar, n_pairs=1_000)
    frame = pd.DataFrame({"place": [f"p{int(60 * v)}" for v in items[:, 0]], "angle": items[:, 1]})
    model = DistanceRegressor(preprocessor=frame, columns=Columns(["place"]), validation_fraction=0).fit(index, y)
    assert (model.recipe_.groups, model.group_choices_) == ("singles", ())


def test_the_error_of_a_comparison_counts_wrong_orders_of_near_pairs():
    items, index, y = drawn(polar, n_pairs=200)
    data, recipe = MeasuredDistances.of_arrays(Pairs(items, index), y, np.full(200, 1 / 200)), Recipe()
    held = data.targets(recipe, build_structure(recipe, items, ["radius", "angle"]))
    sums = np.random.default_rng(3).permutation(held.y) / held.unit
    nearest = np.flatnonzero(held.y <= np.quantile(held.y, 0.1))
    wrong = [(sums[a] - sums[b]) * (held.y[a] - held.y[b]) < 0 for a, b in combinations(nearest, 2)]
    assert error_and_disorder(held, sums, 0.1) == pytest.approx(relative_error(held, sums, 0.1) + np.mean(wrong))
    alike = replace(held, y=np.ones(200))  # which have no order
    assert error_and_disorder(alike, sums, 0.1) == relative_error(alike, sums, 0.1)
    assert error_and_disorder(held, np.ones(200), 0.1) == pytest.approx(relative_error(held, np.ones(200), 0.1) + 0.5)


def test_pairs_of_equal_rows_do_not_hide_what_combining_gains():
    X = np.vstack([histograms(150)] * 2)
    rng = np.random.default_rng(1)
    left = rng.integers(0, 300, 2_500)
    right = np.where(rng.random(2_500) < 0.15, (left + 150) % 300, (left + rng.integers(1, 300, 2_500)) % 300)
    y = 0.3 * along(X[left], X[right]) + np.abs(X[left] - X[right]).sum(axis=1)
    model = DistanceRegressor(preprocessor=X, validation_fraction=0, effort="fast").fit(np.column_stack([left, right]), y)
    assert isinstance(model.recipe_.directions, HistogramFeatures)


def test_without_a_seed_folds_of_a_sample_share_no_item(monkeypatch):
    shared = []

    def watched(source, recipe):
        folds = folds_of(source, recipe)
        shared.extend(set(part.tuples.index.ravel()) & set(held.tuples.index.ravel()) for part, held in folds)
        return folds

    folds_of = HeldOutDistances.folds
    monkeypatch.setattr(HeldOutDistances, "folds", watched)
    items, index, y = drawn(with_product, 5, n_pairs=6_000)
    options = {"effort": "fast", "random_state": None, "tables": Tables("full", groups="auto")}
    model = fitted((items, index, y), **options)  # of which effort="fast" takes 5,000 pairs
    assert shared
    assert not any(shared)
    assert model.recipe_.random_state is None


def test_vertices_are_not_asked_for_the_places_of_bins():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = DistanceApproximator(along, DistanceRegressor(n_knots=3), method="vertices").fit(histograms(60, 4))
    assert model.error_.median > 0.02
    assert not any("places" in str(warning.message) for warning in caught)


def test_joint_tables_have_more_knots_where_three_and_four_err_alike():
    def great_circle(x, y):
        (a, b), (c, d) = (np.radians(z * [130, 360] - [60, 180]).T for z in (x, y))
        root = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
        return np.arcsin(np.sqrt(root))

    assert fitted(drawn(great_circle, n_pairs=6_000, n_items=600)).recipe_.n_knots > 4


def histograms(n=300, n_bins=12, seed=0):
    """Sums of bumps, of which most are all but 0 in most bins."""
    rng = np.random.default_rng(seed)
    gaps = np.abs(np.arange(n_bins) - rng.uniform(0, n_bins, (n, 2, 1)))
    bumps = np.exp(-((np.minimum(gaps, n_bins - gaps) / rng.uniform(0.4, 1.5, (n, 2, 1))) ** 2)).sum(axis=1)
    return bumps / bumps.sum(axis=1, keepdims=True)


def along(x, y):
    """The Earth Mover's Distance of bins on a line."""
    return np.abs(np.cumsum(x - y, axis=-1)).sum(axis=-1)


def around(x, y):
    """The Earth Mover's Distance of bins on a circle."""
    sums = np.cumsum(x - y, axis=-1)
    return np.abs(sums - np.median(sums, axis=-1, keepdims=True)).sum(axis=-1)


@pytest.mark.parametrize(("distance", "periodic", "worst", "digits"), [(along, None, 1e-4, 4), (around, {0: 12.0}, 0.04, None)])
def test_bins_on_a_line_or_a_circle_are_found(distance, periodic, worst, digits, tmp_path):
    X = histograms() if digits is None else histograms().round(digits)
    model = DistanceApproximator(distance, DistanceRegressor(effort="fast"), n_pairs=4_000).fit(X)
    features = model.recipe_.directions
    assert isinstance(features, HistogramFeatures)
    assert (features.periodic, model.recipe_.tables) == (periodic, "warped")
    assert model.error_.median < worst
    assert "bins on a " in repr(model.table_choices_)
    model.save(tmp_path / "model.npz")
    again = semimetric.load(tmp_path / "model.npz")
    assert repr(again.recipe_) == repr(model.recipe_)
    np.testing.assert_array_equal(again.pairwise(X[:9]), model.pairwise(X[:9]))


@pytest.mark.parametrize(
    ("options", "power", "worst"),
    [
        ({}, 0.5, 1e-4),
        ({"link": "sqrt"}, 0.5, 1e-4),
        ({"link": "power"}, 0.5, 1e-4),
        ({"link": 0.7}, 0.7, 0.05),
        ({"axioms": "metric"}, 1.0, 1e-4),
    ],
    ids=["auto", "sqrt", "power", "0.7", "metric"],
)
def test_sums_over_bins_have_the_link_and_the_axioms_that_are_asked_for(options, power, worst):
    def distance(x, y):
        return along(x, y) ** (1.0 if "axioms" in options else 0.5)

    model = DistanceApproximator(distance, DistanceRegressor(effort="fast", **options), n_pairs=2_000).fit(histograms(200, 16))
    assert isinstance(model.recipe_.directions, HistogramFeatures)
    assert model.semimetric_.link_function.exponent == power
    assert model.error_.median < worst
    assert model.semimetric_.axioms.triangle


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(lambda X: np.where(np.arange(len(X))[:, None] == 7, 0.0, X), id="one is empty"),
        pytest.param(lambda X: X.astype(np.float32), id="float32"),
        pytest.param(lambda X: np.where(X < 1e-3, -1e-17, X), id="rounding slips"),
        pytest.param(lambda X: (100 * X).round(1), id="per cent"),
    ],
)
def test_shares_are_histograms_as_people_have_them(rows):
    X = rows(histograms(200, 16))
    model = DistanceApproximator(along, DistanceRegressor(effort="fast"), n_pairs=2_000).fit(X)
    assert isinstance(model.recipe_.directions, HistogramFeatures)
    assert model.error_.median < 0.01


def images(*sides, n=300, seed=0):
    """Bumps on a grid of any number of axes, as histograms."""
    rng = np.random.default_rng(seed)
    places = np.indices(sides).reshape(len(sides), -1).T
    centres = rng.uniform(0, np.array(sides) - 1.0, (n, 2, 1, len(sides)))
    bumps = np.exp(-((places - centres) ** 2).sum(axis=3) / rng.uniform(0.5, 2.0, (n, 2, 1))).sum(axis=1)
    bumps[bumps < 0.05] = 0.0
    return bumps / bumps.sum(axis=1, keepdims=True), cdist(places, places)


@pytest.mark.parametrize(
    ("n_bins", "names"),
    [
        (3, []),
        (5, ["a line", "a circle"]),
        (27, ["a line", "a circle", "an image of 3 x 9", "an image of 9 x 3", "a cube of 3 x 3 x 3"]),
        (60, ["a line", "a circle", "an image of 5 x 12", "an image of 6 x 10", "an image of 10 x 6", "an image of 12 x 5"]),
        (1024, ["a line", "an image of 32 x 32"]),
        (1025, []),
    ],
)
def test_layouts_place_every_bin(n_bins, names):
    found = layouts(n_bins)
    assert list(found) == names
    for features in found.values():
        places = np.reshape(features.bin_coordinates, (n_bins, -1))
        assert len(np.unique(places, axis=0)) == n_bins
        assert (np.lexsort(places.T[::-1]) == np.arange(n_bins)).all()  # numbered row by row


@pytest.mark.parametrize("sides", [(4, 6), (3, 3, 3)])
def test_bins_of_images_and_cubes_are_found(sides):
    X, ground = images(*sides)
    model = DistanceApproximator(EarthMoversDistance(ground), DistanceRegressor(effort="fast"), n_pairs=4_000).fit(X)
    first, second = model.table_choices_
    name = " x ".join(map(str, sides))
    assert (first.settings["directions"], second.settings["directions"][-len(name) :]) == (None, name)
    assert second.loss < 0.75 * first.loss
    assert model.error_.median < 0.04
    assert model.semimetric_.axioms.triangle


def of_margins(x, y):
    """Earth Mover's Distances of both margins of images of 25 x 26, added."""
    x, y = (z.reshape(*z.shape[:-1], 25, 26) for z in (x, y))
    return along(x.sum(axis=-1), y.sum(axis=-1)) + along(x.sum(axis=-2), y.sum(axis=-2))


def test_bins_that_are_always_empty_stay_in_frames_of_histograms():
    X, ground = images(4, 4)
    X[:, [0, 15]] = 0.0
    X /= X.sum(axis=1, keepdims=True)
    frame = pd.DataFrame(X).add_prefix("pixel")
    approximator = DistanceApproximator(EarthMoversDistance(ground), DistanceRegressor(effort="fast"), n_pairs=2_000)
    model = approximator.fit(frame)  # without a warning of them
    assert model.columns_.names == tuple(frame.columns)
    assert "bins on an image of 4 x 4" in repr(model.table_choices_)
    np.testing.assert_allclose(model.pairwise(frame[:9]), model.pairwise(X[:9]), rtol=1e-12)


@pytest.mark.slow
def test_bins_of_wide_images_are_found_before_single_ones_are_screened():
    X, _ = images(25, 26, n=400)
    X[:, [0, 649]] = 0.0  # always empty, of which nothing is said
    X /= X.sum(axis=1, keepdims=True)
    model = DistanceApproximator(of_margins, DistanceRegressor(effort="fast"), n_pairs=3_000).fit(X)
    assert "bins on an image of 25 x 26" in repr(model.table_choices_)
    assert model.error_.median < 0.03


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@pytest.mark.parametrize("name", ["jensen-shannon", "chi2", "l1", "euclidean", "linf"])
@pytest.mark.parametrize("rows", [histograms(200, 16), images(4, 4, n=200)[0] + 1e-6], ids=["line", "image"])
def test_distances_that_see_no_layout_of_bins_get_none(name, rows):
    distances = {
        "jensen-shannon": lambda x, y: jensenshannon(x, y, axis=-1),
        "chi2": lambda x, y: ((x - y) ** 2 / (x + y)).sum(axis=-1),
        "l1": lambda x, y: np.abs(x - y).sum(axis=-1),
        "euclidean": lambda x, y: np.linalg.norm(x - y, axis=-1),
        "linf": lambda x, y: np.abs(x - y).max(axis=-1),
    }
    X = rows / rows.sum(axis=1, keepdims=True)
    model = DistanceApproximator(distances[name], DistanceRegressor(effort="fast"), n_pairs=2_000).fit(X)
    assert model.recipe_.directions is None


@pytest.mark.parametrize("rows", [histograms() - 0.01, histograms() * np.linspace(1, 2, 300)[:, None]], ids=["signs", "masses"])
def test_rows_that_are_no_histograms_have_no_sums_over_bins(rows):
    model = DistanceApproximator(along, DistanceRegressor(effort="fast"), n_pairs=2_000, validation_fraction=0).fit(rows)
    assert not isinstance(model.recipe_.directions, HistogramFeatures)


def test_histograms_that_nothing_explains_are_asked_for_the_places_of_their_bins():
    order = np.random.default_rng(1).permutation(12)

    def elsewhere(x, y):
        return along(x[..., order], y[..., order])

    with pytest.warns(semimetric.SemimetricWarning, match=r"If their bins lie at places.*HistogramFeatures\(places\)"):
        DistanceApproximator(elsewhere, DistanceRegressor(effort="fast"), n_pairs=2_000).fit(histograms())


def test_histograms_whose_distance_has_a_name_are_told_the_name_alone():
    X = np.random.default_rng(0).dirichlet(np.full(10, 0.5), 200)
    learner = DistanceRegressor(axioms="metric", tables="warped", effort="fast")
    with pytest.warns(semimetric.SemimetricWarning, match="agree with 1.414 times 'hellinger'") as said:
        model = DistanceApproximator(lambda x, y: np.linalg.norm(np.sqrt(x) - np.sqrt(y), axis=-1), learner, n_pairs=2_000).fit(
            X
        )
    assert model.error_.median > 0.02
    assert len(said) == 1


def test_values_that_are_all_but_0_leave_distinct_knots_under_factors():
    rng = np.random.default_rng(0)
    items = np.column_stack([np.exp(-rng.uniform(0, 60, 200)), rng.random(200) - 2])
    index = rng.integers(0, 200, (1_000, 2))
    y = np.linalg.norm((items[index[:, 0]] - items[index[:, 1]]) * [3.0, 1.0], axis=1)
    learner = DistanceRegressor(n_knots=32, link="sqrt", tables=Tables("shared", factors=[9.0, 1.0]), alpha=1e-9)
    model = learner.set_params(preprocessor=items).fit(index, y)
    apart = y > 0.1
    assert np.median(np.abs(model.predict(index[apart]) / y[apart] - 1)) < 0.01
