"""Learning from pairs with measured distances.

It stands on `_foundation`, `_kernels`, `data`, `embeddings`, `distances`, `programs`, `solvers` and `learning`.
"""
