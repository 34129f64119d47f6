"""Open the main pages of a built site from its files in Chromium: accessible, whole, and searchable without a network.

    SEMIMETRIC_BROWSER=/usr/bin/chromium python tools/check_site_in_browser.py docs/_build/html

prints one line for each finding, and exits with 1 if there are any. `make test-site` finds the browser, and installs Playwright
and axe. Pages are looked at in light and in dark, and as wide as on a screen and on a phone.

1. axe finds no violation of the rules that it has by default.
2. No page asks for anything that is not a file, and no script of a page fails.
3. No page and no line of code is wider than its place.
4. The search finds a class and its page.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = (1300, 390)
TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll("pre")]
    .filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.textContent.trim().slice(0, 60))"""
PAGES = (
    "index.html", "start.html", "choose.html", "guide.html", "learning.html", "neighbors.html", "drawing.html", "effort.html",
    "api.html", "generated/api/semimetric.DistanceRegressor.html", "generated/api/semimetric.NeighborIndex.html",
    "generated/api/semimetric.plotting.plot_table.html", "gallery/index.html", "gallery/plot_read_a_learned_distance.html",
    "coming_from.html", "coming_from_faiss.html", "background.html", "mathematics.html", "results.html", "versions.html",
    "generated/benchmarks.html", "generated/benchmarks/knn_accuracy.html", "generated/commands.html",
    "generated/changelog.html", "generated/contributing.html", "search.html", "genindex.html",
)  # fmt: skip


def findings(browser: Any, site: Path) -> Iterator[str]:
    """What is wrong with the main pages of a site, as sentences."""
    from axe_playwright_python.sync_playwright import Axe

    said: list[str] = []
    for scheme in ("light", "dark"):
        page = browser.new_context(color_scheme=scheme, viewport={"width": WIDTHS[0], "height": 900}).new_page()
        page.on("request", lambda request: said.extend([f"asks for {request.url}"] if is_elsewhere(request.url) else []))
        page.on("pageerror", lambda error: said.append(f"a script fails: {error}"))
        for name in PAGES:
            page.goto((site / name).as_uri())
            page.wait_for_load_state("load")
            said.extend(violation(each) for each in Axe().run(page).response["violations"])
            if scheme == "light":
                said.extend(too_wide(page))
            yield from (f"{name} ({scheme}): {each}" for each in said)
            said.clear()
    yield from search(page, site)


def too_wide(page: Any) -> Iterator[str]:
    """What is cut off on a screen or on a phone, as sentences; the page is left as wide as it was."""
    for width in reversed(WIDTHS):
        page.set_viewport_size({"width": width, "height": 900})
        yield from (f"wider than its place at {width} pixels: {text!r}" for text in page.evaluate(TOO_WIDE))


def is_elsewhere(address: str) -> bool:
    """Whether an address is neither that of a file nor data."""
    return not address.startswith(("file:", "data:", "blob:", "about:"))


def violation(found: dict[str, Any]) -> str:
    """What axe has found, with the first of its places."""
    return f"{found['id']}, {found['help']}: {len(found['nodes'])} times, first {found['nodes'][0]['html'][:120]}"


def search(page: Any, site: Path) -> Iterator[str]:
    """What is wrong with the search, as a sentence."""
    page.goto((site / "search.html").as_uri() + "?q=DistanceRegressor")
    link = page.locator("#search-results a[href*='semimetric.DistanceRegressor.html']")
    try:
        link.first.wait_for(timeout=20_000)
    except Exception as error:
        yield f"the search does not find DistanceRegressor: {str(error).splitlines()[0]}"


def main() -> int:
    """Print what is wrong with the site in a folder; 1 if something is."""
    from playwright.sync_api import sync_playwright

    site = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "_build" / "html").resolve()
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--allow-file-access-from-files"]
        browser = playwright.chromium.launch(executable_path=os.environ["SEMIMETRIC_BROWSER"], args=options)
        wrong = list(findings(browser, site))
    print("\n".join(wrong) or f"{len(PAGES)} pages: accessible, whole without a network, and searched")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
