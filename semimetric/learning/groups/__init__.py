"""Choosing which pairs of features have a joint table.

It stands on `_foundation`, `data`, `embeddings`, `programs` and `learning`.
"""
