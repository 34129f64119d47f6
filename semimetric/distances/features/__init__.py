"""Features that join the raw ones before pairs are embedded: directions, leaves of trees, and numbers made of objects.

It stands on `_foundation`, `_kernels`, `data` and `distances.pairs`.
"""
