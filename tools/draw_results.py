"""Draw the pictures of docs/results.md from the kept rows of the benchmarks.

    python tools/draw_results.py              writes docs/figures/results/*.png anew
    python tools/draw_results.py FOLDER       writes them into another folder

Every picture is a function of `PICTURES`. It reads files of benchmarks/results and measures nothing.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from accuracy_summary import Results, complete, gathered, mean, names_of  # noqa: E402
from rank_statistics import nemenyi, ranks  # noqa: E402
from report import kept_rows  # noqa: E402

OURS, OTHER, INK = "#0b5fa5", "#6f6f6f", "#222222"
LEAST = 5e-4  # a recall nearer to 1 is drawn as 1
PEERS = {  # the methods of knn_accuracy.py and knn_regression.py, as readers call them
    "semimetric": "semimetric", "semimetric_readable": "semimetric, interpretable form",
    "forest": "random forest", "extra_trees": "extremely randomised trees", "boosting": "gradient boosting",
    "rbf": "SVM with RBF kernel", "nca_k": "NCA", "euclid_k": "nearest neighbours",
    "leaves_k": "neighbours by leaves of a forest", "rfm": "recipe of xRFM",
}  # fmt: skip
VALUES = ("semimetric", "rfm", "forest", "extra_trees", "boosting", "euclid_k")  # the methods of knn_regression.py
ENGINES = {  # of search_curves.py
    "semimetric, exact": ("semimetric, exact", OURS, "*"), "semimetric, lists": ("semimetric, lists", "#3f97d8", "o"),
    "semimetric, graph": ("semimetric, graph", OURS, "s"), "FAISS flat": ("FAISS flat", "#5a5a5a", "D"),
    "FAISS IVF flat": ("FAISS lists (IVF)", "#b07d2b", "o"), "FAISS HNSW": ("FAISS HNSW", "#c0392b", "^"),
    "FAISS NSG": ("FAISS NSG", "#8e44ad", "v"), "hnswlib": ("hnswlib", "#2a8c4a", "s"),
    "pynndescent": ("pynndescent", "#d9622b", "P"),
}  # fmt: skip
LIBRARIES = ("aeon", "tslearn", "rapidfuzz", "POT", "SciPy")  # of expensive.py
KINDS = {  # the data of expensive.py
    "cbf": "warping, cylinder-bell-funnel", "gunpoint": "MSM, GunPoint", "channels": "warping, 12 channels",
    "words": "edits, words", "dna": "edits, DNA", "clouds": "transport, clouds in 7-D", "digits": "transport, 8 x 8",
    "images_16": "transport, 16 x 16", "images_32": "transport, 32 x 32", "colours": "transport, 512 colours",
    "topics": "Jensen-Shannon, 128 topics", "roads": "shortest paths",
}  # fmt: skip
STORAGES = {  # of memory.py, and whether items are in memory too
    "float64 (default)": ("float64", True), "uint16": ("uint16", True), "uint16, items in a file": ("uint16", False),
}  # fmt: skip
PARTS = {
    "#0b5fa5": ("items", ("items",)), "#3f97d8": ("positions on the knots", ("positions",)),
    "#9cc9ec": ("codes, lists and ids", ("codes", "lists", "ids", "alive")),
    "#c9c9c9": ("codes of approximate search", ("faiss",)), "#8f8f8f": ("graph", ("graph",)),
}  # fmt: skip


def row(name: str, **values: Any) -> dict[str, Any]:
    """Return the last kept row of a benchmark that has these values; KeyError without one."""
    found = [each for each in kept_rows(name) if all(each.get(key) == value for key, value in values.items())]
    if not found:
        raise KeyError(f"benchmarks/results/{name}.jsonl has no row with {values}; run benchmarks/{name}.py")
    return found[-1]


def picture(width: float = 7.2, height: float = 3.8, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes, one below the other for narrow screens, without lines above and to the right."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = list(figure.subplots(panels, 1, squeeze=False)[:, 0])
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def plain(ax: Axes, *, x: bool = False, y: bool = False) -> None:
    """Write ticks of logarithmic axes as people write numbers."""
    for axis in [ax.xaxis] * x + [ax.yaxis] * y:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.set_minor_formatter(NullFormatter())


def named_points(
    ax: Axes, points: Sequence[tuple[str, float, float]], above: Iterable[str] = (), below: Iterable[str] = ()
) -> None:
    """Draw points with their names, ours in blue, each name to the right of its point, or above or below it."""
    for name, x, y in points:
        colour = OURS if name.startswith("semimetric") else OTHER
        ax.plot(x, y, "o", color=colour, markersize=8)
        place = (0, 9) if name in above else (0, -16) if name in below else (8, -4)
        at = "left" if place[0] else "center"
        weight = "bold" if colour == OURS else "normal"
        ax.annotate(name, (x, y), place, textcoords="offset points", ha=at, color=colour, fontsize=9, fontweight=weight)


def bars(ax: Axes, names: Sequence[str], values: Sequence[float], form: str) -> None:
    """Draw horizontal bars, ours in blue, with their values at their ends."""
    colours = [OURS if name.startswith("semimetric") else OTHER for name in names]
    drawn = ax.barh(range(len(names)), values, color=colours, height=0.65)
    ax.bar_label(drawn, [form.format(value) for value in values], padding=4, fontsize=9, color=INK)
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.invert_yaxis()
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


Means = dict[str, tuple[float, float]]


def rows_of_classes() -> tuple[Results, list[str]]:
    """Return the rows of knn_accuracy.py without large sets and splits of choices, and the sets that all methods did."""
    found = gathered([each for each in kept_rows("knn_accuracy") if each["split"] > 1 and "all rows" not in each["set"]])
    return found, [name for name in names_of(found) if all(complete(found, name, method) for method in PEERS)]


def means_of_classes() -> Means:
    """Return the mean error of each method, and its mean CPU seconds."""
    found, sets = rows_of_classes()

    def mean_of(method: str, what: str) -> float:
        return float(np.mean([mean(found, name, method, what) for name in sets]))

    return {method: (mean_of(method, "error"), mean_of(method, "processor_seconds")) for method in PEERS}


def ranks_of_classes() -> dict[str, float]:
    """Return the mean rank of each method, the best first."""
    found, sets = rows_of_classes()
    errors = np.array([[mean(found, name, method) for method in PEERS] for name in sets])
    return dict(sorted(zip(PEERS, ranks(errors).mean(axis=0).tolist(), strict=True), key=lambda each: each[1]))


def means_of_values() -> Means:
    """Return the mean R2 of each method on sets of values, and its mean CPU seconds."""
    found = gathered([each for each in kept_rows("knn_regression") if each["split"] > 1])
    means = {}
    for method in VALUES:
        of_sets = [list(found[name, method].values()) for name in names_of(found)]
        r2, seconds = (
            np.mean([np.mean([each[key] for each in runs]) for runs in of_sets]) for key in ("r2", "processor_seconds")
        )
        means[method] = float(r2), float(seconds)
    return means


def shares_of_calls() -> Means:
    """Return the shares of exact calls and of the time of brute force until the ten nearest are proved, by kind of objects."""
    digits = row("exact_neighbors", index="duals of the query, 256 learned potentials")
    all_digits = min(each["processor_ms"] for each in kept_rows("exact_neighbors") if each["calls"] == 1500)
    words = row("edit_distance", method="ten nearest proved, letters and 2-grams")
    clouds = {"method": "PointCloudBounds", "clouds": "20 points", "metric": "euclidean"}
    others = {
        "simulated series\n(dynamic time warping)": row("warping_bounds", series="one channel", seeds=3),
        "simulated series,\n12 channels": row("warping_bounds", series="unequal lengths, 12 channels"),
        "heart beats (ECG200)": row("warping_bounds", series="ECG200"),
        "clouds of points\n(Earth Mover's Distance)": row("cloud_bounds", **clouds),
    }  # fmt: skip
    return {
        "images of digits\n(Earth Mover's Distance)": (digits["calls"] / 1500, digits["processor_ms"] / all_digits),
        "English words\n(edit distance)": (
            words["share_of_calls"], words["ms_a_search"] / row("edit_distance", method="rapidfuzz")["ms_a_search"]),
    } | {name: (each["called"], each["ms_query"] / each["ms_brute_force"]) for name, each in others.items()}  # fmt: skip


def fits_by_size() -> list[dict[str, Any]]:
    """Return the rows of scale.py on two threads, the fewest pairs first."""
    return [each for each in kept_rows("scale", "scale: least squares, 32 features x 8 knots") if each["threads"] == 2]


def results_of_defaults(name: str) -> tuple[float, float, float]:
    """Return the recall of a learned distance of expensive.py, and how many times as fast it is, and the proved nearest are."""
    learned, proved = (row("expensive", data=name, method=method) for method in ("learned", "proved"))
    peers = [each for each in kept_rows("expensive") if each["data"] == name and each["method"] in LIBRARIES]
    fastest = min(each["ms_query"] for each in peers)
    return learned["recall"], fastest / learned["ms_query"], fastest / proved["ms_query"]


# Pictures -----------------------------------------------------------------------------------------------------------------


def classes() -> Figure:
    """Draw the mean error on sets of classes against CPU seconds."""
    points = [(PEERS[method], seconds, 100 * error) for method, (error, seconds) in means_of_classes().items()]
    figure, (ax,) = picture()
    above = "semimetric, interpretable form", "recipe of xRFM"
    named_points(ax, points, above=above, below=("extremely randomised trees", "semimetric"))
    ax.set(
        xscale="log", ylim=(10.4, None), xlabel="CPU seconds to learn and predict, mean per data set", ylabel="mean error, %"
    )
    ax.set_title(f"Classes of {len(rows_of_classes()[1])} data sets, default settings", loc="left", fontsize=11)
    ax.set_xlim(right=3 * max(seconds for _, seconds, _ in points))
    plain(ax, x=True)
    return figure


def mean_ranks() -> Figure:
    """Draw the critical-difference diagram of the methods on sets of classes."""
    places, n_sets = ranks_of_classes(), len(rows_of_classes()[1])
    figure, (ax,) = picture(height=3.4)
    for height, (method, place) in enumerate(places.items()):
        name, colour = PEERS[method], OURS if method.startswith("semimetric") else OTHER
        ax.plot(place, height, "o", color=colour, markersize=8)
        ax.annotate(f"{name}  {place:.1f}", (place, height), (10, -4), textcoords="offset points",
                    color=colour, fontsize=9, fontweight="bold" if colour == OURS else "normal")  # fmt: skip
    best, difference = min(places.values()), nemenyi(len(places), n_sets)
    ax.axvspan(best, best + difference, color=OURS, alpha=0.1, linewidth=0)
    ax.text(best + difference / 2, len(places) - 0.5, "no significant difference\nfrom the best (Nemenyi, 5 %)",
            ha="center", va="bottom", color=OURS, fontsize=9)  # fmt: skip
    ax.set(xlabel="mean rank, 1 the lowest error", yticks=[], ylim=(len(places) + 0.4, -0.7))
    ax.set_xlim(right=max(places.values()) + 2.2)
    ax.spines["left"].set_visible(False)
    ax.set_title(f"Mean ranks on {n_sets} data sets with classes", loc="left", fontsize=11)
    return figure


def values() -> Figure:
    """Draw the mean R2 on sets of values against CPU seconds."""
    points = [(PEERS[method], seconds, r2) for method, (r2, seconds) in means_of_values().items()]
    figure, (ax,) = picture()
    named_points(ax, points, above=("recipe of xRFM",), below=("semimetric",))
    ax.set(xscale="log", xlabel="CPU seconds to learn and predict, mean per data set", ylabel="mean R²")
    ax.set_title(
        f"Values of {len({each['set'] for each in kept_rows('knn_regression')})} data sets, default settings",
        loc="left",
        fontsize=11,
    )
    ax.set_xlim(right=2.2 * max(seconds for _, seconds, _ in points))
    ax.set_xticks([0.1, 0.2, 0.5, 1.0, 2.0, 5.0])
    plain(ax, x=True)
    return figure


def recall() -> Figure:
    """Draw queries a second against recall of every engine, at all sizes that were measured."""
    found = kept_rows("search_curves")
    sizes = sorted({each["points"] for each in found})
    figure, axes = picture(width=6.0, height=3.1 * len(sizes) + 0.7, panels=len(sizes))
    missed = {0.1: ".9", 0.05: ".95", 0.02: ".98", 0.01: ".99", 0.005: ".995", 0.002: ".998", 0.001: ".999", LEAST: "1"}
    for ax, size in zip(axes, sizes, strict=True):
        for engine, (name, colour, marker) in ENGINES.items():
            curve = {each["setting"]: each for each in found if each["points"] == size and each["engine"] == engine}
            shown = [each for each in curve.values() if each["recall"] >= 0.9]
            x, y = [max(1 - each["recall"], LEAST) for each in shown], [each["queries_a_second"] for each in shown]
            style = "-" if engine.startswith("semimetric") else "--"
            ax.plot(x, y, style, color=colour, marker=marker, markersize=13 if marker == "*" else 6,
                    label=name, linewidth=1.6, zorder=3 if style == "-" else 2)  # fmt: skip
        ax.set(xscale="log", yscale="log", xlim=(0.12, 0.8 * LEAST), xlabel="recall of the 10 nearest, under its own distance")
        ax.set_xticks(list(missed), list(missed.values()))
        ax.set_xticks([], minor=True)
        ax.set_title(f"{size:,} points, 32 features", loc="left", fontsize=11)
        ax.grid(alpha=0.25, linewidth=0.6)
        plain(ax, y=True)
        ax.set_ylabel("queries per CPU second")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    return figure


def proved() -> Figure:
    """Draw the shares of exact calls and of the time of brute force until the ten nearest are proved."""
    found = shares_of_calls()
    figure, axes = picture(height=7.0, panels=2)
    names, places = list(found), np.arange(len(found))
    for ax, k, label in ((axes[0], 0, "exact calls, % of all items"), (axes[1], 1, "time of a query, % of brute force")):
        shares = [100 * found[name][k] for name in names]
        drawn = ax.barh(
            places, [min(share, 100) for share in shares], color=[OURS if share < 100 else "#c0392b" for share in shares]
        )
        ax.bar_label(
            drawn, [f"{share:.1f} %" if share < 200 else f"{share / 100:.0f} times" for share in shares], fontsize=9, padding=4
        )
        ax.set_yticks(places, names, fontsize=9)
        ax.set(xlim=(0, 128), ylim=(len(found) - 0.4, -0.6), xlabel=label, xticks=[0, 50, 100])
        ax.axvline(100, color=INK, linewidth=1)
    axes[0].set_title("Until the ten nearest are proved", loc="left", fontsize=11)
    return figure


def transport() -> Figure:
    """Draw the error of distances in place of the Earth Mover's Distance against the time of a pair."""
    chosen = {
        "semimetric, defaults": "semimetric, defaults (349 terms)", "Sobolev norm": "Sobolev H^-1",
        "sliced Wasserstein": "sliced W1, 200 directions",
        "weighted L1 by SciPy's NNLS": "SciPy NNLS, weighted L1 (455 features)",
    }  # fmt: skip
    found = {name: row("emd_digits", method=method) for name, method in chosen.items()}
    figure, (ax,) = picture()
    points = [(name, each["us_1_thread"], 100 * each["median_error"]) for name, each in found.items()]
    named_points(ax, points, above=("weighted L1 by SciPy's NNLS",), below=("semimetric, defaults",))
    exact = row("emd_digits", method="exact ot.emd2")["us_1_thread"]
    ax.axvline(exact, color=INK, linewidth=1)
    ax.annotate(f"exact (POT), {exact:.0f} µs", (exact, 1), (-6, -4), xycoords=("data", "axes fraction"),
                textcoords="offset points", rotation=90, va="top", ha="right", fontsize=9)  # fmt: skip
    ax.set(xscale="log", xlabel="microseconds a pair, one thread", ylabel="median error, %", ylim=(-0.4, 8.3))
    ax.set_title("In place of the Earth Mover's Distance between images of digits", loc="left", fontsize=11)
    plain(ax, x=True)
    return figure


