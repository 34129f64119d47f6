"""Pictures of embeddings of single vectors: their basis functions and their kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.types import ArrayLike, Floats
from ..vectors.embeddings.base import FeatureMap, dense_rows
from .axes import axes_of, feature_number, hide_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS = 401  # points along a feature
_COLOUR_MAP = "viridis"


def plot_basis(embedding: FeatureMap, X: ArrayLike, feature: str | int = 0, ax: Axes | None = None) -> Axes:
    """Draw the columns of an embedding as functions of one feature (Maji 2011, Fig. 1), over the range that it has in X.

    All other features are at their medians in X. There is a line for each column that depends on the feature; the colours
    follow the order of the columns.

    Parameters
    ----------
    embedding : FeatureMap
        Fitted, such as a `BSplineEmbedding`.
    X : array-like of shape (n_items, n_features)
    feature : str or int, default 0
        Name or number of the feature.
    ax : matplotlib Axes or None

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import PL1Embedding
    >>> X = [[0.0], [1.0], [3.0]]
    >>> len(plot_basis(PL1Embedding(3).fit(X), X, 0, Figure().subplots()).lines)
    3
    """
    if not isinstance(embedding, FeatureMap):
        raise InputError(f"embedding={embedding!r} is no embedding of single vectors; give one such as BSplineEmbedding")
    check_is_fitted(embedding, "n_columns_")
    number = feature_number(feature, embedding.feature_names)
    span, columns = _columns_along(embedding, dense_rows(embedding.encode(X), slice(None)), number)
    axes = axes_of(ax)
    colours = optional("matplotlib").colormaps[_COLOUR_MAP](np.linspace(0.0, 0.9, columns.shape[1]))
    for column, colour in zip(columns.T, colours, strict=True):
        axes.plot(span, column, color=colour, lw=1.2)
    axes.set(xlabel=embedding.feature_names[number], ylabel="column", title=f"{columns.shape[1]} basis functions")
    return hide_frame(axes)


def plot_kernel(
    kernel: Callable[[Floats, Floats], Floats], ax: Axes | None = None, *, low: float = 0.0, high: float = 1.0
) -> Axes:
    """Draw a kernel of one feature as an image (Maji 2011, Fig. 2).

    Parameters
    ----------
    kernel : callable
        A function of X (n, 1) and Y (m, 1) that returns an array (n, m), such as `min_kernel`, or a difference of two kernels.
    ax : matplotlib Axes or None
    low : float, default 0
        Where the range of x and y begins.
    high : float, default 1
        Where it ends.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> plot_kernel(np.minimum, Figure().subplots()).get_xlabel()
    'y'
    """
    if not callable(kernel) or not low < high:
        raise InputError(f"kernel={kernel!r} on [{low!r}, {high!r}]: a callable of X and Y, and low < high, are required")
    points = np.linspace(low, high, _STEPS)[:, None]
    axes = axes_of(ax)
    image = axes.imshow(kernel(points, points), origin="lower", extent=(low, high, low, high), cmap=_COLOUR_MAP)
    axes.figure.colorbar(image, ax=axes, shrink=0.85)
    axes.set(xlabel="y", ylabel="x")
    return axes


def _columns_along(embedding: FeatureMap, items: Floats, number: int) -> tuple[Floats, Floats]:
    """Return values of the feature (_STEPS,), and its columns there that are not all 0, (_STEPS, n_columns)."""
    if items.ndim != 2 or items.shape[1] != embedding.n_features_in_ or np.isnan(items[:, number]).all():
        raise InputError(
            f"X has shape {items.shape}: rows of {embedding.n_features_in_} features with known values are required"
        )
    span = np.linspace(np.nanmin(items[:, number]), np.nanmax(items[:, number]), _STEPS)
    line = np.tile(np.nanmedian(items, axis=0), (_STEPS, 1))
    line[:, number] = span
    of_terms = [np.arange(term.start, term.stop) for term in embedding.terms_ if number in term.features]
    phi: Any = embedding.unnamed.transform(line)
    columns = phi[:, np.concatenate(of_terms)]
    columns = columns if isinstance(columns, np.ndarray) else columns.toarray()
    return span, columns[:, columns.any(axis=0)]
