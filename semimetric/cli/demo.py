"""The command ``demo``: learn the Earth Mover's Distance between images of digits from some thousand exact distances.

    result = run()            learns, checks the model on images that it never saw, and times both distances
    draw(result, path)        saves a picture of what was learned

It needs the extra ``demo``: POT for exact distances, and matplotlib for the picture.
"""

import shlex
import sys
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np

from .._foundation.errors import SemimetricWarning
from .._foundation.files import write_file
from .._foundation.optional_imports import optional
from .._foundation.types import Floats, Integers, Pairs
from ..data.calls import UserDistance
from ..data.splits import sample_pairs
from ..datasets.digits import DigitHistograms, exact_emd, load_digit_histograms
from ..distances.estimators.regressor import DistanceRegressor
from ..distances.features.histograms import HistogramFeatures
from ..distances.model.semimetric import Semimetric
from ..plotting.predictions import plot_predicted
from .model_files import check_folder
from .output import CommandResult, shows_progress
from .parser import DemoSizes

_N_NEIGHBORS = 10  # of a query, among which the learned nearest should be
_QUERIES_DRAWN = 7
_NEIGHBORS_DRAWN = 5  # of each query and distance
_INK = "#222222"
_GREEN = "#2a8c4a"
_ORANGE = "#d9622b"


@dataclass(frozen=True)
class DemoReport:
    """Figures that the demo measured, on images that the learner never saw; times are of one thread."""

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
    """The learned distance, what was measured, and what the picture shows."""

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
    """Learn from exact distances between images, and check the model on pairs and on searches among the others."""
    optional("ot")
    size = sizes or DemoSizes()
    digits = load_digit_histograms()
    began = time.perf_counter()
    order = np.random.default_rng(random_state).permutation(len(digits.histograms))
    seen = order[: size.train_images]
    unseen = order[size.train_images :]
    d, fit_seconds = _learn(digits, seen, size.train_pairs, n_jobs, random_state, verbose)
    true, predicted, exact_seconds = _check(d, digits, unseen, size.test_pairs, random_state, verbose)
    queries = unseen[: size.queries]
    gallery = unseen[size.queries :]
    learned, learned_seconds = _best_time(lambda: d.pairwise(digits.histograms[queries], digits.histograms[gallery]))
    index = np.column_stack([np.repeat(queries, len(gallery)), np.tile(gallery, len(queries))])
    exact = _exact(digits, Pairs(digits.histograms, index), verbose).reshape(len(queries), len(gallery))
    first_10, first_20, reranked = _retrieval(exact, learned)
    report = DemoReport(
        train_images=len(seen),
        train_pairs=size.train_pairs,
        unseen_images=len(unseen),
        test_pairs=len(true),
        queries=len(queries),
        median_relative_error=float(np.median(np.abs(predicted - true) / true)),
        pearson=float(np.corrcoef(true, predicted)[0, 1]),
        exact_microseconds=1e6 * exact_seconds / len(true),
        learned_microseconds=1e6 * learned_seconds / learned.size,
        speedup=exact_seconds / len(true) * learned.size / learned_seconds,
        first_10=first_10,
        first_20=first_20,
        reranked=reranked,
        fit_seconds=fit_seconds,
        total_seconds=time.perf_counter() - began,
    )
    return DemoResult(d, report, digits, queries, gallery, exact, learned, true, predicted)


def _learn(
    digits: DigitHistograms, rows: Integers, n_pairs: int, n_jobs: int | None, random_state: int, verbose: bool
) -> tuple[Semimetric, float]:
    images = digits.histograms[rows]
    features = HistogramFeatures(digits.bin_coordinates)
    pairs = sample_pairs(features.fit_transform(images), n_pairs, near=0.25, random_state=random_state)
    distances = _exact(digits, Pairs(images, pairs), verbose)
    model = DistanceRegressor(
        directions=features, preprocessor=images, n_jobs=n_jobs, random_state=random_state, verbose=verbose
    )
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)  # some corner pixels are white in every image
        model.fit(pairs, distances)
    return model.semimetric_, time.perf_counter() - began


def _check(
    d: Semimetric, digits: DigitHistograms, rows: Integers, n_pairs: int, random_state: int, verbose: bool
) -> tuple[Floats, Floats, float]:
    """Return exact and learned distances of ``n_pairs`` pairs of the images ``rows``, and the seconds of the exact ones."""
    images = digits.histograms[rows]
    pairs = sample_pairs(images, n_pairs, near=0.0, random_state=random_state)
    began = time.perf_counter()
    true = _exact(digits, Pairs(images, pairs), verbose)
    seconds = time.perf_counter() - began
    return true, d.paired_by_index(images, pairs), seconds


