"""How the weights of a linear machine are trained on rows that need not be stored.

It stands on `_foundation`, `_kernels` and `embeddings`.
"""
