"""Tuples and items that are read part by part, and the engine that adds up what the parts give.

It stands on `_foundation` and `data`.
"""
