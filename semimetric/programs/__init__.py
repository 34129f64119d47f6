"""Convex programs over the columns of an embedding: ``min_w loss(A w - y) + penalty(w)`` over ``w >= lower``."""

from .losses import Absolute, Hinge, Huber, Loss, Squared, SquaredHinge
from .penalties import Lasso, Linear, Penalty, Ridge, Roughness, Shift

__all__ = [
    "Absolute",
    "Hinge",
    "Huber",
    "Lasso",
    "Linear",
    "Loss",
    "Penalty",
    "Ridge",
    "Roughness",
    "Shift",
    "Squared",
    "SquaredHinge",
]
