"""What is minimised, ``loss(A w - y) + penalty(w)`` over ``w >= lower``: its losses, penalties, constraints, rows and gap.

It stands on `_foundation` and `embeddings`.
"""

from .constraints import Bounded, Concave, Monotone, TranslationInvariant
from .constraints_at_pairs import AtLeast, AtMost
from .losses import Absolute, Hinge, Huber, Loss, Squared, SquaredHinge
from .penalties import Lasso, Linear, Penalty, Ridge, Roughness, Shift

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
