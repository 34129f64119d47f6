"""The main job on real input: learn the Earth Mover's Distance between images of digits from a few thousand exact ones.

    result = run()            learns, checks on images that were never seen, and times both
    draw(result, path)        one picture of what was learned

Needs the extra ``demo`` (POT for exact distances, matplotlib for the picture).
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._foundation.errors import SemimetricWarning
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers, Pairs
from ..data.pair_sampling import sample_pairs
from ..datasets.digits import DigitHistograms, exact_emd, load_digit_histograms
from ..distances.callables import DistanceFunction
from ..distances.semimetric import Semimetric
from ..embeddings.directions.histograms import HistogramFeatures
from ..estimators.regressor import DistanceRegressor
from ..plotting.distances import plot_predicted

__all__ = ["DemoResult", "DemoReport", "DemoSizes", "draw", "run", "write_digits"]

_NEIGHBOURS = 10
_ROWS = 7  # queries in the picture
_INK, _GREEN, _ORANGE = "#222222", "#2a8c4a", "#d9622b"


@dataclass(frozen=True)
class DemoSizes:
    """How much work the demo does; the defaults take about a minute on two cores."""

    train_images: int = 1000
    train_pairs: int = 5000
    test_pairs: int = 2000
    queries: int = 100


@dataclass(frozen=True)
class DemoReport:
    """What the demo measured. Errors and retrieval are on images that the learner never saw.

    ``first_10`` and ``first_20`` are the shares of the true 10 nearest among the learned first 10 and 20; ``reranked`` is
    the share among the first 10 after sorting the learned 20 by their exact distances. Times are of one thread.
    """

    train_images: int
    train_pairs: int
    unseen_images: int
    test_pairs: int
    queries: int
    median_relative_error: float
    pearson: float
    exact_microseconds: float
    learned_microseconds: float
    speedup: float
    first_10: float
    first_20: float
    reranked: float
    fit_seconds: float
    total_seconds: float


@dataclass(frozen=True, eq=False)
class DemoResult:
    """The learned distance, the numbers, and what the picture shows.

    ``queries`` and ``gallery`` are rows of the digits; ``exact`` and ``learned`` are the distances between them,
    ``true`` and ``predicted`` those of the test pairs.
    """

    semimetric: Semimetric
    report: DemoReport
    digits: DigitHistograms
    queries: Integers
    gallery: Integers
    exact: Floats
    learned: Floats
    true: Floats
    predicted: Floats


def run(sizes: DemoSizes | None = None, *, n_jobs: int | None = 2, random_state: int = 0, verbose: bool = False) -> DemoResult:
    """Learn from exact distances between some images; check on pairs of, and searches among, the others.

    Parameters
    ----------
    sizes : DemoSizes or None
    n_jobs : int or None
        Threads for learning; times are of one thread.
    random_state : int
    verbose : bool
        Progress bars.

    Raises
    ------
    MissingExtraError
        If POT is missing.
    """
    optional("ot")
    size, digits, began = sizes or DemoSizes(), load_digit_histograms(), time.perf_counter()
    order = np.random.default_rng(random_state).permutation(len(digits.histograms))
    seen, unseen = order[: size.train_images], order[size.train_images :]
    d, fit_seconds = _learn(digits, seen, size.train_pairs, n_jobs, random_state, verbose)
    true, predicted, exact_seconds = _check(d, digits, unseen, size.test_pairs, random_state, verbose)
    queries, gallery = unseen[: size.queries], unseen[size.queries :]
    learned, learned_seconds = _best_time(lambda: d.pairwise(digits.histograms[queries], digits.histograms[gallery]))
    exact = _all_exact(digits, queries, gallery, verbose)
    report = DemoReport(
        len(seen), size.train_pairs, len(unseen), len(true), len(queries),
        float(np.median(np.abs(predicted - true) / true)), float(np.corrcoef(true, predicted)[0, 1]),
        1e6 * exact_seconds / len(true), 1e6 * learned_seconds / learned.size,
        exact_seconds / len(true) * learned.size / learned_seconds,
        *_retrieval(exact, learned), fit_seconds, time.perf_counter() - began,
    )  # fmt: skip
    return DemoResult(d, report, digits, queries, gallery, exact, learned, true, predicted)


def _learn(
    digits: DigitHistograms, rows: Integers, n_pairs: int, n_jobs: int | None, random_state: int, verbose: bool
) -> tuple[Semimetric, float]:
    """The learned distance, and the seconds that learning took."""
    images = digits.histograms[rows]
    pairs = sample_pairs(images, n_pairs, near=0.0, random_state=random_state)
    distances = _exact(digits, Pairs(images, pairs), verbose)
    model = DistanceRegressor(
        tables="warped", n_knots=2, directions=HistogramFeatures(digits.bin_coordinates), relative=True,
        preprocessor=images, n_jobs=n_jobs, random_state=random_state, verbose=verbose,
    )  # fmt: skip
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # some corner pixels are white in every image
        model.fit(pairs, distances)
    return model.semimetric_, time.perf_counter() - began


def _check(
    d: Semimetric, digits: DigitHistograms, rows: Integers, n_pairs: int, random_state: int, verbose: bool
) -> tuple[Floats, Floats, float]:
    """True and predicted distances of unseen pairs, and the seconds that the exact ones took."""
    images = digits.histograms[rows]
    pairs = sample_pairs(images, n_pairs, near=0.0, random_state=random_state)
    began = time.perf_counter()
    true = _exact(digits, Pairs(images, pairs), verbose)
    seconds = time.perf_counter() - began
    return true, d.paired_by_index(images, pairs), seconds


def _exact(digits: DigitHistograms, pairs: Pairs, verbose: bool) -> Floats:
    emd = DistanceFunction(lambda X, Y: exact_emd(X, Y, digits.bin_coordinates), batch=True)
    return emd.evaluate(pairs, verbose=verbose)


def _all_exact(digits: DigitHistograms, queries: Integers, gallery: Integers, verbose: bool) -> Floats:
    index = np.column_stack([np.repeat(queries, len(gallery)), np.tile(gallery, len(queries))])
    return _exact(digits, Pairs(digits.histograms, index), verbose).reshape(len(queries), len(gallery))


def _best_time(call: Callable[[], Floats], repeats: int = 3) -> tuple[Floats, float]:
    """The value of a call, and the seconds of the fastest of a few."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        value = call()
        seconds.append(time.perf_counter() - began)
    return value, min(seconds)


