"""Which kind of report a model has: of its distance, of the functions of a linear machine, or of the pieces of a boundary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._foundation.tables import row_labels
from ..distances.model.semimetric import Semimetric
from ..vectors.machines.base import EmbeddedLinear
from ..vectors.pieces.dplm import DPLMClassifier
from ..vectors.pieces.support_point_classifier import SupportPointClassifier
from .machine_predictor import MachinePredictor
from .pieces_predictor import PlanesPredictor, PointsPredictor
from .predictors import Predictor
from .subjects import ReportItems, distance_of, read_items


def subject_of(model: Any) -> Semimetric | Predictor:
    """What a report of a fitted model is about.

    Raises
    ------
    InputError
        If the model has no distance, no functions of columns and no pieces.
    NotSupportedError
        If its functions depend on more than two columns, or are too many numbers for a page.
    """
    if isinstance(model, DPLMClassifier):
        return PlanesPredictor(model)
    if isinstance(model, SupportPointClassifier):
        return PointsPredictor(model)
    if isinstance(model, EmbeddedLinear | Pipeline):
        check_is_fitted(model)
        return MachinePredictor(model)
    return distance_of(model)


def items_of_predictor(predictor: Predictor, X: Any, y: Any, names: Sequence[object] | None) -> ReportItems | None:
    """The items that were given, with the columns of the model.

    Raises
    ------
    InputError
        If they do not fit the model, or one another.
    """
    if X is None:
        return read_items(predictor.model, predictor.schema, X, y, names)
    table = predictor.read(X)
    labels = row_labels(X, len(table)) if names is None and table is not X else names
    return read_items(predictor.model, predictor.schema, table, y, labels)
