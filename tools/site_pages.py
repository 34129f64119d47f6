"""Write the pages of the documentation site that are made from the code: commands, raw benchmark rows, changelog, llms.txt.

`docs/conf.py` calls `connect`, so `make docs` writes them anew into docs/generated, which git ignores.

    python tools/site_pages.py docs/generated    writes them without Sphinx
"""

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GALLERY = "gallery"
PAGE_OF = {  # of files of the project that pages link to, the page of the site that says the same
    "README.md": "index.md",
    "CONTRIBUTING.md": "generated/contributing.md",
    "CHANGELOG.md": "generated/changelog.md",
    "benchmarks/results": "generated/benchmarks.md",
    "semimetric/cli/parser.py": "generated/commands.md",
}
REPEATED = ("machine", "version", "commit", "date")  # of a row: said once where all rows have the same


def connect(app: Any, root: Path) -> None:
    """Connect to a Sphinx application: write the pages now, change links as sources are read, and write llms.txt at the end."""
    write(root, root / "docs" / "generated")
    remove_strays(root / "docs" / GALLERY, "plot_*", {file.stem for file in (root / "examples").glob("plot_*.py")})
    app.connect("source-read", lambda _, name, source: source.__setitem__(0, for_the_site(source[0], name)))
    app.connect("build-finished", lambda app, error: None if error else write_llms(app))


