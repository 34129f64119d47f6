"""Read docstrings as they are meant: they are written for ``help()``, and the site reads them as reStructuredText.

There ``|x|`` would be a substitution, and a fitted attribute such as ids_ a link, if it stands without backticks. Both are
escaped outside of code. Methods that scikit-learn gives to every estimator are left to its own documentation.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

OF_SKLEARN = re.compile(r"set_\w+_request|get_metadata_routing|set_output|get_params|set_params")
_CODE = re.compile(r"(``.*?``|`[^`]*`)")
_ATTRIBUTE = re.compile(r"(?<=\w)_(?![\w*])")


def connect(app: Any) -> None:
    """Connect to a Sphinx application: after numpydoc has made sections of a docstring, and where members are chosen."""
    app.connect("autodoc-process-docstring", lambda *call: call[-1].__setitem__(slice(None), escaped(call[-1])), priority=900)
    app.connect("autodoc-skip-member", lambda *call: True if is_of_sklearn(call[2], call[3]) else None)


def is_of_sklearn(name: str, member: Any) -> bool:
    """Whether a member of a class is a method that scikit-learn wrote."""
    return bool(OF_SKLEARN.fullmatch(name)) or (getattr(member, "__module__", None) or "").startswith("sklearn.")


def escaped(lines: Iterable[str]) -> list[str]:
    """Lines of reStructuredText in which bars and the ends of names of attributes are plain text, outside of code."""
    out, inside = [], None
    for line in lines:
        inside = _inside(inside, line)
        out.append(line if inside is not None else _outside_of_code(line, _plain))
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


def _outside_of_code(line: str, change: Callable[[str], str]) -> str:
    """A line whose parts outside of backticks are changed."""
    return "".join(part if part.startswith("`") else change(part) for part in _CODE.split(line))


def _plain(text: str) -> str:
    return _ATTRIBUTE.sub(r"\\_", re.sub(r"(?<!\\)\|", r"\\|", text))
