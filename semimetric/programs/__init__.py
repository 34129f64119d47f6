"""Convex programs over the columns of an embedding: ``min_w loss(A w - y) + penalty(w)`` over ``w >= lower``."""

from .losses import Absolute, Huber, Loss, Squared
from .penalties import Lasso, Penalty, Ridge, Roughness, Shift

__all__ = ["Absolute", "Huber", "Lasso", "Loss", "Penalty", "Ridge", "Roughness", "Shift", "Squared"]
