"""Embeddings of one vector as a sparse or dense row of features: the transformers before a linear machine.

It stands on `_foundation`, `_kernels` and `data`.
"""
