"""How the weights of a linear machine are trained on embedded rows that are never stored.

It stands on `_foundation`, `_kernels`, `data` and `embeddings`.
"""
