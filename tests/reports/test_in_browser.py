"""Reports in a browser: every tab is opened, values are changed, and the distances shown are those of Python.

``make test-browser`` runs this; it names the browser in SEMIMETRIC_BROWSER. A folder in SHOTS
keeps a picture of every tab that a test shows.
"""

import base64
from functools import cache

import mixed_distances
import numpy as np
import pandas as pd
import pytest
from learners import made
from report_pages import HOSTILE, Opened
from reports_cases import DISTANCES, vectors

import semimetric as sm
from semimetric.distances.search.votes import VoteRule


def told(d, seed=7, n=40):
    return d.schema.display(vectors(n, seed, gaps=any(d.schema.missing)))


def people():
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame({"age": rng.normal(40, 12, n).round(1), "pay": rng.lognormal(7, 0.5, n).round()})
    table["colour"] = pd.Categorical(rng.choice(["red", "blue", "green"], n))
    table["when"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    table["hour"] = rng.uniform(0, 24, n).round(2)
    table.loc[rng.random(n) < 0.1, "pay"] = np.nan
    return table, np.where((table["age"] > 40) ^ (table["colour"] == "red"), "some", "others")


@cache
def with_trees():
    table, y = people()
    options = {"periodic": {"hour": 24}, "missing": "level", "random_state": 0, "tables": "full", "directions": "forest"}
    model = made(sm.LargeMarginLearner, n_knots=5, alpha=1e-2, **options).fit(table, y)
    return sm.report(model, table, y), model.semimetric_


def with_bends():
    d = mixed_distances.distance(3, "of everything", bends=True, gaps=True, link="sqrt")
    return sm.report(d, d.schema.display(mixed_distances.items(np.random.default_rng(1), 50, True))), d


@cache
def warped():
    table, y = people()
    X = table[["age", "hour"]]
    model = sm.SemimetricClassifier(
        sm.LargeMarginLearner(n_knots=5, alpha=1e-2, directions="lda", tables="warped"), n_neighbors=3
    )
    model.fit(X, y)
    return sm.report(model), model.semimetric_


def of_kind(name):
    d = DISTANCES[name]()
    return sm.report(d, told(d)), d


def measured():
    X = np.random.default_rng(0).random((60, 3))
    index = np.random.default_rng(1).integers(0, 60, (300, 2))
    y = np.abs(X[index[:, 0]] - X[index[:, 1]]) @ [1.0, 3.0, 0.2]
    model = sm.DistanceRegressor(n_knots=3, alpha=1e-4, preprocessor=X).fit(index, y)
    return sm.report(model, X, X[:, 0], pairs=index, distances=y), model.semimetric_


def with_base_distances():
    X = np.random.default_rng(0).random((40, 2))
    index = np.random.default_rng(1).integers(0, 40, (300, 2))
    y = np.abs(X[index[:, 0]] - X[index[:, 1]]).max(axis=1)
    options = {"n_knots": 3, "alpha": 1e-3, "base_distances": [lambda a, b: float(np.abs(a - b).max())]}
    model = made(sm.DistanceRegressor, **options, preprocessor=X).fit(index, y)
    return sm.report(model, X), model.semimetric_


def hostile():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((28, 3)), columns=HOSTILE[:3])
    frame[HOSTILE[3]] = pd.Categorical(HOSTILE * 4)
    y = np.array(HOSTILE * 4)
    model = sm.LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="full").fit(frame, y)
    return sm.report(
        model, frame, y, names=[f"{name} {k}" for k, name in enumerate(HOSTILE * 4)], title=HOSTILE[1]
    ), model.semimetric_


REPORTS = {
    "trees": with_trees, "bends": with_bends, "warped": warped, "measured": measured, "hostile": hostile,
    "missing": lambda: of_kind("missing"), "asymmetric": lambda: of_kind("asymmetric"), "swapped": lambda: of_kind("swapped"),
    "touched": lambda: of_kind("too large to be whole"),
    "scales and tables": lambda: of_kind("scales and tables"),
    "base distances": with_base_distances,
    "without items": lambda: (sm.report(DISTANCES["tables"]()), DISTANCES["tables"]()),
}  # fmt: skip


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["base64"]), "<f8")


def items_of(report, d):
    """The two items that the page begins with, encoded."""
    page = report.page
    if page["items"] is None:
        return [unpack(page["middles"])[: d.n_features].copy() for _ in range(2)]
    return [row.copy() for row in unpack(page["items"]["values"]).reshape(-1, d.n_features)[:2]]


def distance_of(d, x, y):
    return d.paired_by_index(np.vstack([x, y]), np.array([[0, 1]]))[0]


