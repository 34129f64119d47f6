"""Print a set of releases to test with: one of every dependency, those of dependencies included, as pinned requirements.

    python tools/environments.py random --seed 7 > releases.txt

``oldest`` takes the lower bound of every requirement in pyproject.toml, ``newest`` the newest release of everything, and
``random`` draws a release of every requirement between the two. What has no wheel for the Python that runs this is left out.
That Python needs pip, which tells what releases there are, uv, which tells what goes together, and packaging.
"""

import argparse
import json
import random
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PIP = [sys.executable, "-m", "pip", "index", "versions", "--only-binary=:all:", "--json"]
UV = [sys.executable, "-m", "uv", "pip", "compile", "--python", sys.executable, "--no-build", "--no-header", "--no-annotate"]


def required(extra: str = "dev") -> list[Requirement]:
    """What the package and one of its extras require, and the extras that it includes, each dependency once."""
    extras = PROJECT["optional-dependencies"]
    wanted = [Requirement(text) for text in PROJECT["dependencies"] + extras[extra]]
    for requirement in wanted:  # which grows on the way
        if requirement.name == PROJECT["name"]:
            wanted += [Requirement(text) for name in sorted(requirement.extras) for text in extras[name]]
    return list(dict.fromkeys(requirement for requirement in wanted if requirement.name != PROJECT["name"]))


def together(requirements: list[str], *options: str) -> list[str]:
    """The newest releases, or those that the options of uv ask for, that go together; none if no releases do."""
    run = subprocess.run([*UV, *options, "-"], input="\n".join(requirements), capture_output=True, text=True)
    if run.returncode and "No solution found" not in run.stderr:
        raise SystemExit(run.stderr)
    return run.stdout.split()


def released(requirement: Requirement) -> list[str]:
    """The versions that fulfil a requirement and have a wheel here."""
    answer = subprocess.run([*PIP, requirement.name], stdout=subprocess.PIPE, check=True, text=True).stdout
    return list(requirement.specifier.filter(json.loads(answer)["versions"]))


def oldest(requirements: list[Requirement]) -> list[str]:
    """The lower bound of every requirement, or on a Python for which it has no wheel the next release that has one."""
    releases = together([str(requirement) for requirement in requirements], "--resolution", "lowest-direct")
    found = {name: version for name, _, version in (release.partition("==") for release in releases)}
    for requirement in requirements:
        (bound,) = (each for each in requirement.specifier if each.operator in (">=", "=="))
        version = found[canonicalize_name(requirement.name)]
        if not Requirement(f"x=={bound.version}").specifier.contains(version):
            print(f"{requirement} has no wheel of its bound here, or others exclude it: takes {version}", file=sys.stderr)
    return releases


def drawn(requirements: list[Requirement], seed: int) -> list[str]:
    """A random release of every requirement: a dependency whose release does not go with those before it draws again."""
    generator = random.Random(seed)
    pins = [str(requirement) for requirement in requirements]
    for requirement in generator.sample(requirements, len(requirements)):
        versions = released(requirement)
        tries = (f"{requirement.name}=={version}" for version in generator.sample(versions, len(versions)))
        pins.append(next(pin for pin in tries if together([*pins, pin])))
    return together(pins)


def main() -> None:
    """Print the set that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=("oldest", "newest", "random"))
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of random; drawn if not given"
    )
    arguments = parser.parse_args()
    requirements = required()
    if arguments.set == "oldest":
        releases = oldest(requirements)
    elif arguments.set == "newest":
        releases = together([str(requirement) for requirement in requirements])
    else:
        print(f"The same releases again: make test-random SEED={arguments.seed}", file=sys.stderr)
        releases = drawn(requirements, arguments.seed)
    print("\n".join(releases))


if __name__ == "__main__":
    main()
