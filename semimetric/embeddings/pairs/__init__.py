"""How a pair of vectors becomes a sparse row whose product with the weights is their distance.

It stands on `_foundation`, `_kernels` and `data`.
"""
