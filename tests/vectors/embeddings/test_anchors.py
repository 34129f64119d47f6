import numpy as np
import pytest
import reference
from hypothesis import given
from strategies import conic_settings

from semimetric import InputError
from semimetric.vectors.embeddings.anchors import (
    AnchorSet,
    as_sets,
    check_band,
    check_power,
    class_anchors,
    cluster_centers,
    cone,
    powers,
)


@given(conic_settings(max_sets=1))
def test_the_nearest_anchor_is_the_twins(setting):
    items, (anchors,), p = setting
    chosen = AnchorSet(anchors, p)
    least = [min(reference.cone(x, a, p) for a in anchors) for x in items]
    assert np.allclose(chosen.distances(items), least)
    assert np.allclose(cone(items, anchors[chosen.nearest(items)], p), least)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, np.inf])
@pytest.mark.parametrize("shape", [(600, 2), (40, 12), (700, 12), (3, 4)])  # tree, products, products in blocks, distances
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_every_search_finds_the_least_distance(rng, p, shape, far):
    anchors, items = far + rng.normal(size=shape), far + rng.normal(size=(900, shape[1]))
    items[:3] = anchors[:3]
    least = np.min([cone(items, a, p) for a in anchors], axis=0)
    for n_jobs in (1, 2):
        chosen = AnchorSet(anchors, p, n_jobs=n_jobs)
        assert np.allclose(chosen.distances(items), least, rtol=1e-9, atol=1e-9)
        assert (chosen.distances(items[:3]) == 0).all()


def test_missing_values_add_nothing(rng):
    anchors, items = rng.normal(size=(7, 3)), rng.normal(size=(30, 3))
    items[rng.random(items.shape) < 0.4] = np.nan
    items[0] = np.nan
    for p in (1.0, 2.0, np.inf):
        found = AnchorSet(anchors, p).distances(items)
        assert np.allclose(found, [min(reference.cone(x, a, p) for a in anchors) for x in items])
        assert found[0] == 0.0


def test_the_band_is_of_percentiles_of_the_distance_to_other_classes(rng):
    items, labels = rng.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)
    sets = class_anchors(items, labels, band=(30.0, 50.0), p=1.0)
    for c, anchors in enumerate(sets):
        gaps = {tuple(x): min(reference.cone(x, z, 1) for z in items[labels != c]) for x in items[labels == c]}
        low, high = np.percentile([*gaps.values()], (30, 50))
        assert {tuple(a) for a in anchors} == {x for x, gap in gaps.items() if low <= gap <= high}
        assert 0 < len(anchors) < 20
    whole = class_anchors(items, labels, band=(0.0, 100.0), p=2.0)
    assert [len(anchors) for anchors in whole] == [20, 20, 20]


def test_centres_are_ordered_and_must_be_there(rng):
    items = np.repeat([[3.0, 1.0], [0.0, 0.0], [0.0, 5.0]], 4, axis=0)
    assert (cluster_centers(items, 3, 0) == [[0.0, 0.0], [0.0, 5.0], [3.0, 1.0]]).all()
    with pytest.raises(InputError, match="n_anchors=4, but there are only 3 different items to cluster; ask for fewer"):
        cluster_centers(items, 4, 0)


def test_what_anchors_can_be():
    assert [a.shape for a in as_sets([1.0, 2.0], 2)] == [(1, 2)]
    assert [a.shape for a in as_sets([[1.0, 2.0], [3.0, 4.0]], 2)] == [(2, 2)]
    assert [a.shape for a in as_sets([[[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0]], 2)] == [(2, 2), (1, 2)]


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        ([1.0, 2.0, 3.0], r"anchors have shape \(3,\); \(n_anchors, 2\) is required: one value a feature"),
        (np.zeros((0, 2)), "a set of anchors is empty; give each set an anchor, or leave the set out"),
        ([np.zeros((1, 2)), np.zeros((0, 2))], "a set of anchors is empty"),
        ([], r"anchors have shape \(0,\)"),
        ([np.nan, 0.0], "a value that is not finite; every coordinate"),
        ([["a", "b"]], "cannot be read as numbers .*; give an array"),
    ],
)
def test_bad_anchors(anchors, message):
    with pytest.raises(InputError, match=message):
        as_sets(anchors, 2)


@pytest.mark.parametrize("p", [0, -1.0, np.nan, "1", None, True])
def test_bad_powers(p):
    with pytest.raises(InputError, match=r"p=.*: a number > 0 or float\('inf'\) is required, such as 1 or 2"):
        check_power("p", p)


@pytest.mark.parametrize("band", [(50, 30), (-1, 5), (0, 101), 5, (1, 2, 3), ("a", "b"), (np.nan, 50), None])
def test_bad_bands(band):
    with pytest.raises(InputError, match="two percentiles .* are required"):
        check_band(band)


def test_a_power_that_overflows_is_refused():
    with pytest.raises(InputError, match=r"too large for its power p=300; scale the features, or use a smaller p"):
        powers(np.array([[1e5]]), np.zeros(1), 300.0)
