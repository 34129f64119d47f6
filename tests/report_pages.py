"""A page of a report in a browser that has no network, and names that must stay text in it.

``make test-browser`` names the browser in SEMIMETRIC_BROWSER; without one, what imports this is skipped.
"""

import os
import re
from pathlib import Path

import pytest

BROWSER = os.environ.get("SEMIMETRIC_BROWSER")
if not BROWSER:
    pytest.skip("SEMIMETRIC_BROWSER names no browser: make test-browser finds one", allow_module_level=True)
SHOTS = os.environ.get("SHOTS")  # a folder for pictures of the tabs
playwright = pytest.importorskip("playwright.sync_api")

OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
HOSTILE = [
    "<img src=x onerror=window.hit=1>",
    "</script><script>window.hit=1</script>",
    "\"'><svg onload=window.hit=1>",
    "{{7*7}}",
    "__proto__",
    "\u2028\u202e",
    "javascript:window.hit=1",
]


class Opened:
    """A report in a page of a browser that has no network, and what went wrong there."""

    def __init__(self, browser, report, folder, **options):
        self.path = folder / "report.html"
        self.tabs = [name for name, _ in report.page["tabs"]]
        report.write_html(self.path)
        self.page = browser.new_page(**options)
        self.scheme = options.get("color_scheme", "light")
        self.wrong, self.requests = [], []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(self.path.as_uri())
        self.page.wait_for_selector("html[data-ready]", timeout=20_000)

    def close(self):
        assert self.wrong == []
        assert [url for url in self.requests if not url.startswith("data:")] == [self.path.as_uri()]
        self.page.close()

    def show(self, tab):
        self.page.click(f"#tab-{tab}")
        assert self.page.is_visible(f"#panel-{tab}")
        if SHOTS:
            self.keep_pictures(tab)

    def keep_pictures(self, tab):
        """Write a picture of the page, light and dark, under the names of the module and the test."""
        test = re.sub(r"\W+", "-", os.environ["PYTEST_CURRENT_TEST"].split("/")[-1].removesuffix(" (call)")).strip("-")
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            self.page.screenshot(path=Path(SHOTS) / f"{test}-{tab}-{scheme}.png", full_page=True)
        self.page.emulate_media(color_scheme=self.scheme)

    @property
    def distance(self):
        return float(self.page.get_attribute("#distance", "data-value"))

    def change(self, feature, side, value, kind):
        place = f'[data-feature="{feature}"][data-side="{side}"]'
        if kind == "categorical":
            self.page.select_option(place, value)
        else:
            self.page.fill(place, value)