def _retrieval(exact: Floats, learned: Floats) -> tuple[float, float, float]:
    """Share of the true nearest in the learned first k, first 2k, and first k of 2k sorted by the exact distance."""
    k = _NEIGHBOURS
    nearest, guess = _first(exact, k), _first(learned, 2 * k)
    again = np.take_along_axis(guess, _first(np.take_along_axis(exact, guess, 1), k), 1)
    return _overlap(nearest, guess[:, :k]), _overlap(nearest, guess), _overlap(nearest, again)


def _first(distances: Floats, k: int) -> Integers:
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def _overlap(nearest: Integers, guess: Integers) -> float:
    """Mean share of the rows of ``nearest`` that are in the same rows of ``guess``."""
    return float((nearest[:, :, None] == guess[:, None, :]).any(axis=2).mean())


def draw(result: DemoResult, path: str) -> None:
    """Save the picture: searches, predicted against true, and one pair taken apart."""
    figure = optional("matplotlib.figure").Figure(figsize=(14, 6.9), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.5, 1.0))
    _draw_searches(result, left)
    above, below = right.subfigures(2, 1, height_ratios=(1.25, 1.0))
    plot_predicted(result.true, result.predicted, above.subplots())
    above.suptitle("Pairs of images that it never saw", color=_INK)
    _draw_pair(result, below)
    figure.savefig(path, dpi=130)


def write_digits(result: DemoResult, path: str) -> None:
    """Write the first twenty queries as a CSV table of items: a column ``name``, and x0 to x63 as the model knows them."""
    rows = [[_name(result.digits, k), *map(repr, result.digits.histograms[k].tolist())] for k in result.queries[:20]]
    header = ["name", *result.semimetric.feature_names]
    Path(path).write_text("".join(",".join(row) + "\n" for row in [header, *rows]), encoding="utf-8")


def _name(digits: DigitHistograms, item: int) -> str:
    """Such as seven-1204: what was written, and which row of the digits it is."""
    words = "zero one two three four five six seven eight nine".split()
    return f"{words[digits.labels[item]]}-{item}"


