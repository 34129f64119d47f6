"""Tables and their parts: the columns of a table, knots and the grid, groups of features, sampled pairs and splits.

It stands on `_foundation` and `_kernels`.
"""
