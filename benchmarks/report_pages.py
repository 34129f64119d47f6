"""How long does a report take, how large is its page, and how soon does it answer a change?

    SEMIMETRIC_BROWSER=/usr/bin/chromium python benchmarks/report_pages.py

Distances of four kinds of 1,000 items with 50 columns, medians of five; then machines of wine, 5,000 customers, 300 columns and
100,000 rows, each judged by items that were held out. Beside them skrub's TableReport of 50 columns, where skrub is
installed: it tells of columns, not of a distance, and is the nearest thing that others write into one file. A change is an
event in a field of the items tab of an open page, in Playwright's Chromium; without a browser these numbers are left out.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
from report import report, seconds
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import semimetric as sm

N, F = 1_000, 50
CHANGES = """() => {
  const field = document.querySelector('input[type=number][data-side="first"]');
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


def customers(n: int = 5_000) -> tuple:
    """Generated customers with numbers, categories and a date, and who of them leaves."""
    import pandas as pd

    rng = np.random.default_rng(0)
    numbers = {
        "age": rng.integers(18, 90, n).astype(float),
        "tenure": rng.exponential(30, n),
        "products": rng.integers(1, 5, n) * 1.0,
    }
    frame = pd.DataFrame(numbers | {"balance": rng.lognormal(8, 1.2, n), "score": rng.normal(650, 90, n)})
    for name, k in (("country", 5), ("gender", 2), ("plan", 4), ("channel", 6)):
        frame[name] = pd.Categorical(rng.integers(0, k, n).astype(str))
    frame["since"] = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3_000, n), unit="D")
    logit = 0.05 * (frame.age - 45) + 1.1 * (frame.country == "1") + 0.6 * (frame["products"] - 2) ** 2 - 1
    return frame, np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "leaves", "stays")


def machines() -> dict:
    """Fitted machines, and items that they have not learned from."""
    rng = np.random.default_rng(0)
    wide, long = rng.normal(size=(2_000, 300)), rng.normal(size=(100_000, 12))
    ill = wide[:, 0] + wide[:, 1] * wide[:, 2] + rng.normal(size=2_000) > 0
    classes = sm.SemimetricClassifier(predictor="kernel_ridge")
    tables = {
        "wine, 13 columns": (classes, *load_wine(return_X_y=True)),
        "5,000 customers, 10 mixed columns": (classes, *customers()),
        "2,000 items, 300 columns": (classes, wide, ill),
        "100,000 rows, 12 columns": (sm.SemimetricRegressor(), long, long[:, 0] + np.sin(2 * long[:, 1])),
    }
    out = {}
    for name, (model, X, y) in tables.items():
        learned, new, y_learned, y_new = train_test_split(X, y, test_size=0.3, random_state=0)
        out[name] = clone(model).fit(learned, y_learned), new, y_new
    return out


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
    rows, distances = [], models()
    for name, (model, X, y) in (distances | machines()).items():
        page = sm.report(model, X, y).to_html()
        made = seconds(lambda model=model, X=X, y=y: sm.report(model, X, y).to_html())
        rows.append({"page": name, "made_s": made, "megabytes": len(page.encode()) / 1e6} | answers(page))
    rows += skrub_row(next(iter(distances.values()))[1])
    report("report pages", rows)


if __name__ == "__main__":
    main()