def defaults() -> Figure:
    """Draw how near the defaults come to slow distances, and how much sooner they answer than the fastest library."""
    figure, axes = picture(height=9.0, panels=2)
    found = {name: results_of_defaults(name) for name in KINDS}
    order = sorted(KINDS, key=lambda name: -found[name][0])
    places = np.arange(len(order))
    recalls = axes[0].barh(places, [found[name][0] for name in order], color=OURS, height=0.7)
    axes[0].bar_label(recalls, [f"{found[name][0]:.2f}".removeprefix("0") for name in order], fontsize=9, padding=4)
    axes[0].set(xlim=(0, 1.1), xlabel="share of the ten nearest that the learned distance finds")
    for k, colour, label in ((1, OURS, "learned distance, not proved"), (2, "#3f97d8", "ten nearest proved")):
        axes[1].barh(
            places + (k - 1.5) * 0.4, [found[name][k] - 1 for name in order], left=1, color=colour, height=0.38, label=label
        )
    axes[1].set(xscale="log", xlabel="times as fast as brute force by the fastest library; left of 1 ours is slower")
    axes[1].axvline(1, color=INK, linewidth=1)
    axes[1].legend(loc="lower left", fontsize=9, frameon=False)
    for ax in axes:
        ax.set_yticks(places, [KINDS[name] for name in order], fontsize=9)
        ax.set_ylim(len(order) - 0.4, -0.6)
    axes[0].set_title("In place of slow distances, with nothing set", loc="left", fontsize=11)
    plain(axes[1], x=True)
    return figure


