"""Solvers of convex programs, one algorithm a file: each says what it supports and certifies the gap of its solution.

It stands on `_foundation`, `_kernels`, `distances.pairs` and `distances.programs`.
"""
