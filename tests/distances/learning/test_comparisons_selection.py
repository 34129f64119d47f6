"""What "auto" chooses for comparisons: folds that share no item, and discriminants unless raw features alone are better."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from cases import assert_refused, candidate
from comparisons import ITEMS, PAIRS, QUADRUPLETS, TRIPLETS, Y
from hypothesis import given
from hypothesis import strategies as st

from semimetric import PairLearner, SemimetricWarning
from semimetric._foundation.types import Pairs, Quadruplets, TripletTuples
from semimetric.data.schema import Schema
from semimetric.distances.learning import comparison_fit as selection
from semimetric.distances.learning.comparison_fit import (
    HeldOutComparisons,
    choose_settings,
    scales_unless_tables_are_better,
    simplest_with_discriminants,
)
from semimetric.distances.learning.comparisons import LabeledPairs, OrderedTuples
from semimetric.distances.learning.options import BESIDE, COMPARISONS, Recipe
from semimetric.distances.learning.search import Trial, one_standard_error
from semimetric.distances.programs.losses import SquaredHinge

WEIGHT = np.full(600, 1 / 600)
RECIPE = Recipe(n_knots=3, tables="warped", loss=SquaredHinge(), random_state=0)
NAMES = ("u", "v", "w")
DATA = {
    "pairs": LabeledPairs(Pairs(ITEMS, PAIRS), WEIGHT, Y),
    "triplets": OrderedTuples(TripletTuples(ITEMS, TRIPLETS), WEIGHT),
    "quadruplets": OrderedTuples(Quadruplets(ITEMS, QUADRUPLETS), WEIGHT),
}
every_kind = pytest.mark.parametrize("kind", DATA)


def chosen(recipe=RECIPE, data=DATA["triplets"], **auto):
    return choose_settings(recipe, data, NAMES, **{"directions": True, "knots": True, "alpha": True} | auto)


@every_kind
def test_folds_share_no_item_and_can_be_judged(kind):
    folds = HeldOutComparisons(DATA[kind], NAMES).folds(RECIPE)
    assert len(folds) == 4
    for part, held in folds:
        assert not np.intersect1d(part.tuples.index, held.tuples.index).size
        assert part.decides
        assert held.decides
        assert part.weight.sum() == pytest.approx(1.0)
        assert held.weight.sum() == pytest.approx(1.0)


def limited(monkeypatch, **limits):
    """The default effort, with other limits."""
    monkeypatch.setitem(COMPARISONS, "default", replace(COMPARISONS["default"], **limits))


@every_kind
def test_large_data_are_sampled(kind, monkeypatch):
    limited(monkeypatch, n_rows=20)
    for part, held in HeldOutComparisons(DATA[kind], NAMES).folds(RECIPE):
        assert len(part.weight) == 20 >= len(held.weight)
        assert len(np.unique(part.tuples.index, axis=0)) > 15  # drawn without replacement


def test_directions_of_a_part_are_fitted_once_for_all_numbers_of_knots(monkeypatch):
    calls = []

    def counted(recipe, data, names, real=selection.with_discriminants):
        calls.append(id(data))
        return real(recipe, data, names)

    monkeypatch.setattr(selection, "with_discriminants", counted)
    held_out = HeldOutComparisons(DATA["triplets"], NAMES)
    folds = held_out.folds(RECIPE)
    for n_knots in (2, 4):
        for part, held in folds:
            held_out.losses(Trial(replace(RECIPE, directions="discriminant", n_knots=n_knots), (0.1,)), part, held)
    assert len(calls) == len(set(calls)) == len(folds)


def test_losses_are_the_errors_of_the_fitted_models():
    held_out = HeldOutComparisons(DATA["triplets"], NAMES)
    part, held = held_out.folds(RECIPE)[0]
    losses = held_out.losses(Trial(RECIPE, (1e-3, 1e-1)), part, held)
    for alpha, loss in zip((1e-3, 1e-1), losses, strict=True):
        assert held_out.fitted(replace(RECIPE, alpha=alpha), part, held).loss == pytest.approx(loss, abs=0.03)
    assert np.isnan(held_out.fitted(RECIPE, part).loss)


def test_candidates_of_too_many_weights_are_left_out(monkeypatch):
    limited(monkeypatch, n_columns={"warped": 12})
    recipe, choices = chosen(directions=False, alpha=False)
    assert {c.settings["n_knots"] for c in choices} == {2, 4}
    limited(monkeypatch, n_columns={"warped": 1})
    assert_refused(chosen, "every candidate has more than 1 weights", "set n_knots=, alpha= and directions=")


def test_what_is_given_is_not_chosen():
    assert chosen(directions=False, knots=False, alpha=False) == (RECIPE, ())
    given_knots = replace(RECIPE, knots=[[0.0, 1.0]] * 3, penalty=None)
    assert chosen(given_knots) == (given_knots, ())
    recipe, choices = chosen(knots=False, directions=False)
    assert {(c.settings["n_knots"], c.settings["directions"]) for c in choices} == {(3, None)}
    assert recipe == replace(RECIPE, alpha=choices.chosen.settings["alpha"])


def test_one_feature_has_nothing_to_be_combined_with():
    data = OrderedTuples(TripletTuples(ITEMS[:, :1], TRIPLETS), WEIGHT)
    _, choices = choose_settings(RECIPE, data, ("u",), directions=True, knots=False, alpha=True)
    assert {c.settings["directions"] for c in choices} == {None}


def test_too_few_to_hold_both_judgements_out_are_refused():
    rows = np.flatnonzero(Y > 0)[:200].tolist() + np.flatnonzero(Y < 0)[:1].tolist()
    few = HeldOutComparisons(DATA["pairs"].take(np.array(rows)), NAMES)
    assert_refused(lambda: few.folds(RECIPE), "201 pairs are too few", "both classes", "give more pairs, or numbers")


LOSSES = st.tuples(*[st.integers(0, 4).map(float)] * 3)


@given(st.lists(LOSSES, max_size=3), st.lists(LOSSES, max_size=3))
def test_discriminants_are_taken_unless_raw_features_are_better(raw, bent):
    raw = [candidate(2 + k, 0.1, losses) for k, losses in enumerate(raw)]
    bent = [candidate(2 + k, 0.1, losses, directions="discriminant") for k, losses in enumerate(bent)]
    if not raw + bent:
        return
    found = simplest_with_discriminants(raw + bent)
    if raw and bent:
        best, other = (min(side, key=lambda c: c.loss) for side in (raw, bent))
        assert (found.settings["directions"] is None) == best.better_than(other)
    assert found is one_standard_error([c for c in raw + bent if c.settings["directions"] == found.settings["directions"]])


@given(st.lists(LOSSES, max_size=3), st.lists(LOSSES, max_size=3))
def test_scales_are_taken_unless_full_tables_are_better(scales, full):
    scales = [candidate(2 + k, 0.1, losses, tables="warped") for k, losses in enumerate(scales)]
    full = [candidate(6 + k, 0.1, losses, tables="full") for k, losses in enumerate(full)]
    if not scales + full:
        return
    found = scales_unless_tables_are_better(scales + full)
    if scales and full:
        best, other = (min(side, key=lambda c: c.loss) for side in (full, scales))
        assert (found.settings["tables"] == "full") == best.better_than(other)
    assert found is one_standard_error([c for c in scales + full if c.settings["tables"] == found.settings["tables"]])


@pytest.mark.slow
def test_full_tables_are_compared_of_raw_features_where_tables_are_open():
    recipe, choices = chosen(tables=True)
    limits = COMPARISONS["default"]
    full = {(c.settings["n_knots"], c.settings["alpha"]) for c in choices if c.settings["tables"] == "full"}
    assert full == {(n, alpha) for n in limits.n_knots[BESIDE] for alpha in limits.alphas[BESIDE]}
    assert {c.settings["directions"] for c in choices if c.settings["tables"] == "full"} == {None}
    assert [c for c in choices if c.settings["tables"] == "warped"] == list(chosen()[1])
    assert recipe.tables == choices.chosen.settings["tables"]
    given, compared = chosen(tables=True, directions=False, knots=False, alpha=False)
    assert [(c.settings["tables"], c.settings["n_knots"], c.settings["alpha"]) for c in compared] == [
        (kind, 3, RECIPE.alpha) for kind in ("warped", "full")
    ]
    assert given == replace(RECIPE, tables=compared.chosen.settings["tables"])


def test_categories_alone_have_tables_in_either_case():
    schema = Schema.fit([[k] for k in range(3)], categorical_features=[0])
    data = OrderedTuples(TripletTuples(np.arange(80.0)[:, None] % 3, TRIPLETS), WEIGHT)
    assert choose_settings(RECIPE, data, schema, directions=False, knots=False, alpha=False, tables=True)[1] == ()


@pytest.mark.parametrize("seed", range(3))
def test_few_judgements_are_compared_at_every_effort_or_at_none(seed):
    pairs = np.random.default_rng(seed).random((24, 2, 2))
    y = np.where(np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1) < 0.6, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)
        models = [PairLearner(effort=effort, directions=None, n_knots=2).fit(pairs, y) for effort in ("fast", "default")]
    assert len({len(model.choices_) > 0 for model in models}) == 1
