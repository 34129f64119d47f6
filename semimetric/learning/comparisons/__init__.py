"""Learning from pairs judged alike or not, from triplets and from quadruplets, by margins.

It stands on `_foundation`, `data`, `embeddings`, `distances`, `programs`, `solvers` and `learning`.
"""
