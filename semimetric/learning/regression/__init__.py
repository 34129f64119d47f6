"""Learning from pairs with measured distances.

It stands on `_foundation`, `data`, `embeddings`, `distances`, `programs`, `solvers` and `learning`.
"""
