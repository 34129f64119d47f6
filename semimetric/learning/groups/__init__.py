"""Choosing which pairs of features have a joint table.

It stands on `_foundation`, `data`, `embeddings`, `programs`, `solvers`, `learning`, `learning.regression`,
`learning.comparisons` and `learning.large_margin`.
"""
