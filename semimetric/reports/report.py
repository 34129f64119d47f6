"""A report, and its forms: a page of HTML, text in Markdown, and JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .._foundation.errors import InputError, NotSupportedError
from .._foundation.files import write_file
from .._foundation.text import number_text
from .._foundation.types import Floats
from .._foundation.validation import check_count
from .rows import PageRows, start_rows
from .subjects import unpacked
from .widget import report_widget

_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_FILES = Path(__file__).parent / "page"
_SCRIPTS = (
    "distance", "machine", "pieces", "elements", "axes", "controls", "term_list", "distance_tab", "items_tab", "votes",
    "item_map", "neighbors_tab", "measured_pairs", "shapes_tab", "pieces_tab", "score_tab", "charts", "overview_tab", "page",
)  # fmt: skip
_HEIGHT = 820  # of a frame in a notebook, in pixels


@dataclass(frozen=True, eq=False)
class Report:
    """Facts of a model and its page, as `semimetric.report` makes it; a notebook shows its page.

    Parameters
    ----------
    title : str
    facts : dict
        What Markdown and JSON show: the overview (listed in docs/reports.md), importances, axioms of a distance, evidence, the
        comparison of several models, data and versions.
    page : dict
        What the scripts of the page read.
    rows : PageRows or None, default None
        What turns values of the page into rows of the user, for `widget`.

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
    rows: PageRows | None = field(default=None, repr=False)

    def to_html(self) -> str:
        """Return the page, with its style, its scripts and its data, in one text."""
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

    def widget(self, *, height: int = 820) -> Any:
        """Return a live widget for notebooks: the same page, and the row that is edited on its tab "Items" comes back.

        ``widget.row`` is the item that was edited last, a frame of one row with the columns and dtypes of the items. The model
        takes it: ``model.predict(widget.row)``. ``widget.rows`` has all items of the tab: one, or of a distance both. Without
        names of columns they are arrays. ``widget.observe(f, "row")`` calls f after each edit. Assign to show other items:
        ``widget.row = X.iloc[[3]]``. A message of the page that holds no items is ignored, and ``widget.ignored`` says why.

        It needs the package anywidget (extra ``widget``) and a notebook, such as those of Jupyter, marimo or VS Code.

        Parameters
        ----------
        height : int, default 820
            The height of the frame in pixels, inside of which the page scrolls.

        Returns
        -------
        anywidget.AnyWidget

        Raises
        ------
        InputError
            If the report has no tab "Items", or was read and not made by `semimetric.report`.
        NotSupportedError
            If the model does not take rows of the page, which shows features that were made of what the model takes.
        MissingExtraError
            If anywidget is not installed, or pandas, where columns have names.
        """
        check_count("height", height)
        if self.rows is None or "items" not in dict(self.page["tabs"]):
            raise InputError(
                "this report has no tab 'items', on which values are edited; make it by semimetric.report with 'items' in "
                "include=, or without include="
            )
        if self.rows.refused:
            raise NotSupportedError(f"{self.rows.refused}; its page has no widget: use write_html(path) or open()")
        return report_widget(self._rendered(live=True), self.title, height, self.rows, self._first_rows())

    def to_markdown(self) -> str:
        """Return the facts as headings, tables and sentences, in which text from data is escaped."""
        return "\n".join(_lines(self.facts)) + "\n"

    def to_json(self) -> str:
        """Return the facts as JSON; numbers that are not finite are null."""
        return json.dumps(_finite(self.facts), allow_nan=False, indent=1)

    def __repr__(self) -> str:
        n, columns = self.page["nItems"], self.page["nRaw"]
        return (
            f"Report {self.title!r}: {columns} column{'s' * (columns != 1)}, {n} item{'s' * (n != 1)}; write_html(path), "
            "open(), to_markdown() or to_json()"
        )

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, from which no style leaks and which can do nothing to the notebook."""
        return (
            f'<iframe srcdoc="{escape(self._html)}" sandbox="allow-scripts" title="{escape(self.title)}" loading="lazy" '
            f'style="width:100%;height:{_HEIGHT}px;border:1px solid #ccc"></iframe>'
        )

    def _first_rows(self) -> Floats:
        """Return the items that the page begins with, encoded: two of a distance, else one."""
        items, n_features = self.page["items"], self.page["nRaw"]
        values = None if items is None else unpacked(items["values"]).reshape(-1, n_features)
        return start_rows(values, unpacked(self.page["middles"])[:n_features], 2 if self.page["kind"] == "distance" else 1)

    @cached_property
    def _html(self) -> str:
        return self._rendered(live=False)

    def _rendered(self, *, live: bool) -> str:
        """Return the page; a live one has one script more, which talks to the frame around it."""
        environment = Environment(loader=FileSystemLoader(_FILES), autoescape=True, undefined=StrictUndefined)
        style = (_FILES / "report.css").read_text(encoding="utf-8")
        # one function, so that nothing of the page is reached by name from outside
        scripts = [(_FILES / f"{name}.js").read_text(encoding="utf-8") for name in (*_SCRIPTS, *["live"] * live)]
        script = '(() => {\n"use strict";\n' + "\n".join(scripts) + "})();\n"
        environment.filters |= {"written": _written, "share": lambda value: f"{value:.1%}"}
        text = environment.get_template("report.html").render(
            facts=_finite(self.facts), tabs=self.page["tabs"], live=live, style=style, style_hash=_digest(style), script=script,
            script_hash=_digest(script), data=script_json(_finite(self.page)),
        )  # fmt: skip
        return str(text.encode("utf-8", "xmlcharrefreplace").decode())  # halves of surrogate pairs are no characters


def _digest(text: str) -> str:
    """Return the hash by which a content security policy names a text that may be run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_SPECIAL = re.compile(r"[\\`*_{}\[\]#!|~$@^]|(?<=\bwww)\.|:(?=//)", re.IGNORECASE)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MOST_SHARES = 20  # columns that are listed


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    """Yield the facts of a report as headings, tables and sentences of GitHub's Markdown."""
    yield f"# {_escaped(facts['title'])}"
    yield from _overview(facts["overview"])
    yield from _table("Shares of columns or terms", ["column or term", "share"], _shares(facts), [facts["importances"]["note"]])
    if facts["axioms"]:
        yield from _axioms(facts["axioms"])
    if facts["pairs"]:
        pairs = [[name.replace("_", " "), value] for name, value in facts["pairs"].items() if name != "shown"]
        yield from _table("Measured distances", ["", ""], pairs)
    for found in (*facts["evidence"], *facts["comparison"]):
        width = max((len(row) for row in found["rows"]), default=0)
        yield from _table(found["title"], found["head"] or [""] * width, found["rows"], found["notes"])
    data = facts["data"]
    head = ["name", "kind", "range", "knots"]
    head += ["least", "median", "largest", "n_missing", "n_outside"] if data["has_items"] else []
    rows = [[column[name] for name in head] for column in data["columns"]]
    yield from _table("Data", [name.replace("n_", "") for name in head], rows, [data["how_many"], *data["notes"]])
    yield from ("", "## What it is made of", "", *(f"- {_escaped(line.strip())}" for line in facts["summary"]))
    yield from _table("Versions", ["", ""], [list(pair) for pair in facts["versions"].items()])


