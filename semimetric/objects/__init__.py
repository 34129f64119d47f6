"""What makes numbers of objects that are no rows of a table: landmarks, and features of point clouds, strings and series.

It stands on `_foundation`, `data`, `embeddings` and `distances`.
"""
