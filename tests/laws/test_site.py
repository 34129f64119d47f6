"""The documentation site: its reference is complete, what is made from the code is, and its check finds what is broken.

The site itself is built and checked by `make docs`, which treats warnings as errors.
"""

import argparse
import importlib
import json
import re
import runpy
import sys
from pathlib import Path

import pytest
from sklearn.base import TransformerMixin

import semimetric
from semimetric.cli.parser import make_parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = runpy.run_path(str(ROOT / "tools" / "site_pages.py"))
CHECK = runpy.run_path(str(ROOT / "tools" / "check_site.py"))
GALLERY = runpy.run_path(str(ROOT / "tools" / "site_gallery.py"))
SENTENCES = runpy.run_path(str(ROOT / "tools" / "check_sentences.py"))
DOCSTRINGS = runpy.run_path(str(ROOT / "tools" / "site_docstrings.py"))
REFERENCE = (ROOT / "docs" / "api.md").read_text()


def referenced():
    """The names of the API reference, by the module that each list is of."""
    names = {}
    for block in re.findall(r"```\{eval-rst\}\n(.*?)```", REFERENCE, re.DOTALL):
        module = re.search(r"currentmodule:: (\S+)", block)[1]
        names.setdefault(module, []).extend(re.findall(r"^ {3}(\w+)$", block, re.MULTILINE))
    return names


def test_the_reference_has_every_public_name_once_and_no_other():
    names = referenced()["semimetric"]
    assert sorted(names) == sorted(semimetric.__all__)


@pytest.mark.parametrize("room", sorted(semimetric._ROOMS))
def test_the_reference_has_every_name_of_a_public_module_that_the_root_has_not(room):
    module = importlib.import_module(f"semimetric.{room}")
    own = [name for name in module.__all__ if getattr(module, name) is not getattr(semimetric, name, None)]
    assert sorted(own) == sorted(referenced().get(f"semimetric.{room}", []))


def test_the_page_of_commands_has_every_command_and_every_option():
    page = PAGES["commands"]()
    sections = dict(re.findall(r"^## semimetric (\w+)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    (choices,) = (a for a in make_parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert set(sections) == set(choices.choices)
    for name, command in choices.choices.items():
        for action in command._actions:
            assert all(f"`{option}" in sections[name] for option in action.option_strings if action.dest != "help")
            if not action.option_strings:
                assert f"`{action.metavar}`" in sections[name]
        assert "%(" not in sections[name]


def test_every_kept_row_of_a_benchmark_is_on_its_page():
    index, pages = PAGES["benchmarks"](ROOT)
    kept = sorted((ROOT / "benchmarks" / "results").glob("*.jsonl"))
    assert sorted(pages) == [f"benchmarks/{file.stem}.md" for file in kept]
    for file in kept:
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        page = pages[f"benchmarks/{file.stem}.md"]
        titles = {row["benchmark"] for row in rows}
        assert page.count("\n| ") == len(rows) + len(titles)
        assert page.count("\n## ") == (len(titles) if len(titles) > 1 else 0)
        assert f"| [{file.stem}](benchmarks/{file.stem}.md) | {len(rows)} |" in index
        header = " | ".join(re.findall(r"^\| (.*) \|\n\|---", page, re.MULTILINE)).split(" | ")
        assert {*header} | {"benchmark", "date", "machine", "version", "commit"} >= {name for row in rows for name in row}


def test_a_row_is_shown_with_its_numbers_and_what_all_rows_share_is_said_once():
    rows = [{"benchmark": "b", "x": 1.23456, "y": "a|b", "date": "2026-01-02T03", "machine": "M"}]
    rows.append({"benchmark": "b", "x": 2, "z": {"u": 0.5}, "date": "2026-01-04T03", "machine": "M"})
    page = PAGES["rows_page"]("b", rows, "What?", "python b.py")
    assert "| x | y | z |" in page
    assert "| 1.235 | a\\|b |  |\n| 2 |  | u: 0.5 |" in page
    assert "machine M; measured on 2026-01-02 to 2026-01-04." in page
    assert "## " not in page


def test_rows_of_other_titles_stand_in_tables_of_their_own():
    measured = (("seconds", "s"), ("memory", "MiB"), ("seconds", "s"))
    rows = [{"benchmark": title, name: 1, "date": "2026-01-02"} for title, name in measured]
    page = PAGES["rows_page"]("b", rows, "What?", "b")
    tables = ["## seconds", "| s |", "| 1 |", "| 1 |", "## memory", "| MiB |", "| 1 |"]
    assert re.findall(r"^(?:## .*|\| .*)", page, re.MULTILINE) == tables


def test_links_to_files_of_the_project_lead_to_pages_of_the_site():
    text = "[a](../examples/plot_x.py) [b](../CONTRIBUTING.md#recipes) [c](../README.md#install) [d](learning.md)"
    assert PAGES["for_the_site"](text, "examples") == (
        "[a](gallery/plot_x.rst) [b](generated/contributing.md#recipes) [c](index.md) [d](learning.md)"
    )
    assert PAGES["moved"]("[a](docs/robustness.md)") == "[a](../robustness.md)"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_links_of_pages_lead_to_files_that_a_code_host_shows(page):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL))
    inside = [link for link in links if not link.startswith("http")]
    assert [link for link in inside if not (page.parent / link).exists()] == []
    assert [link for link in inside if link.startswith(("generated/", "gallery/", "_build/"))] == []