def _draw_searches(result: DemoResult, figure: Any) -> None:
    """A query a row: its true nearest, then its learned nearest, framed by whether they are among the true ones."""
    n, rows = 5, min(_ROWS, len(result.queries))
    axes = figure.subplots(rows, 2 * n + 2, width_ratios=[1, *[1] * n, 0.3, *[1] * n], squeeze=False)
    true, learned = _first(result.exact, _NEIGHBOURS), _first(result.learned, n)
    for axis in axes.ravel():
        axis.set_axis_off()
    for row in range(rows):
        _image(axes[row, 0], result, result.queries[row], _INK)
        for k in range(n):
            _image(axes[row, 1 + k], result, result.gallery[true[row, k]], None)
            good = learned[row, k] in true[row]
            _image(axes[row, 2 + n + k], result, result.gallery[learned[row, k]], _GREEN if good else _ORANGE)
    axes[0, 0].set_title("query", color=_INK, fontsize=11)
    axes[0, 1 + n // 2].set_title("nearest by exact EMD", color=_INK, fontsize=11)
    axes[0, 2 + n + n // 2].set_title("nearest by the learned distance", color=_INK, fontsize=11)
    figure.supxlabel("green: among the true ten nearest", color=_GREEN, fontsize=10)


def _image(axis: Any, result: DemoResult, item: int, frame: str | None) -> None:
    axis.imshow(result.digits.histograms[item].reshape(8, 8), cmap="gray_r", interpolation="nearest")
    if frame is not None:
        axis.set_axis_on()
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set(color=frame, linewidth=2.5)


def _draw_pair(result: DemoResult, figure: Any) -> None:
    """Two images, how mass moves from one to the other, and the heights by which the learned distance prices the moves."""
    x, y = _telling_pair(result)
    X, C = result.digits.histograms, result.digits.bin_coordinates
    exact, learned = exact_emd(X[x], X[y], C)[0], result.semimetric(X[x], X[y])
    figure.suptitle(f"One pair taken apart: exact {exact:.3f}, learned {learned:.3f}", color=_INK)
    axes = figure.subplots(1, 3)
    titles = ("two images", "orange must move\nto blue (exact plan)", "learned heights:\na move pays its drop")
    for axis, title in zip(axes, titles, strict=True):
        axis.set(xticks=[], yticks=[])
        axis.set_title(title, fontsize=10, color=_INK)
    axes[0].imshow(_two_colours(X[x], X[y]), interpolation="nearest")
    axes[1].imshow(_two_colours(X[x], X[y]), interpolation="nearest", alpha=0.35)
    _draw_arrows(axes[1], _plan(X[x], X[y], C), C)
    heights = _heights(result.semimetric, X[x], X[y]).reshape(8, 8)
    axes[2].imshow(heights, cmap="PuOr_r", interpolation="bicubic")
    axes[2].contour(heights, levels=9, colors=_INK, linewidths=0.5, alpha=0.5)


def _draw_arrows(axis: Any, plan: Floats, coordinates: Floats) -> None:
    for a, b in np.argwhere(plan > 0.002):
        arrow = {"arrowstyle": "-|>", "lw": 0.6 + 60 * plan[a, b], "color": _INK, "shrinkA": 0, "shrinkB": 0}
        axis.annotate("", coordinates[b][::-1], coordinates[a][::-1], arrowprops=arrow)


def _telling_pair(result: DemoResult) -> tuple[int, int]:
    """The first query and the first image of the gallery that show a 4 and a 9, or any two different digits."""
    labels = result.digits.labels
    for a, b in ((4, 9), (3, 5)):
        x, y = result.queries[labels[result.queries] == a], result.gallery[labels[result.gallery] == b]
        if len(x) and len(y):
            return int(x[0]), int(y[0])
    return int(result.queries[0]), int(result.gallery[0])


def _plan(x: Floats, y: Floats, coordinates: Floats) -> Floats:
    """The exact transport plan; mass that stays is left out."""
    ot = optional("ot")
    plan = np.array(ot.emd(x, y, ot.dist(coordinates, coordinates, metric="euclidean")))
    np.fill_diagonal(plan, 0.0)
    return plan


def _heights(d: Semimetric, x: Floats, y: Floats) -> Floats:
    """Slopes of d(., y) at x, one a pixel, mean 0.

    With two knots a feature d is a sum of |a · (x - y)|, so heights · (x - y) = d(x, y), but for features at the very end
    of their range.
    """
    step = 1e-7
    slopes = (d.paired(x + step * np.eye(len(x)), np.tile(y, (len(x), 1))) - d(x, y)) / step
    return slopes - slopes.mean()


def _two_colours(x: Floats, y: Floats) -> Floats:
    """x in orange and y in blue on white; where both are, dark."""
    ink = np.stack([x / x.max(), y / y.max()])
    paper = np.array([[0.10, 0.62, 0.83], [0.88, 0.63, 0.27]])  # what each ink takes from red, green and blue
    return np.clip(1.0 - np.einsum("ip,ic->pc", ink, paper), 0, 1).reshape(8, 8, 3)
