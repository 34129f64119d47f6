"""Reading saved objects: the explicit table of what a file may hold.

What may stand inside of an estimator, its parameters and results, says of itself that it is `storable`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ._foundation.errors import StorageError
from ._foundation.estimator import SavedEstimator, read_estimator
from ._foundation.files import read_state
from ._foundation.stored import located, value_of
from .distances.estimators.approximator import DistanceApproximator
from .distances.estimators.classifier import SemimetricClassifier
from .distances.estimators.clusterer import SemimetricClusterer
from .distances.estimators.imputer import SemimetricImputer
from .distances.estimators.kernel_ridge_learner import KernelRidgeLearner
from .distances.estimators.large_margin_learner import LargeMarginLearner
from .distances.estimators.neighbor_regressor import SemimetricRegressor
from .distances.estimators.outlier_detector import SemimetricOutlierDetector
from .distances.estimators.pair_learner import PairLearner
from .distances.estimators.quadruplet_learner import QuadrupletLearner
from .distances.estimators.regressor import DistanceRegressor
from .distances.estimators.transformer import SemimetricNeighborsTransformer
from .distances.estimators.triplet_learner import TripletLearner
from .distances.features.landmarks import LandmarkFeatures
from .distances.features.point_clouds import PointCloudFeatures
from .distances.features.series import SeriesFeatures
from .distances.features.strings import StringFeatures
from .distances.model.semimetric import Semimetric
from .distances.search.index import NeighborIndex
from .distances.search.shard_files import FILE as SHARDS
from .distances.search.sharded import ShardedIndex
from .vectors.embeddings.base import IdentityEmbedding
from .vectors.embeddings.conic import ConicEmbedding
from .vectors.embeddings.homogeneous_kernels import AdditiveChi2Embedding
from .vectors.embeddings.interpolated import IDEmbedding
from .vectors.embeddings.orthogonal import FourierEmbedding, HermiteEmbedding
from .vectors.embeddings.piecewise import PL1Embedding, PL2Embedding
from .vectors.embeddings.splines import BSplineEmbedding
from .vectors.machines.classifier import EmbeddedLinearClassifier
from .vectors.machines.regressor import EmbeddedLinearRegressor
from .vectors.pieces.boundary_points import BoundaryPoints
from .vectors.pieces.dplm import DPLMClassifier
from .vectors.pieces.hyperplane_mixture import HyperplaneMixture
from .vectors.pieces.support_point_classifier import SupportPointClassifier

__all__ = ["load"]

_ESTIMATORS = (
    BSplineEmbedding,
    BoundaryPoints,
    ConicEmbedding,
    DPLMClassifier,
    EmbeddedLinearClassifier,
    EmbeddedLinearRegressor,
    AdditiveChi2Embedding,
    FourierEmbedding,
    HermiteEmbedding,
    HyperplaneMixture,
    IDEmbedding,
    IdentityEmbedding,
    PL1Embedding,
    PL2Embedding,
    SupportPointClassifier,
    DistanceApproximator,
    DistanceRegressor,
    KernelRidgeLearner,
    LandmarkFeatures,
    LargeMarginLearner,
    PairLearner,
    PointCloudFeatures,
    QuadrupletLearner,
    SemimetricClassifier,
    SemimetricClusterer,
    SemimetricImputer,
    SemimetricNeighborsTransformer,
    SemimetricOutlierDetector,
    SemimetricRegressor,
    SeriesFeatures,
    StringFeatures,
    TripletLearner,
)
_KINDS = {"Semimetric", *(kind.__name__ for kind in _ESTIMATORS)}


def load(
    path: str | os.PathLike[str], *, base_distances: Sequence[object] = (), mmap: bool = False, key: bytes | None = None
) -> Semimetric | SavedEstimator | NeighborIndex | ShardedIndex:
    """Read a saved distance or fitted estimator (a file), index or sharded index (folders); no code in the files is run.

    Parameters
    ----------
    path : path-like
    base_distances : sequence of callables
        The known distances that the model was fitted with, in the same order; each is checked against stored values.
    mmap : bool
        Map the items of an index into memory instead of reading them: the codes are read, the rest as it is needed. Every
        file is verified against its digest first, and every item proved to be where it is said to be, block by block.
    key : bytes or None
        The key that ``save`` was given, at least 16 bytes: what was not signed with it is refused. None refuses what is signed.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    StorageError
        If a file is foreign, truncated, altered, newer or not signed with the key, if what it holds is none of these, or
        if the base distances are not those of the model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from semimetric import DistanceRegressor
    >>> pairs = np.random.default_rng(0).random((50, 2, 2))
    >>> model = DistanceRegressor(n_knots=3, alpha=1e-3).fit(pairs, np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.smm")
    ...     again = load(Path(folder) / "model.smm")
    >>> bool((again.predict(pairs) == model.predict(pairs)).all())
    True
    """
    if os.path.isfile(os.path.join(path, SHARDS)):
        return ShardedIndex(path, mmap=mmap, base_distances=base_distances, key=key)
    if os.path.isdir(path):
        return NeighborIndex.load(path, mmap=mmap, base_distances=base_distances, key=key)
    state = read_state(path, key=key)
    if state.kind not in _KINDS:
        raise StorageError(f"{path} holds a {state.kind}, which this version cannot read; upgrade semimetric")
    with located(path):
        if state.kind == "Semimetric":
            return value_of(state, Semimetric, base_distances)
        return read_estimator(state, base_distances)
