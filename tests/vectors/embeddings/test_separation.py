import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import conic_settings

from semimetric import ConicEmbedding, InputError
from semimetric.vectors.embeddings.separation import separates


def a_machine_separates(rows, positive):
    """Is there (w, b) with w phi + b >= 1 on one class and <= -1 on the other?"""
    signs = np.where(positive, 1.0, -1.0)
    A = -signs[:, None] * np.column_stack([rows, np.ones(len(rows))])
    found = linprog(np.zeros(A.shape[1]), A, -np.ones(len(A)), bounds=(None, None))
    return found.status == 0


def threshold_separates(values, positive):
    """Slowly: does any cut of one number part the classes?"""
    sides = [values > cut for cut in values] + [values >= cut for cut in values]
    return any((side == positive).all() or (side == ~positive).all() for side in sides)


@st.composite
def labelled(draw, max_anchors):
    """Items, a set of anchors, a power, and two classes: by the distance or by one feature, or by chance."""
    items, (anchors, *_), p = draw(conic_settings(n=7, max_sets=1))
    anchors = anchors[:max_anchors]
    near = [min(anchors, key=lambda a: reference.cone(x, a, p)) for x in items]
    kind = draw(st.sampled_from(["distance", "feature", "chance"]))
    if kind == "chance":
        positive = np.array(draw(st.lists(st.booleans(), min_size=7, max_size=7)))
    else:
        keep = slice(None) if kind == "distance" else slice(draw(st.integers(0, items.shape[1] - 1)), None)
        part = slice(keep.start, None if keep.start is None else keep.start + 1)
        values = np.array([reference.cone(x[part], a[part], p) for x, a in zip(items, near, strict=True)])
        positive = values > np.median(values)
    positive[:2] = positive[:2] if 0 < positive.sum() < 7 else [True, False]
    return items, anchors, p, positive


@given(labelled(max_anchors=1))
def test_proposition_1(setting):
    """Where the check says yes a linear machine separates; where it says no the new feature alone does not."""
    items, anchors, p, positive = setting
    found = separates(items, positive, anchors[0], p=p)
    one, each = (ConicEmbedding(p, expand, anchors=anchors[0]).fit_transform(items) for expand in ("one", "each"))
    d = items.shape[1]
    assert found.distance == threshold_separates(one[:, d], positive)
    assert found.features == tuple(f for f in range(d) if threshold_separates(each[:, d + f], positive))
    if found.distance:
        assert a_machine_separates(one, positive)
    if found.features:
        assert a_machine_separates(each, positive)
    assert bool(found) == (found.distance or bool(found.features))


@given(labelled(max_anchors=4))
def test_corollary_1(setting):
    items, anchors, p, positive = setting
    found = separates(items, positive, anchors, p=p)
    column = ConicEmbedding(p, anchors=[anchors]).fit_transform(items)
    assert found.distance == threshold_separates(column[:, -1], positive)
    if found.distance:
        assert a_machine_separates(column, positive)


@given(conic_settings(n=6))
def test_all_samples_of_a_class_as_anchors_separate_it(setting):
    """§S.2: "This selection immediately satisfies the conditions stated in Corollary 1"."""
    items, _, p = setting
    items = np.unique(items, axis=0)
    if len(items) < 2:
        items = np.vstack([items, items + 1.0])
    positive = np.arange(len(items)) % 2 == 0
    found = separates(items, positive, items[positive], p=p)
    assert found.distance
    least = min(reference.cone(x, a, p) for x in items[~positive] for a in items[positive])
    assert found.gap == pytest.approx(least)


def test_what_no_line_parts_an_anchor_can():
    items, labels = np.array([[0.0, 1], [0, -1], [1, 0], [-1, 0], [3, 1], [-3, 1], [0, 4], [1, -3]]), list("iiiioooo")
    found = separates(items, labels, [0.0, 0.0], p=2)
    assert not a_machine_separates(items, np.array(labels) == "o")
    assert (found.distance, found.gap, found.features) == (True, 9.0, ())
    assert found.feature_gaps.tolist() == [-1.0, 0.0]  # an equal distance does not separate
    assert separates(items, labels, [0.0, 0.0], p=np.inf).gap == 2.0
    assert not separates(items, labels, [3.0, 1.0])
    with pytest.raises(ValueError, match="read-only"):
        found.feature_gaps[0] = 1.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": [0, 0, 0]}, "y has 1 classes; two are required: give y == c"),
        ({"y": [0, 1, 2]}, "y has 3 classes"),
        ({"y": [0, 1]}, "inconsistent"),
        ({"anchor": [0.0]}, r"anchors have shape \(1,\); \(n_anchors, 2\) is required"),
        ({"anchor": [np.zeros((1, 2)), np.zeros((2, 2))]}, "anchor holds 2 sets; one anchor or one set is required"),
        ({"p": 0.0}, "p=0.0: a number > 0"),
        ({"X": [[np.nan, 0.0]] * 3}, "NaN"),
    ],
)
def test_bad_input(changed, message):
    given = {"X": [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], "y": [0, 1, 1], "anchor": [0.0, 0.0], "p": 1.0} | changed
    with pytest.raises((InputError, ValueError), match=message):
        separates(given["X"], given["y"], given["anchor"], p=given["p"])
