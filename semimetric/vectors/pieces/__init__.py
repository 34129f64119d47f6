"""Classifiers whose boundary is made of pieces of planes, and the boundary points that they start from.

It stands on `_foundation`, `_kernels` and `data`.
"""
