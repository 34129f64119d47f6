"""Convex programs over the columns of an embedding: ``min_w loss(A w - y) + penalty(w)`` over ``w >= lower``."""

from .losses import Absolute, Hinge, Huber, Loss, Squared, SquaredHinge
from .penalties import Lasso, Linear, Penalty, Ridge, Roughness, Shift
from .shapes import AtLeast, AtMost, Bounded, Concave, Monotone, TranslationInvariant

__all__ = [
    "Absolute",
    "AtLeast",
    "AtMost",
    "Bounded",
    "Concave",
    "Hinge",
    "Huber",
    "Lasso",
    "Linear",
    "Loss",
    "Monotone",
    "Penalty",
    "Ridge",
    "Roughness",
    "Shift",
    "Squared",
    "SquaredHinge",
    "TranslationInvariant",
]
