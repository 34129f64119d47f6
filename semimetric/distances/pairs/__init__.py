"""Embeddings of pairs: a sparse row for two vectors, whose product with the weights is their distance.

It stands on `_foundation`, `_kernels` and `data`.
"""
