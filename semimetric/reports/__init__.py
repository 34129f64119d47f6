"""Reports of distances: one page that can be opened offline, sent, printed and played with.

It stands on `_foundation`, `data`, `embeddings`, `distances`, `learning`, `neighbors`, `estimators` and `solvers`.
"""
