"""The command line: ``semimetric`` with its commands, and the demo.

It stands on `_foundation`, `data`, `datasets`, `embeddings`, `distances`, `neighbors`, `persistence`, `estimators`,
`out_of_core`, `plotting`, `reports` and `distributed`.
"""

from .entry_point import main

__all__ = [
    "main",
]
