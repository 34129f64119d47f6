"""A linear machine on an embedding, as a report shows it: the functions of one column and of two that it is the sum of."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

from .._foundation.arrays import input_errors
from .._foundation.errors import InputError, NotSupportedError
from .._foundation.iteration import Status
from .._foundation.types import Floats
from ..data.grid import Grid
from ..data.schema import Feature, Schema
from ..vectors.machines.classifier import EmbeddedLinearClassifier
from ..vectors.machines.shapes import machine_of
from .additive import AdditiveModel, additive_model, scaling_of
from .subjects import Importances, ReportItems, ScoringSubject, fact_table, packed

_MOST_NUMBERS = 750_000  # of a machine in a page, 8 MB of base64
_DIFFERENT = 1e-6  # by which a sum of functions may differ from what the last step of a pipeline computes
_CLIPPED = (
    "Missing and outside count items. Outside the range, where the embedding was fitted, functions keep the value at its end, "
    'or go on where the embedding says extrapolation="linear".'
)
_GOES_ON = "The range is that of the items, outside of which the functions go on as they are; missing counts items."


class MachineSubject(ScoringSubject):
    """A fitted machine, or a pipeline that ends in one or in an embedding and a linear model."""

    kind = "machine"
    tabs = (("columns", "Columns"), ("items", "Items"))

    def __init__(self, model: Any) -> None:
        self.model = model
        embedding, self._last = machine_of(model)
        self._embedding = embedding.unnamed
        self._embedding.dtype = np.float64
        self._factor, self._shift, self._steps, self._alone = scaling_of(model, embedding)
        weights, intercept = np.atleast_2d(self._last.coef_), np.ravel(self._last.intercept_)
        self._weights, self._intercept = weights, np.broadcast_to(intercept, len(weights)).astype(np.float64)
        self._given = additive_model(self._embedding, weights, self._intercept, self._factor, self._shift)
        if self._given.n_numbers > _MOST_NUMBERS:
            raise NotSupportedError(
                f"the functions of the machine are {self._given.n_numbers:,} numbers, and a page holds {_MOST_NUMBERS:,}; fit "
                'an embedding with fewer knots or pairs, such as PL2Embedding(pairs="best", n_pairs=20)'
            )
        may_miss = embedding.missing != "error"
        names = self._names(embedding)
        self.schema = Schema(tuple(Feature(name, missing=may_miss) for name in names))
        self.grid = Grid([curve.breaks for curve in self._given.curves], missing=[may_miss] * len(names))
        self.classes = tuple(map(str, np.asarray(self._last.classes_).tolist())) if is_classifier(self._last) else None
        self.refuses_outside = getattr(embedding, "extrapolation", "clip") == "error"
        self._goes_on = any(curve.outside == "series" for curve in self._given.curves)
        self.range_note = _GOES_ON if self._goes_on else _CLIPPED
        self._additive: AdditiveModel | None = None

    def _names(self, embedding: Any) -> list[str]:
        first = self._steps[0] if self._steps and self._alone else None
        known = getattr(first, "feature_names_in_", None)
        if self._steps and not self._alone:
            try:
                known = self._steps[-1].get_feature_names_out()
            except (AttributeError, ValueError):  # a step that names nothing
                known = None
        return embedding.feature_names if known is None else [str(name) for name in known]

    @property
    def outputs(self) -> tuple[str, ...]:
        if self.classes is None:
            return ("value",) if len(self._weights) == 1 else tuple(f"value {k}" for k in range(len(self._weights)))
        return self.classes[1:] if len(self._weights) == 1 else self.classes

    @cached_property
    def _features(self) -> list[tuple[int, ...]]:
        return [(f,) for f in range(self.n_features)] + [table.features for table in self._given.tables]

    @property
    def terms(self) -> tuple[str, ...]:
        names = self.schema.names
        return tuple(" * ".join(names[f] for f in features) for features in self._features)

    @property
    def about(self) -> str:
        what = "value" if self.classes is None else "score of a class"
        return f"Its {what} is a sum of functions of one column{' and of two' * bool(self._given.tables)}."

    @property
    def no_rows(self) -> str:
        if not self._steps or self._alone:
            return ""
        return f"its page shows the columns that {type(self._steps[-1]).__name__} makes of those that the pipeline takes"

    @property
    def summary(self) -> list[str]:
        pairs = len(self._given.tables)
        of_two = f" and {pairs} of two" if pairs else ""
        lines = [" ".join(repr(self.model).split()), f"a sum of {self.n_features} functions of one column{of_two}"]
        if self._steps and not self._alone:
            lines.append(f"columns are those that {type(self._steps[-1]).__name__} makes of the ones that were given")
        return lines

    def grid_with(self, items: ReportItems | None) -> Grid:
        if not self._goes_on or items is None or not len(items):
            return self.grid
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of columns that are missing everywhere
            ends = np.nanmin(items.values, axis=0), np.nanmax(items.values, axis=0)
        return Grid([np.unique(np.nan_to_num(pair)) for pair in zip(*ends, strict=True)], missing=self.grid.missing)

    def read(self, X: Any) -> Any:
        if self._alone:
            return X
        with input_errors():
            for step in self._steps:
                X = step.transform(X)
        return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)

    def _phi(self, values: Floats) -> Any:
        return self._embedding.transform(values * self._factor + self._shift)

    def scores(self, values: Floats) -> Floats:
        phi = self._phi(values)
        found = np.asarray(phi @ self._weights.T) + self._intercept
        if not hasattr(self._last, "embedding_"):
            method = "decision_function" if self.classes else "predict"
            predicted = np.asarray(getattr(self._last, method)(phi)).reshape(len(values), -1)
            allowed = _DIFFERENT * np.maximum(np.abs(found), 1)
            if predicted.shape != found.shape or not (np.abs(predicted - found) <= allowed).all():
                raise InputError(
                    f"what {type(self._last).__name__} predicts is no sum of functions of the columns; give a pipeline that "
                    "ends in a linear model, or an EmbeddedLinearClassifier or EmbeddedLinearRegressor"
                )
        return found

    def probabilities(self, values: Floats) -> Floats | None:
        if self._probability is None:
            return None
        if isinstance(self._last, EmbeddedLinearClassifier):
            return self._last.score_curves_.predict_proba(self.scores(values))
        return np.asarray(self._last.predict_proba(self._phi(values)))

    @property
    def _probability(self) -> dict[str, Any] | None:
        if isinstance(self._last, LogisticRegression):
            return {"kind": "logistic" if len(self._weights) == 1 else "softmax"}
        if isinstance(self._last, EmbeddedLinearClassifier) and hasattr(self._last, "score_curves_"):
            curves = self._last.score_curves_.curves
            return {"kind": "curves", "curves": [{"numbers": packed(c.ravel()), "isSteps": c.ndim == 2} for c in curves]}
        return None

    def _pure(self, items: ReportItems | None) -> AdditiveModel:
        if self._additive is None:
            self._additive = self._given.purified(None if items is None else items.values)
        return self._additive

    def importances(self, items: ReportItems | None, rng: np.random.Generator) -> Importances:
        """Return the mean sizes of what terms add to the scores of the items; without items, of their values at knots."""
        pure = self._pure(items)
        if items is not None and len(items):
            size = np.abs(pure.terms(items.values)).mean(axis=(0, 2))
            of = "what is added to the scores of the items"
            note = "Shares of what terms add to the scores of the items, or take from them, on average."
        else:
            size = np.array([np.abs(curve.values(curve.breaks)).mean() for curve in pure.curves]
                            + [np.abs(table.values).mean() for table in pure.tables])  # fmt: skip
            of = "what is added to scores"
            note = "Shares of what terms add or take away on average over their knots, as there are no items."
        share = size / (size.sum() or 1.0)
        columns = np.zeros(self.n_features)
        for features, part in zip(self._features, share, strict=True):
            columns[list(features)] += part / len(features)
        return Importances(share, columns, self.schema.names, of, note)

    def contributions(self, values: Floats, items: ReportItems | None, code: int | None) -> tuple[float, Floats]:
        """Return the mean score over the items, and what columns add for an encoded item (1, n_features): (n_features,).

        The score is that of the class with the number ``code``, or the value. A function of two columns is divided evenly.
        """
        pure = self._pure(items)
        output = 0 if len(self._weights) == 1 else int(code or 0)
        sign = -1.0 if code == 0 and len(self._weights) == 1 else 1.0
        out = np.zeros(self.n_features)
        for features, part in zip(self._features, pure.terms(values)[0][:, output], strict=True):
            out[list(features)] += sign * part / len(features)
        return sign * float(pure.intercept[output]), out

    def to_page(self, items: ReportItems | None) -> dict[str, Any]:
        terms = [{"name": name, "features": list(f)} for name, f in zip(self.terms, self._features, strict=True)]
        return {"machine": self._pure(items).to_page(), "terms": terms, "probability": self._probability}

    def evidence(self, items: ReportItems | None) -> list[dict[str, Any]]:
        shown = {"passes over the rows, or steps": "n_iter_", "duality gap": "duality_gap_", "status": "status_"}
        rows = [[name, getattr(self._last, key)] for name, key in shown.items() if hasattr(self._last, key)]
        rows = [[name, value.value if isinstance(value, Status) else value] for name, value in rows]
        rows = [[name, np.asarray(value).tolist()] for name, value in rows if np.ndim(value) == 0]
        notes = ["The objective could fall by this share of it, at most."] if any(r[0] == "duality gap" for r in rows) else []
        return [fact_table("Training", [], rows, *notes)] if rows else []
