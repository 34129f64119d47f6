"""Solvers of convex programs: each declares what it supports and returns a `Solution` with a certificate."""

from .auto import choose
from .base import Solution, Solver, Status
from .first_order import FirstOrder
from .gram import Gram
from .interior_point import InteriorPoint
from .newton import Newton
from .reference import Reference

__all__ = ["FirstOrder", "Gram", "InteriorPoint", "Newton", "Reference", "Solution", "Solver", "Status", "choose"]
