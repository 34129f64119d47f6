"""Write the stubs of the faces whose names are imported when they are first used: `__init__.pyi` beside `__init__.py`.

python tools/write_stubs.py            writes them anew
python tools/write_stubs.py --check    exits with 1 if that would change them; `make lint` calls this
"""

import ast
import sys
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1] / "semimetric"
FACES = (PACKAGE, PACKAGE / "distances", PACKAGE / "vectors")


def constant(tree: ast.Module, name: str) -> Any:
    """Return the literal that a module assigns to a name, or an empty tuple."""
    values = [n.value for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == name]
    return ast.literal_eval(values[0]) if values else ()


def stub(face: Path) -> str:
    """Return the text of the stub of a face, given its folder."""
    tree = ast.parse((face / "__init__.py").read_text())
    homes = constant(tree, "_HOMES")
    lines = [f"from .{home} import {name} as {name}" for home, names in homes.items() for name in names.split()]
    lines += [f"from . import {room} as {room}" for room in constant(tree, "_ROOMS")]
    version = ["", "__version__: str"] if face == PACKAGE else []
    names = sorted(" ".join(homes.values()).split())
    exported = ["", "__all__ = [", *(f'    "{name}",' for name in names), "]"]
    return "\n".join([*sorted(lines), *version, *exported]) + "\n"


def main(arguments: list[str]) -> int:
    """Write or check the stubs; return the exit code."""
    texts = {face / "__init__.pyi": stub(face) for face in FACES}
    changed = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if "--check" in arguments:
        for path in changed:
            sys.stderr.write(f"{path} is not what its __init__.py says; run python tools/write_stubs.py\n")
        return int(bool(changed))
    for path in changed:
        path.write_text(texts[path])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
