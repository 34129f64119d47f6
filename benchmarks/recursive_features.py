"""The recipe of xRFM (Beaglehole, Holzmüller, Radhakrishnan & Belkin 2026) in NumPy, for a few thousand rows.

Kernel ridge regression on exp(-|W (x - z)|_1 / h); a diagonal W by the root mean squares of gradients of the machine, in rounds
of both. Width and strength have the least leave-one-out error in the first round and stay, in units of the median distance; the
round has the least of all. Trees, which divide larger tables there, are left out.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # in median distances
STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)
ROUNDS = 4
MOST_GRADIENTS = 400


class RecursiveFeatureMachine:
    """Values, or indicators of classes 0, 1, ..., by `fit`, `predict` and `predict_proba`."""

    def __init__(self, classes: bool) -> None:
        self.classes = classes

    def fit(self, X: np.ndarray, y: np.ndarray) -> "RecursiveFeatureMachine":
        Y = np.eye(int(y.max()) + 1)[y] if self.classes else y[:, None].astype(float)
        self.mean, rng = Y.mean(axis=0), np.random.default_rng(0)
        weights, best, widths, strengths = np.ones(X.shape[1]), np.inf, WIDTHS, STRENGTHS
        for _ in range(1 + ROUNDS):
            scaled = X * weights
            distances = cdist(scaled, scaled, "cityblock")
            median = np.median(distances[distances > 0])
            solved = (self._solved(distances, Y, w * median, strengths) for w in widths)
            loss, width, strength, coefficients = min(solved, key=lambda found: found[0])
            widths, strengths = (width / median,), (strength,)
            if loss < best:
                best, self.X, self.weights, self.width, self.coefficients = loss, scaled, weights, width, coefficients
            rows = rng.permutation(len(X))[:MOST_GRADIENTS]
            kernel = np.exp(-distances[rows] / width)
            gradients = [np.sign(scaled[i] - scaled).T @ (k[:, None] * coefficients) for i, k in zip(rows, kernel, strict=True)]
            size = weights * np.sqrt(np.mean(np.square(gradients), axis=(0, 2)))
            weights = size / max(size.max(), 1e-300)
        return self

    def _solved(
        self, distances: np.ndarray, Y: np.ndarray, width: float, strengths: tuple[float, ...]
    ) -> tuple[float, float, float, np.ndarray]:
        kernel, found = np.exp(-distances / width), []
        for strength in strengths:
            inverse = cho_solve(cho_factor(kernel + strength * np.eye(len(kernel))), np.eye(len(kernel)))
            coefficients = inverse @ (Y - self.mean)
            found.append((np.mean((coefficients / np.diag(inverse)[:, None]) ** 2), width, strength, coefficients))
        return min(found, key=lambda each: each[0])

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        return np.exp(-cdist(X * self.weights, self.X, "cityblock") / self.width) @ self.coefficients + self.mean

    def predict(self, X: np.ndarray) -> np.ndarray:
        outputs = self._outputs(X)
        return outputs.argmax(axis=1) if self.classes else outputs[:, 0]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        positive = np.clip(self._outputs(X), 1e-3, 1.0)
        return positive / positive.sum(axis=1, keepdims=True)
