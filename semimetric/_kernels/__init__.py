"""Compiled loops over plain arrays: the only numba of the package."""
