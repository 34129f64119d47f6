"""The command line and its demo.

It stands on all other rooms.
"""

from .parser import main

__all__ = [
    "main",
]
