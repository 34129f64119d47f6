"""The report of a model: of a distance, of a machine on an embedding, or of a boundary made of pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._foundation.errors import InputError
from .._foundation.sources import reads_sources
from .._foundation.types import ArrayLike, distinct
from .._foundation.validation import check_count
from ..distances.search.index import encoder_of
from ..vectors.machines.base import EmbeddedLinear
from ..vectors.pieces.dplm import DPLMClassifier
from ..vectors.pieces.support_point_classifier import SupportPointClassifier
from .compare import compare
from .groups import read_groups, without_groups
from .machine import MachineSubject
from .page import Given, distance_report, score_report
from .pieces import PlanesSubject, SupportPointsSubject
from .report import Report
from .rows import PageRows
from .subjects import DistanceSubject, ScoringSubject, Subject, read_items, read_pairs, with_learned

_LONGEST_NAME = 40  # letters


@reads_sources
def report(
    model: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    distances: ArrayLike | None = None,
    *,
    names: Sequence[object] | None = None,
    title: str | None = None,
    include: Sequence[str] | None = None,
    by: Any = None,
    max_items: int = 1_000,
    random_state: int | None = 0,
) -> Report:
    """Make a report of a model: one page to open offline, send, print and play with.

    Its first tab is for a person who decides: what is predicted, how good that is, which columns matter, and three items. The
    model is measured on the items of ``X`` that it has not learned from, if ``y`` says what they are. Otherwise it is so by
    what its fit has left out (leave-one-out predictions, or votes on items held out). Neighbors are items learned from.

    The page holds the whole model, so that it computes again while values of items are changed. For a distance it shows the
    table of every term, where the data lie, the parts of a distance, and neighbours. It says how each axiom is proved, and what
    was compared to choose the model. A page does not compute distances with base distances, which only Python computes.

    For a linear machine on an embedding of single columns and pairs it shows the functions that the machine is the sum of. For
    `DPLMClassifier` and `SupportPointClassifier` it shows the pieces of the boundary. Both have the scores of an item with what
    makes them, and with ``y`` errors, confusions and calibration. Functions have mean 0 over the items, and those of two
    columns hold nothing that one column could say.

    Parameters
    ----------
    model : Semimetric, fitted learner, classifier, regressor, index or pipeline, or a list or a dict of several
        An estimator that has learned the distance says more about it. A pipeline ends in an `EmbeddedLinearClassifier`, an
        `EmbeddedLinearRegressor`, or an embedding and a linear model of scikit-learn; if its other steps only scale columns,
        functions are of the columns that were given. Of several models, all of them distances or none, the report is that of
        the first, and one more tab compares them all: how far they agree on the items or on pairs of them, which columns each
        goes by, and the items or pairs that they see most differently. A dict says what they are called.
    X : array-like of shape (n_items, n_features), frame, list of objects, or None
        Items, whose names are those of the rows of a frame of pandas. None takes the items of a model that holds some. A
        `DistanceApproximator` with ``features=`` takes its objects, of which short texts are their own names.
    y : array-like of shape (n_items,) or None
        The classes or the values of the items, by which the model is assessed where it predicts them. The name of a series of
        pandas is what the page calls them.
    pairs : array-like of shape (n_pairs, 2) or (n_pairs, 2, n_features), or None
        Pairs with measured distances, as row numbers of X or as vectors.
    distances : array-like of shape (n_pairs,) or None
        The measured distances of the pairs.
    names : sequence of shape (n_items,) or None
        What the items are called.
    title : str or None
        The title of the page.
    include : sequence of str or None, default None
        Names of the tabs that the page has, of "overview", "columns", "items", "neighbors", "components", "pieces", "models",
        "data" and "evidence", as far as the model has them; None is all.
    by : str, sequence of str, array-like of shape (n_items,), frame or None, default None
        Columns by which the items that measure the model are divided, such as "sex": names of columns of ``X``, also of those
        that the model does not use, or a cell for each item. The overview then has the figures of each group. Numbers and times
        of more than ten values are cut at their quartiles.
    max_items : int, default 1000
        The most items in the page. Of more, and of items that have more than 50,000 values together, a sample is drawn, and the
        page says so; what the data tab counts is counted of all.
    random_state : int or None, default 0
        The seed of the samples.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If the model has nothing to show, or items, names, classes or pairs do not fit it or one another; if ``include`` names
        no tab of the report; if ``by`` names no column, or no items measure the model; or if several models are given and fewer
        than three items, or none for models without a distance.
    NotSupportedError
        If terms of a machine depend on more than two columns, or are too many numbers for a page.

    Examples
    --------
    >>> import semimetric as sm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 2))
    >>> index = rng.integers(0, 60, (300, 2))
    >>> y = np.abs(X[index[:, 0]] - X[index[:, 1]]) @ [1.0, 3.0]
    >>> model = sm.DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=X).fit(index, y)
    >>> found = sm.report(model, X, pairs=index, distances=y, title="Two columns")
    >>> found
    Report 'Two columns': 2 columns, 60 items; write_html(path), open(), to_markdown() or to_json()
    >>> shares = found.facts["importances"]["features"]
    >>> bool(shares["x1"] > shares["x0"])
    True
    """
    check_count("max_items", max_items)
    subjects = {name: subject_of(each) for name, each in _named_models(model).items()}
    rng = np.random.default_rng(random_state)
    subject = next(iter(subjects.values()))
    kind, n = type(subject.model).__name__, subject.n_features
    called = title if title is not None else f"{kind} of {n} column{'s' * (n != 1)}"
    if isinstance(subject, ScoringSubject) and (pairs is not None or distances is not None):
        raise InputError(f"pairs and distances are for reports of distances, and {kind} has none; give X and y")
    tabs = _chosen_tabs(subject, len(subjects), include)
    if len(subjects) == 1 and X is not None and (encode := encoder_of(subject.model)) is not None:
        X, names = encode(X), _texts(X) if names is None else names
    table, X = X, without_groups(X, by, subject)
    read = read_items(subject, X, y, names)
    items, learned = with_learned(subject, read)
    groups = read_groups(by, table, subject, read, items)
    measured = read_pairs(subject.distance, items, pairs, distances) if isinstance(subject, DistanceSubject) else None
    given = Given(items, learned, measured, str(getattr(y, "name", None) or ""), called, tabs, groups)
    if isinstance(subject, DistanceSubject):
        made = distance_report(subject, given, max_items=max_items, random_state=random_state, rng=rng)
    else:
        assert isinstance(subject, ScoringSubject)
        made = score_report(subject, given, max_items=max_items, rng=rng)
    made.facts["comparison"] = compare(subjects, X, y, pairs, distances, names, rng) if len(subjects) > 1 else []
    return replace(made, rows=PageRows.of(subject.schema, subject.model, X, subject.no_rows))


def _texts(objects: Any) -> list[object] | None:
    """Return objects that are short texts, which are their names, or None."""
    short = all(isinstance(one, str) and len(one) <= _LONGEST_NAME for one in objects)
    return list(objects) if short else None


def _chosen_tabs(subject: Subject, n_models: int, include: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """Return the names and titles of the tabs that are asked for, in the order of the page."""
    models = (("models", "Models"),) if n_models > 1 else ()
    known = (("overview", "Overview"), *subject.tabs, *models, ("data", "Data"), ("evidence", "Evidence"))
    if include is None:
        return known
    names = [name for name, _ in known]
    wanted = [include] if isinstance(include, str) else list(include)
    if not wanted or (unknown := [name for name in wanted if name not in names]):
        what = f"{unknown[0]!r}, which is no tab of this report" if wanted else "no tab"
        raise InputError(f"include= names {what}; it has {', '.join(map(repr, names))}")
    return tuple(tab for tab in known if tab[0] in wanted)


def subject_of(model: Any) -> Subject:
    """Return the subject of the report of a fitted model."""
    if isinstance(model, DPLMClassifier):
        return PlanesSubject(model)
    if isinstance(model, SupportPointClassifier):
        return SupportPointsSubject(model)
    if isinstance(model, EmbeddedLinear | Pipeline):
        check_is_fitted(model)
        return MachineSubject(model)
    return DistanceSubject(model)


def _named_models(models: Any) -> dict[str, Any]:
    if isinstance(models, Mapping):
        given = {str(name): model for name, model in models.items()}
    elif isinstance(models, Sequence) and not isinstance(models, str):
        given = dict(zip(distinct([type(model).__name__ for model in models]), models, strict=True))
    else:
        return {type(models).__name__: models}
    if not given:
        raise InputError("there is no model; give a Semimetric or a fitted learner, or several of them")
    return given
