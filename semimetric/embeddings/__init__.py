"""Embeddings: how a value, or a pair of values, becomes a sparse row."""
