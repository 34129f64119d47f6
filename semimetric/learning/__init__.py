"""From examples and a recipe to a distance: structure, prior, terms, one solve, assembly.

It stands on `_foundation`, `_kernels`, `data`, `embeddings`, `distances`, `programs`, `neighbors` and `solvers`.
"""
