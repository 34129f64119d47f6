"""Solvers of convex programs: each declares what it supports and returns a `Solution` with a certificate."""

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