@pytest.mark.parametrize("file", PAGES["PAGE_OF"])
def test_files_that_have_a_page_are_there(file):
    assert (ROOT / file).exists()


def test_examples_are_in_the_order_of_their_page():
    place = PAGES["OrderOfExamples"]("examples")
    names = [file.name for file in (ROOT / "examples").glob("plot_*.py")]
    assert sorted(map(place, names)) == list(range(len(names)))
    assert place("plot_which_customers_leave_by_a_table_as_it_comes.py") == 0


def test_machines_are_told_every_page_with_what_it_is_for():
    page = "# Title\n\n- a list\n\n**What** it [is](x.md) for. And more.\n"
    assert PAGES["first_sentence"](page) == "What it is for."
    text = PAGES["llms"]("semimetric 1", [("Title", "_sources/x.md.txt", "What it is for.")])
    assert text.startswith("# semimetric 1\n\n> Learn a distance")
    assert "- [Title](_sources/x.md.txt): What it is for." in text


def test_pages_are_written_where_they_changed(tmp_path):
    written = PAGES["write"](ROOT, tmp_path)
    assert {"changelog.md", "contributing.md", "commands.md", "benchmarks.md"} <= {file.name for file in written}
    before = {file: file.stat().st_mtime_ns for file in written}
    stray = tmp_path / "benchmarks" / "of_before.md"
    stray.touch()
    PAGES["write"](ROOT, tmp_path)
    assert before == {file: file.stat().st_mtime_ns for file in written}
    assert not stray.exists()


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        (["mean |w / unit| of ids_, n_samples_."], [r"mean \|w / unit\| of ids\_, n_samples\_."]),
        (["``|r|`` and `ids_`, not x_i"], ["``|r|`` and `ids_`, not x_i"]),
        ([">>> model.ids_", "a | b", "", "|x|"], [">>> model.ids_", "a | b", "", r"\|x\|"]),
        (["thus::", "", "    |x|", "", "|x|"], ["thus::", "", "    |x|", "", r"\|x\|"]),
        (["**ids_** and *n_*"], ["**ids_** and *n_*"]),
    ],
)
def test_bars_and_names_of_attributes_are_plain_text_outside_of_code(lines, read):
    assert DOCSTRINGS["escaped"](lines) == read


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("signed, see ``docs/files.md``.", "signed, see `docs/files.md <../../files.html>`__."),
        ("in docs/effort.md; ``choices_``", "in `docs/effort.md <../../effort.html>`__; ``choices_``"),
        (
            "slopes_ (docs/mathematics.md, section 2).",
            "slopes\\_ (`docs/mathematics.md, section 2 <../../mathematics.html#2-pairs-of-vectors-and-the-distance>`__).",
        ),
        (
            "docs/mathematics.md, section 4.1",
            "`docs/mathematics.md, section 4.1 <../../mathematics.html#41-a-query-makes-a-table>`__",
        ),
        ("docs/no-such-page.md and ``learn('docs/files.md')``", "docs/no-such-page.md and ``learn('docs/files.md')``"),
    ],
)  # fmt: skip
def test_pages_that_docstrings_name_are_links_on_the_site(line, read):
    assert DOCSTRINGS["escaped"]([line], "../../") == [read]


def test_sections_that_docstrings_name_are_there():
    with pytest.raises(LookupError, match="docs/mathematics.md, section 99"):
        DOCSTRINGS["escaped"](["see docs/mathematics.md, section 99"])
    for file in sorted((ROOT / "semimetric").rglob("*.py")):
        DOCSTRINGS["escaped"](line for line in file.read_text().splitlines() if "docs/" in line)


def test_methods_that_scikit_learn_wrote_are_left_out_and_ours_are_not():
    left_out = DOCSTRINGS["is_of_sklearn"]
    assert left_out("set_fit_request", None)
    assert left_out("fit_transform", TransformerMixin.fit_transform)
    assert not left_out("fit", semimetric.DistanceRegressor.fit)
    assert not left_out("kneighbors", semimetric.NeighborIndex.kneighbors)


def site(folder, body, example=True):
    """What is wrong with a site of one page and one example, whose page is whole."""
    (folder / "index.html").write_text(f"<p id='here'>This page is of semimetric 1.2.</p>{body}")
    for name in ("searchindex.js", "llms.txt"):
        (folder / name).touch()
    if example:
        (folder / "gallery").mkdir()
        (folder / "_images").mkdir()
        (folder / "gallery" / "plot_x.html").write_text("of semimetric 1.2.")
        for name in ("gallery/plot_x.py", "gallery/plot_x.ipynb", "_images/sphx_glr_plot_x_001.png"):
            (folder / name).touch()
    return list(CHECK["findings"](folder, "1.2", ["plot_x"]))