def colours() -> Figure:
    """Draw the STRESS of colour differences on held-out colour centres and on held-out studies."""
    names = {
        "semimetric, from CIEDE2000, power": "semimetric, power link + CIEDE2000",
        "semimetric, power": "semimetric, power link", "power of CIEDE2000": "power of CIEDE2000",
        "semimetric": "semimetric", "CIEDE2000": "CIEDE2000", "CIELAB": "CIELAB",
    }  # fmt: skip
    figure, axes = picture(height=5.0, panels=2)
    kinds = (("centres", "colours held out"), ("subsets", "whole studies held out"))
    for ax, (key, title) in zip(axes, kinds, strict=True):
        bars(ax, list(names), [row("colour", model=model)[key] for model in names.values()], "{:.1f}")
        ax.set(xlabel="STRESS, lower is better", xlim=(0, 50))
        ax.set_title(title, loc="left", fontsize=11)
    return figure


def growth() -> Figure:
    """Draw seconds and memory of a fit against the number of pairs."""
    found = fits_by_size()
    pairs = [each["pairs"] for each in found]
    figure, axes = picture(height=5.8, panels=2)
    quantities = (("seconds", "seconds, two threads", "log"), ("MiB_above_input", "MiB above the data", "linear"))
    for ax, (key, label, scale) in zip(axes, quantities, strict=True):
        heights = [each[key] for each in found]
        ax.plot(pairs, heights, "o-", color=OURS)
        for x, y in zip(pairs, heights, strict=True):
            ax.annotate(
                f"{y:.2g}" if y < 10 else f"{y:.0f}", (x, y), (0, 8), textcoords="offset points", ha="center", fontsize=9
            )
        ax.set(xscale="log", yscale=scale, xlabel="measured pairs", ylabel=label, xlim=(0.5 * min(pairs), 2 * max(pairs)))
        ax.set_ylim((0.5 * min(heights), 2 * max(heights)) if scale == "log" else (0, 1.2 * max(heights)))
        plain(ax, x=True, y=True)
    axes[0].set_title("A fit of 32 features x 8 knots", loc="left", fontsize=11)
    return figure