def _overview(overview: dict[str, Any]) -> Iterator[str]:
    yield from ("", *(f"- {_escaped(line)}" for line in overview["about"]))
    if classes := overview["classes"]:
        rows = [[name, n, f"{share:.1%}"] for name, n, share in classes["rows"]]
        yield from _table("Classes", ["class", classes["of"], "share"], rows)
    if quality := overview["quality"]:
        rows = []
        for each in quality["figures"]:
            value, low, high = (_figure(each[name], each["is_share"]) for name in ("value", "low", "high"))
            rows.append([each["name"], value, "–" if each["low"] is None else f"{low} to {high}", each["means"]])
        yield from _table("How good it is", ["", "", "95 % interval", ""], rows, quality["how"])
        if found := quality["confusions"]:
            yield from _table(found["title"], found["head"], found["rows"], found["notes"])
    elif overview["errors"]:
        yield from ("", "## How good it is", "", _escaped(overview["errors"]))
    for table in overview["groups"]:
        yield from _groups(table)
    if known := overview["importances"]:
        bars = [["–" if row["low"] is None else f"{row['low']:.1%} to {row['high']:.1%}"] for row in known["rows"]]
        rows = [[row["name"], f"{row['share']:.1%}", *bar] for row, bar in zip(known["rows"], bars, strict=True)]
        notes = [known["shares_are"], known["bars_are"]]
        yield from _table("Which columns matter", ["column", "share", "bar"], rows[:_MOST_SHARES], notes)
    for case in overview["cases"]:
        true = "" if case["true"] is None else f" It is {_written(case['true'])}."
        yield from (
            "",
            f"## {_escaped(case['name'])}",
            "",
            _escaped(f"{case['why']} Predicted: {_written(case['predicted'])}{_interval(case)}.{true}"),
        )
        if case["neighbors"]:
            yield from _table("The nearest items that were learned from", ["item", "", "distance", "what separates them"],
                              case["neighbors"])  # fmt: skip


