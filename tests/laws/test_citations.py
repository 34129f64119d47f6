"""What the code cites exists: papers and their parts, authors with years, sections of the mathematics, files and headings."""

import ast
import inspect
import io
import re
import tokenize
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import semimetric

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = (ROOT / "docs/references.md").read_text()
MATHEMATICS = (ROOT / "docs/mathematics.md").read_text()
MODULES = sorted((ROOT / "semimetric").rglob("*.py"))
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted((ROOT / "docs").glob("*.md"))

_SHORT = {"alg": "algorithm", "eq": "equation", "fig": "figure", "§": "section"}
_WORDS = "section step equation algorithm figure table theorem proposition corollary footnote".split()
_KIND = rf"({'|'.join(f'{word}s?' for word in _WORDS)}|§|(?:eqs?|algs?|figs?)\.?)"
_NUMBER = r"S?\.?\d+(?:\.\d+)*"
_JOINED = r"(?:, and |, | and | to | or |-)"
_PART = re.compile(rf"(?<!\w){_KIND} ?({_NUMBER}(?:{_JOINED}{_NUMBER}\b)*)", re.IGNORECASE)
_AUTHOR = r"[A-ZÀ-Þ][A-Za-zÀ-ž'’]*[a-zà-ž](?:-[A-ZÀ-Þ][a-zà-ž]+)*"
_AUTHORS = rf"{_AUTHOR}(?:(?:, | & |, & | and |, and ){_AUTHOR})*"
_YEAR = r"(?:18|19|20)\d\d"
_CITED = re.compile(rf"({_AUTHORS})( et al\.)?(?:'s [a-z][a-z0-9 ]{{0,40}}?)?,? \(?({_YEAR})\b(?![.,]\d)")
_ENTRY = re.compile(rf"^- \*\*({_AUTHORS}) ({_YEAR})\.\*\*", re.MULTILINE)


_NUMBERED = re.compile(rf"^- \*\*({_AUTHORS}) ({_YEAR})\.\*\* See \[paper (\d)\]", re.MULTILINE)


class Citation(NamedTuple):
    """Authors and year; ``others`` tells "et al."."""

    authors: tuple[str, ...]
    others: bool
    year: int


@cache
def prose(source):
    """The docstrings and comments of a module, each as one line of text; comments in consecutive lines belong together."""
    tree = ast.parse(source)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]
    last = -2
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comment = token.string.lstrip("#: ")
            if token.start[0] == last + 1:
                texts[-1] += " " + comment
            else:
                texts.append(comment)
            last = token.start[0]
    return [flat(text) for text in texts if text]


def flat(text):
    """The text on one line, words one space apart."""
    return re.sub(r"\s+", " ", text)


def citations(text):
    """Authors with a year, as in "Ho & Lin (2012)", "Hsieh et al. 2008", "Hildreth's sweeps (1957)"."""
    return [
        Citation(_names(authors), bool(others), int(year))
        for authors, others, year in _CITED.findall(re.sub(r"``[^`]*``|`[^`]*`", "", text))
    ]


def _names(authors):
    return tuple(re.split(r", and |, & |, | & | and ", authors.removesuffix("'s")))


def resolves(citation, entries):
    """Whether an entry has the same authors and year; with "et al." the entry has more authors than are named."""
    named = len(citation.authors)
    return any(
        year == citation.year
        and authors[:named] == citation.authors
        and (len(authors) > named if citation.others else len(authors) == named)
        for authors, year in entries
    )


def entries(references):
    """Authors and year of every entry of the list of sources."""
    return [(_names(authors), int(year)) for authors, year in _ENTRY.findall(references)]


def parts(text):
    """Numbered parts of a paper that are named in the text: ("equation", "15"), ("section", "S.3"); ranges number by number."""
    found = set()
    for kind, numbers in _PART.findall(text):
        word = kind.lower().rstrip("s.")
        word = _SHORT.get(word, word)
        for first, last in re.findall(rf"({_NUMBER})(?:(?: to |-)({_NUMBER}))?", numbers):
            span = range(int(first), int(last) + 1) if last and last.isdigit() else (first,)
            found |= {(word, str(number)) for number in span}
    return found


@cache
def numbered():
    """For every paper that has a heading of its own, how it is cited and its number."""
    found = []
    for authors, year, number in _NUMBERED.findall(REFERENCES):
        first, *others = _names(authors)
        called = re.escape(authors) + (rf"|{first} et al\." if len(others) > 1 else "")
        found.append((re.compile(rf"\b(?:{called}) \(?{year}\)?"), f"paper {number}"))
    return found


def by_number(text):
    """The text with "paper 1" in place of the authors and the year of a paper that has a heading of its own."""
    for cited, name in numbered():
        text = cited.sub(name, text)
    return text


