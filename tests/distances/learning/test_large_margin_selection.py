"""What "auto" compares, by the kinds of the features."""

from dataclasses import replace

import numpy as np
import pytest
from cases import assert_refused, candidate
from hypothesis import given
from hypothesis import strategies as st
from learners import made
from numpy.testing import assert_array_equal
from sklearn.datasets import load_wine

from semimetric import LargeMarginLearner, SemimetricWarning
from semimetric.data.schema import Schema
from semimetric.distances.learning.items import LabeledDataset, LargeMargin
from semimetric.distances.learning.large_margin import HeldOutLabels, first_unless_better
from semimetric.distances.learning.options import LABELS, Recipe
from semimetric.distances.learning.search import Choices
from semimetric.distances.learning.sum_of_distances import LabelProblem

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(autouse=True)
def no_sum(monkeypatch):
    """Settings of one program are compared, as where a parameter stands against a sum of distances."""
    monkeypatch.setattr(LabelProblem, "is_sum", False)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    numbers = rng.normal(size=(60, 2)) + y[:, None]
    codes = np.where(rng.random((60, 2)) < 0.7, y[:, None], rng.integers(0, 3, (60, 2)))
    return numbers, codes.astype(float), y


def compared(X, y, **parameters):
    model = made(LargeMarginLearner, n_passes=1, **parameters).fit(X, y)
    return model, [
        (c.settings["tables"], c.settings["directions"], c.settings["n_knots"], c.settings["alpha"]) for c in model.choices_
    ]


@pytest.mark.slow
def test_of_categories_alone_only_the_strength_is_compared(table):
    _, codes, y = table
    for missing in ("error", "level"):
        _, found = compared(codes, y, categorical_features=[0, 1], missing=missing)
        assert [(tables, directions) for tables, directions, *_ in found] == [("warped", None)] * 2
        assert [alpha for *_, alpha in found] == [1e-2, 1e-3]


@pytest.mark.slow
def test_held_tables_of_numbers_have_few_knots_and_stronger_penalties(table):
    numbers, _, y = table
    _, found = compared(numbers, y, periodic={0: 7.0, 1: 7.0})
    assert {n_knots for _, _, n_knots, _ in found} == {8, 5}
    assert {alpha for *_, alpha in found} == {1e-1, 1e-2, 1e-3}
    assert {tables for tables, *_ in found} == {"warped"}  # they are full tables already


@pytest.mark.slow
def test_numbers_with_gaps_are_compared_as_scales_and_as_full_tables(table):
    numbers, _, y = table
    X = np.where(np.random.default_rng(1).random(numbers.shape) < 0.2, np.nan, numbers)
    _, found = compared(X, y, missing="level")
    assert {n_knots for tables, _, n_knots, _ in found if tables == "warped"} == {16, 6}
    assert {tables for tables, *_ in found} == {"warped", "full"}


@pytest.mark.slow
def test_directions_are_for_items_that_have_all_numbers(table):
    numbers, codes, y = table
    X = np.hstack([numbers, codes])
    _, found = compared(X, y, categorical_features=[2, 3], missing="level")
    assert {directions for _, directions, *_ in found} == {None, "combined"}
    X[::3, 0] = np.nan
    _, found = compared(X, y, categorical_features=[2, 3], missing="level")
    assert {directions for _, directions, *_ in found} == {None}


@pytest.mark.slow
def test_scales_beside_categories_are_compared_as_scales_alone(table):
    numbers, codes, y = table
    _, found = compared(np.hstack([numbers, codes]), y, categorical_features=[2, 3])
    assert {n_knots for tables, _, n_knots, _ in found if tables == "warped"} == {16, 6}
    assert "full" in {tables for tables, *_ in found}


def test_what_is_given_is_not_compared(table):
    numbers, _, y = table
    X = np.where(np.random.default_rng(1).random(numbers.shape) < 0.2, np.nan, numbers)
    model, found = compared(X, y, missing="level", n_knots=4, alpha=0.5)
    assert {(n_knots, alpha) for _, _, n_knots, alpha in found} == {(4, 0.5)}
    assert (model.recipe_.n_knots, model.recipe_.alpha) == (4, 0.5)


def limited(monkeypatch, **limits):
    """The default effort, with other limits."""
    monkeypatch.setitem(LABELS, "default", replace(LABELS["default"], **limits))


@pytest.mark.slow
def test_wide_tables_have_few_knots_and_wider_ones_are_not_compared(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 12)) + y[:, None]
    limited(monkeypatch, n_columns={"warped": 30, "full": 600})
    _, found = compared(X, y)
    assert {n_knots for tables, _, n_knots, _ in found if tables == "warped"} == {3}
    limited(monkeypatch, n_columns={"warped": 5, "full": 5})
    with pytest.warns(SemimetricWarning, match="nothing was compared"):
        model, found = compared(X, y)
    assert not found
    assert (model.recipe_.n_knots, model.recipe_.alpha, model.recipe_.tables) == (2, 1e-2, "warped")


X, Y = load_wine(return_X_y=True)


@pytest.mark.slow
def test_auto_chooses_on_items_held_out_and_says_what_it_compared():
    model = LargeMarginLearner().fit(X[::2], Y[::2])
    choices = model.choices_
    assert {c.settings["tables"] for c in choices} == {"warped", "full"}
    assert {str(c.settings["directions"]) for c in choices} == {"None", "combined"}
    assert choices.cost == ("items", 89, 89, 5 * len(choices), choices.cost.n_thorough)
    assert "5 folds of 89 items; * the choice" in repr(choices)
    assert f'{5 * len(choices)} fits; effort="thorough" makes {choices.cost.n_thorough}' in repr(choices)
    assert repr(choices).count("*") == 2  # in the title, and at the choice
    chosen = choices.chosen
    names = ("alpha", "n_knots", "tables")
    assert [getattr(model.recipe_, name) for name in names] == [chosen.settings[name] for name in names]
    again = LargeMarginLearner().fit(X[::2], Y[::2])
    assert_array_equal(again.semimetric_.weights, model.semimetric_.weights)


