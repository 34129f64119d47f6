"""Run the code of pages, and write into them what it prints and draws.

    python tools/run_pages.py docs/choose.md ...

A block of Python continues the blocks before it. A block of text right below it shows what it prints, and an image right
below both is the figure that it has drawn. Figures are drawn anew. An output that the page does not show, or shows wrongly,
is written anew and whole: put ``...`` in again. One that agrees stays as it is. A block below ``<!-- needs: umap -->`` runs
if that package is installed.

The tests run the pages by the functions of this file, and compare what they show.
"""

import difflib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Container
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"
_BLOCK = re.compile(
    r"(?:<!-- needs: (?P<needs>\w+) -->\n)?```python\n(?P<code>.*?)```\n"
    r"(?:\n?```text\n(?P<shown>.*?)```\n)?"
    r"(?:\n?!\[[^\]]*\]\(figures/(?P<figure>[\w.]+)\))?",
    re.DOTALL,
)
_END = "\x1e"  # ASCII's record separator, which no page prints
_DRAWN = """
import matplotlib.pyplot as _pyplot
assert _pyplot.get_fignums(), "the block of this figure draws none: " + {figure!r}
_pyplot.gcf().savefig({figure!r}, dpi=80, bbox_inches="tight", metadata={{"Software": None}})
_pyplot.close("all")
"""
_TOKEN = re.compile(
    r"""
    \.\.\.
    | (?P<number>(?:(?<![\w.)])[+-])?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?)
      (?P<unit>[ ]?%|[ ](?:ms|µs|s|seconds|minutes)\b)?
    | [^\W\d]+
    | \n
    | \S
    """,
    re.VERBOSE,
)
_RELATIVE = Decimal("0.02")


class Block(NamedTuple):
    """A block of Python of a page, and what the page says of it."""

    code: str
    needs: str = ""  # the package that it needs; "" without one
    shown: str = ""  # the block of output right below; "" without one
    figure: str = ""  # the name of the image right below; "" without one
    output: slice = slice(0)  # the place in the page at which the output is shown, or would be


def blocks_of(page: str, packages: Container[str] = ()) -> list[Block]:
    """Return the blocks of Python of a page, of those that need another package only those that need one of ``packages``."""
    blocks = []
    for found in _BLOCK.finditer(page):
        after = found.end("code") + len("```\n")
        output = slice(after, after) if found["shown"] is None else slice(*found.span("shown"))
        blocks.append(Block(*(found[name] or "" for name in ("code", "needs", "shown", "figure")), output))
    return [block for block in blocks if not block.needs or block.needs in packages]


def printed_by(blocks: list[Block], folder: Path, before: str = "") -> list[str]:
    """Run blocks one after the other in a process of its own, and return what each prints.

    Parameters
    ----------
    blocks : list of Block
        The blocks.
    folder : Path
        The folder in which they run. The figures that they draw are written into it.
    before : str, default ""
        Code that runs before them.

    Raises
    ------
    RuntimeError
        If the code fails; the message is its traceback.
    """
    parts = [before]
    for block in blocks:
        parts += [block.code, _DRAWN.format(figure=block.figure) if block.figure else "", f"print({_END!r}, end='')"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(parts)],
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.split(_END)[:-1]


def difference(shown: str, printed: str) -> str:
    """Compare what a page shows with what its code prints: "" if they agree, else the lines that differ.

    Words and lines must be equal; the width of spaces may differ. A whole number is a count or a name, and must be equal too.
    So must 0 and 100 %. Another number, or a percentage, may be off by 2 %, or by one in its last digit if it has several. A
    time is not compared, only that one is there. ``...`` stands for anything.
    """
    told = [match[0] for match in _TOKEN.finditer(printed.strip())]
    pieces: list[list[str]] = [[]]
    for match in _TOKEN.finditer(shown.strip()):
        if match[0] == "...":
            pieces.append([])
        else:
            pieces[-1].append(match[0])
    if _agree(pieces, told):
        return ""
    lines = (text.strip().splitlines() for text in (shown, printed))
    return "\n".join(difflib.unified_diff(*lines, "shown", "printed", lineterm=""))


def _agree(pieces: list[list[str]], told: list[str]) -> bool:
    """Tell whether the pieces between ``...`` stand in what was printed: the first at its start, the last at its end."""
    first, *others = pieces
    if not _begins(told, first):
        return False
    if not others:
        return len(told) == len(first)
    *inner, last = others
    at = len(first)
    for piece in inner:
        places = (k for k in range(at, len(told)) if _begins(told[k:], piece))
        found = next(places, None)
        if found is None:
            return False
        at = found + len(piece)
    return at <= len(told) - len(last) and _begins(told[len(told) - len(last) :], last)


def _begins(told: list[str], piece: list[str]) -> bool:
    return len(told) >= len(piece) and all(map(_same, piece, told))


def _same(shown: str, printed: str) -> bool:
    """Tell whether two tokens say the same."""
    here, there = _TOKEN.fullmatch(shown), _TOKEN.fullmatch(printed)
    if not (here and there and here["number"] and there["number"]):
        return shown == printed
    unit, told_unit = ((found["unit"] or "").strip() for found in (here, there))
    if unit != told_unit:
        return False
    if unit not in ("", "%"):
        return True
    one, other = (Decimal(found["number"].replace(",", "")) for found in (here, there))
    whole = here["number"].lstrip("+-").replace(",", "").isdigit()
    if (whole and not unit) or (unit and one in (0, 100)):
        return one == other
    digits, last = one.as_tuple().digits, int(one.as_tuple().exponent)
    return abs(one - other) <= max(_RELATIVE * abs(one), Decimal(len(digits) > 1).scaleb(last))


def refreshed(page: str, blocks: list[Block], printed: list[str]) -> str:
    """Return the text of a page with every output anew that is not shown, or shown wrongly."""
    for block, told in reversed(list(zip(blocks, printed, strict=True))):
        if difference(block.shown, told):
            told = "\n".join(line.rstrip() for line in told.strip().splitlines()) + "\n"
            new = told if block.shown else f"\n```text\n{told}```\n"
            page = page[: block.output.start] + new + page[block.output.stop :]
    return page


def main() -> None:
    """Run the pages that are named, and refresh what they show."""
    if not sys.argv[1:]:
        sys.exit("give the pages to run: python tools/run_pages.py docs/choose.md ...")
    for path in map(Path, sys.argv[1:]):
        page = path.read_text(encoding="utf-8")
        packages = {block.needs for block in blocks_of(page, set(re.findall(r"needs: (\w+)", page)))} - {""}
        missing = {name for name in packages if importlib.util.find_spec(name) is None}
        blocks = blocks_of(page, packages - missing)
        with tempfile.TemporaryDirectory() as folder:
            printed = printed_by(blocks, Path(folder))
            for block in blocks:
                if block.figure:
                    shutil.copy(Path(folder) / block.figure, FIGURES / block.figure)
        after = refreshed(page, blocks, printed)
        path.write_text(after, encoding="utf-8")
        left = f", without what needs {', '.join(sorted(missing))}" if missing else ""
        print(f"{path}: {'as it was' if after == page else 'refreshed'}{left}")


if __name__ == "__main__":
    main()