def _exact(digits: DigitHistograms, pairs: Pairs, verbose: bool) -> Floats:
    emd = UserDistance(lambda X, Y: exact_emd(X, Y, digits.bin_coordinates), "batches", kinds=("item", "item"))
    return emd.evaluate(pairs, verbose=verbose)


def _best_time(call: Callable[[], Floats]) -> tuple[Floats, float]:
    """Return the result of a call, and the least seconds that it took of three."""
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        value = call()
        seconds.append(time.perf_counter() - began)
    return value, min(seconds)


def _retrieval(exact: Floats, learned: Floats) -> tuple[float, float, float]:
    """Return shares of the 10 exact nearest among the k and 2k nearest by the learned distance, and the k best of these."""
    k = _N_NEIGHBORS
    nearest = _nearest(exact, k)
    candidates = _nearest(learned, 2 * k)
    reranked = np.take_along_axis(candidates, _nearest(np.take_along_axis(exact, candidates, 1), k), 1)
    return _recall(nearest, candidates[:, :k]), _recall(nearest, candidates), _recall(nearest, reranked)


def _nearest(distances: Floats, k: int) -> Integers:
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def _recall(nearest: Integers, found: Integers) -> float:
    return float((nearest[:, :, None] == found[:, None, :]).any(axis=2).mean())


def draw(result: DemoResult, path: str, *, dpi: float = 130.0) -> None:
    """Save the picture: searches, learned against exact distances, and one pair of images with its transport plan."""
    figure = optional("matplotlib.figure").Figure(figsize=(14, 6.9), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.5, 1.0))
    _draw_searches(result, left)
    above, below = right.subfigures(2, 1, height_ratios=(1.25, 1.0))
    plot_predicted(result.true, result.predicted, above.subplots())
    above.suptitle("Pairs of images that it never saw", color=_INK)
    _draw_pair(result, below)
    write_file(path, lambda file: figure.savefig(file, format="png", dpi=dpi))


def write_digits(result: DemoResult, path: str) -> None:
    """Write the first twenty queries as a CSV table of items: a column ``name``, and x0 to x63, the features of the model."""
    words = "zero one two three four five six seven eight nine".split()
    digits = result.digits
    rows = [[f"{words[digits.labels[k]]}-{k}", *map(repr, digits.histograms[k].tolist())] for k in result.queries[:20]]
    header = ["name", *result.semimetric.feature_names]
    text = "".join(",".join(row) + "\n" for row in [header, *rows])
    write_file(path, lambda file: file.write(text.encode()))


def _draw_searches(result: DemoResult, figure: Any) -> None:
    """Draw a row for each query: its nearest by both distances; frames mark the ten nearest by the exact one."""
    n = _NEIGHBORS_DRAWN
    rows = min(_QUERIES_DRAWN, len(result.queries))
    axes = figure.subplots(rows, 2 * n + 2, width_ratios=[1, *[1] * n, 0.3, *[1] * n], squeeze=False)
    true = _nearest(result.exact, _N_NEIGHBORS)
    learned = _nearest(result.learned, n)
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
    x, y = _pair_to_draw(result)
    X = result.digits.histograms
    C = result.digits.bin_coordinates
    exact = exact_emd(X[x], X[y], C)[0]
    learned = result.semimetric(X[x], X[y])
    figure.suptitle(f"One pair taken apart: exact {exact:.3f}, learned {learned:.3f}", color=_INK)
    axes = figure.subplots(1, 3)
    titles = ("two images", "orange must move\nto blue (exact plan)", "learned heights: cost of\na move is the drop")
    for axis, title in zip(axes, titles, strict=True):
        axis.set(xticks=[], yticks=[])
        axis.set_title(title, fontsize=10, color=_INK)
    axes[0].imshow(_two_colours(X[x], X[y]), interpolation="nearest")
    axes[1].imshow(_two_colours(X[x], X[y]), interpolation="nearest", alpha=0.35)
    plan = _plan(X[x], X[y], C)
    for a, b in np.argwhere(plan > 0.002):  # pixels between which mass moves, the more the thicker
        arrow = {"arrowstyle": "-|>", "lw": 0.6 + 60 * plan[a, b], "color": _INK, "shrinkA": 0, "shrinkB": 0}
        axes[1].annotate("", C[b][::-1], C[a][::-1], arrowprops=arrow)
    heights = _heights(result.semimetric, X[x], X[y]).reshape(8, 8)
    axes[2].imshow(heights, cmap="PuOr_r", interpolation="bicubic")
    axes[2].contour(heights, levels=9, colors=_INK, linewidths=0.5, alpha=0.5)


