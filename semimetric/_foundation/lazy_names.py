"""A package whose names are imported from the modules that define them once they are used (PEP 562).

So ``import semimetric`` loads none of the large packages that estimators and indexes stand on.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from threading import RLock
from typing import Any

__all__ = ["lazy_names"]

_ONE_AT_A_TIME = RLock()  # threads that import modules of one another deadlock, of which Python makes an error of one of them


def lazy_names(
    package: str, homes: Mapping[str, str], rooms: Iterable[str], instead: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping from str to str
        Of modules, by their names relative to the package, the names that they define, with spaces between.
    rooms : iterable of str
        Modules of the package that are attributes of it.
    instead : mapping from str to str
        Of names that other packages have, which of ours does the same or takes its place, for those who ask for them.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    public = sorted([*home_of, *rooms])

    def get(name: str) -> Any:
        if name not in public:
            raise AttributeError(_message(package, name, public, instead))
        with _ONE_AT_A_TIME:
            module = import_module(f"{package}.{home_of.get(name, name)}")
        value = getattr(module, name) if name in home_of else module
        setattr(sys.modules[package], name, value)  # so that the next use is not asked here
        return value

    def listed() -> list[str]:
        return sorted({*public, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return get, listed


def _message(package: str, name: str, public: list[str], instead: Mapping[str, str]) -> str:
    """What the error says of a name that the package does not have."""
    if name in instead:
        return f"module {package!r} has no attribute {name!r}: did you mean {instead[name]}?"
    similar = get_close_matches(name, public, n=3)
    hint = f"; did you mean {' or '.join(similar)}?" if similar else ""
    return f"module {package!r} has no attribute {name!r}{hint}"
