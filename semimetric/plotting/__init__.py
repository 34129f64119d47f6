"""Pictures of distances, embeddings and boundaries; every `plot_*` function is importable from here.

It stands on `_foundation`, `data`, `distances` and `vectors`.
Each function draws into the matplotlib Axes that it is given, by default into those of a new figure, and returns them.
Values call their own by ``value.plot()``.
The pictures need matplotlib: pip install "semimetric[plots]".
"""

from .boundaries import plot_boundary_points, plot_n_components, plot_pieces
from .conic import plot_anchor_distances, plot_level_sets
from .counterfactuals import plot_counterfactual, plot_prediction_counterfactual
from .distances import plot_around, plot_contributions, plot_table, plot_tables
from .embeddings import plot_basis, plot_kernel
from .explanations import plot_explanation, plot_importances, plot_prediction_explanation, plot_refitted_columns
from .fits import plot_choices, plot_history
from .predictions import plot_predicted
from .searches import plot_neighbors, plot_tuning
from .shape_functions import plot_curve, plot_shapes, plot_surface

__all__ = [
    "plot_anchor_distances",
    "plot_around",
    "plot_basis",
    "plot_boundary_points",
    "plot_choices",
    "plot_contributions",
    "plot_counterfactual",
    "plot_curve",
    "plot_explanation",
    "plot_history",
    "plot_importances",
    "plot_kernel",
    "plot_level_sets",
    "plot_n_components",
    "plot_neighbors",
    "plot_pieces",
    "plot_predicted",
    "plot_prediction_counterfactual",
    "plot_prediction_explanation",
    "plot_refitted_columns",
    "plot_shapes",
    "plot_surface",
    "plot_table",
    "plot_tables",
    "plot_tuning",
]