@pytest.mark.parametrize("name", [name for name in REPORTS if name != "base distances"])
def test_tabs_open_and_changed_values_give_the_distances_of_python(name, browser, tmp_path):
    report, d = REPORTS[name]()
    opened = Opened(browser, report, tmp_path)
    assert not opened.page.is_visible("#warning")
    for tab in opened.tabs:
        opened.show(tab)
    for tab in [tab for tab in opened.tabs if tab in ("columns", "components")]:
        opened.show(tab)
        for button in range(min(opened.page.locator(f"#panel-{tab} .term").count(), 8)):
            opened.page.locator(f"#panel-{tab} .term").nth(button).click()
            assert opened.page.locator(f"#panel-{tab} .detail h3").inner_text()
    opened.show("items")
    x, y = items_of(report, d)
    assert opened.distance == pytest.approx(distance_of(d, x, y), rel=1e-9, abs=1e-9)
    before = opened.distance
    grid, differ = d.embedding.grid, False
    for f, feature in enumerate(d.schema.features):
        if feature.time:
            continue
        if feature.kind == "categorical":
            x[f] = (0 if np.isnan(x[f]) else x[f] + 1) % (len(feature.categories) + 1)
            opened.change(f, "first", str(int(x[f])), feature.kind)
        elif feature.kind == "periodic":
            x[f] = 0.37 * feature.period
            opened.change(f, "first", repr(float(x[f] + feature.period)), feature.kind)
            x[f] = np.mod(float(x[f] + feature.period), feature.period)
        else:
            x[f] = float(grid.high[f] + 0.25)  # outside of the range
            opened.change(f, "first", repr(float(x[f])), feature.kind)
        found = opened.distance
        assert found == pytest.approx(distance_of(d, x, y), rel=1e-9, abs=1e-9), feature.name
        differ |= found != before
        if feature.missing and feature.kind != "categorical":
            y[f] = np.nan
            opened.change(f, "second", "", feature.kind)
            assert opened.distance == pytest.approx(distance_of(d, x, y), rel=1e-9, abs=1e-9), feature.name
    assert differ
    assert opened.page.evaluate("window.hit") is None
    opened.close()


def test_what_is_no_value_is_marked_and_changes_nothing(browser, tmp_path):
    report, _ = REPORTS["scales and tables"]()
    opened = Opened(browser, report, tmp_path)
    opened.show("items")
    before = opened.distance
    opened.change(0, "first", "", "numeric")
    assert opened.page.get_attribute('[data-feature="0"][data-side="first"]', "aria-invalid") == "true"
    assert opened.distance == before
    opened.close()


def test_neighbours_are_those_of_python(browser, tmp_path):
    report, d = with_trees()
    opened = Opened(browser, report, tmp_path)
    opened.show("neighbors")
    opened.page.fill("#item-near", "row 5")
    opened.page.keyboard.press("Enter")
    found = [int(row.get_attribute("data-item")) for row in opened.page.locator("#panel-neighbors tr[data-item]").all()]
    table, _ = people()
    distances = d.pairwise(table.iloc[[5]], table)[0]
    distances[5] = np.inf
    np.testing.assert_allclose(distances[found], np.sort(distances)[:10], rtol=1e-12)
    opened.page.locator("#panel-neighbors tr[data-item] button").first.click()
    assert opened.page.is_visible("#panel-items")
    assert opened.distance == pytest.approx(np.sort(distances)[0], rel=1e-9)
    opened.close()


def test_an_item_of_the_map_is_chosen_by_a_click_and_the_others_vote_for_it(browser, tmp_path):
    report, d = warped()
    opened = Opened(browser, report, tmp_path)
    opened.show("neighbors")
    opened.page.locator('[data-map="7"]').dispatch_event("click")  # others may lie above it
    assert opened.page.input_value("#item-near") == "row 7"
    table, y = people()
    distances = d.pairwise(table[["age", "hour"]])[7]
    others = np.flatnonzero(np.arange(len(y)) != 7)
    nearest = others[np.argsort(distances[others], kind="stable")]
    told = report.page["votes"]
    rule = VoteRule(told["neighbors"], told["weights"], told["bandwidth"], told["bandwidthNeighbor"], told["smoothing"])
    names, codes = np.unique(y, return_inverse=True)
    shares = rule.probabilities(distances[None, nearest], codes[None, nearest], np.bincount(codes) / len(y))[0]
    assert opened.page.get_attribute("#verdict", "data-first") == names[shares.argmax()]
    assert float(opened.page.get_attribute("#verdict", "data-share")) == pytest.approx(shares.max())
    votes = rule.votes(distances[None, nearest])[0]
    shown = [float(each.get_attribute("data-vote")) for each in opened.page.locator("td[data-vote]").all()]
    assert shown == pytest.approx(votes[: len(shown)] / (votes.sum() + rule.smoothing), abs=1e-12)
    opened.close()


