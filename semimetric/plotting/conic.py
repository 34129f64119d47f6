"""Pictures of conic maps: level sets of a linear model, and distances to two sets of anchors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_items
from ..vectors.embeddings.conic import ConicEmbedding
from .axes import BLUE, INK, ORANGE, axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (BLUE, ORANGE, "#4d8b4d", "#8b5f9e", "#b08d3c", "#5fa3b5", "#9e4a4a", "#6b6b6b")  # of the classes
_STEPS = 301  # points of the grid in each direction
_LEVELS = 13  # an odd number, so that 0 is one of them


def plot_level_sets(
    model: Any, X: ArrayLike, y: ArrayLike | None = None, ax: Axes | None = None, *, anchors: ArrayLike | None = None
) -> Axes:
    """Draw the level sets of f over two features, and f = 0 in bold; for several classes their regions.

    These are the pictures of Ceylan & Birbil 2020, Figs 1 and 2.

    Parameters
    ----------
    model : fitted classifier
        With ``decision_function`` on two features, such as a pipeline of `ConicEmbedding` and ``LinearSVC``.
    X : array-like of shape (n_items, 2)
        Items to draw; they set the range.
    y : array-like of shape (n_items,) or None
        Their classes.
    ax : matplotlib Axes or None
    anchors : array-like of shape (n_anchors, 2) or None
        Anchors to mark, on the scale of X.

    Raises
    ------
    InputError
        If X does not have two features, or the model has no ``decision_function``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.svm import LinearSVC
    >>> X, y = [[0.0, 0.0], [1.0, 0.0]], [0, 1]
    >>> plot_level_sets(LinearSVC().fit(X, y), X, y, Figure().subplots()).get_title()
    'Level sets'
    """
    if not hasattr(model, "decision_function"):
        raise InputError(
            f"{type(model).__name__} has no decision_function; give a fitted linear machine, or a pipeline with one"
        )
    items = check_items(X, n_features=2)
    marks = None if anchors is None else check_items(anchors, name="anchors", n_features=2)
    names = [str(c) for c in getattr(X, "columns", ("x0", "x1"))]
    spans = _spans(items if marks is None else np.vstack([items, marks]))
    axes = axes_of(ax)
    points: Any = np.stack(np.meshgrid(*spans), axis=-1).reshape(-1, 2)
    if hasattr(X, "columns"):
        points = optional("pandas").DataFrame(points, columns=X.columns)
    _draw_values(axes, spans, np.asarray(model.decision_function(points)))
    _draw_items(axes, items, y)
    if marks is not None:
        axes.plot(*marks.T, "*", color="white", mec=INK, mew=1.0, ms=13, zorder=4, label="anchor")
    if y is not None or marks is not None:
        axes.legend(loc="best", fontsize="small")
    axes.set(xlabel=names[0], ylabel=names[1], xlim=spans[0][[0, -1]], ylim=spans[1][[0, -1]], title="Level sets")
    return axes


def plot_anchor_distances(
    embedding: ConicEmbedding,
    X: ArrayLike,
    y: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    sets: tuple[int, int] = (0, 1),
) -> Axes:
    """Draw the distances of items to the nearest anchor of two sets, which are columns of phi_{p,M}.

    This is the picture of Ceylan & Birbil 2020, Fig. 5.

    Parameters
    ----------
    embedding : ConicEmbedding
        Fitted, with ``expand="one"`` and two sets of anchors or more.
    X : array-like of shape (n_items, n_features)
    y : array-like of shape (n_items,) or None
        Classes of the items.
    ax : matplotlib Axes or None
    sets : tuple of int, default (0, 1)
        Numbers of the two sets.

    Raises
    ------
    InputError
        If the map does not have two such columns.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> X = [[0.0, 0.0], [1.0, 0.0]]
    >>> len(plot_anchor_distances(ConicEmbedding(anchors=[X[:1], X[1:]]).fit(X), X, ax=Figure().subplots()).get_xlabel()) > 0
    True
    """
    names = embedding.get_feature_names_out()[embedding.n_features_in_ :]
    if embedding.expand != "one" or not all(0 <= s < len(names) for s in sets) or len(sets) != 2:
        raise InputError(
            f"the map has expand={embedding.expand!r} and {len(embedding.anchors_)} sets of anchors, and sets={sets!r}; two of "
            'its columns of distances are required: fit ConicEmbedding(anchors="class")'
        )
    columns = embedding.transform(X)[:, embedding.n_features_in_ + np.array(sets)]
    axes = axes_of(ax)
    _draw_items(axes, columns, y)
    axes.axline((0, 0), slope=1, color=INK, lw=0.8, alpha=0.5)
    if y is not None:
        axes.legend(loc="best", fontsize="small")
    axes.set(xlabel=names[sets[0]], ylabel=names[sets[1]], title="Distances to the anchors")
    return axes


def _spans(items: Floats) -> list[Floats]:
    """Return values of both features to draw, two arrays (_STEPS,): their range, widened by a tenth on each side."""
    low = items.min(axis=0)
    high = items.max(axis=0)
    pad = np.where(high > low, 0.1 * (high - low), 0.5)
    return [np.linspace(a, b, _STEPS) for a, b in zip(low - pad, high + pad, strict=True)]


def _draw_values(axes: Any, spans: list[Floats], values: Floats) -> None:
    """Draw level sets of values (_STEPS²,), or the regions where each column of values (_STEPS², n_classes) is largest."""
    shape = (_STEPS, _STEPS)
    if values.ndim == 1:
        top = float(np.abs(values).max()) or 1.0
        levels = np.linspace(-top, top, _LEVELS)
        axes.contourf(*spans, values.reshape(shape), levels, cmap="RdBu", alpha=0.6)
        axes.contour(*spans, values.reshape(shape), levels, colors=INK, linewidths=0.4, alpha=0.4, linestyles="solid")
        if values.min() < 0 < values.max():
            axes.contour(*spans, values.reshape(shape), [0.0], colors=INK, linewidths=2)
        return
    best = values.argmax(axis=1).reshape(shape)
    colours = [_COLOURS[c % len(_COLOURS)] for c in range(values.shape[1])]
    axes.contourf(*spans, best, np.arange(values.shape[1] + 1) - 0.5, colors=colours, alpha=0.25)
    axes.contour(*spans, best, np.arange(1, values.shape[1]) - 0.5, colors=INK, linewidths=1)


def _draw_items(axes: Any, items: Floats, y: ArrayLike | None) -> None:
    if y is None:
        axes.plot(*items.T, ".", color=INK, ms=4, alpha=0.5)
        return
    labels = column_or_1d(y)
    check_consistent_length(items, labels)
    classes = np.unique(labels)
    colours = _COLOURS[1::-1] if len(classes) == 2 else _COLOURS  # f is negative, and drawn in red, for the first of two
    for k, c in enumerate(classes):
        axes.plot(*items[labels == c].T, "o", color=colours[k % len(colours)], mec="white", mew=0.5, ms=4.5, label=str(c))
