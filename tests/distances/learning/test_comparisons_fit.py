"""The glue of learning from comparisons: evidence, prior, and what does not matter."""

import cases
import numpy as np
import pytest
from cases import assert_refused
from judged_tuples import ITEMS, RECIPE, every_kind, evidence

from semimetric._foundation.types import TripletTuples
from semimetric.distances import Status
from semimetric.distances.learning.comparison_fit import fit_comparison_prior, fit_comparisons, with_discriminants
from semimetric.distances.learning.comparisons import ComparisonData, OrderedTuples
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.structure import build_structure


@every_kind
def test_the_prior_finds_the_weighted_l1_distance(kind):
    found = fit_comparison_prior(RECIPE, build_structure(RECIPE, ITEMS, ("u", "v", "w")), ComparisonData.of(evidence(kind)))
    slopes = found.l1.slopes
    assert (slopes > 0).all()
    assert 2 < slopes[1] / slopes[0] < 8
    assert slopes[2] < 0.3 * slopes[0]
    assert len(found.extra) == (kind == "pairs")


@every_kind
@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_units_of_features_do_not_matter(kind, unit):
    scale = np.array([unit, 1.0, 1 / unit])
    data = [ComparisonData.of(evidence(kind, X)) for X in (ITEMS, ITEMS * scale)]
    one, other = (fit_comparisons(RECIPE, side, ("u", "v", "w"))[0].semimetric for side in data)
    np.testing.assert_allclose(other.pairwise(ITEMS * scale), one.pairwise(ITEMS), rtol=1e-4, atol=1e-6)


@every_kind
@pytest.mark.parametrize("changes", [{"tables": "full"}, {"loss": "hinge"}, {"loss": "hinge", "penalty": None},
                                     {"directions": "discriminant"}, {"tables": "full", "groups": "pairs"}])  # fmt: skip
def test_every_setting_learns_the_order(kind, changes):
    from dataclasses import replace

    names, said = ("u", "v", "w"), evidence(kind)
    recipe = with_discriminants(replace(RECIPE, **changes), said, names)
    (d, solution, _), _ = fit_comparisons(recipe, ComparisonData.of(said), names)
    assert solution.status is Status.SOLVED
    (near, _), (far, _) = evidence(kind).near, evidence(kind).far
    close, wide = (d.paired_by_index(ITEMS, p.index) for p in (near, far))
    n = min(len(close), len(wide))
    right = close[:n] < wide[:n] if kind != "pairs" else close[:, None] < wide[None]
    assert right.mean() > 0.95
    assert d.axioms.name in ("metric", "semimetric")


def test_tuples_of_equal_points_hold_nothing():
    same = np.repeat(np.arange(60)[:, None], 3, axis=1)
    nothing = OrderedTuples(TripletTuples(ITEMS, same), np.full(60, 1 / 60))
    structure = build_structure(RECIPE, ITEMS, ("u", "v", "w"))
    assert_refused(
        lambda: fit_comparison_prior(RECIPE, structure, ComparisonData.of(nothing)),
        "60 tuples",
        "compares equal points",
        "give tuples that differ",
    )


@pytest.mark.slow
def test_tables_too_large_to_be_held_have_columns_at_touched_vertices_only():
    recipe = Recipe(**cases.RECIPES["touched"], loss="squared_hinge")
    (d, _, _), _ = fit_comparisons(recipe, ComparisonData.of(evidence("triplets")), ("u", "v", "w"))
    near, far = (d.paired_by_index(ITEMS, p.index) for p in (evidence("triplets").near[0], evidence("triplets").far[0]))
    assert (near < far).mean() > 0.95
