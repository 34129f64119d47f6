"""The scikit-learn estimators that learn a distance: thin shells around `learning`.

It stands on `_foundation`, `data`, `embeddings`, `distances`, `programs`, `objects`, `neighbors`, `solvers` and `learning`.
"""
