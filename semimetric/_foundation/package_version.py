"""The version of this package."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["package_version"]


def package_version() -> str:
    """The version of the installed package, or "0+unknown" if it is not installed."""
    try:
        return version("semimetric")
    except PackageNotFoundError:
        return "0+unknown"
