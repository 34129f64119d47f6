"""Pictures of boundaries in the plane and of the number of their pieces (paper 3, Figs 2 to 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_items
from ..vectors.pieces.boundary_points import BoundaryPoints
from ..vectors.pieces.dplm import DPLMClassifier
from ..vectors.pieces.piecewise_boundary import Pieces
from .axes import BLUE, INK, ORANGE, YELLOW, axes_of, hide_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POSITIVE = BLUE
_NEGATIVE = ORANGE
_STEPS = 301  # points of the grid in each direction


def plot_boundary_points(
    found: BoundaryPoints, X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *, edges: bool = False
) -> Axes:
    """Draw items of two features, in full colour where they are support points, and the boundary points (Figs 2 and 3).

    Parameters
    ----------
    found : BoundaryPoints
        Fitted on X and y.
    X : array-like of shape (n_items, 2)
    y : array-like of shape (n_items,)
    ax : matplotlib Axes or None
    edges : bool, default False
        True draws the edge points of all items instead of the boundary points.

    Raises
    ------
    InputError
        If the items do not have two features, or are not those of the fit.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> X, y = [[0.0, 0.0], [1.0, 0.0]], [0, 1]
    >>> plot_boundary_points(BoundaryPoints().fit(X, y), X, y, Figure().subplots()).get_title().count("support points")
    1
    """
    check_is_fitted(found, "boundary_points_")
    items = check_items(X, n_features=2)
    axes = axes_of(ax)
    if len(items) != len(found.boundary_of_):
        raise InputError(f"X has {len(items)} items, the fit had {len(found.boundary_of_)}; give the items of the fit")
    positive = np.asarray(y) == found.classes_[1]
    support = items[found.support_]
    _draw_items(axes, items, positive, alpha=0.25)
    _draw_items(axes, support, positive[found.support_], alpha=1.0)
    points, name = (found.edge_points_, "edge points") if edges else (found.boundary_points_, "boundary points")
    axes.plot(*points.T, "s", color=YELLOW, mec=INK, mew=0.5, ms=4, label=f"{len(points)} {name}")
    axes.set(aspect="equal", title=f"{len(support)} of {len(items)} items are support points")
    axes.legend(fontsize=8, frameon=False, loc="upper right")
    return axes


def plot_pieces(model: DPLMClassifier, X: ArrayLike | None = None, y: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Draw the boundary points in the colours of their pieces, and the boundary that the pieces make (Figs 1 and 4).

    Of several classes the items have the colours. A piece is drawn where its two classes are the likeliest ones, so that the
    prediction changes at it. With ``multi_class="ovr"`` it is drawn where its class is one of the two, whose boundary lies
    between planes.

    Parameters
    ----------
    model : DPLMClassifier
        Fitted on two features.
    X : array-like of shape (n_items, 2) or None
        Items to draw.
    y : array-like of shape (n_items,) or None
        Their classes.
    ax : matplotlib Axes or None

    Raises
    ------
    InputError
        If the model does not have two features.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> model = DPLMClassifier(n_components=1).fit(X, X.sum(axis=1) > 1)
    >>> len(plot_pieces(model, ax=Figure().subplots()).get_title()) > 0
    True
    """
    check_is_fitted(model, "pieces_")
    axes = axes_of(ax)
    points = check_items(np.concatenate([pieces.boundary_points for pieces in model.pieces_]), n_features=2)
    items = points if X is None else check_items(X, n_features=2)
    n = sum(pieces.n_components for pieces in model.pieces_)
    if len(model.pieces_) == 1:
        between = f"through {len(points)} boundary points"
        if X is not None:
            positive = np.ones(len(items), bool) if y is None else np.asarray(y) == model.classes_[1]
            _draw_items(axes, items, positive, alpha=0.25)
        (pieces,) = model.pieces_
        x, y, places = _grid_over(np.concatenate([items, points]))
        _draw_planes(axes, pieces, (x, y), places, np.ones(len(places), dtype=bool))
        for j in range(pieces.n_components):
            axes.plot(*points[pieces.components == j].T, "s", color=f"C{j % 10}", mec=INK, mew=0.4, ms=5)
    else:
        between = f"between {len(model.classes_)} classes"
        if X is not None:
            labels = model.predict(items) if y is None else np.asarray(y)
            for k, name in enumerate(np.asarray(model.classes_).tolist()):
                axes.plot(*items[labels == name].T, "o", color=f"C{k % 10}", alpha=0.4, ms=4, mew=0, label=str(name))
            axes.legend(fontsize=8, frameon=False)
        _draw_pieces(axes, model, np.concatenate([items, points]))
    axes.set(aspect="equal", title=f"{n} piece{'s' if n > 1 else ''} {between}")
    return axes


