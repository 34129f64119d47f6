import dataclasses

import numpy as np
import pytest

from semimetric import DistanceRegressor, InputError, NotSupportedError, Schema, Semimetric
from semimetric.data.grid import Grid
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.plotting.distances import _refine, plot_around, plot_contributions, plot_table

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def d():
    grid = Grid([[0.0, 1.0, 4.0, 4.1], [-1.0, 1.0], [7.0]])
    embedding = PairEmbedding(grid, [(0,), (1,), (2,)])
    weights = np.random.default_rng(0).uniform(0.1, 1.0, embedding.n_columns)
    return Semimetric(embedding, weights, np.full(3, 0.1), ("width", "height", "colour"))


@pytest.fixture
def ax():
    return plt.subplots()[1]


def test_the_picture_of_a_table_is_the_distance_itself(d):
    values = d.tables()["width"].values
    places, fine = _refine(np.array([0.0, 1.0, 4.0, 4.1]), values)
    X = np.column_stack([places, np.zeros(len(places)), np.full(len(places), 7.0)])
    assert np.allclose(fine, d.pairwise(X), atol=1e-12)
    assert {0.0, 1.0, 4.0, 4.1} <= set(places)


def test_a_table_has_its_knots_as_ticks_and_names_that_fit(d, ax):
    drawn = plot_table(d, "width", ax)
    assert drawn is ax
    assert sorted([*drawn.get_xticks(), *drawn.get_xticks(minor=True)]) == [0, 1, 4, 4.1]
    assert [t.get_text() for t in drawn.get_xticklabels()] == ["0", "1", "4.1"]  # 4 would overlap 4.1
    assert "width" in drawn.get_title()
    assert len(ax.figure.axes) == 2  # and its colour bar
    assert drawn.figure.axes[1].get_ylabel() == "part of the distance"


def test_a_term_may_be_given_by_number_and_without_axes(d):
    assert plot_table(d, 1).get_xlabel() == "height of x"


def test_the_label_says_what_the_link_makes_of_the_sum(d, ax):
    plot_table(dataclasses.replace(d, link="sqrt"), "width", ax)
    assert ax.figure.axes[1].get_ylabel() == "part of the squared distance"


def test_around_draws_the_distances_from_the_point(d, ax):
    drawn = plot_around(d, [1.0, 0.0, 7.0], ("width", 1), ax=ax)
    assert drawn is ax
    assert (drawn.get_xlabel(), drawn.get_ylabel()) == ("width", "height")
    assert np.allclose(drawn.get_xlim(), (0, 4.1))
    marker = ax.lines[-1]
    assert (*marker.get_xdata(), *marker.get_ydata()) == (1.0, 0.0)


def test_items_set_the_range_and_are_drawn(d, ax):
    X = [[0.5, 0.0, 7.0], [2.0, 0.3, 7.0]]
    plot_around(d, [1.0, 0.5, 7.0], (0, 1), X, ax)
    assert np.allclose((*ax.get_xlim(), *ax.get_ylim()), (0.5, 2.0, 0.0, 0.5))
    assert ax.lines[0].get_xdata().tolist() == [0.5, 2.0]


def test_around_a_constant_feature_there_is_still_something_to_draw(d, ax):
    plot_around(d, [1.0, 0.0, 7.0], ("width", "colour"), ax=ax)
    assert np.allclose(ax.get_ylim(), (6.5, 7.5))


def test_around_one_feature_is_a_line(d, ax):
    x = np.array([0.0, -1.0, 7.0])
    assert plot_around(d, x, ["width"], [[0.0, 0, 7], [5.0, 0, 7]], ax) is ax
    values, distances = ax.lines[0].get_data()
    assert values[[0, -1]].tolist() == [0.0, 5.0]
    np.testing.assert_allclose(distances, [d(x, [v, -1.0, 7.0]) for v in values])


def test_contributions_sum_to_the_distance(d, ax):
    x, y = [0.0, -1.0, 7.0], [4.1, 1.0, 7.0]
    drawn = plot_contributions(d, x, y, ax)
    assert drawn is ax
    widths = [bar.get_width() for bar in ax.patches]
    assert sum(widths) == pytest.approx(d(x, y))
    assert widths == sorted(widths, reverse=True)
    assert f"{d(x, y):.3g}" in ax.get_title()


@pytest.mark.parametrize(("by", "rest"), [("terms", "2 other terms"), ("features", "1 other feature")])
def test_the_rest_of_the_parts_is_one_bar(d, ax, by, rest):
    x, y = [0.0, -1.0, 7.0], [5.0, 1.0, 7.0]  # width, height and what is outside the range
    plot_contributions(d, x, y, ax, most=1, by=by)
    assert [t.get_text() for t in ax.get_yticklabels()][1] == rest
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(d(x, y))


