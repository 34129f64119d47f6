"""Classifiers and regressors that are linear on an embedding, trained on rows that are never stored.

It stands on `_foundation`, `_kernels`, `data` and `vectors.embeddings`.
"""
