"""The command line: ``semimetric`` with its commands, and the demo.

It stands on all other rooms.
"""

from .entry_point import main

__all__ = [
    "main",
]