def write(root: Path, folder: Path) -> list[Path]:
    """Write every generated page into a folder, where a page has changed, and return their paths."""
    pages = {"changelog.md": moved((root / "CHANGELOG.md").read_text(encoding="utf-8"))}
    pages["contributing.md"] = moved((root / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    pages["commands.md"] = commands()
    pages["benchmarks.md"], tables = benchmarks(root)
    pages |= tables
    for name, text in pages.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    remove_strays(folder / "benchmarks", "*.md", {Path(name).stem for name in tables})
    return [folder / name for name in pages]


def remove_strays(folder: Path, pattern: str, kept: set[str]) -> None:
    """Remove files that were made from one which is no longer there: those of a pattern whose names are not to be kept."""
    for file in folder.glob(pattern):
        if file.name.partition(".")[0] not in kept:
            file.unlink()


# Links --------------------------------------------------------------------------------------------------------------------


def moved(text: str) -> str:
    """A document of the root of the project as a page of docs/generated: what its links lead to, seen from there."""
    return re.sub(r"\]\(docs/", "](../", text)


def for_the_site(text: str, page: str = "") -> str:
    """The text of a page with links that lead to files of the project replaced by links to their pages of the site."""
    up = "../" * page.count("/")
    text = re.sub(r"\]\((?:\.\./)+examples/(plot_\w+)\.py\)", rf"]({up}{GALLERY}/\1.rst)", text)
    text = re.sub(r"\]\(\.\./README\.md#[\w-]+\)", "](../README.md)", text)  # whose sections the first page has not
    for file, made in PAGE_OF.items():
        text = text.replace(f"](../{file}", f"]({up}{made}")
    return text


# The gallery --------------------------------------------------------------------------------------------------------------


class OrderOfExamples:
    """The key by which the gallery sorts examples: their order on docs/examples.md.

    Parameters
    ----------
    folder : str
        The folder of the examples.
    """

    def __init__(self, folder: str) -> None:
        page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
        self.places = {name: place for place, name in enumerate(re.findall(r"\]\(\.\./examples/(\w+\.py)\)", page))}

    def __call__(self, name: str) -> int:
        return self.places[name]

    def __repr__(self) -> str:
        return "OrderOfExamples"


# The command line ---------------------------------------------------------------------------------------------------------


def commands() -> str:
    """The page of all commands and their options, made from the parser."""
    from semimetric.cli.parser import make_parser

    parser = make_parser()
    (choices,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    about = {action.dest: action.help for action in choices._choices_actions}
    lines = ["# Commands and their options", "", "Made from the parser of `semimetric`. [The command line](../command-line.md) "
             "shows them at work. Every command takes `--help`.", ""]  # fmt: skip
    for name, command in choices.choices.items():
        lines += [f"## semimetric {name}", "", f"{str(about[name])[0].upper()}{str(about[name])[1:]}.", ""]
        lines += ["```text", usage(command), "```", "", "| argument | meaning |", "|---|---|"]
        lines += [f"| {spelt(action)} | {meaning(action, command)} |" for action in command._actions if action.dest != "help"]
        example = (command.epilog or "").partition("\n")[2]
        lines += ["", "```text", *(line.strip() for line in example.splitlines()), "```", ""]
    return "\n".join(lines)


def usage(command: argparse.ArgumentParser) -> str:
    """The usage of a command in lines of one width, whatever the terminal."""
    formatter = argparse.HelpFormatter(command.prog, width=100)
    formatter.add_usage(command.usage, command._actions, command._mutually_exclusive_groups)
    return formatter.format_help().strip()


def spelt(action: argparse.Action) -> str:
    """How an argument is written, as code."""
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    if action.nargs == 0:
        value = ""
    elif action.choices:
        value = f" {{{','.join(map(str, action.choices))}}}"
    else:
        value = f" {action.metavar or action.dest.upper()}" + (" ..." if action.nargs == "+" else "")
    return ", ".join(f"`{option}{value}`" for option in action.option_strings)


def meaning(action: argparse.Action, command: argparse.ArgumentParser) -> str:
    """The help of an argument, with its default where the help has a place for it."""
    text = (action.help or "") % {**vars(action), "prog": command.prog}
    return text.replace("|", "\\|").replace("<", "&lt;")


# Benchmarks ---------------------------------------------------------------------------------------------------------------


def benchmarks(root: Path) -> tuple[str, dict[str, str]]:
    """The page that lists the kept results, and a page for each of them."""
    lines = ["# Raw results", "", "Every kept row, as the scripts in `benchmarks/` wrote it: `benchmarks/results/*.jsonl` in "
             "tables. [All measured tables](../measurements.md) are read from them.", "",
             "| benchmark | rows | what is measured |", "|---|---:|---|"]  # fmt: skip
    pages = {}
    for file in sorted((root / "benchmarks" / "results").glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        script = root / "benchmarks" / f"{file.stem}.py"
        what, command = described(script)
        lines.append(f"| [{file.stem}](benchmarks/{file.stem}.md) | {len(rows)} | {what.replace('|', chr(92) + '|')} |")
        pages[f"benchmarks/{file.stem}.md"] = rows_page(file.stem, rows, what, command)
    return "\n".join([*lines, ""]), pages


def described(script: Path) -> tuple[str, str]:
    """The first sentence of a benchmark's docstring, and the command that runs it."""
    if not script.exists():
        return "Attacks of random input: how many ended in which way.", "make soak"
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()), f"python benchmarks/{script.name}"


def rows_page(name: str, rows: list[dict[str, Any]], what: str, command: str) -> str:
    """The page of one file of results: where they come from, and a table of the rows of every title."""
    same = {key: rows[0][key] for key in REPEATED if key in rows[0] and len({row.get(key) for row in rows}) == 1}
    dates = sorted(str(row["date"])[:10] for row in rows)
    said = [f"{key} {value}" for key, value in same.items() if key != "date"]
    said.append(f"measured on {dates[0]}" + (f" to {dates[-1]}" if dates[-1] != dates[0] else ""))
    lines = ["---", "orphan: true", "---", "", f"# {name}", "", what, "", f"`{command}`; {'; '.join(said)}.", ""]
    titles = list(dict.fromkeys(row.get("benchmark") for row in rows))
    for title in titles:
        under = [row for row in rows if row.get("benchmark") == title]
        lines += [f"## {shown(title)}", ""] * (len(titles) > 1) + [":::{div} benchmark-rows", ""]
        columns = [key for key in dict.fromkeys(key for row in under for key in row) if key not in {"benchmark", "date", *same}]
        lines += ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(shown(row.get(key)) for key in columns) + " |" for row in under] + ["", ":::", ""]
    return "\n".join(lines)


def shown(value: Any) -> str:
    """A value of a row as the cell of a table, numbers with four figures."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {shown(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return re.sub(r"([|*_`<\[])", r"\\\1", str(value))


# What is told to machines -------------------------------------------------------------------------------------------------


def llms(title: str, pages: Iterable[tuple[str, str, str]]) -> str:
    """The text of llms.txt: what the package is, and of each page its title, the address of its source, and its first sentence.

    Parameters
    ----------
    title : str
        The name and version of the package.
    pages : iterable of (title, address, sentence)
    """
    about = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[1].replace("**", "").replace("\n", " ")
    lines = [f"# {title}", "", f"> {about}", "", "## Pages, in plain text", ""]
    return "\n".join([*lines, *(f"- [{name}]({address}): {sentence}" for name, address, sentence in pages), ""])


def first_sentence(source: str) -> str:
    """The first sentence of running text of a page in Markdown."""
    for paragraph in re.split(r"\n\s*\n", source):
        text = " ".join(paragraph.split())
        if re.match(r"(?!```)[A-Z*`\[]", text):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("**", "")
            return re.split(r"(?<=[.:?]) (?=[A-Z`])", text)[0]
    return ""


def write_llms(app: Any) -> None:
    """Write llms.txt beside the pages: those that are written by hand, and the reference of names and commands."""
    if app.builder.name != "html":
        return
    pages = []
    for name in sorted(app.env.found_docs):
        source = Path(app.env.doc2path(name))
        if source.suffix == ".md" and not name.startswith("generated/benchmarks/"):
            text = first_sentence(source.read_text(encoding="utf-8"))
            pages.append((app.env.titles[name].astext(), f"_sources/{source.relative_to(app.srcdir)}.txt", text))
    (Path(app.outdir) / "llms.txt").write_text(llms(app.config.html_title, pages), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    print("\n".join(map(str, write(ROOT, Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "generated")))))
