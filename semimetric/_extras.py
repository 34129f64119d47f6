"""Optional packages, imported where they are needed and named by their pip extra."""

from importlib import import_module
from types import ModuleType

from ._errors import MissingExtraError

__all__ = ["optional"]

_EXTRAS = {
    "matplotlib": "plots",
    "matplotlib.figure": "plots",
    "matplotlib.pyplot": "plots",
    "matplotlib.tri": "plots",
    "ot": "demo",
    "pandas": "cli",
    "pyarrow": "cli",
}


def optional(module: str) -> ModuleType:
    """Import ``module``, or say which extra of semimetric brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        extra = _EXTRAS[module]
        raise MissingExtraError(
            f"this needs the package {module.split('.')[0]!r}, which is not installed; "
            f'install it with: pip install "semimetric[{extra}]"'
        ) from error