def test_several_models_have_a_tab_more(browser, tmp_path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    d = DISTANCES["tables"]()
    report = sm.report({HOSTILE[0]: d, HOSTILE[1]: DISTANCES["missing"]()}, told(d))
    opened = Opened(browser, report, tmp_path, bypass_csp=True)  # which would stop axe
    for tab in opened.tabs:
        opened.show(tab)
        assert axe.run(opened.page).response["violations"] == []
    assert HOSTILE[0] in opened.page.inner_text("#panel-models")
    assert opened.page.evaluate("window.hit") is None
    opened.close()


def test_tabs_by_keyboard(browser, tmp_path):
    opened = Opened(browser, warped()[0], tmp_path)
    page = opened.page
    page.focus("#tab-overview")
    shown = []
    for key in ("ArrowRight", "ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home"):
        page.keyboard.press(key)
        shown.append(page.evaluate("document.activeElement.id"))
        assert page.get_attribute(f"#{shown[-1]}", "aria-selected") == "true"
        assert page.locator('[role=tab][tabindex="0"]').count() == 1
    assert shown == ["tab-columns", "tab-items", "tab-evidence", "tab-overview", "tab-evidence", "tab-overview"]
    opened.close()


def test_a_page_that_does_not_agree_with_python_says_so_and_shows_no_distance(browser, tmp_path):
    report, _ = REPORTS["missing"]()
    report.page["probes"]["distances"] = report.page["probes"]["left"] | {
        "base64": report.page["probes"]["distances"]["base64"]
    }
    other, _ = REPORTS["scales and tables"]()
    report.page["probes"]["distances"] = other.page["probes"]["distances"]
    opened = Opened(browser, report, tmp_path)
    assert opened.page.is_visible("#warning")
    for tab in opened.tabs:
        opened.show(tab)
        assert opened.page.locator("#distance").count() == 0
    assert "please report it" in opened.page.text_content("#panel-neighbors")
    opened.close()


def test_what_is_too_large_for_a_page_is_told(browser, tmp_path, monkeypatch):
    monkeypatch.setattr("semimetric.reports.facts.MOST_NUMBERS", 10)
    report, d = REPORTS["scales and tables"]()
    assert report.page["distance"] is None
    opened = Opened(browser, report, tmp_path)
    for tab in opened.tabs:
        opened.show(tab)
    assert "a page holds 10" in opened.page.text_content("#panel-items")
    first = int(opened.page.locator("#panel-neighbors tr[data-item]").first.get_attribute("data-item"))
    distances = d.pairwise(told(d))[0]
    distances[0] = np.inf
    assert first == distances.argmin()
    opened.close()


def test_one_item_and_many_categories(browser, tmp_path):
    names = [f"kind {k}" for k in range(900)]
    frame = pd.DataFrame({"kind": pd.Categorical(names, categories=names), "size": np.arange(900.0)})
    d = sm.Semimetric.gower(frame)
    opened = Opened(browser, sm.report(d, frame.iloc[:1]), tmp_path)
    for tab in opened.tabs:
        opened.show(tab)
    opened.show("columns")
    for button in range(3):
        opened.page.locator("#panel-columns .term").nth(button).click()
        assert opened.page.locator("#panel-columns .detail h3").inner_text()
    assert opened.distance == 0.0
    opened.close()


def test_every_control_has_a_name(browser, tmp_path):
    opened = Opened(browser, with_trees()[0], tmp_path)
    for tab in opened.tabs:
        opened.show(tab)
    nameless = opened.page.evaluate(
        """() => Array.from(document.querySelectorAll("input, select, button, [role=img]")).filter((e) =>
        !e.getAttribute("aria-label") && !e.textContent.trim() && !(e.labels && e.labels.length)).map((e) => e.outerHTML)"""
    )
    assert nameless == []
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["trees", "bends", "measured", "base distances"])
def test_axe_finds_no_violation(name, scheme, browser, tmp_path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    opened = Opened(browser, REPORTS[name]()[0], tmp_path, color_scheme=scheme, bypass_csp=True)  # which would stop axe
    for tab in opened.tabs:
        opened.show(tab)
        violations = axe.run(opened.page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []
    opened.close()


def test_everything_is_there_to_print(browser, tmp_path):
    opened = Opened(browser, with_trees()[0], tmp_path, color_scheme="dark")
    opened.page.emulate_media(media="print")
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for tab in opened.tabs:
        assert opened.page.is_visible(f"#panel-{tab}")
    assert opened.page.locator("#panel-columns .detail h3").count() > 5
    opened.page.emulate_media(media="screen")
    opened.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator("#panel-columns .detail h3").count() == 1
    assert not opened.page.is_visible("#panel-data")
    opened.close()


def test_in_a_notebook_the_frame_works_and_its_style_does_not_leak(browser):
    page = browser.new_page()
    wrong = []
    page.on("console", lambda message: wrong.append(message.text))
    page.set_content(f"<h1>Notebook</h1>{measured()[0]._repr_html_()}")
    before = page.evaluate("getComputedStyle(document.body).fontFamily")
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(state="attached", timeout=20_000)
    frame.locator("#tab-items").click()
    assert float(frame.locator("#distance").get_attribute("data-value")) > 0
    assert page.evaluate("getComputedStyle(document.body).fontFamily") == before
    assert wrong == []
    page.close()


def test_base_distances_are_not_computed_but_told(browser, tmp_path):
    report, d = REPORTS["base distances"]()
    opened = Opened(browser, report, tmp_path)
    opened.show("items")
    assert "only Python computes" in opened.page.inner_text("#panel-items .result")
    assert opened.page.locator("#distance").count() == 0
    opened.show("neighbors")
    first = int(opened.page.locator("#panel-neighbors tr[data-item]").first.get_attribute("data-item"))
    distances = d.pairwise(np.random.default_rng(0).random((40, 2)))[0]
    distances[0] = np.inf
    assert first == distances.argmin()
    opened.close()


def test_it_fits_a_phone(browser, tmp_path):
    opened = Opened(browser, with_trees()[0], tmp_path, viewport={"width": 390, "height": 800})
    for tab in opened.tabs:
        opened.show(tab)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    opened.close()


def test_a_large_page_answers(browser, tmp_path):
    X = np.random.default_rng(0).random((1_000, 50))
    report = sm.report(sm.Semimetric.l1(X), X)
    opened = Opened(browser, report, tmp_path)
    opened.show("items")
    opened.change(3, "first", "7.5", "numeric")
    x, y = X[:2].copy()
    x[3] = 7.5
    assert opened.distance == pytest.approx(np.abs(x - y).sum(), rel=1e-9)
    assert opened.path.stat().st_size < 2_000_000
    opened.close()


@cache
def judged(n_columns=20):
    """A machine that is judged by items that it has not learned from, and those items."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, n_columns)), columns=[f"column {f}" for f in range(n_columns)])
    X["colour"] = pd.Categorical(rng.choice(["red", "blue", "green"], 200))
    y = np.where(X["column 0"] + (X["colour"] == "red") + 0.5 * rng.normal(size=200) > 0.4, "some", "others")
    model = sm.SemimetricClassifier(predictor="kernel_ridge").fit(X[:120], y[:120])
    return sm.report(model, X[120:], y[120:]), model, X[120:]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_overview_draws_what_python_has_found(scheme, browser, tmp_path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    report, model, X = judged()
    quality = report.facts["overview"]["quality"]
    opened = Opened(browser, report, tmp_path, color_scheme=scheme, bypass_csp=True)  # which would stop axe
    page = opened.page
    assert "has not learned from" in page.inner_text("#judged")
    charts = page.locator("#quality-pictures figure")
    assert charts.count() == 2
    assert charts.first.locator("circle").count() == len(quality["calibration"]["rows"])
    assert len(page.get_attribute("#quality-pictures path.line", "d").split("L")) == len(quality["roc"]["wrong"])
    assert page.locator("#importance-bars rect").count() == 15
    page.click("#importance-bars button")
    assert page.locator("#importance-bars rect").count() == 21
    assert page.locator("#importance-bars path.whisker").count() == 21
    for tab in opened.tabs:
        opened.show(tab)
        assert [(each["id"], each["nodes"][0]["html"]) for each in axe.run(page).response["violations"]] == []
    opened.show("columns")
    first = page.locator("#panel-columns .term .name").first.inner_text()
    assert first == report.facts["overview"]["importances"]["rows"][0]["name"]
    assert page.locator("#panel-columns .detail .band, #panel-columns .detail .whisker").count() > 0
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_groups_and_intervals_are_drawn_as_python_has_found_them(scheme, browser, tmp_path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.random((260, 3)), columns=["age", "pay", "height"])
    y = X["age"] + X["pay"] * rng.standard_normal(260) / 4
    sex = pd.Series(rng.choice(["woman", "man", HOSTILE[0]], 260, p=[0.6, 0.35, 0.05]), name="sex")
    model = sm.SemimetricRegressor().fit(X[:120], y[:120])
    report = sm.report(model, X[120:].assign(sex=sex[120:]), y[120:], by=["sex", "pay"])
    opened = Opened(browser, report, tmp_path, color_scheme=scheme, bypass_csp=True)  # which would stop axe
    page, overview = opened.page, report.facts["overview"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in axe.run(page).response["violations"]] == []
    opened.show("overview")
    drawn = overview["quality"]["drawn"]
    missed = [not low <= true <= high for true, low, high in zip(drawn["true"], drawn["low"], drawn["high"], strict=True)]
    assert page.locator("#quality-pictures line.interval").count() == 140
    assert page.locator("#quality-pictures line.missed").count() == sum(missed) > 0
    for k, table in enumerate(overview["groups"]):
        rows = page.locator("table.groups").nth(k).locator("tbody tr").all()
        assert [row.locator("th").inner_text() for row in rows] == [row["name"] for row in table["rows"]]
        for row, facts in zip(rows, table["rows"], strict=True):
            shown = [float(each.get_attribute("value")) for each in row.locator("data").all()]
            assert shown[0] == facts["n"]
            ends = [[f["value"]] + ([] if f["low"] is None else [f["low"], f["high"]]) for f in facts["figures"]]
            assert shown[1:] == pytest.approx([value for figure in ends for value in figure], abs=1e-9)
        picture = page.locator(".group-picture").nth(k)
        assert picture.locator("circle").count() == len(table["rows"]) - 1
        said = [title.text_content() for title in picture.locator("g > title").all()]
        assert [text.partition(": ")[0] for text in said] == [row["name"] for row in table["rows"][1:]]
        assert picture.locator("path.whisker").count() == sum(r["figures"][0]["low"] is not None for r in table["rows"][1:])
    case = page.locator(".case .total").first
    assert "90 % interval" in case.inner_text()
    assert page.evaluate("window.hit") is None
    opened.close()


@pytest.mark.parametrize("width", [360, 1200])
def test_groups_fit_into_the_width_of_a_phone(width, browser, tmp_path):
    _, model, X = judged()
    sides = np.where(np.arange(len(X)) % 3, "a group with a long name of many letters", "b")
    y = model.predict(X)
    opened = Opened(browser, sm.report(model, X, y, by=sides), tmp_path, viewport={"width": width, "height": 800})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    opened.show("overview")
    opened.close()


def test_neighbours_of_new_items_are_those_that_were_learned_from(browser, tmp_path):
    report, model, X = judged()
    opened = Opened(browser, report, tmp_path)
    opened.show("neighbors")
    opened.page.fill("#item-near", "row 130")
    opened.page.keyboard.press("Enter")
    rows = opened.page.locator("#panel-neighbors tr[data-item] th").all()
    _, near = model.kneighbors(X.iloc[[10]], 10)
    assert [row.inner_text() for row in rows] == [f"row {k}" for k in near[0]]
    opened.page.locator("#panel-neighbors tr[data-item] button").first.click()
    assert opened.page.input_value("#item-second") == f"row {near[0][0]}"
    opened.close()


def test_a_page_of_some_tabs_computes_nothing(browser, tmp_path):
    _, model, X = judged()
    opened = Opened(browser, sm.report(model, X, include=["overview", "evidence"]), tmp_path)
    assert opened.tabs == ["overview", "evidence"]
    for tab in opened.tabs:
        opened.show(tab)
    assert opened.page.locator("#importance-bars rect").count() == 15
    opened.close()
    alone = Opened(browser, sm.report(model, X, include=["neighbors"]), tmp_path)
    assert alone.page.locator("#panel-neighbors tr[data-item]").count() == 10
    assert alone.page.locator("#panel-neighbors tr[data-item] button").count() == 0
    alone.close()


def test_names_stay_text_in_the_overview(browser, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((70, 3)), columns=HOSTILE[:3])
    frame[HOSTILE[3]] = pd.Categorical(HOSTILE * 10)
    y = pd.Series(HOSTILE * 10, name=HOSTILE[0])
    model = sm.SemimetricClassifier(predictor="kernel_ridge").fit(frame[:42], y[:42])
    report = sm.report(model, frame[42:], y[42:], names=[f"{name} {k}" for k, name in enumerate(HOSTILE * 4)], title=HOSTILE[1])
    opened = Opened(browser, report, tmp_path)
    for tab in opened.tabs:
        opened.show(tab)
    assert HOSTILE[0] in opened.page.text_content("#panel-overview")
    assert opened.page.evaluate("window.hit") is None
    opened.close()
