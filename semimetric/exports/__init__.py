"""Exports of distances and models to other programs: SQL that a database runs, and graphs of ONNX.

It stands on `_foundation`, `data` and `distances`.
Values call their own by ``d.to_sql(...)`` and ``d.to_onnx(path)``.
"""
