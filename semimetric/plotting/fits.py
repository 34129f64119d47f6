"""Pictures of how a fit came about: the way of a solver, and the candidates that "auto" compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._foundation.errors import InputError
from ..distances.learning.search import Candidate, Choices
from ..distances.solvers.base import History
from .axes import BLUE, GREY, INK, ORANGE, axes_of, check_drawn, hide_frame, label_rows, set_title, shorten, show_whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LINES = 8  # settings with a colour of their own
_WIDE = 10.0  # a ratio of losses from which their axis is logarithmic
_LONGEST = 48  # characters of settings beside a row


def plot_history(history: History, ax: Axes | None = None) -> Axes:
    """Draw the objective over the iterations, and the gap, by which it may be above the optimum.

    The axis is logarithmic where the objective is positive; then gaps of 0 and infinite ones are left out.

    Parameters
    ----------
    history : History
        Such as ``model.solution_.history``.
    ax : matplotlib Axes or None

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric.distances.solvers.base import History
    >>> history = History(np.array([1, 2]), np.array([2.0, 1.5]), np.array([1.0, 0.1]))
    >>> len(plot_history(history, Figure().subplots()).lines)
    2
    """
    check_drawn(history, History, "history", "model.solution_.history")
    axes = axes_of(ax)
    positive = bool((history.objective > 0).all())
    gap = np.where(np.isfinite(history.gap) & ((history.gap > 0) | (not positive)), history.gap, np.nan)
    axes.plot(history.iterations, history.objective, "o-", ms=3, color=BLUE, label="objective")
    axes.plot(history.iterations, gap, "o-", ms=3, color=ORANGE, label="at most above the optimum")
    axes.set_yscale("log" if positive and len(history) else "linear")
    show_whole_numbers(axes, history.iterations)
    axes.set(xlabel="iteration", ylabel="units of the program", title="The way to the solution")
    axes.legend(fontsize=8, frameon=False)
    return hide_frame(axes)


def plot_choices(choices: Choices, ax: Axes | None = None) -> Axes:
    """Draw the losses of the candidates, with standard errors over the folds, and a ring around the choice.

    Losses are lines over the strength of the penalty, one for each other setting. Where there is one strength, settings have
    rows.

    Parameters
    ----------
    choices : Choices
        Such as ``model.choices_``.
    ax : matplotlib Axes or None

    Raises
    ------
    InputError
        If nothing was left to choose.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from semimetric import DistanceRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, pairs = rng.random((60, 2)), rng.integers(0, 60, (300, 2))
    >>> model = DistanceRegressor(n_knots=3, preprocessor=X).fit(pairs, np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1))
    >>> plot_choices(model.choices_, Figure().subplots()).get_xlabel()
    'alpha'
    """
    check_drawn(choices, Choices, "choices", "model.choices_")
    if not choices:
        raise InputError("nothing was left to choose, so that there are no losses to draw; leave a parameter at its default")
    by_setting: dict[str, list[Candidate]] = {}
    for candidate in choices:
        by_setting.setdefault(choices.setting_text(candidate), []).append(candidate)
    over_strengths = len({candidate.settings["alpha"] for candidate in choices}) > 1
    axes = axes_of(ax, rows=0 if over_strengths else len(by_setting))
    if over_strengths:
        _draw_over_strengths(axes, choices, by_setting)
    else:
        _draw_in_rows(axes, choices, by_setting)
    set_title(axes, choices.title.removesuffix("; * the choice"))
    return hide_frame(axes)


def _draw_over_strengths(axes: Any, choices: Choices, by_setting: dict[str, list[Candidate]]) -> None:
    chosen = choices.chosen
    best = sorted(by_setting, key=lambda text: min(c.loss for c in by_setting[text]))
    coloured = {choices.setting_text(chosen), *best[: _MOST_LINES - 1]}
    colours = iter(range(10))
    for text, candidates in by_setting.items():
        line = sorted(candidates, key=lambda c: float(c.settings["alpha"]))
        style = {"color": f"C{next(colours)}", "label": shorten(text)} if text in coloured else {"color": GREY, "lw": 0.8}
        alphas = [c.settings["alpha"] for c in line]
        axes.errorbar(alphas, [c.loss for c in line], _errors(line), marker="o", ms=3, elinewidth=0.8, **style)
    axes.plot(chosen.settings["alpha"], chosen.loss, "o", ms=11, mfc="none", mec=INK, label="the choice")
    losses = np.array([c.loss for c in choices])
    wide = losses.min() > 0 and losses.max() > _WIDE * losses.min()
    axes.set(xscale="log", yscale="log" if wide else "linear", xlabel="alpha", ylabel="loss")
    more = len(by_setting) - len(coloured)
    title = f"{', '.join(choices.compared)}{f' ({more} more in grey)' if more else ''}"
    axes.legend(title=title, title_fontsize=8, fontsize=8, frameon=False)


def _draw_in_rows(axes: Any, choices: Choices, by_setting: dict[str, list[Candidate]]) -> None:
    line = [candidates[0] for candidates in by_setting.values()]
    rows = np.arange(len(line))
    losses, errors = np.array([c.loss for c in line]), _errors(line)
    axes.errorbar(losses, rows, xerr=errors, fmt="o", ms=5, color=BLUE, elinewidth=1.0)
    at = line.index(choices.chosen)
    axes.plot(losses[at], at, "o", ms=11, mfc="none", mec=INK)
    axes.annotate("the choice", (losses[at], at), (0, 8), textcoords="offset points", ha="center", fontsize=8, color=INK)
    axes.set_xlabel(f"loss ({', '.join(choices.compared)}; standard errors over the folds)")
    label_rows(axes, list(by_setting), most=_LONGEST)


def _errors(candidates: list[Candidate]) -> Any:
    """Return the standard errors of the losses over the folds; None of one fold."""
    losses = np.array([c.losses for c in candidates])
    return losses.std(axis=1, ddof=1) / np.sqrt(losses.shape[1]) if losses.shape[1] > 1 else None
