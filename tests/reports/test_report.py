"""The page is one safe file, and its other forms say the same."""

import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import semimetric as sm

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "&lt;b&gt; &amp;",
    "line\nbreak\u2028and\u2029more\x00\x07",
    "\u202egnp.exe",
    "\ud800 half",
    "</title><svg/onload=alert(1)>",
    "`code` | **bold** [link](https://example.org) www.example.org",
    "${alert(1)}",
    "__proto__",
    "constructor",
    "",
]
WORDS = [text for text in HOSTILE if text.strip() and not text.startswith("\ud800")]  # which frames refuse
KNOWN = set(
    "html head meta title style body header h1 p noscript div button main section h2 h3 strong table caption thead tbody tr th "
    "td span data footer script".split()
)


class Reader(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.inside = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, text):
        self.texts.append((self.inside[-1] if self.inside else "", text))

    def script(self, kind):
        place = [attributes.get("type") for tag, attributes in self.tags if tag == "script"].index(kind)
        return [text for tag, text in self.texts if tag == "script"][place]


def hostile_report():
    n = len(HOSTILE)
    rng = np.random.default_rng(0)
    texts = WORDS
    frame = pd.DataFrame(rng.random((n, 4)), columns=texts[:4])
    frame[texts[4]] = pd.Categorical(texts + texts[: n - len(texts)], categories=texts)
    model = sm.LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="full")
    y = np.array([HOSTILE[0], HOSTILE[1]] * (n // 2), dtype=object)
    d = model.fit(frame, y).semimetric_
    assert d.feature_names[0] == HOSTILE[0]
    return sm.report(model, frame, y, names=HOSTILE, title=HOSTILE[1]), frame


@pytest.fixture(scope="module")
def hostile():
    return hostile_report()


def test_text_from_data_never_becomes_markup(hostile):
    report, frame = hostile
    page = report.to_html()
    read = Reader(page)
    assert {tag for tag, _ in read.tags} <= KNOWN
    assert [tag for tag, _ in read.tags].count("script") == 2
    assert not [
        name for _, attributes in read.tags for name in attributes if name.startswith("on") or name in ("src", "href", "style")
    ]
    data = json.loads(read.script("application/json"))
    assert [column["name"] for column in data["columns"]] == list(frame.columns)
    assert data["items"]["names"][:3] == HOSTILE[:3]
    assert data["columns"][4]["categories"] == WORDS
    assert report.title in "".join(text for tag, text in read.texts if tag == "h1")


def test_json_in_the_page_has_no_character_that_ends_it(hostile):
    data = Reader(hostile[0].to_html()).script("application/json")
    assert not re.search("[<>&\u2028\u2029]", data)


def test_a_frame_holds_the_page_and_nothing_else(hostile):
    report, _ = hostile
    frame = report._repr_html_()
    ((tag, attributes),) = Reader(frame).tags
    assert (tag, attributes["sandbox"]) == ("iframe", "allow-scripts")
    assert attributes["srcdoc"] == html.unescape(html.escape(report.to_html()))
    assert set(attributes) == {"srcdoc", "sandbox", "title", "loading", "style"}


def test_text_from_data_is_text_in_markdown(hostile):
    text = hostile[0].to_markdown()
    assert not re.search(r"(?<!\\)[<>`]|\]\(https|(?<!\\)\*\*bold|[^\\]www\.|https:", text)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) >= 3 for line in rows)


def test_json_is_json(hostile):
    facts = json.loads(hostile[0].to_json())
    assert facts["title"] == HOSTILE[1]
    assert list(facts["importances"]["features"]) == list(hostile[1].columns)


@pytest.fixture(scope="module")
def flowers():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=["stem", "leaf", "root"])
    X["colour"] = pd.Categorical(rng.choice(["red", "blue", "white"], 80))
    y = np.where(X["stem"] + (X["colour"] == "red") > 0.4, "rose", "iris")
    return sm.LargeMarginLearner(n_knots=4, alpha=1e-2, directions="lda", tables="full").fit(X, y), X, y


def test_the_page_needs_nothing_from_elsewhere(flowers):
    model, X, y = flowers
    page = sm.report(model, X, y).to_html()
    assert "Content-Security-Policy" in page
    assert re.search(
        r"default-src 'none'; img-src data:; style-src 'sha256-[\w+/=]+'; script-src 'sha256-[\w+/=]+'", html.unescape(page)
    )
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}  # a name, which nothing asks for


def test_tabs_are_those_of_wai_aria(flowers):
    model, X, y = flowers
    read = Reader(sm.report(model, X, y).to_html())
    tabs = [a for tag, a in read.tags if a.get("role") == "tab"]
    panels = {a["id"]: a for tag, a in read.tags if a.get("role") == "tabpanel"}
    assert len(tabs) == len(panels) == 7
    for tab in tabs:
        assert panels[tab["aria-controls"]]["aria-labelledby"] == tab["id"]
    assert [tab["aria-selected"] for tab in tabs] == ["true"] + ["false"] * 6


def test_evidence_and_data_are_told_without_scripts(flowers):
    model, X, y = flowers
    report = sm.report(model, X, y)
    text = " ".join(text for _, text in Reader(report.to_html()).texts)
    for said in ("triangle", "Solution of the convex program", "certified gap", "colour", "blue, red, white", "80 items"):
        assert said in text
        assert said in report.to_markdown()


def test_is_the_same_each_time(flowers):
    model, X, y = flowers
    assert sm.report(model, X, y).to_html() == sm.report(model, X, y).to_html()


def test_is_written_beside_and_renamed(flowers, tmp_path, monkeypatch):
    model, X, y = flowers
    path = tmp_path / "why.html"
    path.write_text("old")
    report = sm.report(model, X, y)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(sm.StorageError):
        report.write_html(path)
    assert path.read_text() == "old"
    monkeypatch.undo()
    report.write_html(path)
    assert path.read_text(encoding="utf-8") == report.to_html()
    assert [p.name for p in tmp_path.iterdir()] == ["why.html"]


def test_open_shows_a_file(flowers, monkeypatch):
    shown = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    path = sm.report(flowers[0]).open()
    assert shown == [path.as_uri()]
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    path.unlink()
    path.parent.rmdir()
