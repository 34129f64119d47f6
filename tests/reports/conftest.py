import pytest


@pytest.fixture(scope="module")
def browser():
    from report_pages import BROWSER, OPTIONS, playwright

    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        yield opened
        opened.close()
