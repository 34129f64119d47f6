"""The learned distance as a frozen value: call it, explain it, prove its axioms, save it.

It stands on `_foundation`, `_kernels`, `data` and `embeddings`.
"""
