"""Draw the figures of the README and of the first page.

    python tools/draw_figures.py              writes docs/figures/*.png anew
    python tools/draw_figures.py FOLDER       writes them into another folder

The README's first figure shows more than its code draws. The code of README.md is run as it stands. The figure shows distances
from 23:30 at 10 degrees to every hour and temperature: measured, learned, and by the best Mahalanobis distance. The matrix of
the last one fits the same measured pairs by least squares.

The README's second figure is that of ``semimetric demo``, and the four cards show parts of both.
"""

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import least_squares
from sklearn.datasets import load_wine

import semimetric as sm
from semimetric.cli import demo

ROOT = Path(__file__).resolve().parents[1]
HERE = np.array([23.5, 10.0])
CARD = (3.2, 2.1)
BLUE, ORANGE = "#0b5fa5", "#d9622b"


def example() -> dict[str, Any]:
    """Run the code of the README, and return the names that it defines."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for code in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL):
            exec(code, names)  # the README's own code
    return names


def best_mahalanobis(differences: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """The matrix L of shape (2, 2) that minimises the sum of (|L (x - y)| - measured)^2."""

    def residuals(entries: np.ndarray) -> np.ndarray:
        return np.sqrt(((differences @ entries.reshape(2, 2).T) ** 2).sum(axis=1) + 1e-12) - measured

    return least_squares(residuals, np.eye(2).ravel()).x.reshape(2, 2)


def draw(folder: Path) -> Path:
    """Write ``clock.png`` into the folder; its path."""
    names = example()
    X, pairs, distances, d = (names[name] for name in ("X", "pairs", "distances", "d"))
    X = X.to_numpy()
    matrix = best_mahalanobis(X[pairs[:, 0]] - X[pairs[:, 1]], distances)
    hours, degrees = np.meshgrid(np.linspace(0, 24, 121), np.linspace(0, 24, 121))
    around = np.column_stack([hours.ravel(), degrees.ravel()])
    gap = np.abs(around - HERE)
    shown = {
        "measured": np.minimum(gap[:, 0], 24 - gap[:, 0]) + np.sqrt(gap[:, 1]),
        "learned from 3,000 pairs": d.pairwise(HERE[None], np.clip(around, X.min(axis=0), X.max(axis=0)))[0],
        "the best Mahalanobis distance": np.linalg.norm((around - HERE) @ matrix.T, axis=1),
    }
    levels = np.linspace(0, 16, 17)
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.9), sharey=True, layout="constrained")
    for ax, (title, values) in zip(axes, shown.items(), strict=True):
        filled = ax.contourf(hours, degrees, values.reshape(hours.shape), levels, cmap="viridis_r", extend="max")
        ax.plot(*HERE, "o", color="white", markeredgecolor="black")
        ax.set(title=title, xlabel="hour", xticks=[0, 6, 12, 18, 24])
    axes[0].set_ylabel("degrees")
    figure.colorbar(filled, ax=axes, label="distance to the white dot")
    path = folder / "clock.png"
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)
    return path


def draw_demo(folder: Path) -> list[Path]:
    """Write the picture of ``semimetric demo`` and the four cards of the first page into the folder; their paths."""
    result = demo.run(n_jobs=2)
    demo.draw(result, str(folder / "demo.png"), dpi=75)
    cards = {"learn": learn_card(result), "search": search_card(result), "explain": explain_card(), "deploy": deploy_card()}
    for name, figure in cards.items():
        figure.savefig(folder / f"card_{name}.png", dpi=100, metadata={"Software": None})
    return [folder / "demo.png", *(folder / f"card_{name}.png" for name in cards)]


def card() -> tuple[Figure, Axes]:
    """Return a figure of the size of a card, and its axes."""
    figure = Figure(figsize=CARD, layout="constrained")
    ax = figure.subplots()
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def learn_card(result: demo.DemoResult) -> Figure:
    """Draw predicted against true distances of unseen pairs."""
    figure, ax = card()
    ax.plot(result.true, result.predicted, ".", color=BLUE, markersize=3, alpha=0.4)
    ax.plot([0, result.true.max()], [0, result.true.max()], color=ORANGE, linewidth=1)
    ax.set(xlabel="exact distance", ylabel="learned", xticks=[0, 1, 2], yticks=[0, 1, 2])
    return figure


def search_card(result: demo.DemoResult) -> Figure:
    """Draw three images of digits, each with its nearest by the learned distance."""
    figure = Figure(figsize=CARD, layout="constrained")
    axes = figure.subplots(3, 6, width_ratios=[1, 0.25, 1, 1, 1, 1])
    for row, line in enumerate(axes):
        nearest = np.argsort(result.learned[row], kind="stable")[:4]
        for ax, item in zip(line, [result.queries[row], None, *result.gallery[nearest]], strict=True):
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            if item is not None:
                ax.imshow(result.digits.histograms[item].reshape(8, 8), cmap="gray_r")
        line[0].spines[:].set(visible=True, color=ORANGE, linewidth=2)
    return figure


def explain_card() -> Figure:
    """Draw the parts that columns add to a distance between two wines."""
    wines, kinds = load_wine(return_X_y=True, as_frame=True)
    d = sm.KernelRidgeLearner("classes", random_state=0).fit(wines, kinds).semimetric_
    parts = sorted(zip(d.contributions(wines.iloc[0], wines.iloc[100]).tolist(), d.terms, strict=True))[-5:]
    figure, ax = card()
    ax.barh([name.replace("_", " ")[:16] for _, name in parts], [part for part, _ in parts], color=BLUE)
    ax.set_xlabel("what columns add to the\ndistance of two wines", fontsize=9)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0, labelsize=9)
    return figure


def deploy_card() -> Figure:
    """Draw the places in which a learned distance is computed."""
    figure, ax = card()
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    box = {"boxstyle": "round,pad=0.4", "linewidth": 1.2}
    ax.text(0.08, 0.5, "d", ha="center", va="center", fontsize=16, color="white", bbox=box | {"fc": BLUE, "ec": BLUE})
    for k, name in enumerate(("PostgreSQL, DuckDB, SQLite", "FAISS, Qdrant", "ONNX Runtime", "one file", "an offline page")):
        height = 0.92 - 0.21 * k
        ax.annotate("", (0.32, height), (0.15, 0.5), arrowprops={"arrowstyle": "-|>", "color": "#6f6f6f"})
        ax.text(0.34, height, name, va="center", fontsize=9)
    return figure


if __name__ == "__main__":
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "figures"
    print(draw(into), *draw_demo(into), sep="\n")
