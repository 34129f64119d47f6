"""Lower and upper bounds of an expensive distance, which cost little and hold for every pair.

It stands on `_foundation`, `_kernels` and `data`.
"""
