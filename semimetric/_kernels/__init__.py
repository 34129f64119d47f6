"""Compiled loops over plain arrays: the only place that imports numba.

It stands on no other room.
"""
