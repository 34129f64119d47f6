"""How long does a report of 1,000 items with 50 columns take, how large is its page, and how soon does it answer a change?

    SEMIMETRIC_BROWSER=/usr/bin/chromium python benchmarks/report_pages.py

Distances of four kinds, medians of five. Beside them skrub's TableReport of the same table, where skrub is installed: it tells
of columns, not of a distance, and is the nearest thing that others write into one file. A change is an event in a field of the
items tab of an open page, in Playwright's Chromium; without a browser these numbers are left out.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
from report import report, seconds

import semimetric as sm

N, F = 1_000, 50
CHANGES = """() => {
  const field = document.querySelector('[data-feature="3"][data-side="first"]');
  const times = Array.from({length: 41}, (_, k) => {
    field.value = (k + 0.5) / 41;
    const start = performance.now();
    field.dispatchEvent(new Event("input"));
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[20];
}"""


def models() -> dict:
    """Fitted distances of the same items, and the items."""
    rng = np.random.default_rng(0)
    X = rng.random((N, F))
    y = X[:, 0] + X[:, 1] ** 2 > 0.8
    pairs = rng.integers(0, N, (4_000, 2))
    y_pairs = np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]) @ rng.random(F)
    fit = {"n_knots": 8, "alpha": 1e-2}
    scales = fit | {"tables": "warped", "random_state": 0}
    return {
        "l1": (sm.Semimetric.l1(X), X, y),
        "tables": (sm.DistanceRegressor(**fit, preprocessor=X).fit(pairs, y_pairs), X, y),
        "scales and components": (sm.LargeMarginLearner(**scales, directions="lda").fit(X, y), X, y),
        "scales and a forest": (sm.LargeMarginLearner(**scales, directions="forest").fit(X, y), X, y),
    }  # fmt: skip


def answers(page: str) -> dict[str, float]:
    """Seconds until a page is ready, and milliseconds from a change to the distance; nothing without a browser."""
    browser = os.environ.get("SEMIMETRIC_BROWSER")
    if not browser:
        return {}
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        path = Path(folder) / "report.html"
        path.write_text(page, encoding="utf-8")
        opened = started.chromium.launch(executable_path=browser, args=["--headless", "--no-sandbox", "--disable-gpu"])
        tab = opened.new_page()

        def show() -> None:
            tab.goto(path.as_uri())
            tab.wait_for_selector("html[data-ready]")

        ready = seconds(show)
        tab.click("#tab-items")
        change = float(tab.evaluate(CHANGES))
        opened.close()
    return {"ready_s": ready, "change_ms": change}


def skrub_row(X: np.ndarray) -> list[dict]:
    """What skrub needs for the same table."""
    try:
        import pandas as pd
        from skrub import TableReport
    except ImportError:
        return []
    frame = pd.DataFrame(X, columns=[f"x{f}" for f in range(F)])
    page = TableReport(frame, verbose=0).html()
    made = seconds(lambda: TableReport(frame, verbose=0).html(), repeat=1)
    return [{"page": "skrub.TableReport", "made_s": made, "megabytes": len(page.encode()) / 1e6}]


def main() -> None:
    """Measure and report."""
    rows = []
    for name, (model, X, y) in models().items():
        page = sm.report(model, X, y).to_html()
        made = seconds(lambda model=model, X=X, y=y: sm.report(model, X, y).to_html())
        rows.append({"page": name, "made_s": made, "megabytes": len(page.encode()) / 1e6} | answers(page))
    rows += skrub_row(X)
    report("report pages", rows)


if __name__ == "__main__":
    main()
