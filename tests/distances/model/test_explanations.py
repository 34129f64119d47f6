"""What an explanation tells, printed and as a frame."""

import numpy as np
import pandas as pd
import pytest
from mixed_distances import distance, items
from numpy.testing import assert_allclose

from semimetric.distances.model.explanations import Explanation

PARTS = np.array([[0.6, 0.0, 0.2, 0.1, 0.05, 0.05], [0.0] * 6])
VALUES = np.array([["red", 2.0, 3.0, np.nan, 5.0, 6.0], ["blue", 1.0, 1.0, 1.0, 1.0, 1.0]], dtype=object)
NAMES = tuple("abcdef")


@pytest.fixture
def explanation():
    item = np.array(["<b>", 2.0, 1.23456, 4.0, 0.0, 0.0], dtype=object)
    told = {
        "by": "features",
        "features": NAMES,
        "item": item,
        "values": VALUES,
        "label": "C1",
        "labels": np.array(["C7", "C3"]),
    }
    return Explanation(np.array([7, 3]), ["yes", "no"], PARTS.sum(axis=1), NAMES, PARTS, **told)


def test_it_prints_both_values_and_the_share_of_what_is_shown(explanation):
    lines = [line.split() for line in repr(explanation).splitlines()]
    assert lines[0] == "What separates C1 from its neighbours, by features".split()
    assert lines[1] == ["C1", "neighbour", "adds", "share"]
    assert lines[2] == "C7 (yes) at 1".split()
    assert lines[3:5] == [["a", "<b>", "red", "0.6", "60", "%"], ["c", "1.235", "3", "0.2", "20", "%"]]
    assert lines[5] == ["d", "4", "(missing)", "0.1", "10", "%"]
    assert lines[7] == "4 of 6 features 0.95 95 %".split()
    assert lines[8:] == ["C3 (no) at 0".split(), "equal in every feature".split()]


def test_in_a_notebook_it_is_a_table_whose_text_is_escaped(explanation):
    html = explanation._repr_html_()
    assert "<td>&lt;b&gt;</td><td>red</td>" in html
    assert "<b>" not in html


def test_a_frame_has_every_part(explanation):
    frame = explanation.to_frame()
    assert list(frame.columns) == [
        "neighbor",
        "target",
        "distance",
        "feature",
        "value",
        "neighbor_value",
        "contribution",
        "share",
    ]
    assert len(frame) == 12
    assert frame.iloc[0].tolist() == ["C7", "yes", 1.0, "a", "<b>", "red", 0.6, 0.6]
    assert_allclose(frame.groupby("neighbor", sort=False)["contribution"].sum(), explanation.distances)
    assert (frame["share"].iloc[6:] == 0).all()


@pytest.mark.parametrize(
    ("told", "names"),
    [
        ({"targets": np.array([0, 1]), "labels": np.array([17, 4])}, ["row 17 (class 0)", "row 4 (class 1)"]),
        ({"targets": np.array([True, False])}, ["item 7 (class True)", "item 3 (class False)"]),
        (
            {"targets": np.array([0.25, 3]), "labels": np.array([17, 4]), "target_name": "value"},
            ["row 17 (value 0.25)", "row 4 (value 3)"],
        ),
        ({"targets": np.array(["yes", "no"]), "labels": np.array(["C7", "C3"])}, ["C7 (yes)", "C3 (no)"]),
        ({"labels": np.array([17, 4])}, ["row 17", "row 4"]),
    ],
)
def test_numbers_say_whether_they_are_rows_classes_or_values(told, names):
    given = {"targets": None} | told
    found = Explanation(np.array([7, 3]), given.pop("targets"), PARTS.sum(axis=1), NAMES, PARTS, **given)
    assert found.names == names
    assert f"{names[0]} at 1" in repr(found)


def test_many_neighbours_are_counted_and_not_all_printed():
    k = 25
    many = Explanation(np.arange(k), None, np.ones(k), ("a",), np.ones((k, 1)))
    assert repr(many).count(" at ") == 10
    assert repr(many).endswith("15 more neighbours: see to_frame()")
    assert "target" not in many.to_frame()
    assert "15 more" in many._repr_html_()


@pytest.mark.parametrize("by", ["features", "terms"])
@pytest.mark.parametrize("link", ["identity", "sqrt", 0.7])
def test_a_distance_explains_itself_to_rows_of_a_frame(by, link, rng):
    d = distance(2, "pairs", gaps=True, link=link)
    frame = pd.DataFrame(d.schema.display(items(rng, 6, gaps=True)), columns=list("abcd"), index=[f"r{k}" for k in range(6)])
    found = d.explain(frame.iloc[0], frame.iloc[1:], by=by)
    assert found.label == "r0"
    assert found.labels.tolist() == ["r1", "r2", "r3", "r4", "r5"]
    assert found.terms == d.contribution_names(by)
    assert_allclose(found.distances, d.paired(frame.iloc[[0] * 5], frame.iloc[1:]))
    assert_allclose(found.contributions, d.contributions(frame.iloc[[0] * 5], frame.iloc[1:], by=by))
    assert found.sum_name == ("distance" if link == "identity" else "distance before the link")
    assert ("before the link" in repr(found)) == (link != "identity")
    assert set(found.to_frame()["neighbor"]) == set(found.labels)


def test_a_category_that_was_not_in_the_fit_is_told_as_other(rng):
    d = distance(2)
    X = items(rng, 3)
    X[0, 3] = 3.0
    found = d.explain([*X[0, :3], "never seen"], d.schema.display(X[1:]))
    assert found.item[3] == "(other)"
    assert_allclose(found.contributions.sum(axis=1), found.distances)
