"""A report, and its forms: a page of HTML, text in Markdown, and JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import tempfile
import webbrowser
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .._foundation.files import write_file
from .markdown import markdown
from .packed_numbers import script_json

_FILES = Path(__file__).parent / "page"
_SCRIPTS = (
    "distance", "machine", "pieces", "elements", "axes", "controls", "term_list", "distance_tab", "items_tab", "votes",
    "item_map", "neighbors_tab", "measured_pairs", "shapes_tab", "pieces_tab", "score_tab", "page",
)  # fmt: skip
_ALL = (("evidence", "Evidence"), ("data", "Data"))
_TABS = {
    "distance": (("distance", "Distance"), ("items", "Items"), ("neighbors", "Neighbours"), *_ALL),
    "machine": (("shapes", "Functions"), ("item", "Items"), *_ALL),
    "pieces": (("pieces", "Pieces"), ("item", "Items"), *_ALL),
}
_MODELS = ("models", "Models")  # a tab of reports of several models
_HEIGHT = 820  # of a frame in a notebook, in pixels


@dataclass(frozen=True, eq=False)
class Report:
    """What is known of a model, as `semimetric.report` makes it; a notebook shows its page.

    Parameters
    ----------
    title : str
    facts : dict
        What Markdown and JSON tell: importances, axioms of a distance, evidence, the comparison of several models, data and
        versions.
    page : dict
        What the scripts of the page read.

    Examples
    --------
    >>> import semimetric as sm
    >>> found = sm.report(sm.gower([["red", 1.0], ["blue", 2.0], ["red", 4.0]]), title="Colours")
    >>> found.to_markdown().splitlines()[0]
    '# Colours'
    """

    title: str
    facts: dict[str, Any]
    page: dict[str, Any] = field(repr=False)

    def to_html(self) -> str:
        """The page, with its style, its scripts and its data, in one text."""
        return self._html

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page to one file, which needs nothing else; a file that is there is replaced once the new one is whole."""
        content = self._html.encode()
        write_file(path, lambda file: file.write(content))

    def open(self) -> Path:
        """Write the page to a temporary file, show it in the browser, and return its path."""
        path = Path(tempfile.mkdtemp(prefix="semimetric-")) / "report.html"
        self.write_html(path)
        webbrowser.open(path.as_uri())
        return path

    def to_markdown(self) -> str:
        """The facts as headings, tables and sentences, in which text from data is escaped."""
        return markdown(self.facts)

    def to_json(self) -> str:
        """The facts as JSON; numbers that are not finite are null."""
        return json.dumps(_finite(self.facts), allow_nan=False, indent=1)

    def __repr__(self) -> str:
        n, columns = (self.page["items"] or {"n": 0})["n"], self.page["nRaw"]
        return (
            f"Report {self.title!r}: {columns} column{'s' * (columns != 1)}, {n} item{'s' * (n != 1)}; write_html(path), "
            "open(), to_markdown() or to_json()"
        )

    def _repr_html_(self) -> str:
        """The page in a frame of its own, from which no style leaks and which can do nothing to the notebook."""
        return (
            f'<iframe srcdoc="{escape(self._html)}" sandbox="allow-scripts" title="{escape(self.title)}" loading="lazy" '
            f'style="width:100%;height:{_HEIGHT}px;border:1px solid #ccc"></iframe>'
        )

    @property
    def _tabs(self) -> tuple[tuple[str, str], ...]:
        """The names of the tabs and what they are called; that of several models stands before the data."""
        tabs = _TABS[self.page["kind"]]
        return (*tabs[:-1], _MODELS, tabs[-1]) if self.facts["comparison"] else tabs

    @cached_property
    def _html(self) -> str:
        environment = Environment(loader=FileSystemLoader(_FILES), autoescape=True, undefined=StrictUndefined)
        style = (_FILES / "report.css").read_text(encoding="utf-8")
        # one function, so that nothing of the page is reached by name from outside
        script = '(() => {\n"use strict";\n' + "\n".join(_script(name) for name in _SCRIPTS) + "})();\n"
        text = environment.get_template("report.html").render(
            facts=_finite(self.facts), tabs=self._tabs, style=style, style_hash=_digest(style), script=script,
            script_hash=_digest(script), data=script_json(_finite(self.page)),
        )  # fmt: skip
        return str(text.encode("utf-8", "xmlcharrefreplace").decode())  # halves of surrogate pairs are no characters


def _script(name: str) -> str:
    return (_FILES / f"{name}.js").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What a content security policy calls a text that may be run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _finite(value: Any) -> Any:
    """``value`` with null for numbers that are not finite."""
    if isinstance(value, dict):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
