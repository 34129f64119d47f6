"""What do reports of others weigh, ask of a network, and let one change? Those of InterpretML, skrub and ours, of 178 wines.

    SEMIMETRIC_BROWSER=/usr/bin/chromium python benchmarks/report_peers.py [results.jsonl]

Needs interpret, skrub, IPython and playwright. 124 wines to learn from, 54 to show, 13 columns, three classes. `interpret.show`
is what a notebook keeps of it, by its `InlineProvider`, of the whole model and of the items; `preserve` writes one
figure to a file, of the summary, of a term or of an item. Requests are those of an open page to anything but itself; values
that can be changed are counted as fields for numbers, on any tab. Seconds are those of the processor.
"""

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from report import append, report, use_one_thread, with_origin
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import semimetric as sm

_BAGS = 4  # of the boosting machine; its default of 14 did not end within seven minutes of the processor on these wines
FIELDS = """() => {
  document.querySelectorAll("[role=tab]").forEach((tab) => tab.click());
  return document.querySelectorAll("input[type=number]").length;
}"""


def once(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor of one call on one thread, and its result; other work of the machine does not count."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def wines() -> list[Any]:
    """Wines to learn from and to show, with their classes."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    return train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)


def opened(pages: list[str]) -> dict[str, int]:
    """What pages ask of a network, and how many of their fields change a value; nothing without a browser."""
    browser = os.environ.get("SEMIMETRIC_BROWSER")
    if not browser:
        return {}
    from playwright.sync_api import sync_playwright

    requests: list[str] = []
    fields = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=browser, args=["--headless", "--no-sandbox", "--disable-gpu"])
        for page in pages:
            path = Path(folder) / "page.html"
            path.write_text(page, encoding="utf-8")
            tab = chromium.new_page()
            tab.on("request", lambda request: requests.append(request.url))
            tab.goto(path.as_uri())
            tab.wait_for_timeout(2_000)
            fields += tab.evaluate(FIELDS)
            tab.close()
        chromium.close()
    outside = [url for url in requests if not url.startswith(("file:", "data:", "blob:"))]
    return {"requests": len(outside), "fields": fields}


def row(name: str, pages: list[str], made: float, **more: Any) -> dict[str, Any]:
    """A row of results."""
    size = sum(len(page.encode()) for page in pages) / 1e6
    return {"page": name, "files": len(pages), "megabytes": size, "made_s": made} | opened(pages) | more


def ours(X: pd.DataFrame, new: pd.DataFrame, y: Any, y_new: Any) -> dict[str, Any]:
    """A machine on functions of single columns and the 20 pairs that tell most."""
    embedding = sm.PL2Embedding(4, pairs="best", n_pairs=20)
    sm.EmbeddedLinearClassifier(embedding, calibration="logistic").fit(X[:60], y[:60])  # compiles
    fit, model = once(lambda: sm.EmbeddedLinearClassifier(embedding, calibration="logistic").fit(X, y))
    made, page = once(lambda: sm.report(model, new, y_new).to_html())
    return row("semimetric.report", [page], made, fit_s=fit, accuracy=model.score(new, y_new), terms=33)


def kept(call: Callable[[], Any]) -> str:
    """The HTML that a notebook keeps of what a call shows."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    InteractiveShell.instance()
    with capture_output() as captured:
        call()
    shown = "".join(output.data.get("text/html", "") for output in captured.outputs)
    return f'<!doctype html><meta charset="utf-8"><title>shown</title>{shown}'


def interpret_rows(X: pd.DataFrame, new: pd.DataFrame, y: Any, y_new: Any) -> list[dict[str, Any]]:
    """The Explainable Boosting Machine, with fewer bags than by default: what `show` leaves, and what `preserve` writes."""
    from interpret import preserve, set_visualize_provider, show
    from interpret.glassbox import ExplainableBoostingClassifier
    from interpret.provider import InlineProvider

    set_visualize_provider(InlineProvider())
    boosting = ExplainableBoostingClassifier(random_state=0, n_jobs=1, outer_bags=_BAGS)
    fit, model = once(lambda: boosting.fit(X, y))
    explained, (whole, items) = once(lambda: (model.explain_global(), model.explain_local(new, y_new)))
    told = {"fit_s": fit, "accuracy": model.score(new, y_new), "terms": len(model.term_names_)}
    shown, page = once(lambda: kept(lambda: (show(whole), show(items))))
    rows = [row("interpret.show", [page], explained + shown, **told)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.html"
        kept(lambda: preserve(whole, file_name=str(path)))  # imports
        made, _ = once(lambda: kept(lambda: preserve(whole, file_name=str(path))))
        rows.append(row("interpret.preserve, one figure", [path.read_text(encoding="utf-8")], made))
    return rows


def skrub_row(X: pd.DataFrame, y: Any) -> dict[str, Any]:
    """The report of the table itself, with the classes as a column."""
    from skrub import TableReport

    table = X.assign(kind=y)
    TableReport(table, verbose=0).html()
    made, page = once(lambda: TableReport(table, verbose=0).html())
    return row("skrub.TableReport", [page], made)


def main() -> None:
    """Measure and report."""
    use_one_thread()
    warnings.simplefilter("ignore")
    X, new, y, y_new = wines()
    whole, classes = pd.concat([X, new]), pd.concat([y, y_new])
    rows = [ours(X, new, y, y_new), *interpret_rows(X, new, y, y_new), skrub_row(whole, classes)]
    report("report peers", rows)
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for found in rows:
        append(file, with_origin({"benchmark": "report peers"} | found, str(found["page"]).partition(".")[0]))


if __name__ == "__main__":
    main()
