"""Optional packages, which are imported only where they are needed; an error names the extra that installs them."""

from importlib import import_module
from types import ModuleType

from .errors import MissingExtraError

# the names on the package index of packages whose import name differs
_PIP_NAMES = {"ot": "POT", "dask": "dask[distributed]", "distributed": "dask[distributed]"}
# the extra of semimetric that installs each module
_EXTRAS = {
    "anywidget": "widget",
    "dask": "distributed",
    "dask.array": "distributed",
    "distributed": "distributed",
    "distributed.comm": "distributed",
    "distributed.diagnostics.progressbar": "distributed",
    "kmedoids": "clusters",
    "matplotlib": "plots",
    "matplotlib.figure": "plots",
    "matplotlib.pyplot": "plots",
    "matplotlib.tri": "plots",
    "onnx": "onnx",
    "onnx.reference": "onnx",
    "ot": "demo",
    "pandas": "cli",
    "pyarrow": "cli",
    "pyarrow.parquet": "cli",
    "shtab": "cli",
    "zarr": "distributed",
}


def optional(module: str) -> ModuleType:
    """Return the module of that name; if it is missing, the error names the extra that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        extra = _EXTRAS[module]
        package = module.split(".")[0]
        raise MissingExtraError(
            f"this needs the package {package!r}, which is not installed; install it with: pip install "
            f"{_PIP_NAMES.get(package, package)}, or semimetric with all of the extra: "
            f'pip install ".[{extra}]" in its repository, or [{extra}] behind the name of its wheel'
        ) from error
