"""The command line: ``semimetric`` with its commands, and the demo.

It stands on `_foundation`, `data`, `distances`, `datasets`, `persistence`, `out_of_core`, `plotting` and `reports`.
"""

from .entry_point import main

__all__ = ["main"]
