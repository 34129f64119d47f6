"""The same tuples and items read part by part: rows of files, what is checked in each part, and the engine that adds up.

It stands on `_foundation` and `data`.
"""