def memory() -> Figure:
    """Draw the bytes that an index holds for a point, by its parts."""
    figure, (ax,) = picture(height=3.1)
    for place, (storage, in_memory) in enumerate(STORAGES.values()):
        (held,) = (each for each in kept_rows("memory", "memory: bytes a point of an index") if each["storage"] == storage)
        left = 0.0
        for shade, (label, names) in PARTS.items():
            size = sum(held[f"{name}, bytes a point"] for name in names if in_memory or name != "items")
            ax.barh(place, size, left=left, color=shade, height=0.6, label=label if place == 0 else None)
            left += size
        ax.annotate(f"{left:.0f}", (left, place), (5, -4), textcoords="offset points", fontsize=9)
    ax.set_yticks(range(len(STORAGES)), list(STORAGES), fontsize=9)
    ax.set(xlabel="bytes a point of 32 features", xlim=(0, 720), ylim=(len(STORAGES) - 0.3, -0.6))
    figure.legend(loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    ax.set_title("What an index holds in memory", loc="left", fontsize=11)
    return figure


PICTURES = {  # in their order on the page
    "classes": classes, "ranks": mean_ranks, "values": values, "transport": transport, "proved": proved,
    "defaults": defaults, "recall": recall, "colours": colours, "growth": growth, "memory": memory,
}  # fmt: skip


def draw(folder: Path) -> list[Path]:
    """Write every picture into a folder, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PICTURES.items():
        make().savefig(folder / f"{name}.png", dpi=100, metadata={"Software": None})
    return [folder / f"{name}.png" for name in PICTURES]


if __name__ == "__main__":
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "figures" / "results"
    print(*draw(into), sep="\n")
