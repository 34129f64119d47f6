"""Draw the figures of the README and of docs/questions.md from their own code.

    python tools/draw_figures.py              writes docs/figures/*.png anew
    python tools/draw_figures.py FOLDER       writes them into another folder

A page is run from its first block of Python to its last. If an image follows a block, before the next one, it is the figure
that the block has drawn.

The README's figure shows more than its code draws. The first block of Python in README.md is run as it stands, and what it has
learned is drawn: the distance from 23:30 at 10 degrees to every hour and temperature, as it was measured, as it was learned,
and as the Mahalanobis distance has it whose matrix fits the same measured pairs best (least squares over all of them).
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

ROOT = Path(__file__).resolve().parents[1]
HERE = np.array([23.5, 10.0])


class Block(NamedTuple):
    """A block of Python of a page, what it printed, and what the page says it prints."""

    code: str
    printed: str
    shown: str  # the text in the block of output below; "" without one
    figure: str  # the name of the image below; "" without one


def run_page(page: Path, folder: Path) -> Iterator[Block]:
    """Run a page in a folder that is deleted, and write the images that its blocks draw into ``folder``."""
    parts = re.findall(r"```python\n(.*?)```\n(.*?)(?=```python\n|\Z)", page.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    before, folder = Path.cwd(), folder.resolve()
    with tempfile.TemporaryDirectory() as made:
        try:
            os.chdir(made)
            for code, below in parts:
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(code, names)  # the page's own code
                shown = re.findall(r"```text\n(.*?)```", below, re.DOTALL)
                figure = re.findall(r"!\[[^\]]*\]\(figures/([\w.]+)\)", below)
                if figure:
                    plt.gcf().savefig(folder / figure[0], dpi=80, bbox_inches="tight", metadata={"Software": None})
                plt.close("all")
                yield Block(code, printed.getvalue(), *(found[0] if found else "" for found in (shown, figure)))
        finally:
            os.chdir(before)


def example() -> dict[str, Any]:
    """The names that the first block of the README defines; the file that it saves goes into a folder that is deleted."""
    code = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    names: dict[str, Any] = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        try:
            os.chdir(folder)
            exec(code, names)  # the README's own code
        finally:
            os.chdir(before)
    return names


def best_mahalanobis(differences: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """The matrix L of shape (2, 2) that minimises the sum of (|L (x - y)| - measured)^2."""

    def residuals(entries: np.ndarray) -> np.ndarray:
        return np.sqrt(((differences @ entries.reshape(2, 2).T) ** 2).sum(axis=1) + 1e-12) - measured

    return least_squares(residuals, np.eye(2).ravel()).x.reshape(2, 2)


def draw(folder: Path) -> Path:
    """Write ``clock.png`` into the folder; its path."""
    names = example()
    X, pairs, true, d = (names[name] for name in ("X", "pairs", "true", "d"))
    matrix = best_mahalanobis(X[pairs[:, 0]] - X[pairs[:, 1]], true[pairs[:, 0], pairs[:, 1]])
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
        ax.set(title=title, xlabel="hour of the day", xticks=[0, 6, 12, 18, 24])
    axes[0].set_ylabel("temperature")
    figure.colorbar(filled, ax=axes, label="distance to the white dot")
    path = folder / "clock.png"
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)
    return path


if __name__ == "__main__":
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "figures"
    print(draw(into))
    for block in run_page(ROOT / "docs" / "questions.md", into):
        print(into / block.figure if block.figure else "", block.printed, sep="\n")
