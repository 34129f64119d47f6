"""A widget of a report has the page, gives the rows that are edited there, and is not harmed by what a page sends."""

import re
import sys
from functools import cache
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from reports_cases import DISTANCES, MACHINES, NO_ITEMS, of_every_kind, vectors
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

import semimetric as sm
from semimetric import MissingExtraError, NotSupportedError

needs_anywidget = pytest.mark.skipif(find_spec("anywidget") is None, reason="anywidget, of the extra widget, is not installed")


@cache
def report_of_items():
    model, table, y = of_every_kind()
    return sm.report(model, table, y, title="Customers"), model, table


@cache
def report_of_an_item():
    model, X, y = MACHINES["PL1 with gaps"]()
    return sm.report(model, X, y), model, X


def sent(widget, message):
    """Send a message as a notebook passes it on."""
    widget.set_state({"_items": message})


def edited(widget, side, column, value):
    """Send the items of a widget with another value, as the page does after an edit."""
    message = [list(row) for row in widget._items]
    message[side][column] = value
    sent(widget, message)


@needs_anywidget
def test_it_begins_with_the_items_that_the_page_shows():
    report, _, table = report_of_items()
    widget = report.widget()
    pd.testing.assert_frame_equal(widget.rows, table[:2])
    pd.testing.assert_frame_equal(widget.row, table[:1])
    report, _, X = report_of_an_item()
    np.testing.assert_array_equal(report.widget().rows, X[:1])


@needs_anywidget
def test_without_items_it_begins_with_the_middle_of_every_column():
    widget = sm.report(sm.Semimetric.l1(np.array([[0.0, 10.0], [2.0, 30.0]]))).widget()
    np.testing.assert_array_equal(widget.rows, [[1.0, 20.0], [1.0, 20.0]])


@needs_anywidget
def test_the_row_that_is_edited_comes_back_and_is_predicted():
    report, model, table = report_of_items()
    widget, told = report.widget(), []
    widget.observe(lambda change: told.append((change["new"], widget.rows)), "row")
    edited(widget, 1, table.columns.get_loc("age"), 33)
    expected = table[1:2].assign(age=33).reset_index(drop=True)
    pd.testing.assert_frame_equal(widget.row, expected)
    pd.testing.assert_frame_equal(widget.rows, pd.concat([table[:1], expected], ignore_index=True))
    assert model.predict(widget.row) == model.predict(expected)
    edited(widget, 0, table.columns.get_loc("pay"), None)
    assert np.isnan(widget.row.loc[0, "pay"])
    assert [row.loc[0, "age"] for row, _ in told] == [33, table.loc[0, "age"]]
    assert told[0][1].loc[1, "age"] == 33  # who is told of a row finds it among the rows
    sent(widget, widget._items)
    assert len(told) == 2


@needs_anywidget
def test_a_row_of_python_is_shown():
    report, _, table = report_of_items()
    widget, told = report.widget(), []
    widget.observe(lambda change: told.append(change["name"]), ["row", "rows"])
    widget.row = table.iloc[[7]]
    pd.testing.assert_frame_equal(widget.rows, table.iloc[[7, 1]].reset_index(drop=True))
    assert widget._items == report.rows.to_message(report.rows.schema.encode(table.iloc[[7, 1]]))
    widget.rows = table.iloc[[9, 11]]
    pd.testing.assert_frame_equal(widget.row, table.iloc[[9]].reset_index(drop=True))
    assert widget._items == report.rows.to_message(report.rows.schema.encode(table.iloc[[9, 11]]))
    assert told == ["rows", "row", "row", "rows"]  # once for each assignment, and the table that follows first


@needs_anywidget
def test_a_row_that_is_none_is_refused_and_changes_nothing():
    report, _, table = report_of_items()
    widget = report.widget()
    items, row, rows = widget._items, widget.row, widget.rows
    for name, value in (("row", table[:2]), ("rows", table[:1]), ("row", table[:1].drop(columns="age")), ("row", None)):
        with pytest.raises(sm.InputError):
            setattr(widget, name, value)
    assert widget._items == items
    assert widget.row is row
    assert widget.rows is rows


