"""The part of classifiers and regressors by neighbours that is saved: learner, items and what they vote for."""

from __future__ import annotations

from typing import Any, ClassVar, NotRequired

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.saved_estimators import SavedEstimator
from .._foundation.types import Floats
from .._foundation.validation import check_n_jobs, check_weights
from ..distances.semimetric import Semimetric
from ..neighbors.index import NeighborIndex
from ..neighbors.stored_items import index_of_stored, stored_index
from ..neighbors.voting import VoteRule

__all__ = ["SavedVotes"]


class SavedVotes(SavedEstimator):
    """Neighbours that vote, as a file holds them: all else follows from their items, targets and weights."""

    _fitted: ClassVar[dict[str, Any]] = {
        "learner_": SavedEstimator,
        "index": dict[str, Any],
        "items": NDArray[np.floating],
        "targets": NDArray[Any],
        "labels": NDArray[Any],
        "weight": Floats | None,
        "vote_rule_": NotRequired[VoteRule],
    }

    n_jobs: int | None
    learner_: Any
    index_: NeighborIndex
    _targets: Any
    _labels: Any
    _weight: Floats | None
    vote_rule_: VoteRule

    def _stored(self) -> dict[str, Any]:
        index = stored_index(self.index_, len(self._targets))
        held = {"targets": self._targets, "labels": self._labels, "weight": self._weight, "vote_rule_": self.vote_rule_}
        return index | {"learner_": self.learner_} | held

    def _restore(self, fitted: dict[str, Any]) -> None:
        self._check()
        check_n_jobs(self.n_jobs)
        self.learner_, n = fitted["learner_"], len(fitted["items"]) if fitted["items"].ndim else 0
        d = getattr(self.learner_, "semimetric_", None)
        if not isinstance(d, Semimetric) or fitted["targets"].shape != (n,):
            raise InputError(f"there are targets of shape {fitted['targets'].shape} for {n} items, or no distance is learned")
        names = getattr(self.learner_, "feature_names_in_", None)
        index = index_of_stored(d, {"index": fitted["index"], "items": fitted["items"]}, names)
        self._weight = fitted["weight"]
        used = check_weights(self._weight, n) > 0
        targets = self._keep_targets(fitted["targets"], used)
        labels = fitted["labels"]
        if labels.shape != (n,) or labels.dtype.kind not in "iU":
            raise InputError(f"there are labels of shape {labels.shape} and {labels.dtype} for {n} items; restore the file")
        self.vote_rule_ = self._rule_of(fitted.get("vote_rule_"))
        self._keep_index(index, targets, labels)

    def _rule_of(self, stored: VoteRule | None) -> VoteRule:
        """The rule that a file holds, or of a file that holds none the one that its parameters say."""
        given = self._given_rule
        if stored is None and given is None:
            raise InputError(
                "there is no rule of the votes, which n_neighbors= and weights= leave to be chosen; restore the file"
            )
        return stored or given  # type: ignore[return-value]  # one of them is there

    @property
    def _given_rule(self) -> VoteRule | None:
        """The rule that the parameters say in full; None where something is left to choose."""
        raise NotImplementedError

    def _check(self) -> None:
        """Refuse parameters of the votes that are unknown."""
        raise NotImplementedError

    def _keep_index(self, index: NeighborIndex, targets: Any, labels: Any) -> None:
        """Record the index of the items, their classes or values, and what their table calls them."""
        raise NotImplementedError

    def _keep_targets(self, targets: Any, used: Any) -> Any:
        """The classes or values of the items, checked, of which ``used`` ones count."""
        raise NotImplementedError
