"""How a convex program is minimised, one algorithm a file: each says what it supports and certifies the gap of its solution.

It stands on `_foundation`, `_kernels`, `embeddings` and `programs`.
"""

from .auto import choose
from .base import Repair, Solution, Solver, Status
from .cutting_plane import CuttingPlane
from .first_order import FirstOrder
from .gram import Gram
from .interior_point import InteriorPoint
from .newton import Newton
from .reference import Reference
from .splitting import Splitting

__all__ = [
    "CuttingPlane",
    "FirstOrder",
    "Gram",
    "InteriorPoint",
    "Newton",
    "Reference",
    "Repair",
    "Solution",
    "Solver",
    "Splitting",
    "Status",
    "choose",
]
