"""Groups of items around medoids under a distance, and links between items that such groups keep.

It stands on `_foundation`, `data`, `distances`, `estimators` and `neighbors`.
"""