@needs_anywidget
@pytest.mark.parametrize("message", NO_ITEMS, ids=str)
def test_what_is_no_item_is_ignored_with_a_reason(message):
    widget, told = report_of_items()[0].widget(), []
    before = (widget._items, widget.row, widget.rows)
    widget.observe(lambda change: told.append(change["name"]), ["row", "rows"])
    sent(widget, message)
    assert re.fullmatch("the page sent .*; it was ignored", widget.ignored)
    assert "<script>" not in widget.ignored
    assert (widget._items, told) == (before[0], [])
    assert widget.row is before[1]
    assert widget.rows is before[2]
    edited(widget, 0, 0, 44)
    assert (widget.ignored, widget.row.loc[0, "age"]) == ("", 44)


@needs_anywidget
def test_widgets_of_one_report_do_not_mix():
    report = report_of_an_item()[0]
    one, other = report.widget(), report.widget()
    edited(one, 0, 0, 0.125)
    assert one.row[0, 0] == 0.125
    assert other.row[0, 0] == report_of_an_item()[2][0, 0]


@needs_anywidget
def test_a_closed_widget_keeps_its_row():
    widget = report_of_an_item()[0].widget()
    widget.close()
    widget.row = report_of_an_item()[2][5]
    np.testing.assert_array_equal(widget.row, report_of_an_item()[2][[5]])


@needs_anywidget
def test_the_page_is_the_same_but_for_one_script():
    report = report_of_items()[0]
    page, live = report.to_html(), report.widget()._html
    assert "goLive" not in page
    script = re.search("\n// The page in a widget.*?goLive\\(opened\\);\n", live, re.DOTALL).group()
    digest = "script-src '[^']+'|sends [\\w ]+\\."  # of scripts, and what the last line says
    policy = re.search('Content-Security-Policy" content="[^"]+', page).group()
    without = live.replace(script, "\n")
    assert re.sub(digest, "", without).split() == re.sub(digest, "", page).split()
    assert re.sub(digest, "", policy) in re.sub(digest, "", live)
    assert "sends nothing" in page
    assert "sends nothing" not in live


@needs_anywidget
def test_the_script_of_the_notebook_asks_for_nothing():
    script = report_of_items()[0].widget()._esm
    assert re.search(r"^export default \{ render \};$", script, re.MULTILINE)
    assert not re.search(r"\bimport\b|fetch|XMLHttp|https?:|eval\(|Function\(|Blob|innerHTML|allow-same-origin", script)


@needs_anywidget
def test_a_notebook_shows_it():
    widget = report_of_items()[0].widget(height=500)
    assert "Customers" in repr(widget)
    assert widget._height == 500
    bundle = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in (bundle[0] if isinstance(bundle, tuple) else bundle)


@needs_anywidget
def test_a_model_that_takes_no_rows_of_the_page_has_no_widget():
    _, X, y = MACHINES["PL1"]()
    after = make_pipeline(PCA(2), sm.EmbeddedLinearClassifier(sm.PL1Embedding(4))).fit(X, y)
    assert_refused(sm.report(after, X, y).widget, "PCA makes", "no widget", "write_html", error=NotSupportedError)
    of_words = sm.DistanceApproximator(
        lambda a, b: float(abs(len(a) - len(b))),
        sm.DistanceRegressor(n_knots=3, alpha=1e-3),
        features=sm.LandmarkFeatures(n_landmarks=2),
        random_state=0,
    ).fit([letter * n for letter in "abcd" for n in range(1, 9)])
    assert_refused(sm.report(of_words).widget, "made of the objects", "no widget", error=NotSupportedError)


def test_without_the_tab_of_items_there_is_no_widget():
    d = DISTANCES["tables"]()
    shown = d.schema.display(vectors(20, 0))
    assert_refused(sm.report(d, shown, include=["neighbors"]).widget, "no tab 'items'", "include=")
    assert_refused(lambda: sm.report(d, shown).widget(height=0), "height=0", "integer >= 1")


def test_without_anywidget_the_error_names_the_extra(monkeypatch):
    from semimetric.reports.widget import _widget_class

    monkeypatch.setitem(sys.modules, "anywidget", None)
    _widget_class.cache_clear()
    with pytest.raises(MissingExtraError, match=r"anywidget.*\[widget\]"):
        sm.report(DISTANCES["tables"]()).widget()
