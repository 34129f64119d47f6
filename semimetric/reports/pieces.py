"""Boundaries made of pieces, as a report shows them: planes near their boundary points, and support points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import NotSupportedError
from .._foundation.types import Floats, Integers
from ..data.grid import Grid
from ..data.schema import Schema
from ..distances.model.semimetric import Semimetric
from ..distances.search.index import NeighborIndex
from ..vectors.pieces.dplm import DPLMClassifier
from ..vectors.pieces.piecewise_boundary import Pieces
from ..vectors.pieces.support_point_classifier import SupportPointClassifier
from ..vectors.pieces.two_classes import votes_of_pairs
from .facts import distance_tables
from .subjects import Importances, ReportItems, ScoringSubject, packed, pairwise_distances

_MOST_NUMBERS = 250_000  # of points in a page, 2.7 MB of base64
_APART = 1e-7  # by which the two nearest points must differ, as a share of the distance, for the nearest to be beyond doubt


class _PiecesSubject(ScoringSubject):
    """A boundary made of pieces near points of the columns, whose extent stands for the range."""

    kind = "pieces"
    tabs = (("pieces", "Pieces"), ("items", "Items"))

    def __init__(self, model: Any, points: Floats) -> None:
        self.model = model
        known = getattr(model, "feature_names_in_", None)
        n = points.shape[1]
        self.schema = Schema.numeric([f"x{f}" for f in range(n)] if known is None else [str(name) for name in known])
        self.grid = Grid([np.unique([column.min(), column.max()]) for column in points.T])
        self.classes = tuple(map(str, np.asarray(model.classes_).tolist()))
        if points.size > _MOST_NUMBERS:
            raise NotSupportedError(
                f"the points of the boundary are {points.size:,} numbers, and a page holds {_MOST_NUMBERS:,}; fit on fewer "
                "items or columns"
            )

    def outside(self, values: Floats) -> NDArray[np.bool_] | None:
        return None  # the points of a boundary lie inside of the items


class PlanesSubject(_PiecesSubject):
    """A `DPLMClassifier`: the plane of the nearest boundary point decides an item."""

    about = "It predicts an item by the side of the plane that is the nearest to it, of a few that part the classes."
    range_note = "The range is that of the boundary points; missing counts items."
    model: DPLMClassifier

    def __init__(self, model: DPLMClassifier) -> None:
        check_is_fitted(model)
        self._sets: list[Pieces] = model.pieces_
        super().__init__(model, np.vstack([pieces.boundary_points for pieces in self._sets]))

    @property
    def outputs(self) -> tuple[str, ...]:
        assert self.classes is not None
        return self.classes[1:] if len(self._sets) == 1 else self.classes

    @property
    def _sides(self) -> list[tuple[str, str | None]]:
        """Return the classes on both sides of every set, the positive one first; None stands for all others."""
        assert self.classes is not None
        if len(self._sets) == 1:
            return [(self.classes[1], self.classes[0])]
        if self._pairs is None:
            return [(name, None) for name in self.classes]
        return [(self.classes[b], self.classes[a]) for a, b in self._pairs]

    @property
    def _pairs(self) -> Integers | None:
        return getattr(self.model, "class_pairs_", None)

    @property
    def _numbers(self) -> list[tuple[int, int]]:
        return [(k, j) for k, pieces in enumerate(self._sets) for j in range(pieces.n_components)]

    @property
    def terms(self) -> tuple[str, ...]:
        of = [f"{one}: " if other is None else f"{one} or {other}: " for one, other in self._sides]
        return tuple(f"{of[k] if len(of) > 1 else ''}piece {j + 1}" for k, j in self._numbers)

    @property
    def summary(self) -> list[str]:
        n = sum(len(pieces.components) for pieces in self._sets)
        return [" ".join(repr(self.model).split()), f"{len(self.terms)} pieces of planes near {n:,} boundary points"]

    def scores(self, values: Floats) -> Floats:
        decisions = np.column_stack([pieces.decision(values) for pieces in self._sets])
        if self._pairs is None:
            return decisions
        return votes_of_pairs(decisions, np.array([pieces.width for pieces in self._sets]), len(self.outputs))

    def probabilities(self, values: Floats) -> Floats | None:
        if not hasattr(self.model, "predict_proba"):
            return None
        positive = self._sets[0].probability(values)
        return np.column_stack([1 - positive, positive])

    def settled(self, values: Floats) -> NDArray[np.bool_]:
        near = np.all([_settled(pieces.boundary_points, values, pieces.components) for pieces in self._sets], axis=0)
        if self._pairs is None:
            return near
        return near & np.all([np.abs(p.decision(values)) > _APART * p.width for p in self._sets], axis=0)

    def _decided(self, items: ReportItems) -> list[Integers]:
        return [pieces.of_items(items.values) for pieces in self._sets]

    def importances(self, items: ReportItems | None, rng: np.random.Generator) -> Importances:
        """Return shares of the items or boundary points that a plane decides; for columns the sizes of normals."""
        there = items is not None and len(items) > 0
        found = self._decided(items) if there and items is not None else [pieces.components for pieces in self._sets]
        counts = [np.bincount(of, minlength=p.n_components) / len(of) for of, p in zip(found, self._sets, strict=True)]
        share = np.concatenate(counts) / len(self._sets)
        size = np.zeros(self.n_features)
        for pieces, of in zip(self._sets, counts, strict=True):
            size += of @ (np.abs(pieces.normals) * self._spread)
        what = "the items" if there else "the boundary points"
        note = (
            f"Shares of {what} that each plane decides. A column counts by how far its spread moves the distance to the planes."
        )
        return Importances(share, size / (size.sum() or 1.0), self.schema.names, f"{what} are decided by it", note)

    @property
    def _spread(self) -> Floats:
        return np.std(np.vstack([pieces.boundary_points for pieces in self._sets]), axis=0)

    def to_page(self, items: ReportItems | None) -> dict[str, Any]:
        sets = [
            {
                "points": packed(p.boundary_points.ravel()), "components": packed(p.components),
                "centres": packed(p.centres.ravel()), "normals": packed(p.normals.ravel()), "steepness": packed(p.steepness),
            }
            for p in self._sets
        ]  # fmt: skip
        pairs = None if self._pairs is None else {"classes": self._pairs.tolist(), "units": [p.width for p in self._sets]}
        found = None if items is None or not len(items) else self._decided(items)
        terms = [
            {
                "name": name, "set": k, "side": self._sides[k][0], "plane": j,
                "items": None if found is None else int((found[k] == j).sum()),
                "points": int((self._sets[k].components == j).sum()), "right": self._right(items, found, k, j),
            }
            for (k, j), name in zip(self._numbers, self.terms, strict=True)
        ]  # fmt: skip
        probability = {"kind": "normal"} if hasattr(self.model, "predict_proba") else None
        return {"pieces": {"kind": "planes", "sets": sets, "pairs": pairs}, "terms": terms, "probability": probability}

    def _right(self, items: ReportItems | None, found: list[Integers] | None, k: int, j: int) -> float | None:
        """Return how often a plane's side is right for the items that it decides; None without such items or classes."""
        if items is None or found is None or items.targets is None or items.target_name != "class":
            return None
        one, other = self._sides[k]
        decided = found[k] == j
        if self._pairs is not None:
            decided &= np.isin(items.targets, [one, str(other)])
        if not decided.any():
            return None
        positive = np.asarray(items.targets[decided] == one)
        return float(((self._sets[k].decision(items.values[decided]) > 0) == positive).mean())


