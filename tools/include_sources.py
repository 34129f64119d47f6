"""Write what CONTRIBUTING.md includes from the source: the first sentence of every room, and the classes of its recipes.

    python tools/include_sources.py            writes CONTRIBUTING.md anew
    python tools/include_sources.py --check    exits with 1 if that would change it; `make lint` calls this

A line ``<!-- rooms -->`` is followed by the list of rooms, a line ``<!-- source: FILE NAME -->`` by the class of that name in
that file; what stands there is replaced up to the next blank line, or the end of the code.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "CONTRIBUTING.md"
_SOURCE = re.compile(r"(<!-- source: (\S+) (\w+) -->\n)```python\n.*?```\n", re.DOTALL)
_ROOMS = re.compile(r"(<!-- rooms -->\n).*?\n(?=\n)", re.DOTALL)


def source_of(file: str, name: str) -> str:
    """The lines of a class or function at the top of a file, decorators included.

    Raises
    ------
    SystemExit
        If the file has no such name.
    """
    text = (ROOT / file).read_text()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + "\n"
    sys.exit(f"CONTRIBUTING.md includes {name} of {file}, which defines no such name: correct the line of the source")


def rooms() -> str:
    """A line for every room: its path, and the first sentence of its docstring."""
    package, lines = ROOT / "semimetric", []
    for face in sorted(package.rglob("*/__init__.py")):
        sentence = (ast.get_docstring(ast.parse(face.read_text())) or "").split("\n\n")[0].replace("\n", " ")
        lines.append(f"- `{face.parent.relative_to(package).as_posix()}`: {sentence}")
    return "\n".join(lines) + "\n"


def included(text: str) -> str:
    """The text with everything included anew."""
    text = _ROOMS.sub(lambda m: m[1] + rooms(), text)
    return _SOURCE.sub(lambda m: f"{m[1]}```python\n{source_of(m[2], m[3])}```\n", text)


def main(arguments: list[str]) -> int:
    """Write or check; the exit code."""
    before = DOCUMENT.read_text()
    after = included(before)
    if "--check" not in arguments:
        DOCUMENT.write_text(after)
        return 0
    if after != before:
        sys.stderr.write("CONTRIBUTING.md does not show the source as it is; run python tools/include_sources.py\n")
    return int(after != before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
