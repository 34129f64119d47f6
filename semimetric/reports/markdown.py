"""A report as text in Markdown, in which text from data stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

_SPECIAL = re.compile(r"[\\`*_{}\[\]#!|~$@^]|(?<=\bwww)\.|:(?=//)", re.IGNORECASE)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MOST_SHARES = 20  # columns that are listed


def markdown(facts: dict[str, Any]) -> str:
    """The facts of a report as headings, tables and sentences of GitHub's Markdown."""
    return "\n".join(_lines(facts)) + "\n"


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    yield f"# {_escaped(facts['title'])}"
    yield ""
    yield from (f"- {_escaped(line.strip())}" for line in facts["summary"])
    yield from _table("Importances", ["column or term", "share"], _shares(facts), [facts["importances"]["note"]])
    if facts["axioms"]:
        yield from _axioms(facts["axioms"])
    if facts["pairs"]:
        pairs = [[name.replace("_", " "), value] for name, value in facts["pairs"].items() if name != "shown"]
        yield from _table("Measured distances", ["", ""], pairs)
    for found in facts["evidence"]:
        width = max((len(row) for row in found["rows"]), default=0)
        yield from _table(found["title"], found["head"] or [""] * width, found["rows"], found["notes"])
    for found in facts["comparison"]:
        yield from _table(found["title"], found["head"], found["rows"], found["notes"])
    data = facts["data"]
    head = ["name", "kind", "range", "knots"]
    head += ["least", "median", "largest", "n_missing", "n_outside"] if data["has_items"] else []
    rows = [[column[name] for name in head] for column in data["columns"]]
    yield from _table("Data", [name.replace("n_", "") for name in head], rows, [data["how_many"], *data["notes"]])
    yield from _table("Versions", ["", ""], [list(pair) for pair in facts["versions"].items()])


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
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else _escaped(str(value))


def _escaped(text: str) -> str:
    """Text on one line in which nothing is markup of Markdown or HTML, nor an address that becomes a link."""
    plain = " ".join("".join(" " if ord(c) < 32 else c for c in text).split())
    return "".join(_ENTITIES.get(c, c) for c in _SPECIAL.sub(lambda found: "\\" + found.group(), plain))
