"""Why a prediction is what it is: what each column adds to its score, and which items speak for it or against it.

A player of the game is a column, and a coalition S has the value

    v(S) = mean over background items r of score(x in the columns S, r in the others),

so that v(all) is the score of x and v(none) the mean score of the background. Columns have their Shapley values (Shapley 1953;
with the background as Lundberg & Lee 2017 have it): they add up to score(x) - mean score, columns that play no part have 0, and
columns that play the same part have equal values.

Under a kernel machine on a distance that adds up over columns, exp(-d / h) is a product with a factor a column. The multilinear
extension of such a game (Owen 1972) is a sum of products of linear factors, whose integral Gauss-Legendre quadrature gives
exactly for 2 m columns by m nodes. Nodes are doubled until the values add up. Other predictions replace columns one by one in
random orders, each with its reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._foundation.errors import InputError
from ..._foundation.optional_imports import optional
from ..._foundation.pictures import Axes, picture
from ..._foundation.progress import progress_bar
from ..._foundation.text import cell_text, html_table, number_text, text_table
from ..._foundation.threads import blocks, map_blocks
from ..._foundation.types import Floats, Integers
from ..._kernels.shapley import shapley_of_products
from ..model.semimetric import Semimetric

_NODES = 8  # of the quadrature at first; they are exact up to 16 columns
_ROUNDING = 1e-13  # by which values may miss their sum, relative to the sum of the coefficients
_BLOCK = 8  # background items whose rows are predicted at a time
_MOST_SHOWN = 8  # columns that are printed
EXPLAINED_LEVEL = 0.9
"""The level of the interval that is shown with a predicted value."""

_MOST_ITEMS = 3  # that are printed for a prediction, and as many against it

Scores = Callable[[Floats], Floats]
"""Scores (n, n_outputs) of encoded rows (n, n_features)."""


class SpeakingItems(NamedTuple):
    """Fitted items that a prediction rests on, and what each adds to every score."""

    rows: Integers  # (k,): row numbers among the fitted items
    pushes: Floats  # (k, n_outputs)


class Contributions(NamedTuple):
    """Shapley values of the columns of a row, beside the mean scores of the background."""

    values: Floats  # (n_features, n_outputs)
    errors: Floats  # (n_features, n_outputs): standard errors of a sampled background or sampled orders; 0 if all is exact
    base: Floats  # (n_outputs,): the mean score of the background
    base_errors: Floats  # (n_outputs,): their standard errors
    background: Integers  # (n_background,): row numbers of the background items
    weight: Floats  # (n_background,): their weights


class ColumnContribution(NamedTuple):
    """A column of a row, or several together, and what it adds to a score."""

    name: str
    value: str  # of the row, as text; "" of several columns
    adds: float
    error: float  # standard error; 0 if it is exact


@dataclass(frozen=True, eq=False)
class PredictionExplanation:
    """A prediction, what each column adds to its score, and the items that it rests on. Printed, a table.

    Attributes
    ----------
    prediction : object
        The predicted class or value.
    classes : ndarray of shape (n_outputs,) or None
        The classes; None where a value is predicted.
    probabilities : ndarray of shape (n_outputs,) or None
        The probability of each class.
    target : int
        The number of the class that is explained: `contributions` and what is printed are of it; 0 for a value.
    score_name : str
        The meaning of a score.
    scores, base_scores : ndarray of shape (n_outputs,)
        The scores of the row, and their means over the background items.
    n_background : int
        Fitted items of the background.
    base_errors : ndarray of shape (n_outputs,)
        Standard errors of ``base_scores``, as estimates of the means over all fitted items.
    features : tuple of str
    item : ndarray of shape (n_features,)
        The values of the row.
    label : object
        The name of the row; None if it has none.
    all_contributions, all_errors : ndarray of shape (n_features, n_outputs)
        What the columns add to every score, which sums to ``scores - base_scores``, and the standard errors.
    item_rows : ndarray of shape (k,)
        The row numbers of the fitted items that the prediction rests on.
    item_labels, item_targets : ndarray of shape (k,)
        Their names, and their classes or values.
    item_contributions : ndarray of shape (k, n_outputs)
        What they add to every score. Under a machine that is how much more than the mean background item they add to this row,
        so that all centers add up to ``scores - base_scores``; the 100 largest are kept. By votes it is their fraction of all
        votes, negative where it goes to another class, or for values times what their value is above the mean score.
    interval : tuple of two floats or None
        The ends of the 90 % interval of a value, see `SemimetricRegressor.predict`; None of classes and of too few items.
    """

    prediction: object
    classes: NDArray[Any] | None
    probabilities: Floats | None
    target: int
    score_name: str
    scores: Floats
    base_scores: Floats
    n_background: int
    base_errors: Floats
    features: tuple[str, ...]
    item: NDArray[Any]
    label: object
    all_contributions: Floats
    all_errors: Floats
    item_rows: Integers
    item_labels: NDArray[Any]
    item_targets: NDArray[Any]
    item_contributions: Floats
    interval: tuple[float, float] | None = None

    @property
    def contributions(self) -> Floats:
        """Shapley values of the columns for the score explained, shape (n_features,); their sum is `score` - `base_score`."""
        return self.all_contributions[:, self.target]

    @property
    def errors(self) -> Floats:
        """Standard errors of `contributions`, shape (n_features,), as estimates of those with all items as background."""
        return self.all_errors[:, self.target]

    @property
    def score(self) -> float:
        """The score that is explained."""
        return float(self.scores[self.target])

    @property
    def base_score(self) -> float:
        """The mean of this score over the background items."""
        return float(self.base_scores[self.target])

    def of(self, target: Any) -> PredictionExplanation:
        """Return the explanation of another class."""
        if self.classes is None:
            raise InputError(f"target={target!r}: a value is predicted, so that there are no classes; leave it out")
        return replace(self, target=class_number(target, self.classes))

    def to_frame(self) -> Any:
        """Return a frame of pandas with a row for each column, the largest first: its value, contribution and error."""
        order = self._order
        columns = {"value": self.item[order], "contribution": self.contributions[order], "standard_error": self.errors[order]}
        return optional("pandas").DataFrame({"feature": np.array(self.features, dtype=object)[order]} | columns)

    def items_to_frame(self) -> Any:
        """Return a frame of pandas with a row for each item that the prediction rests on, the largest first."""
        adds = self.item_contributions[:, self.target]
        order = np.argsort(-np.abs(adds), kind="stable")
        columns = {"item": self.item_labels[order], "target": self.item_targets[order], "contribution": adds[order]}
        return optional("pandas").DataFrame(columns)

    def plot(self, ax: Axes | None = None, *, most: int = _MOST_SHOWN) -> Axes:
        """Draw a bar for each of the ``most`` largest contributions; see `semimetric.plotting.plot_prediction_explanation`."""
        return picture("plot_prediction_explanation")(self, ax, most=most)

    def __repr__(self) -> str:
        return "\n".join([self.title, *map(str.rstrip, text_table(self._rows(), left=1)), *self._notes()])

    def _repr_html_(self) -> str:
        return html_table(self._rows(), title=self.title, notes=self._notes())

    @property
    def _order(self) -> Integers:
        return np.argsort(-np.abs(self.contributions), kind="stable")

    @property
    def title(self) -> str:
        """A line that says what is predicted, and the probabilities of up to four classes."""
        row = "The row" if self.label is None else f"Row {self.label}"
        if self.classes is None or self.probabilities is None:
            ends = "" if self.interval is None else f", 90 % interval {' to '.join(map(number_text, self.interval))}"
            return f"{row} is predicted as {cell_text(self.prediction)}{ends}"
        chances = ", ".join(
            f"{cell_text(self.classes[c])} {100 * self.probabilities[c]:.3g} %" for c in np.argsort(-self.probabilities)[:4]
        )
        return f"{row} is predicted as {cell_text(self.prediction)}: {chances}"

    @property
    def score_text(self) -> str:
        """The score that is explained, in words, such as "log odds of leaves"."""
        return self.score_name + ("" if self.classes is None else f" of {cell_text(self.classes[self.target])}")

    def largest(self, most: int = _MOST_SHOWN) -> list[ColumnContribution]:
        """Return the ``most`` largest contributions, the largest first, and the sum of all others."""
        order = [f for f in self._order if self.contributions[f] != 0]
        shown, rest = order[:most], order[most:]
        lines = [
            ColumnContribution(self.features[f], cell_text(self.item[f]), float(self.contributions[f]), float(self.errors[f]))
            for f in shown
        ]
        if rest:
            name = f"{len(rest)} other column{'s' if len(rest) > 1 else ''}"
            error = float(np.sqrt((self.errors[rest] ** 2).sum()))
            lines.append(ColumnContribution(name, "", float(self.contributions[rest].sum()), error))
        return lines

    def _rows(self) -> list[list[str]]:
        """Return the cells of the table that is printed: from the mean score to that of the row."""
        spread = float(self.base_errors[self.target])
        mean = number_text(self.base_score) + (f" ± {number_text(spread, 1)}" if spread else "")
        rows = [
            ["column", "value", f"adds to the {self.score_text}"],
            [f"mean of {self.n_background:,} fitted items", "", mean],
        ]
        for line in self.largest():
            error = f" ± {number_text(line.error, 1)}" if line.error else ""
            rows.append([line.name, line.value, f"{_signed(line.adds)}{error}"])
        return [*rows, ["together", "", number_text(self.score)]]

    def _notes(self) -> list[str]:
        return list(self._items("for", 1.0)) + list(self._items("against", -1.0))

    def _items(self, side: str, sign: float) -> Iterator[str]:
        adds = sign * self.item_contributions[:, self.target]
        order = np.argsort(-adds, kind="stable")[:_MOST_ITEMS]
        shown = [
            f"row {self.item_labels[i]} ({cell_text(self.item_targets[i])}) {_signed(sign * adds[i])}"
            for i in order
            if adds[i] > 0
        ]
        if shown:
            yield f"Items that speak {side} it most, and what they add to the {self.score_name}: {', '.join(shown)}"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{number_text(value, 3)}"


def class_number(target: Any, classes: NDArray[Any]) -> int:
    """Return the number of a class, refusing what is none."""
    names = classes.tolist()
    if target not in names:
        raise InputError(f"target={target!r} is none of the classes {names}; name one of these")
    return names.index(target)


def adds_up_over_columns(d: Semimetric) -> bool:
    """Return True if the distance is a sum with a part for each column, which no other column changes."""
    single = all(len(group) == 1 for group in d.embedding.groups)
    return single and d.directions is None and not d.base_distances and d.link_function.straight


def product_contributions(
    d: Semimetric, centers: Floats, coefficients: Floats, width: float, row: Floats, background: Floats, n_jobs: int | None
) -> Floats:
    """Return the Shapley values of the columns for every background item, shape (n_background, n_features, n_outputs).

    They are those of ``sum_i coefficients_i exp(-d(., centers_i) / width)`` between the encoded row (1, n_features) and the
    encoded background (n_background, n_features).
    """
    p, parts = d.n_features, d.parts_to(centers)

    def factors(item: Floats) -> Floats:
        return np.exp(parts(item) / -width)

    own, allowed = factors(row), _ROUNDING * np.abs(coefficients).sum(axis=0)

    def value(item: Floats) -> Floats:
        """Double the nodes until the values add up, which bounds what quadrature loses."""
        other, m = factors(item), _NODES
        whole = (own.prod(axis=1) - other.prod(axis=1)) @ coefficients
        while True:
            nodes, shares = np.polynomial.legendre.leggauss(min((p + 1) // 2, m))
            out = np.zeros((p, coefficients.shape[1]))
            shapley_of_products(own, other, coefficients, (nodes + 1) / 2, shares / 2, out)
            if 2 * m >= p or (np.abs(out.sum(axis=0) - whole) <= allowed).all():
                return out
            m *= 2

    with progress_bar(len(background), "reasons", verbose=None, unit="item") as bar:

        def values(block: slice) -> list[Floats]:
            found = [value(item[None]) for item in background[block]]
            bar.update(len(found))
            return found

        return np.array(sum(map_blocks(values, len(background), size=4, n_jobs=n_jobs), []))


def sampled_contributions(scores: Scores, row: Floats, background: Floats, rng: np.random.Generator) -> Floats:
    """Return estimates of the Shapley values for every background item, shape (n_background, n_features, n_outputs).

    The columns of the encoded row (1, n_features) take the place of those of a background item in a random order, and in the
    reverse one. Both orders add up to the difference of the scores.
    """
    b, p = background.shape
    place = np.argsort([rng.permutation(p) for _ in range(b)], axis=1)

    def steps(ranks: Integers, items: Floats) -> Floats:
        """Return what each column adds when the columns of lower rank are those of the row."""
        rows = np.where(ranks[:, None] < np.arange(p + 1)[:, None], row[0], items[:, None])
        found = scores(rows.reshape(-1, p)).reshape(len(items), p + 1, -1)
        return np.take_along_axis(np.diff(found, axis=1), ranks[:, :, None], axis=1)

    found = []
    with progress_bar(b, "reasons", verbose=None, unit="item") as bar:
        for block in blocks(b, _BLOCK):
            ranks = place[block]
            found.append((steps(ranks, background[block]) + steps(p - 1 - ranks, background[block])) / 2)
            bar.update(len(ranks))
    return np.concatenate(found)


def averaged(
    values: Floats, background: Integers, weight: Floats, base: Floats, *, all_items: bool, exact: bool
) -> Contributions:  # fmt: skip
    """Return the mean of Shapley values (n_background, n_features, n_outputs) over background items with weights.

    ``background`` are their row numbers, and ``base`` the scores (n_background, n_outputs). With ``all_items`` they are all
    that were fitted, and with ``exact`` the values of each are no estimates.
    """
    share = weight / weight.sum()

    def mean_and_error(of_items: Floats, *, sampled: bool) -> tuple[Floats, Floats]:
        mean = np.tensordot(share, of_items, axes=1)
        if not sampled:
            return mean, np.zeros_like(mean)
        if len(share) < 2:
            return mean, np.full_like(mean, np.nan)
        spread = np.tensordot(share**2, (of_items - mean) ** 2, axes=1)
        return mean, np.sqrt(spread * len(share) / (len(share) - 1))

    contributions, errors = mean_and_error(values, sampled=not (all_items and exact))
    base_mean, base_errors = mean_and_error(base, sampled=not all_items)
    return Contributions(contributions, errors, base_mean, base_errors, background, weight)
