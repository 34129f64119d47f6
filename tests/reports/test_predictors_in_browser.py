"""Reports of machines and of boundaries in a browser: every tab is opened, values are changed, and scores are those of Python.

``make test-browser`` runs this too. A folder in SHOTS keeps a picture of every tab that a test shows.
"""

import numpy as np
import pandas as pd
import pytest
from report_pages import HOSTILE, Opened
from reports_cases import MACHINES, PREDICTORS, scores_of

import semimetric as sm

SHOWN = (
    "PL1 with gaps", "PL2", "PL1, two classes with probabilities", "cubic splines", "waves", "straight lines", "planes",
    "planes of three classes", "support points", "support points of a learned distance",
)  # fmt: skip


def tabs_of(name):
    return ("columns" if name in MACHINES or name == "hostile" else "pieces", "items", "overview", "data", "evidence")


def hostile():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((70, 4)), columns=HOSTILE[:4])
    y = np.array(HOSTILE * 10)
    model = sm.EmbeddedLinearClassifier(sm.PL2Embedding(3, pairs=[(0, 1)]), calibration="logistic").fit(frame, y)
    names = [f"{name} {k}" for k, name in enumerate(HOSTILE * 10)]
    return sm.report(model, frame, y, names=names, title=HOSTILE[1])


def report_of(name):
    if name == "hostile":
        return hostile()
    model, X, y = PREDICTORS[name]()
    return sm.report(model, X, y, title=name)


def shown_scores(page, n_outputs):
    """The scores that the page shows, in the order of the outputs."""
    if page.locator("#score").count():
        return [float(page.get_attribute("#score", "data-value"))]
    found = {int(e.get_attribute("data-score")): e.get_attribute("data-value") for e in page.locator("[data-score]").all()}
    return [float(found[1])] if n_outputs == 1 else [float(found[k]) for k in sorted(found)]


@pytest.mark.parametrize("name", SHOWN)
def test_tabs_open_and_changed_values_give_the_scores_of_python(name, browser, tmp_path):
    model, X, y = PREDICTORS[name]()
    opened = Opened(browser, sm.report(model, X, y), tmp_path)
    page = opened.page
    assert not page.is_visible("#warning")
    for tab in tabs_of(name):
        opened.show(tab)
    opened.show(tabs_of(name)[0])
    for button in range(page.locator(".term").count()):
        page.locator(".term").nth(button).click()
        assert page.locator(".detail h3").inner_text()
        assert page.locator(".detail svg[role=img]").count() >= 1
    opened.show("items")
    page.fill("#item-chosen", "row 3")
    page.keyboard.press("Enter")
    item = X[3].copy()
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    changes = [(0, 0.3 * low[0] + 0.7 * high[0]), (1, high[1] + 0.1 * (high[1] - low[1])), (0, 0.9 * low[0] + 0.1 * high[0])]
    changes += [(1, np.nan)] if np.isnan(X).any() else []
    for f, value in [(0, item[0]), *changes]:
        item[f] = value
        opened.change(f, "", "" if np.isnan(value) else repr(float(value)), "numeric")
        expected = scores_of(model, item[None])[0]
        assert shown_scores(page, len(expected)) == pytest.approx(expected.tolist(), rel=1e-9, abs=1e-9)
        if hasattr(model, "classes_"):
            assert page.inner_text("#predicted") == str(model.predict(item[None])[0])
        if hasattr(model, "predict_proba"):
            cells = {int(e.get_attribute("data-probability")): e for e in page.locator("[data-probability]").all()}
            told = [float(cells[k].get_attribute("data-value")) for k in sorted(cells)]
            assert told == pytest.approx(model.predict_proba(item[None])[0].tolist(), abs=1e-9)
    if page.locator("#explained").count():
        before = page.get_attribute("#panel-items .result svg[role=img]", "aria-label")
        other = "1" if page.input_value("#explained") == "0" else "0"
        page.select_option("#explained", other)
        assert page.get_attribute("#panel-items .result svg[role=img]", "aria-label") != before
    opened.close()


def test_names_stay_text(browser, tmp_path):
    opened = Opened(browser, hostile(), tmp_path)
    for tab in tabs_of("hostile"):
        opened.show(tab)
    opened.show("columns")
    for button in range(opened.page.locator(".term").count()):
        opened.page.locator(".term").nth(button).click()
    assert HOSTILE[0] in opened.page.inner_text("#panel-columns")
    opened.show("items")
    opened.change(0, "", "0.25", "numeric")
    assert opened.page.inner_text("#predicted") in [" ".join(name.split()) for name in HOSTILE] + HOSTILE
    assert opened.page.evaluate("window.hit") is None
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["PL2", "PL1 with gaps", "waves", "planes of three classes", "support points", "hostile"])
def test_axe_finds_no_violation(name, scheme, browser, tmp_path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    opened = Opened(browser, report_of(name), tmp_path, color_scheme=scheme, bypass_csp=True)  # which would stop axe
    for tab in tabs_of(name):
        opened.show(tab)
        violations = axe.run(opened.page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []
    opened.close()


@pytest.mark.parametrize("name", ["PL2", "planes", "support points of three classes"])
def test_they_are_printed_whole_and_fit_a_phone(name, browser, tmp_path):
    opened = Opened(browser, report_of(name), tmp_path, viewport={"width": 390, "height": 800})
    for tab in tabs_of(name):
        opened.show(tab)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    opened.page.emulate_media(media="print")
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for tab in tabs_of(name):
        assert opened.page.is_visible(f"#panel-{tab}")
    assert opened.page.locator(".detail h3").count() > 1
    opened.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator(".detail h3").count() == 1
    opened.close()


@pytest.mark.parametrize("name", ["PL2", "planes"])
def test_a_page_that_does_not_agree_with_python_says_so_and_shows_no_score(name, browser, tmp_path):
    report = report_of(name)
    report.page["probes"]["scores"] = report.page["probes"]["items"] | {
        "base64": report.page["probes"]["scores"]["base64"][12:]
    }
    opened = Opened(browser, report, tmp_path)
    assert opened.page.is_visible("#warning")
    for tab in tabs_of(name):
        opened.show(tab)
        assert opened.page.locator("#predicted").count() == 0
    opened.close()


def test_without_items_the_middle_of_every_column_is_scored(browser, tmp_path):
    model, X, _ = MACHINES["waves"]()
    opened = Opened(browser, sm.report(model), tmp_path)
    opened.show("items")
    middle = (X.min(axis=0) + X.max(axis=0)) / 2
    assert shown_scores(opened.page, 1) == pytest.approx(model.predict(middle[None]).tolist(), rel=1e-9)
    opened.close()


def test_several_machines_have_a_tab_more(browser, tmp_path):
    one, X, y = MACHINES["PL2"]()
    other, *_ = MACHINES["cubic splines"]()
    opened = Opened(browser, sm.report({"tables": one, "splines": other}, X, y), tmp_path)
    for tab in ("overview", "columns", "items", "models", "data", "evidence"):
        opened.show(tab)
    assert "Where tables and splines differ most" in opened.page.text_content("#panel-models")
    opened.close()