def plot_n_components(models: DPLMClassifier | Sequence[DPLMClassifier], ax: Axes | None = None) -> Axes:
    """Draw the posterior of the number of pieces as bars, in one colour for each model (Fig. 5).

    Parameters
    ----------
    models : DPLMClassifier, or a sequence of them
        Fitted on two classes without ``n_components``.
    ax : matplotlib Axes or None

    Raises
    ------
    InputError
        If a model has no such posterior.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import DPLMClassifier, GibbsChains
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> model = DPLMClassifier(chains=GibbsChains(n_sweeps=1_500)).fit(X, X.sum(axis=1) > 1)
    >>> plot_n_components(model, Figure().subplots()).get_xlabel()
    'pieces'
    """
    drawn = [models] if isinstance(models, DPLMClassifier) else list(models)
    shares = [_posterior(model) for model in drawn]
    axes = axes_of(ax)
    width = 0.8 / len(drawn)
    for k, (model, share) in enumerate(zip(drawn, shares, strict=True)):
        n_pieces = np.flatnonzero(share > 0)
        middle = n_pieces + (k - (len(drawn) - 1) / 2) * width
        alpha = model.alpha if isinstance(model.alpha, str) else f"{model.alpha:g}"
        axes.bar(middle, share[n_pieces], width=width, color=f"C{k % 10}", label=f"alpha = {alpha}")
    used = np.concatenate([np.flatnonzero(share) for share in shares])
    axes.set_xticks(np.arange(used.min(), used.max() + 1))
    axes.set(xlabel="pieces", ylabel="share of the sampled states", title="How many pieces the data ask for")
    hide_frame(axes)
    axes.legend(fontsize=8, frameon=False)
    return axes


def _posterior(model: DPLMClassifier) -> Floats:
    """Return the shares of 0, 1, 2, ... pieces among the states that voted; a model without them is refused."""
    share = getattr(model, "posterior_n_components_", None)
    if not isinstance(share, np.ndarray):
        raise InputError(
            f"{model!r} has no posterior of one number of pieces; give a DPLMClassifier that is fitted on two classes, with "
            "n_components=None"
        )
    return share


def _draw_items(axes: Any, items: Floats, positive: Any, *, alpha: float) -> None:
    axes.plot(*items[positive].T, "^", color=_POSITIVE, alpha=alpha, ms=4, mew=0)
    axes.plot(*items[~positive].T, "o", color=_NEGATIVE, alpha=alpha, ms=4, mew=0)


def _grid_over(items: Floats) -> tuple[Floats, Floats, Floats]:
    """Return both axes of a grid over the range of the items and a margin, and its places, shape (steps², 2)."""
    low = items.min(axis=0)
    high = items.max(axis=0)
    margin = 0.03 * (high - low).max()
    x, y = (np.linspace(a - margin, b + margin, _STEPS) for a, b in zip(low, high, strict=True))
    return x, y, np.stack(np.meshgrid(x, y), axis=2).reshape(-1, 2)


def _draw_pieces(axes: Any, model: DPLMClassifier, items: Floats) -> None:
    """Draw every plane within the region of its piece, where its two classes are the likeliest ones."""
    x, y, places = _grid_over(items)
    order = np.argsort(-model.decision_function(places), axis=1, kind="stable")[:, :2]
    best_two = np.sort(order, axis=1)
    pairs = getattr(model, "class_pairs_", None)
    for k, pieces in enumerate(model.pieces_):
        decided = (order[:, 0] == k) | (order[:, 1] == k) if pairs is None else (best_two == pairs[k]).all(axis=1)
        _draw_planes(axes, pieces, (x, y), places, decided)


def _draw_planes(axes: Any, pieces: Pieces, sides: tuple[Floats, Floats], places: Floats, shown: Any) -> None:
    """Draw the plane of each piece within its region, where ``shown`` (n_places,) is true, in the colour of the piece."""
    piece = np.where(shown, pieces.of_items(places), -1).reshape(_STEPS, _STEPS)
    for j in range(pieces.n_components):
        height = ((places - pieces.centres[j]) @ pieces.normals[j]).reshape(_STEPS, _STEPS)
        if (height[piece == j] > 0).any() and (height[piece == j] <= 0).any():
            axes.contour(*sides, np.where(piece == j, height, np.nan), levels=[0.0], colors=f"C{j % 10}", linewidths=2)