def test_the_simplest_within_a_standard_error_is_taken():
    def choice(tables, directions, alpha, *losses):
        return candidate(16, alpha, losses, tables=tables, directions=directions)

    plain = choice("warped", None, 1e-2, 0.20, 0.22, 0.21)
    near = choice("warped", None, 1e-3, 0.19, 0.23, 0.20)
    worse = choice("warped", "nca", 1e-2, 0.30, 0.31, 0.32)
    better = choice("full", None, 1e-2, 0.10, 0.12, 0.11)
    assert Choices([plain, near, worse], rule=first_unless_better).chosen is plain
    assert Choices([plain, near, worse, better], rule=first_unless_better).chosen is better


LOSSES = st.tuples(*[st.integers(0, 4).map(float)] * 3)
STAGES = [("warped", "combined"), ("warped", None), ("full", None)]


@pytest.mark.slow
@given(st.lists(st.lists(LOSSES, min_size=1, max_size=3), min_size=1, max_size=3))
def test_a_later_stage_must_be_better_than_the_first(stages):
    candidates = [
        candidate(16, 10.0**-k, losses, tables=STAGES[s][0], directions=STAGES[s][1])
        for s, stage in enumerate(stages)
        for k, losses in enumerate(stage)
    ]
    found = first_unless_better(candidates)
    of_stage = [
        [c for c in candidates if (c.settings["tables"], c.settings["directions"]) == name] for name in STAGES[: len(stages)]
    ]
    best = [min(stage, key=lambda c: c.loss) for stage in of_stage]
    taken = [next(c for c in stage if not b.better_than(c)) for stage, b in zip(of_stage, best, strict=True)]
    winners = [c for c in taken[1:] if c.better_than(taken[0])]
    assert found is (min(winners, key=lambda c: c.loss) if winners else taken[0])


def held_out(labels, n_features=3, **options):
    items = np.random.default_rng(0).random((len(labels), n_features))
    weight = np.full(len(labels), 1 / len(labels))
    names = [f"x{k}" for k in range(n_features)]
    return HeldOutLabels(LabeledDataset(items, labels, weight), LargeMargin(), Schema.numeric(names), **options)


def test_folds_hold_out_equal_shares_of_every_class_several_times_on_small_tables_if_thorough():
    folds = held_out(np.arange(60) % 3).folds(Recipe(random_state=0, effort="thorough"))
    assert len(folds) == LABELS["thorough"].n_repeats * 5
    for part, held in folds:
        assert np.bincount(held.labels).tolist() == [4, 4, 4]
        assert not {x.tobytes() for x in part.items} & {x.tobytes() for x in held.items}
        assert part.weight.sum() == pytest.approx(1.0)
    assert len(held_out(np.arange(60) % 3, 31).folds(Recipe(effort="thorough"))) == 5
    assert len(held_out(np.arange(60) % 3).folds(Recipe())) == 5
    assert len(held_out(np.arange(60) % 3, n_folds=3).folds(Recipe())) == 3


def test_copies_of_an_item_are_on_one_side():
    once = held_out(np.arange(60) % 3).dataset
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(60), 2))
    twice = HeldOutLabels(once.take(rows), LargeMargin(), Schema.numeric(["x0", "x1"]))
    for part, held in twice.folds(Recipe(random_state=0)):
        assert np.bincount(held.labels).tolist() == [8, 8, 8]
        assert not {x.tobytes() for x in part.items} & {x.tobytes() for x in held.items}
    alike = HeldOutLabels(once.take(np.repeat([0, 1, 2], 4)), LargeMargin(), Schema.numeric(["x0", "x1"]))
    assert_refused(lambda: alike.folds(Recipe()), "identical ones", "nothing can be held out", "give more")


def test_large_tables_are_sampled_and_single_members_cannot_be_held_out(monkeypatch):
    limited(monkeypatch, n_rows=40)
    for part, held in held_out(np.arange(60) % 3).folds(Recipe()):
        assert len(part.labels) + len(held.labels) == 40
    alone = held_out(np.arange(5))
    assert_refused(lambda: alone.folds(Recipe()), "every class has one member", "nothing can be held out", "give more")


def test_candidates_make_few_passes():
    def passes(effort="default", **options):
        data = held_out(np.arange(12) % 2, **options)
        recipe = Recipe(n_knots=3, tables="warped", effort=effort, random_state=0)
        return data._rule(recipe).n_passes

    assert (passes("fast"), passes(), passes("thorough")) == (1, 2, 3)
    assert passes(n_passes=1) == 1
    assert passes(n_passes=9) == LargeMargin().n_passes


def test_few_items_are_fitted_with_fixed_settings_and_a_warning():
    items = np.random.default_rng(0).random((30, 3))
    with pytest.warns(SemimetricWarning, match="no class keeps two members .* of 30 items .* n_knots=6, .* are taken"):
        model = LargeMarginLearner().fit(items, np.arange(30) // 2)
    assert (model.recipe_.n_knots, model.recipe_.alpha, model.recipe_.directions, model.choices_) == (6, 1e-2, None, ())
