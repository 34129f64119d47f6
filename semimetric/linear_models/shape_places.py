"""The places at which functions of one feature are told: all knots of what is linear between them, many of what is curved."""

from __future__ import annotations

import numpy as np

from .._foundation.errors import NotSupportedError
from .._foundation.types import Floats
from ..embeddings.vectors.base import FeatureMap
from ..embeddings.vectors.homogeneous_kernels import AdditiveChi2Embedding
from ..embeddings.vectors.orthogonal import FourierEmbedding, HermiteEmbedding
from ..embeddings.vectors.splines import BSplineEmbedding

__all__ = ["shape_places"]

_IN_A_CELL = 16  # places in each cell of a spline that is curved there
_IN_A_RANGE = 201  # places in the range of a feature whose functions are waves or polynomials


def shape_places(embedding: FeatureMap) -> dict[int, Floats]:
    """The places of every feature, increasing.

    Parameters
    ----------
    embedding : FeatureMap
        Fitted.

    Returns
    -------
    dict of int to ndarray
        Of embeddings on a grid its knots, and so of B-splines of degree 1. Between them functions are linear. Of B-splines of a
        higher degree 16 places a cell, of Fourier, Hermite and chi-squared embeddings 201 evenly spaced ones. One that does
        not vary has one place.

    Raises
    ------
    NotSupportedError
        If terms depend on three features or more, or nothing says where functions of single features bend.
    """
    if hasattr(embedding, "grid_") and all(len(term.features) <= 2 for term in embedding.terms_):
        return dict(enumerate(embedding.grid_.knots))
    if isinstance(embedding, BSplineEmbedding):
        return {f: _between(knots, embedding.degree) for f, knots in enumerate(embedding.knots_)}
    if isinstance(embedding, AdditiveChi2Embedding | FourierEmbedding | HermiteEmbedding):
        ends = zip(embedding.low_, embedding.high_, embedding.varies_, strict=True)
        return {f: np.linspace(a, b, _IN_A_RANGE) if varies else _one(a) for f, (a, b, varies) in enumerate(ends)}
    raise NotSupportedError(
        f"{type(embedding).__name__} has no functions of one and two features at knots; use curve() and surface()"
    )


def _between(knots: Floats, degree: int) -> Floats:
    """The knots, and places between them where splines of this degree are curved."""
    if len(knots) < 2:
        return _one(knots[0] if len(knots) else 0.0)
    if degree == 1:
        return knots
    steps = np.arange(_IN_A_CELL) / _IN_A_CELL
    return np.append((knots[:-1, None] + np.diff(knots)[:, None] * steps).ravel(), knots[-1])


def _one(value: float) -> Floats:
    """The single place of a feature that does not vary; 0 where it is always missing."""
    return np.array([0.0 if np.isnan(value) else float(value)])
