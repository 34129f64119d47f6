"""Reading saved objects: the explicit table of what a file may hold.

What may stand inside of an estimator, its parameters and results, says of itself that it is `storable`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ._foundation.errors import StorageError
from ._foundation.members import located
from ._foundation.saved_estimators import SavedEstimator, read_estimator
from ._foundation.storage import read_state
from .clustering.clusterer import SemimetricClusterer
from .distances.semimetric import Semimetric
from .embeddings.vectors.conic import ConicEmbedding
from .embeddings.vectors.homogeneous_kernels import AdditiveChi2Embedding
from .embeddings.vectors.identity import IdentityEmbedding
from .embeddings.vectors.interpolated import IDEmbedding
from .embeddings.vectors.orthogonal import FourierEmbedding, HermiteEmbedding
from .embeddings.vectors.piecewise import PL1Embedding, PL2Embedding
from .embeddings.vectors.splines import BSplineEmbedding
from .estimators.approximator import DistanceApproximator
from .estimators.kernel_regression_learner import KernelRegressionLearner
from .estimators.large_margin_learner import LargeMarginLearner
from .estimators.neighbor_regressor import SemimetricRegressor
from .estimators.neighbor_votes import SemimetricClassifier
from .estimators.pair_learner import PairLearner
from .estimators.quadruplet_learner import QuadrupletLearner
from .estimators.regressor import DistanceRegressor
from .estimators.triplet_learner import TripletLearner
from .linear_models.classifier import EmbeddedLinearClassifier
from .linear_models.pieces.boundary_points import BoundaryPoints
from .linear_models.pieces.dplm import DPLMClassifier
from .linear_models.pieces.hyperplane_mixture import HyperplaneMixture
from .linear_models.pieces.support_point_classifier import SupportPointClassifier
from .linear_models.regressor import EmbeddedLinearRegressor
from .neighbors.imputer import SemimetricImputer
from .neighbors.index import NeighborIndex
from .neighbors.outlier_detector import SemimetricOutlierDetector
from .neighbors.sharded.shard_files import FILE as SHARDS
from .neighbors.sharded.sharded_index import ShardedIndex
from .neighbors.transformer import SemimetricNeighborsTransformer
from .objects.landmarks import LandmarkFeatures
from .objects.point_clouds import PointCloudFeatures
from .objects.series import SeriesFeatures
from .objects.strings import StringFeatures

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
    KernelRegressionLearner,
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
_CLASSES = {"Semimetric": Semimetric.from_state} | {kind.__name__: read_estimator for kind in _ESTIMATORS}


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
        return NeighborIndex._load(path, mmap=mmap, base_distances=base_distances, key=key)
    state = read_state(path, key=key)
    if state.kind not in _CLASSES:
        raise StorageError(f"{path} holds a {state.kind}, which this version cannot read; upgrade semimetric")
    with located(path):
        return _CLASSES[state.kind](state, base_distances)
