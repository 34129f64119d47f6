"""Check what the wheel and the source distribution in a folder hold: all that the package reads, and nothing of the tests.

python tools/check_distributions.py dist
"""

import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
ONLY_SOURCE = ("README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "docs/learning.md", "docs/figures/clock.png")
FOREIGN = ("tests/", "benchmarks/", "tools/")


def package_files() -> list[str]:
    """The files of the package, as paths from the root of the project."""
    files = (path for path in (ROOT / "semimetric").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(str(path.relative_to(ROOT)) for path in files)


def wrong_with(names: Iterable[str], needed: Iterable[str], what: str) -> list[str]:
    """What a distribution lacks, and what it should not hold, as sentences."""
    held = set(names)
    lacking = [f"{what} lacks {name}" for name in needed if name not in held]
    foreign = [f"{what} holds {name}" for name in sorted(held) if name.startswith(FOREIGN) or name.endswith((".pyc", ".npz"))]
    return lacking + foreign


def check(folder: Path) -> list[str]:
    """What is wrong with the one wheel and the one source distribution of a folder, as sentences."""
    wheels, sources = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        return [f"{folder} has {len(wheels)} wheels and {len(sources)} source distributions; one of each is required"]
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = wheel.namelist()
    wrong = wrong_with(names, package_files(), wheels[0].name)
    if not any(name.endswith("licenses/LICENSE") for name in names):
        wrong.append(f"{wheels[0].name} lacks its licence")
    with tarfile.open(sources[0]) as source:
        inside = [member.name.partition("/")[2] for member in source.getmembers() if member.isfile()]
    return wrong + wrong_with(inside, [*package_files(), *ONLY_SOURCE, "LICENSE"], sources[0].name)


def main() -> int:
    """Print what is wrong with the distributions of a folder; 1 if something is."""
    wrong = check(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
    print("\n".join(wrong) or "the distributions hold the package, its licence and its documents, and nothing else")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
