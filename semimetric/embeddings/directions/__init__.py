"""Linear features, and leaves of trees, that join the raw ones before vectors or pairs are embedded.

It stands on `_foundation`, `_kernels`, `data` and `embeddings.pairs`.
"""
