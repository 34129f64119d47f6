"""Comparisons: their near and far pairs, their rows, and how wrong a distance is about them."""

from dataclasses import replace

import numpy as np
import pytest
from judged_tuples import ITEMS, RECIPE, every_kind, evidence, l1

from semimetric import SemimetricWarning
from semimetric.distances.learning.comparisons import ComparisonData
from semimetric.distances.learning.options import Recipe
from semimetric.distances.learning.structure import build_structure
from semimetric.distances.programs.design_matrix import PairDesign

NAMES = ("u", "v", "w")


@every_kind
def test_near_pairs_are_nearer_and_parts_keep_their_own(kind):
    whole = evidence(kind)
    (near, s), (far, t) = whole.near, whole.far
    assert l1(near.left, near.right).mean() < l1(far.left, far.right).mean()
    assert len(whole.pairs) == len(near) + len(far)
    part = whole.take(np.arange(50))
    assert part.weight.sum() == pytest.approx(1.0)
    assert part.tuples.index.tolist() == whole.tuples.index[:50].tolist()
    assert s.sum() <= 1 + 1e-12 >= t.sum()


@every_kind
def test_residuals_are_what_the_margin_lacks(kind, rng):
    whole, structure = evidence(kind), build_structure(RECIPE, ITEMS, ("u", "v", "w"))
    w = rng.random(structure.embedding.n_columns)
    design, b = whole.design(structure, structure.embedding, None), 0.7

    def d(pairs):
        located = structure.embedding.locate(ITEMS)
        return structure.embedding.paired(located, pairs.left, located, pairs.right, w)

    if kind == "pairs":
        want = whole.y * (d(whole.tuples) - b)
        np.testing.assert_allclose(design.matvec(np.append(w, b)), want)
    else:
        np.testing.assert_allclose(design.matvec(w), d(whole.near[0]) - d(whole.far[0]), atol=1e-12)


@every_kind
def test_sums_over_pairs_are_those_of_their_rows(kind, rng):
    whole, structure = replace(evidence(kind), weight=rng.random(300)), build_structure(Recipe(n_knots=4), ITEMS, NAMES)
    data, rows = ComparisonData.of(whole), PairDesign(structure.embedding, whole.pairs).csr().toarray()
    np.testing.assert_allclose(data.norms(structure, None), rows.sum(axis=0), atol=1e-9)
    touched = [v.canonical(k) for v, k in zip(structure.embedding.vertices, data.vertices(structure), strict=True)]
    columns = [np.intersect1d(keys, v.keys) for keys, v in zip(touched, structure.embedding.vertices, strict=True)]
    assert sum(map(len, columns)) == rows.any(axis=0).sum()
    weight = np.concatenate([whole.near[1], whole.far[1]])
    gaps = ITEMS[whole.pairs.left] - ITEMS[whole.pairs.right]
    np.testing.assert_allclose(data.spread(structure, None), np.sqrt(weight @ gaps**2 / weight.sum()))


@every_kind
def test_errors_count_what_comes_out_wrong(kind, rng):
    whole, structure = evidence(kind), build_structure(RECIPE, ITEMS, NAMES)
    weight = rng.random(300)
    part = replace(whole, weight=weight / weight.sum())
    weights = rng.random(structure.embedding.n_columns)
    (near, s), (far, t) = part.near, part.far
    located = structure.embedding.locate(ITEMS)
    close, wide = (structure.embedding.paired(located, p.left, located, p.right, weights) for p in (near, far))
    if kind == "pairs":  # every similar pair against every dissimilar one
        wrong = (close[:, None] > wide) + 0.5 * (close[:, None] == wide)
        want = (s[:, None] * t * wrong).sum() / (s[:, None] * t).sum()
    else:
        want = part.weight @ (close >= wide)
    assert part.error(structure, weights) == pytest.approx(want)
    assert 0 < want < 1


@every_kind
def test_the_same_comparisons_over_other_features(kind):
    whole, other = evidence(kind), ITEMS[:, :2] ** 2
    moved = whole.over(other)
    assert type(moved) is type(whole)
    assert type(moved.tuples) is type(whole.tuples)
    assert moved.tuples.items is other
    assert (moved.tuples.index == whole.tuples.index).all()
    assert (moved.weight == whole.weight).all()
    assert (moved.pairs.index == whole.pairs.index).all()
    assert (whole.targets == -1).all()


def test_pairs_of_one_judgement_decide_nothing():
    whole = evidence("pairs")
    assert whole.decides
    assert not whole.take(np.flatnonzero(whole.y > 0)).decides
    assert evidence("triplets").take(np.arange(1)).decides


@every_kind
def test_items_outside_the_knots_are_counted_and_told(kind):
    recipe = Recipe(knots=[[0.0, 1.0], [0.5, 1.0], [0.0, 1.0]])
    whole, structure = evidence(kind), build_structure(recipe, ITEMS, NAMES)
    members = ITEMS[whole.tuples.index.ravel()]
    with pytest.warns(SemimetricWarning, match=rf"of {len(members)} items, .*, some lie beyond the knots \(v: "):
        counts = ComparisonData.of(whole).out_of_range(recipe, structure)
    assert counts.tolist() == [0, (members[:, 1] < 0.5).sum(), 0]
