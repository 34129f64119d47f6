"""Check the pages of a built documentation site, with nothing but the standard library.

    python tools/check_site.py docs/_build/html

prints one line for each finding, and exits with 1 if there are any.

1. Every link inside the site leads to a file that is there, and to an anchor that is on it.
2. No page asks another host for a script, a style or a picture: the site works offline.
3. Every page says what version it is of.
4. Pictures have a text in their place.
5. Every example has its page, with a picture, and a script and a notebook to download.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
OF_THE_THEME = ("search.html", "genindex.html")  # pages without an author: their links are made by Sphinx


class Page(HTMLParser):
    """What a page links to, what it loads, and where it can be linked to.

    Parameters
    ----------
    text : str
        The HTML.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.without_text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, loads, and is called."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif (
            tag in LOADED and LOADED[tag] in given and given.get("rel") not in ("canonical", "search", "next", "prev", "index")
        ):
            self.loads.append(given[LOADED[tag]])
        if tag == "img" and "alt" not in given:  # an empty one says that the text beside it is enough
            self.without_text.append(given.get("src", ""))


def findings(site: Path, version: str, examples: list[str]) -> Iterator[str]:
    """What is wrong with a site, as sentences.

    Parameters
    ----------
    site : Path
        Its folder.
    version : str
        What every page has to say.
    examples : list of str
        The names of the examples, without their ending.
    """
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(site.rglob("*.html")) if "_static" not in file.parts}
    if not texts:
        yield f"{site} has no pages; build them: make docs"
        return
    pages = {file: Page(text) for file, text in texts.items()}
    for file, page in pages.items():
        name = file.relative_to(site)
        if f"of semimetric {version}" not in texts[file]:
            yield f"{name} does not say that it is of version {version}"
        yield from (f"{name} loads {address}" for address in page.loads if urlsplit(address).netloc)
        yield from (f"{name} has no text for the picture {address}" for address in page.without_text)
        for link in page.links:
            yield from (f"{name}: {wrong}" for wrong in broken(link, file, pages))
    for name in examples:
        if not (site / "gallery" / f"{name}.html").exists():
            yield f"the example {name} has no page"
        elif not (site / "_images" / f"sphx_glr_{name}_001.png").exists():
            yield f"the example {name} has no picture"
        yield from (f"{name}{end} cannot be downloaded" for end in (".py", ".ipynb") if not any(site.rglob(name + end)))
    yield from (f"{name} is missing" for name in ("searchindex.js", "llms.txt") if not (site / name).exists())


def broken(link: str, file: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """What is wrong with a link of a page, as a sentence; nothing if it leads somewhere, or to another host."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or file.name in OF_THE_THEME:
        return
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        yield f"{link} leads nowhere"
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        yield f"{link} leads to no place on its page"


def main() -> int:
    """Print what is wrong with the site in a folder; 1 if something is."""
    site = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "_build" / "html").resolve()
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    examples = [file.stem for file in (ROOT / "examples").glob("plot_*.py")]
    wrong = list(findings(site, version[1] if version else "", examples))
    print("\n".join(wrong) or f"{len(list(site.rglob('*.html')))} pages: no broken link, nothing from another host")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
