"""Reports of models: one page that can be opened offline, sent, printed and played with.

It stands on `_foundation`, `data`, `distances` and `vectors`.
"""