class SupportPointsSubject(_PiecesSubject):
    """A `SupportPointClassifier`: the class of the nearest support point."""

    about = "It predicts an item by the nearest of a few items at the boundary of the classes."
    range_note = "The range is that of the support points; missing counts items."
    model: SupportPointClassifier

    def __init__(self, model: SupportPointClassifier) -> None:
        check_is_fitted(model)
        self._points, self._codes = model.support_points_, model.support_codes_
        super().__init__(model, self._points)
        index = model.neighbors_
        if index is None or (isinstance(index, NeighborIndex) and index.side == "query-first" and index.rerank is None):
            self._distance: Semimetric | None = None if index is None else index.semimetric_
            self._tables, self._why_not = (None, "") if self._distance is None else distance_tables(self._distance)
        else:
            self._distance, self._tables = None, None
            self._why_not = "The nearest support point is found by an estimator that this page cannot compute."
        if self._distance is not None and self._distance.base_distances:
            self._why_not = "The distance has base distances, which only Python computes."

    @property
    def outputs(self) -> tuple[str, ...]:
        assert self.classes is not None
        return self.classes

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(f"support points of {name}" for name in self.outputs)

    @property
    def summary(self) -> list[str]:
        points = f"{len(self._points):,} support points, {self.model.support_share_:.1%} of the items of the fit"
        shown = [" ".join(repr(self.model).split()), points]
        if self.model.neighbors is None:  # else it is not proved
            bound = self.model.generalization_bound_
            shown.append(f"the error on new items is expected to be at most {bound:.1%} (theorem 2)")
        return shown

    def codes(self, scores: Floats) -> Integers:
        return np.asarray(scores.argmin(axis=1), dtype=np.int64)

    def margins(self, scores: Floats) -> Floats:
        return super().margins(-scores)

    def _distances(self, values: Floats) -> Floats:
        """Return the distance of each item (n, n_features) to each support point: shape (n, n_support)."""
        d, index = self._distance, self.model.neighbors_
        if d is None and index is not None:
            distances, order = index.kneighbors(values, len(self._points))
            return np.take_along_axis(distances, order.argsort(axis=1), axis=1)
        if d is None:
            return np.sqrt(((values[:, None, :] - self._points) ** 2).sum(axis=2))
        return pairwise_distances(d, values, self._points)

    def scores(self, values: Floats) -> Floats:
        """Return the distance of each item to the nearest support point of every class."""
        size = max(2_000_000 // max(self._points.size, 1), 1)
        parts = []
        for start in range(0, len(values), size):
            between = self._distances(values[start : start + size])
            parts.append(np.column_stack([between[:, self._codes == c].min(axis=1) for c in range(len(self.outputs))]))
        return np.vstack(parts)

    def importances(self, items: ReportItems | None, rng: np.random.Generator) -> Importances:
        counts = np.bincount(self._codes, minlength=len(self.outputs))
        note = "Shares of the support points of each class: the more a class has, the more of the boundary runs along it."
        return Importances(counts / counts.sum(), None, self.schema.names, "the support points", note)

    def to_page(self, items: ReportItems | None) -> dict[str, Any]:
        terms = [{"name": name, "points": int((self._codes == c).sum())} for c, name in enumerate(self.terms)]
        points = {
            "kind": "points", "points": packed(self._points.ravel()), "codes": packed(self._codes),
            "rows": self.model.support_.tolist(), "distance": self._tables,
            "link": "" if self._distance is None else str(self._distance.link),
        }  # fmt: skip
        return {"pieces": points, "terms": terms, "whyNot": self._why_not}


def _settled(points: Floats, values: Floats, parts: Integers) -> NDArray[np.bool_]:
    """Return, with shape (n,), if the nearest of the points is clearly nearer than those of other parts."""
    if not len(values):
        return np.ones(0, dtype=bool)
    unit = np.abs(points).max() or 1.0
    distances, near = NearestNeighbors(n_neighbors=len(points), algorithm="brute").fit(points / unit).kneighbors(values / unit)
    other = parts[near] != parts[near[:, :1]]
    nearest_other = np.where(other, distances, np.inf).min(axis=1)
    return np.asarray(nearest_other > distances[:, 0] * (1 + _APART))
