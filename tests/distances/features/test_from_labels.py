"""Directions from labels see combinations of features, and leave alone what is no number."""

import numpy as np
import pytest

from semimetric import InputError
from semimetric.distances.features import from_labels
from semimetric.distances.features.from_labels import LABELLED, labelled_directions

RNG = np.random.default_rng(0)
LABELS = np.repeat([0, 1], 60)
ITEMS = RNG.normal(size=(120, 3))
ITEMS[:, 1] = ITEMS[:, 0] + 0.3 * RNG.normal(size=120) + np.where(LABELS, 1.0, -1.0)  # only the difference tells
EVERY = np.ones(3, bool)
LINEAR = [kind for kind in LABELLED if kind != "forest"]


def separation(values):
    a, b = values[LABELS == 0], values[LABELS == 1]
    return abs(a.mean() - b.mean()) / np.sqrt((a.var() + b.var()) / 2)


@pytest.mark.parametrize("kind", LINEAR)
def test_a_direction_separates_better_than_any_feature(kind):
    found = labelled_directions(kind, ITEMS, LABELS, usable=EVERY, random_state=0)
    mapped = found.append(ITEMS)[:, 3:]
    best = max(separation(column) for column in mapped.T)
    assert best > 2 * max(separation(column) for column in ITEMS.T)


@pytest.mark.parametrize("kind", LABELLED)
def test_units_do_not_matter(kind):
    scale, shift = np.array([1e3, 1e-3, 7.0]), np.array([5.0, -2.0, 100.0])
    plain, other = (labelled_directions(kind, X, LABELS, usable=EVERY, random_state=0) for X in (ITEMS, ITEMS * scale + shift))
    a, b = plain.append(ITEMS)[:, 3:], other.append(ITEMS * scale + shift)[:, 3:]
    for left, right in zip(a.T, b.T, strict=True):
        assert abs(np.corrcoef(left, right)[0, 1]) > 0.999


@pytest.mark.parametrize("kind", LINEAR)
def test_features_that_are_no_numbers_are_left_out(kind):
    codes = np.column_stack([ITEMS, LABELS])  # a category that would tell all
    codes[3, 0] = np.nan
    found = labelled_directions(kind, codes, LABELS, usable=np.array([True, True, True, False]), random_state=0)
    assert not found.uses[:, 3].any()
    moved = codes.copy()
    moved[:, 3] = 5.0
    np.testing.assert_array_equal(found.append(codes)[:, 4:], found.append(moved)[:, 4:])


def test_what_cannot_be_is_none_or_refused():
    assert labelled_directions("lda", ITEMS[:, :1], LABELS, usable=np.ones(1, bool)) is None
    with pytest.raises(InputError, match="lda"):
        labelled_directions("best", ITEMS, LABELS, usable=EVERY)


def test_large_tables_are_seen_in_several_samples(monkeypatch):
    monkeypatch.setattr(from_labels, "_MOST_ROWS", 40)
    one, two = (labelled_directions("nca", ITEMS, LABELS, usable=EVERY, random_state=0, n_jobs=jobs) for jobs in (1, 2))
    assert len(one.names) == 9
    np.testing.assert_allclose(two.matrix, one.matrix)


@pytest.mark.parametrize("kind", ["lda", "nca"])
def test_classes_that_are_points_need_no_directions(kind):
    points = np.repeat([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]], 4, axis=0)
    assert labelled_directions(kind, points, np.repeat([0, 1, 2], 4), usable=np.ones(2, bool)) is None


def test_combined_directions_are_components_of_samples_and_discriminants():
    found = labelled_directions("combined", ITEMS, LABELS, usable=EVERY, random_state=0)
    bent = labelled_directions("discriminant", ITEMS, LABELS, usable=EVERY, random_state=0)
    assert sum(name.startswith("nca") for name in found.names) == 4 * 3
    np.testing.assert_array_equal(found.append(ITEMS)[:, 3 + 12 :], bent.append(ITEMS)[:, 3:])
    linear = found.append(ITEMS)[:, 3 : 3 + 12]  # within the knots a component is a linear map
    design = np.column_stack([ITEMS, np.ones(len(ITEMS))])
    np.testing.assert_allclose(design @ np.linalg.lstsq(design, linear, rcond=None)[0], linear, atol=1e-8)


def test_wide_tables_have_fewer_maps():
    wide = np.hstack([ITEMS, RNG.normal(size=(120, 97))])
    found = labelled_directions("combined", wide, LABELS, usable=np.ones(100, bool), random_state=0)
    assert sum(name.startswith("nca") for name in found.names) == 3 * 32


def test_every_sample_has_every_class():
    rare = np.append(LABELS, 2)
    rows = from_labels._sample(rare, np.random.default_rng(0))
    assert set(rare[rows]) == {0, 1, 2}
    assert len(rows) == 42 + 42 + 1


def test_where_classes_are_points_discriminants_are_enough():
    points = np.repeat([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]], 4, axis=0)
    found = labelled_directions("combined", points, np.repeat([0, 1, 2], 4), usable=np.ones(2, bool))
    assert all(name.startswith("discriminant") for name in found.names)


@pytest.mark.parametrize("labels", [np.arange(40), np.zeros(40, int)], ids=["a class each", "one class"])
def test_where_no_pair_is_near_or_none_is_far_there_is_nothing_to_combine(labels):
    assert labelled_directions("combined", ITEMS[:40], labels, usable=EVERY, random_state=0) is None


def test_classes_that_do_not_spread_are_told_apart_by_discriminants_alone():
    """Every class is one point, so its items have no components; the discriminants of their pairs are left."""
    points = np.repeat([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]], 8, axis=0)
    found = labelled_directions("combined", points, np.repeat([0, 1, 2], 8), usable=np.ones(2, bool), random_state=0)
    assert found.names == ("discriminant0", "discriminant1")
