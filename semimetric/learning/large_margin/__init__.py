"""Learning from labelled items, whose nearest neighbours should be of their own class.

It stands on `_foundation`, `_kernels`, `data`, `embeddings`, `distances`, `programs`, `neighbors`, `solvers`,
`learning` and `learning.comparisons`.
"""
