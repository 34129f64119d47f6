"""The tables of docs/papers.md are those of the kept rows, and have every number that a paper prints."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    return import_module("paper_tables")


def test_the_page_shows_the_kept_rows_as_they_are(tables, capsys):
    assert tables.main(["--check"]) == 0, capsys.readouterr().err
    named = [name for _, name in tables._TABLE.findall(tables.DOCUMENT.read_text())]
    assert sorted(named) == sorted(tables.TABLES)


def test_a_table_is_made_anew_up_to_the_next_blank_line(tables):
    text = "Before.\n\n<!-- table: waves -->\n| old |\n| --- |\n| 1 |\n\nAfter.\n"
    made = tables.written(text)
    assert "old" not in made
    assert made.startswith("Before.\n\n<!-- table: waves -->\n| degree |")
    assert made.endswith("|\n\nAfter.\n")
    assert tables.written(made) == made


def test_every_number_of_a_paper_has_a_cell(tables):
    page = tables.DOCUMENT.read_text()
    printed = [number for numbers in tables.paper4.PAPER.values() for number in numbers]
    printed += [*tables.paper4.PAPER_SECONDS.values(), *(n for ns in tables.paper1.PAPER2_ACCURACY.values() for n in ns)]
    printed += [n for ns in tables.paper1.PAPER3.values() for n in ns]
    printed += [found[0] for found in (*tables.paper1.PAPER4.values(), *tables.paper1.PAPER5.values())]
    printed += [n for ns in tables.paper3.PAPER.values() for n in ns]
    assert len(printed) > 180
    assert not [number for number in printed if f"({number:g})" not in page]
    rows = [line.split(" | ")[0].strip("| ") for line in page.splitlines() if line.startswith("| ")]
    assert {name for name, *_ in tables.paper0.PAPER.values()} | {*tables.paper0.FIXED.values()} <= {*rows}


def test_a_cell_without_a_row_is_a_dash(tables):
    assert tables.cell(None, 81.5) == "– (81.5)"
    assert tables.cell(None) == "–"
    assert tables.cell(81.46, 81.5) == "81.5 (81.5)"
