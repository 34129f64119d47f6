"""Pictures of distances, embeddings and boundaries; every `plot_*` function is importable from here.

It stands on `_foundation`, `data`, `distances` and `vectors`.
Each function draws into the matplotlib Axes that it is given, by default into those of a new figure, and returns them.
The pictures need matplotlib: pip install "semimetric[plots]".
"""

from .boundaries import plot_boundary_points, plot_n_components, plot_pieces
from .conic import plot_anchor_distances, plot_level_sets
from .distances import plot_around, plot_contributions, plot_table
from .embeddings import plot_basis, plot_kernel
from .explanations import plot_explanation, plot_importances
from .predictions import plot_predicted
from .shape_functions import plot_curve, plot_surface

__all__ = [
    "plot_anchor_distances",
    "plot_around",
    "plot_basis",
    "plot_boundary_points",
    "plot_contributions",
    "plot_curve",
    "plot_explanation",
    "plot_importances",
    "plot_kernel",
    "plot_level_sets",
    "plot_n_components",
    "plot_pieces",
    "plot_predicted",
    "plot_surface",
    "plot_table",
]
