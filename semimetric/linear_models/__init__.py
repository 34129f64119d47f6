"""Classifiers and regressors that are linear on an embedding, or linear in pieces.

It stands on `_foundation`, `_kernels`, `data`, `embeddings`, `distances` and `neighbors`.
"""

from .classifier import EmbeddedLinearClassifier
from .regressor import EmbeddedLinearRegressor
from .shape_functions import Shapes, curve, surface

__all__ = [
    "EmbeddedLinearClassifier",
    "EmbeddedLinearRegressor",
    "Shapes",
    "curve",
    "surface",
]
