"""Convex programs, ``loss(A w - y) + penalty(w)`` over ``w >= lower``: their losses, penalties, constraints and gaps.

It stands on `_foundation`, `data`, `distances.pairs` and `distances.features`.
"""
