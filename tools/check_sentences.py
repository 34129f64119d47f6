"""Check that the pages can be read: no sentence has more than 35 words, and the sentences of a page 18 on average.

    python tools/check_sentences.py

prints one line for each finding, and exits with 1 if there are any. `make lint` calls it. Sentences are those of paragraphs,
items of lists and cells of tables in README, CONTRIBUTING and docs/. Code counts as one word, and pictures as none. Pages
of mathematics and of measured rows are left out.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST, MEAN = 35, 18
LEFT_OUT = ("mathematics", "measurements")
NO_PROSE = re.compile(
    r"```.*?```|<!--.*?-->|!\[[^\]]*\]\([^)]*\)|^(?: {4}|:::|:[\w-]+:|</?(?:details|summary)).*?$", re.S | re.M
)


def sentences(text: str) -> Iterator[str]:
    """Divide a page in Markdown into sentences, with code as one word."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", NO_PROSE.sub("", text))
    text = re.sub(r"`[^`\n]*(?:\n[^`\n]+)?`", "code", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |\||#))", text):
        if block.lstrip().startswith("#"):
            continue
        cells = block.split("|") if block.lstrip().startswith("|") else [block]
        for cell in cells:
            yield from re.split(r"(?<=[.!?])[)\"*]*\s+", " ".join(cell.split()))


def words(sentence: str) -> int:
    """Count the words of a sentence; a number with its unit is one or two."""
    return len(re.findall(r"[\w'’.,/-]*\w", sentence))


def findings(name: str, text: str) -> Iterator[str]:
    """Say in sentences what is wrong with a page."""
    counts = [(count, sentence) for sentence in sentences(text) if (count := words(sentence))]
    for count, sentence in counts:
        if count > MOST:
            yield f"{name}: {count} words, more than {MOST}; divide it: {sentence[:100]}..."
    mean = sum(count for count, _ in counts) / max(1, len(counts))
    if mean > MEAN:
        yield f"{name}: sentences have {mean:.1f} words on average, more than {MEAN}"


def main() -> None:
    """Print what is wrong with all pages."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = [each for page in pages if page.stem not in LEFT_OUT for each in findings(page.name, page.read_text("utf-8"))]
    print(*found, sep="\n", end="\n" * bool(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