def test_the_root_of_the_sum_is_said(d, ax):
    root = dataclasses.replace(d, link="sqrt")
    plot_contributions(root, [0.0, 0, 7], [1.0, 0, 7], ax)
    assert f"its root {root([0.0, 0, 7], [1.0, 0, 7]):.3g}" in ax.get_title()


def test_equal_points_have_an_empty_sum(d, ax):
    plot_contributions(d, [0.0, 0, 7], [0.0, 0, 7], ax)
    assert "sum 0" in ax.get_title()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: plot_table(d, "weight"), "there is no table 'weight'; give one of: width, height, colour"),
        (lambda d: plot_table(d, 9), "there is no table 9"),
        (lambda d: plot_table(d.tables()["width"], "height"), "term='height' is given beside a table"),
        (lambda d: plot_table(d, "colour"), "'colour' was constant in training"),
        (lambda d: plot_around(d, [0.0, 0, 7], "ab"), "must be one or two names or numbers"),
        (lambda d: plot_around(d, [0.0, 0, 7], ("width", "mass")), "there is no feature 'mass'; give a name .width"),
        (lambda d: plot_around(d, [0.0, 0, 7], (0, 5)), "there is no feature 5.*a number below 3"),
        (lambda d: plot_around(d, [0.0, 0, 7], ("width", 0)), "the same feature twice"),
        (lambda d: plot_around(d, [0.0, 0], (0, 1)), "x has 2 features"),
        (lambda d: plot_contributions(d, [[0.0, 0, 7]], [[0.0, 0, 7]]), "one pair of vectors"),
        (lambda d: plot_contributions(d, [0.0, 0, 7], [1.0, 0, 7], most=0), "most=0 must be at least 1"),
    ],
)
def test_wrong_input_is_refused(call, message, d):
    with pytest.raises(InputError, match=message):
        call(d)


def test_a_table_of_two_features_is_too_much_for_a_heat_map():
    embedding = PairEmbedding(Grid([[0.0, 1.0], [0.0, 1.0]]), [(0, 1)])
    d = Semimetric(embedding, np.ones(embedding.n_columns), np.ones(2), ("a", "b"))
    with pytest.raises(NotSupportedError, match="'a . b' joins 2 features.*plot_around"):
        plot_table(d, "a * b")


def test_a_learner_stands_for_its_distance(d, ax):
    learner = DistanceRegressor()
    with pytest.raises(InputError, match="give model.semimetric_ of a model that is fitted"):
        plot_table(learner, "width", ax)
    learner.semimetric_ = d
    plot_table(learner, "width")
    plot_around(learner, [1.0, 0.0, 7.0], ("width", "height"))
    plot_contributions(learner, [1.0, 0.0, 7.0], [2.0, 0.0, 7.0])


def test_long_names_of_terms_are_shortened_and_stay_apart(d, ax):
    names = tuple(f"a feature with quite a long name, number {k}" for k in range(3))
    plot_contributions(dataclasses.replace(d, feature_names=names), [0.0, -1.0, 7.0], [4.1, 1.0, 7.0], ax)
    labels = [t.get_text() for t in ax.get_yticklabels()]
    assert len(ax.patches) == len(labels) == 2
    assert all(len(label) == 32 and label.endswith("…") for label in labels)


@pytest.fixture
def mixed():
    schema = Schema.fit([["red", 1.0, 2.0], ["blue", 5.0, 3.0]], categorical_features=[0], periodic={1: 24}, missing="level")
    grid = Grid([[0.0, 1.0, 2.0], [1.0, 9.0, 25.0], [2.0, 3.0]], schema.kinds, schema.missing)
    embedding = PairEmbedding(grid)
    return Semimetric(embedding, embedding.prior(np.ones(3)), np.full(3, 0.1), ("colour", "hour", "size"), schema=schema)


def test_tables_between_levels_are_drawn_with_their_names(mixed):
    for term, want in (("colour", ["blue", "red", "(other)", "(missing)"]), ("hour", ["1", "9", "1", "(missing)"])):
        axes = plot_table(mixed, term)
        assert [t.get_text() for t in axes.get_yticklabels()] == want
        assert (axes.images[0].get_array() == mixed.tables()[term].values).all()


def test_around_a_point_of_a_mixed_table(mixed):
    axes = plot_around(mixed, ["red", 3.0, None], ["hour"])
    heights = axes.lines[0].get_ydata()
    assert heights[0] == pytest.approx(heights[-1])  # a whole turn
    assert plot_contributions(mixed, ["red", 3.0, None], ["blue", 20.0, 2.5]).get_title().startswith("Where")
    with pytest.raises(NotSupportedError, match="'colour' has categories"):
        plot_around(mixed, ["red", 3.0, None], ["colour"])
