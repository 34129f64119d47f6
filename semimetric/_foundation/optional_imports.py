"""Optional packages, imported where they are needed and named by their pip extra."""

from importlib import import_module
from types import ModuleType

from .errors import MissingExtraError

__all__ = ["optional"]

_ON_INDEX = {"ot": "POT", "dask": "dask[distributed]", "distributed": "dask[distributed]"}
_EXTRAS = {
    "dask": "distributed",
    "dask.array": "distributed",
    "distributed": "distributed",
    "distributed.diagnostics.progressbar": "distributed",
    "matplotlib": "plots",
    "matplotlib.figure": "plots",
    "matplotlib.pyplot": "plots",
    "matplotlib.tri": "plots",
    "ot": "demo",
    "pandas": "cli",
    "pyarrow": "cli",
    "pyarrow.parquet": "cli",
    "zarr": "distributed",
}


def optional(module: str) -> ModuleType:
    """Import ``module``, or say which extra of semimetric brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        extra, package = _EXTRAS[module], module.split(".")[0]
        raise MissingExtraError(
            f"this needs the package {package!r}, which is not installed; install it with: pip install "
            f'{_ON_INDEX.get(package, package)}, or all of the extra in the folder of semimetric: pip install ".[{extra}]"'
        ) from error