def _interval(case: dict[str, Any]) -> str:
    return f", 90 % interval {' to '.join(map(_written, case['interval']))}" if case["interval"] else ""


def _groups(table: dict[str, Any]) -> Iterator[str]:
    """Yield the table of the figures of each group."""
    head = [table["by"], "items"] + [figure["name"] for figure in table["rows"][0]["figures"]]
    rows = []
    for row in table["rows"]:
        cells = []
        for each in row["figures"]:
            value, low, high = (_figure(each[name], each["is_share"]) for name in ("value", "low", "high"))
            cells.append(value if each["low"] is None else f"{value} ({low} to {high})")
        rows.append([row["name"], row["n"], *cells])
    yield from _table(f"How good it is by {table['by']}", head, rows, table["notes"])


def _figure(value: float | None, is_share: bool) -> str:
    return "–" if value is None else f"{value:.1%}" if is_share else _written(value)


def _written(value: Any) -> str:
    """Return a value as people write it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number_text(value) if isinstance(value, int | float) else str(value)


def _axioms(axioms: dict[str, Any]) -> Iterator[str]:
    rows = [[each["axiom"], "yes" if each["holds"] else "no", each["proof"]] for each in axioms["proofs"]]
    yield from _table(f"Axioms: {axioms['name']}", ["axiom", "holds", "how it is known"], rows)
    if axioms["triple"]:
        yield from _table("Three items that break the triangle inequality", ["column", "x", "y", "z"], axioms["triple"],
                          [f"d(x, z) exceeds d(x, y) + d(y, z) by {axioms['excess']:.4g}."])  # fmt: skip


def _shares(facts: dict[str, Any]) -> list[list[Any]]:
    known = facts["importances"]
    shares = known["features"] or known["terms"]
    largest = sorted(shares.items(), key=lambda item: -item[1])[:_MOST_SHARES]
    return [[name, f"{100 * share:.1f} %"] for name, share in largest]


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], notes: Sequence[str] = ()) -> Iterator[str]:
    yield from ("", f"## {_escaped(title)}", "")
    if rows:
        yield f"| {' | '.join(map(_cell, head))} |"
        yield f"|{' --- |' * len(head)}"
        yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)
    for note in notes:
        yield from ("", _escaped(note))


def _cell(value: Any) -> str:
    return _escaped(_written(value))


def _escaped(text: str) -> str:
    """Return text on one line in which nothing is markup of Markdown or HTML, nor an address that becomes a link."""
    plain = " ".join("".join(" " if ord(c) < 32 else c for c in text).split())
    return "".join(_ENTITIES.get(c, c) for c in _SPECIAL.sub(lambda found: "\\" + found.group(), plain))


def script_json(values: Any) -> str:
    """Return JSON in which no character can end a script element, begin another or be a line end of JavaScript."""
    text = json.dumps(values, allow_nan=False, separators=(",", ":"))
    return "".join(_ESCAPED.get(c, c) for c in text) if any(c in text for c in _ESCAPED) else text
