"""Exact and approximate nearest neighbors under a distance, in memory or in shards, and bounds of expensive distances.

It stands on `_foundation`, `_kernels`, `data`, `distances.pairs`, `distances.features` and `distances.model`.
"""