def test_a_whole_site_is_right(tmp_path):
    body = (
        "<a href='#here'>a</a> <a href='gallery/plot_x.html'>b</a> <a href='https://elsewhere.org/x'>c</a><img src='x' alt=''>"
    )
    assert site(tmp_path, body) == []


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("<a href='lost.html'>a</a>", "index.html: lost.html leads nowhere"),
        ("<a href='#lost'>a</a>", "index.html: #lost leads to no place on its page"),
        ("<a href='gallery/plot_x.html#lost'>a</a>", "index.html: gallery/plot_x.html#lost leads to no place on its page"),
        ("<script src='https://cdn.org/x.js'></script>", "index.html loads https://cdn.org/x.js"),
        ("<link rel='stylesheet' href='//cdn.org/x.css'>", "index.html loads //cdn.org/x.css"),
        ("<img src='x.png'>", "index.html has no text for the picture x.png"),
    ],
)
def test_what_is_broken_is_told(tmp_path, body, wrong):
    assert site(tmp_path, body) == [wrong]


def test_a_missing_version_and_a_missing_example_are_told(tmp_path):
    wrong = site(tmp_path, "", example=False)
    assert wrong == ["the example plot_x has no page", "plot_x.py cannot be downloaded", "plot_x.ipynb cannot be downloaded"]
    assert list(CHECK["findings"](tmp_path, "1.3", []))[0] == "index.html does not say that it is of version 1.3"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no pages" in list(CHECK["findings"](empty, "1.3", []))[0]


def test_the_command_of_the_check_ends_with_an_error_where_something_is_wrong(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check_site.py", str(tmp_path)])
    assert CHECK["main"]() == 1
    assert "make docs" in capsys.readouterr().out


def test_long_sentences_are_found_where_people_read_them():
    long = " ".join(["word"] * 36)
    page = f"# {long}\n\nShort. `{long}` is code.\n\n- {long}.\n\n| a | {long} |\n|---|---|\n\n```\n{long}\n```\n"
    found = list(SENTENCES["findings"]("page", page))
    assert [text.partition(",")[0] for text in found] == ["page: 36 words", "page: 36 words"]
    (mean,) = SENTENCES["findings"]("page", " ".join(["word"] * 20) + ". " + " ".join(["word"] * 18) + ".")
    assert mean == "page: sentences have 19.0 words on average, more than 18"
    assert not list(SENTENCES["findings"]("page", "One. Two three! ![" + long + "](a.png) Four?"))


def test_the_gallery_has_a_heading_before_the_first_example_of_each_group():
    container = '.. raw:: html\n\n    <div class="sphx-glr-thumbcontainer">\n\n  :doc:`/gallery/{}`\n\n'
    page = '    <div class="sphx-glr-thumbnails">\n\n.. thumbnail-parent-div-open\n\n' + "".join(
        map(container.format, ("plot_a", "plot_b", "plot_c"))
    )
    examples = (
        "# All\n\n## Near\n\n[a](../examples/plot_a.py) [b](../examples/plot_b.py)\n\n## Far\n\n[c](../examples/plot_c.py)\n"
    )
    divided = GALLERY["divided"](page, examples)
    order = re.findall(r"plot_\w|>\w+</h2>", divided)
    assert order == [">Near</h2>", "plot_a", "plot_b", ">Far</h2>", "plot_c"]
    assert divided.count("</div>") == 1  # of the first group; the page closes the last one and the outer one


def test_examples_open_with_their_picture():
    words, picture = "A question\n==========\n\nAn answer.\n\n", ".. image-sg:: /a.png\n   :alt: a\n\n\n"
    lines, code = ".. GENERATED FROM PYTHON SOURCE LINES 1-3\n\n", ".. code-block:: Python\n\n    plot()\n\n\n"
    rest = ".. rst-class:: sphx-glr-script-out\n\n" + lines + code
    first = GALLERY["with_picture_first"]
    assert first(words + lines + code + picture + rest) == words + picture + lines + code + rest
    for page in (words + lines + picture + code, words + lines + code + rest):  # as an example of one block has it; without one
        assert first(page) == page


def test_thumbnails_are_the_largest_panel_in_their_size(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 3, figsize=(14, 4), width_ratios=(1, 2, 1), layout="constrained")
    axes[1].set_title("the largest")
    assert GALLERY["largest"](list(axes)) is axes[1]
    size = axes[1].title.get_fontsize()
    GALLERY["save_thumbnail"](figure, tmp_path / "small.png")
    height, width = pyplot.imread(tmp_path / "small.png").shape[:2]
    assert (width, height) == pytest.approx(GALLERY["THUMBNAIL"], abs=2)
    assert axes[1].title.get_fontsize() == size  # the figure is as it was
    assert all(ax.get_visible() for ax in axes)
    pyplot.close(figure)