def _pair_to_draw(result: DemoResult) -> tuple[int, int]:
    labels = result.digits.labels
    for a, b in ((4, 9), (3, 5)):
        x = result.queries[labels[result.queries] == a]
        y = result.gallery[labels[result.gallery] == b]
        if len(x) and len(y):
            return int(x[0]), int(y[0])
    return int(result.queries[0]), int(result.gallery[0])


def _plan(x: Floats, y: Floats, coordinates: Floats) -> Floats:
    """Return the exact transport plan between two histograms, shape (n_bins, n_bins), without mass that stays."""
    ot = optional("ot")
    plan = np.array(ot.emd(x, y, ot.dist(coordinates, coordinates, metric="euclidean")))
    np.fill_diagonal(plan, 0.0)
    return plan


def _heights(d: Semimetric, x: Floats, y: Floats) -> Floats:
    """Return the slopes of d(., y) at x, one for each pixel, with mean 0: heights · (x - y) = d(x, y) within the ranges."""
    step = 1e-7
    slopes = (d.paired(x + step * np.eye(len(x)), np.tile(y, (len(x), 1))) - d(x, y)) / step
    return slopes - slopes.mean()


def _two_colours(x: Floats, y: Floats) -> Floats:
    ink = np.stack([x / x.max(), y / y.max()])
    absorbed = np.array([[0.10, 0.62, 0.83], [0.88, 0.63, 0.27]])  # by each ink of red, green and blue
    return np.clip(1.0 - np.einsum("ip,ic->pc", ink, absorbed), 0, 1).reshape(8, 8, 3)


def run_demo(arguments: Namespace) -> CommandResult:
    """Learn the distance of the demo, check it, and write the files NAME.smm, NAME.png and NAME.csv."""
    files = {"model": f"{arguments.output}.smm", "picture": f"{arguments.output}.png", "digits": f"{arguments.output}.csv"}
    check_folder(files["model"])
    sizes = DemoSizes(**{field.name: getattr(arguments, field.name) for field in fields(DemoSizes)})
    result = run(sizes, n_jobs=arguments.n_jobs, random_state=arguments.random_state, verbose=shows_progress(arguments))
    result.semimetric.save(files["model"])
    draw(result, files["picture"])
    write_digits(result, files["digits"])
    return CommandResult(asdict(result.report) | files, _demo_text(result.report, files))


def typed_command() -> str:
    """Return the command as the user can type it again: its name if the shell finds it, else its path."""
    given, found = Path(sys.argv[0]), which("semimetric")
    if given.parts[-2:] == ("semimetric", "__main__.py"):
        return "python -m semimetric"
    if given.stem != "semimetric" or len(given.parts) < 2 or (found and Path(found).resolve() == given.resolve()):
        return "semimetric"
    return shlex.quote(str(given))


def _demo_text(r: DemoReport, files: Mapping[str, str]) -> str:
    found = f"{100 * r.first_10:.1f} % in its first 10, {100 * r.first_20:.1f} % in its first 20"
    return f"""\
The Earth Mover's Distance between images of digits, learned in {r.fit_seconds:.1f} s from {r.train_pairs:,} exact distances
between {r.train_images:,} images. Everything below is on {r.unseen_images:,} images that it never saw.

  error of a pair    median {100 * r.median_relative_error:.2f} %, correlation {r.pearson:.4f}  ({r.test_pairs:,} pairs)
  time of a pair     exact {r.exact_microseconds:.0f} us, learned {r.learned_microseconds:.2f} us: {r.speedup:.0f} times as fast
  true 10 nearest    {found}  ({r.queries} queries)
                     {100 * r.reranked:.1f} % after sorting its first 20 by the exact distance

Saved the model as {files["model"]}, the picture as {files["picture"]} and 20 digits as {files["digits"]}.
Now try:

  {typed_command()} info {files["model"]}
  {typed_command()} distance {files["model"]} {files["digits"]} --id name
  {typed_command()} fit --help          (learn from a table of your own)"""
