"""Read docstrings as they are meant: they are written for ``help()``, and the site reads them as reStructuredText.

There ``|x|`` would be a substitution, and a fitted attribute such as ids_ a link, if it stands without backticks. Both are
escaped outside of code. A page that is named, such as docs/mathematics.md, section 2, is a link there. Methods that
scikit-learn gives to every estimator are left to its own documentation.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

OF_SKLEARN = re.compile(r"set_\w+_request|get_metadata_routing|set_output|get_params|set_params")
_CODE = re.compile(r"(``.*?``|`[^`]*`)")
_ATTRIBUTE = re.compile(r"(?<=\w)_(?![\w*])")
_PAGE = re.compile(r"docs/([\w-]+)\.md(?:, section (\d+(?:\.\d+)?))?")
_HEADING = re.compile(r"^#+ (\d+(?:\.\d+)?)\.? .*$", re.MULTILINE)
_DOCS = Path(__file__).resolve().parents[1] / "docs"


def connect(app: Any) -> None:
    """Connect to a Sphinx application: after numpydoc has made sections of a docstring, and where members are chosen."""

    def read(*call: Any) -> None:
        to_root = "../" * app.env.docname.count("/")
        call[-1][:] = escaped(call[-1], to_root)

    app.connect("autodoc-process-docstring", read, priority=900)
    app.connect("autodoc-skip-member", lambda *call: True if is_of_sklearn(call[2], call[3]) else None)


def is_of_sklearn(name: str, member: Any) -> bool:
    """Whether a member of a class is a method that scikit-learn wrote."""
    return bool(OF_SKLEARN.fullmatch(name)) or (getattr(member, "__module__", None) or "").startswith("sklearn.")


def escaped(lines: Iterable[str], to_root: str = "") -> list[str]:
    """Lines of reStructuredText in which bars and the ends of names of attributes are plain text, and pages are links.

    Parameters
    ----------
    lines : iterable of str
        Code among them stays as it is.
    to_root : str
        The way from the page that they are on to the root of the site, such as "../../".
    """
    out, inside, linked = [], None, partial(_linked, to_root)
    for line in lines:
        inside = _inside(inside, line)
        out.append(line if inside is not None else _outside_of_code(line, lambda text: _PAGE.sub(linked, _plain(text)), linked))
        if inside is None and line.rstrip().endswith("::"):
            inside = _Block(len(line) - len(line.lstrip()))
    return out


class _Block:
    """A block of code: indented more than the line before it, or a session of Python, which a blank line ends.

    Parameters
    ----------
    indent : int or None
        The spaces of the line that announces it; None of a session.
    """

    def __init__(self, indent: int | None) -> None:
        self.indent = indent


def _inside(block: _Block | None, line: str) -> _Block | None:
    """The block of code in which a line is, given that of the line before; None outside."""
    blank = not line.strip()
    if block is not None and block.indent is not None and (blank or len(line) - len(line.lstrip()) > block.indent):
        return block
    if block is not None and block.indent is None and not blank:
        return block
    return _Block(None) if line.lstrip().startswith(">>>") else None


def _outside_of_code(line: str, change: Callable[[str], str], link: Callable[[re.Match[str]], str]) -> str:
    """A line whose parts outside of backticks are changed; what is nothing but a page inside of them is a link."""
    parts = [(part, _PAGE.fullmatch(part.strip("`")) if part.startswith("`") else None) for part in _CODE.split(line)]
    return "".join(link(page) if page else part if part.startswith("`") else change(part) for part, page in parts)


def _linked(to_root: str, page: re.Match[str]) -> str:
    """The link to a page, or to a section of it; what is no page stays as it is.

    Raises
    ------
    LookupError
        If the page has no such section.
    """
    name, section = page.groups()
    if not (_DOCS / f"{name}.md").exists():
        return page[0]
    anchor = "" if section is None else _anchors(name).get(section)
    if anchor is None:
        raise LookupError(f"a docstring names {page[0]}, a section that the page has not: correct either")
    return f"`{page[0]} <{to_root}{name}.html{anchor}>`__"


@cache
def _anchors(name: str) -> dict[str, str]:
    """The anchors of the numbered headings of a page, by their numbers, as a code host and MyST make them."""
    found = _HEADING.finditer((_DOCS / f"{name}.md").read_text(encoding="utf-8"))
    return {m[1]: "#" + re.sub(r"[^\w -]", "", m[0].lstrip("# ").lower()).replace(" ", "-") for m in found}


def _plain(text: str) -> str:
    return _ATTRIBUTE.sub(r"\\_", re.sub(r"(?<!\\)\|", r"\\|", text))
