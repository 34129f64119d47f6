"""Exact and approximate nearest neighbours under a distance, in memory.

It stands on `_foundation`, `_kernels`, `bounds`, `data`, `embeddings` and `distances`.
"""
