"""Nearest neighbours in a folder of indexes, each of which is searched by itself.

It stands on `_foundation`, `data`, `distances` and `neighbors`.
"""
