"""The learned distance as a frozen object that can be called, explained, saved, and asked which axioms are proved.

It stands on `_foundation`, `_kernels`, `data`, `distances.pairs` and `distances.features`.
"""
