"""From examples and a recipe to a distance: structure, prior, terms, one solve, assembly.

It stands on `_foundation`, `data`, `embeddings`, `distances`, `programs` and `solvers`.
"""