def papers(text):
    """Numbers of papers with the parts named beside each, as in "paper 1, eq. 15; Proposition 1 of paper 4"."""
    text = by_number(text)
    text = re.sub(r"\b([Ee]qs?|[Aa]lgs?|[Ff]igs?)\. (?=\d)", r"\1 ", text)
    found = []
    for cited in re.finditer(r"\b[Pp]aper (\d)\b", text):
        after = re.split(r"[;):]|\. |\.$|[Pp]aper \d|docs/", text[cited.end() :], maxsplit=1)[0]
        within = parts(after) if after.startswith(",") else set()
        before = re.search(rf"{_KIND} {_NUMBER}(?:{_JOINED}{_NUMBER})* (?:of|in) $", text[: cited.start()], re.IGNORECASE)
        found.append((int(cited[1]), within | (parts(before[0]) if before else set())))
    return found


def sections(text):
    """Numbers of sections of the mathematics that the text cites."""
    return re.findall(r"mathematics\.md, section (\d+(?:\.\d+)*)", text)


def described(references):
    """Of every paper that has a heading, the parts that are listed below it, before the departures."""
    return {
        int(number): parts(flat(body.split("Departures:")[0]))
        for number, body in re.findall(r"^## Paper (\d)\n(.*?)(?=^## )", references, re.MULTILINE | re.DOTALL)
    }


def headings(document):
    """The numbers that headings begin with."""
    return set(re.findall(r"^#{2,} (\d+(?:\.\d+)*)\.? ", document, re.MULTILINE))


def anchors(document):
    """The headings of a document as GitHub makes anchors of them."""
    titles = re.findall(r"^#+ (.*)$", document, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_citations_are_found_in_the_forms_that_are_used():
    text = (
        "The step of Hsieh et al. (2008) and of Ho & Lin (2012), Hildreth's sweeps (1957), Neal's algorithm 8 (2000) (FAST: "
        "Lou, Caruana, Gehrke, Hooker 2013), Shalev-Shwartz et al. 2011; Keerthi & DeCoste 2005. With `Ridge 2000`, 2,000 rows "
        "and n_sweeps=2000 nobody is cited."
    )
    assert citations(text) == [
        (("Hsieh",), True, 2008),
        (("Ho", "Lin"), False, 2012),
        (("Hildreth",), False, 1957),
        (("Neal",), False, 2000),
        (("Lou", "Caruana", "Gehrke", "Hooker"), False, 2013),
        (("Shalev-Shwartz",), True, 2011),
        (("Keerthi", "DeCoste"), False, 2005),
    ]


def test_papers_are_found_with_their_parts():
    text = (
        "As in paper 0, section 3.2; paper 1, eq. 6 and 7, (paper 3, equations 11 to 13), Proposition 1 of paper 4, and "
        "(paper 2, Alg. 1, lines 5-8). The differences of paper 1. See (paper 4, Figs 1 and 2)."
    )
    assert papers(text) == [
        (0, {("section", "3.2")}),
        (1, {("equation", "6"), ("equation", "7")}),
        (3, {("equation", "11"), ("equation", "12"), ("equation", "13")}),
        (4, {("proposition", "1")}),
        (2, {("algorithm", "1")}),
        (1, set()),
        (4, {("figure", "1"), ("figure", "2")}),
    ]
    assert papers("By Pele et al. (2013), Alg. 2; Maji 2011, eq. 5; Proposition 1 of Ceylan & Birbil (2020).") == [
        (0, {("algorithm", "2")}),
        (1, {("equation", "5")}),
        (4, {("proposition", "1")}),
    ]
    assert parts("§S.3, eqs 6 and 7; theorems 1 and 2") == {
        ("section", "S.3"), ("equation", "6"), ("equation", "7"), ("theorem", "1"), ("theorem", "2"),
    }  # fmt: skip
    assert sections("The theory is in docs/mathematics.md, section 2.8 and docs/mathematics.md, section 4.") == ["2.8", "4"]


def test_a_citation_without_an_entry_does_not_resolve():
    known = entries("- **Ho & Lin 2012.** Regression.\n- **Keerthi, Chang & Lin 2008.** Classes.\n- **Neal 2003.** Slices.\n")
    good = citations("Ho & Lin 2012, Keerthi et al. 2008, Neal 2003")
    assert len(good) == 3
    assert all(resolves(c, known) for c in good)
    bad = citations("Ho & Lin 2011, Ho 2012, Keerthi & Chang 2008, Neal et al. 2003, Nobody 1999")
    assert len(bad) == 5
    assert not any(resolves(c, known) for c in bad)


def test_prose_is_docstrings_and_comments_and_no_code():
    source = '"""Of Ho &\nLin 2012."""\nx = (2000, "Neal 2003")  # as Neal\n# (2000) has it\ndef f():\n    """Neal 2003."""\n'
    assert prose(source) == ["Of Ho & Lin 2012.", "Neal 2003.", "as Neal (2000) has it"]


def test_sources_are_sorted_and_there_once():
    known = entries(REFERENCES)
    assert len(known) == len(re.findall(r"^- \*\*", REFERENCES, re.MULTILINE)) > 30
    assert known == sorted(known)
    assert len({(authors, year) for authors, year in known}) == len(known)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_citations_of_the_code_resolve(path):
    texts, known, listed, numbered = prose(path.read_text()), entries(REFERENCES), described(REFERENCES), headings(MATHEMATICS)
    lost = [c for text in texts for c in citations(text) if not resolves(c, known)]
    assert not lost, f"add these to docs/references.md, or correct them: {lost}"
    places = [(n, kind, number) for text in texts for n, found in papers(text) for kind, number in found]
    missing = [(n, "no such paper", "") for text in texts for n, _ in papers(text) if n not in listed]
    missing += [(n, kind, number) for n, kind, number in places if n in listed and (kind, number) not in listed[n]]
    assert not missing, f"docs/references.md does not say what these are: {missing}"
    dangling = [number for text in texts for number in sections(text) if number not in numbered]
    assert not dangling, f"docs/mathematics.md has no sections {dangling}"


def public_docstrings():
    """What `help()` shows of every public name, by name: of functions, and of classes with their public methods."""
    for face in (semimetric, *(getattr(semimetric, room) for room in semimetric._ROOMS)):
        for name in face.__all__:
            found = getattr(face, name)
            yield name, inspect.getdoc(found) or ""
            for key in (key for key in dir(found) if inspect.isclass(found) and not key.startswith("_")):
                yield f"{name}.{key}", inspect.getdoc(inspect.getattr_static(found, key)) or ""


def test_what_help_shows_cites_by_author_and_year():
    shown = list(public_docstrings())
    assert len(shown) > 500
    numbered = [name for name, text in shown if re.search(r"\b[Pp]apers? \d", text)]
    assert not numbered, f"name the authors and the year, as docs/references.md does: {numbered}"
    known = entries(REFERENCES)
    lost = {name: c for name, text in shown if text.strip() for c in citations(flat(text)) if not resolves(c, known)}
    assert not {name: c for name, c in lost.items() if name.split(".")[0] in semimetric.__all__}, lost


@pytest.mark.slow
def test_the_code_is_searched_and_not_passed_by():
    texts = [text for path in MODULES for text in prose(path.read_text())]
    assert len({c for text in texts for c in citations(text)}) > 25
    assert {n for text in texts for n, _ in papers(text)} == set(range(5)) == set(described(REFERENCES))
    assert {"2", "3", "4"} <= {number for text in texts for number in sections(text)}
    mentions = sum(len(re.findall(r"mathematics\.md", text)) for text in texts)
    assert mentions <= sum(len(sections(text)) for text in texts), "say which section of docs/mathematics.md is meant"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_documents_resolve(path):
    """Relative links lead to files and headings that exist; documents cite what `docs/references.md` has."""
    text = path.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        if not re.match(r"[a-z]+:", target):
            there = path.parent / file if file else path
            assert there.exists(), f"{path.name} links to {file}, which does not exist"
            assert not anchor or anchor in anchors(there.read_text()), f"{file or path.name} has no heading #{anchor}"
    for name in re.findall(r"`((?:docs|tests|semimetric|examples|benchmarks)/[\w/.-]+\.\w+)`", text):
        assert (ROOT / name).exists(), f"{path.name} names {name}, which does not exist"
    if path.name != "references.md":
        lost = [c for c in citations(flat(text)) if not resolves(c, entries(REFERENCES))]
        assert not lost, f"{path.name} cites what docs/references.md does not have: {lost}"


def test_sections_that_the_mathematics_refers_to_exist():
    own = {n for n in re.findall(r"(?<!\w)sections? (\d+(?:\.\d+)*)(?! of paper)", without_papers(flat(MATHEMATICS)))}
    assert own
    assert own <= headings(MATHEMATICS), own - headings(MATHEMATICS)
    for number, found in papers(flat(MATHEMATICS)):
        assert found <= described(REFERENCES)[number], (number, found)
    assert {n for n in re.findall(r"mathematics\.md, section (\d+)", flat(REFERENCES))} <= headings(MATHEMATICS)


def without_papers(text):
    """The text without "paper 1, section 5", whose sections are those of the paper."""
    return re.sub(r"[Pp]aper \d, (?:[^;)]*? and )?sections? [\dS][\d.]*", "", text)
