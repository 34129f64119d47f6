"""What tests of linear machines share: data, settings of losses, and an embedding with a difference operator."""

import numpy as np
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine

from semimetric._kernels.csr_rows import DifferenceOperator
from semimetric.vectors.embeddings.base import FeatureMap, IdentityEmbedding, Term
from semimetric.vectors.embeddings.piecewise import PL1Embedding
from semimetric.vectors.machines.rows import EmbeddedRows, classification_problem, regression_problem

X, Y = load_wine(return_X_y=True)
TWO = (Y > 0).astype(int)
WEIGHT = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)
X_DIABETES, VALUES = load_diabetes(return_X_y=True)
VALUES = VALUES / 100
PL1 = PL1Embedding(5, knots="quantile")
LOSSES = ({}, {"loss": "hinge"}, {"loss": "hinge", "multi_class": "crammer_singer"})

# losses of a `Problem`
PROBLEMS = ("hinge", "squared hinge", "crammer_singer", "epsilon", "squared epsilon")


class Ladders(FeatureMap):
    """Hats on even knots of every feature, as the rows psi of which D_d^{-T} psi is phi."""

    def __init__(self, order=1, n_knots=5, dtype=np.float64):
        self.order = order
        self.n_knots = n_knots
        self.dtype = dtype

    def _fit(self, items, y):
        self._low, self._span = items.min(axis=0), np.ptp(items, axis=0) + 1e-9
        self._order, self._starts = self.order, np.arange(items.shape[1] + 1) * self.n_knots
        self.n_columns_ = int(self._starts[-1])
        self.terms_ = tuple(Term((f,), int(a), int(a) + self.n_knots) for f, a in enumerate(self._starts[:-1]))

    @property
    def most_nonzeros(self):
        return 2 * self.n_features_in_

    @property
    def difference_operator(self):
        return DifferenceOperator(self._order, self._starts)

    def write(self, items, out):
        places = np.clip((items - self._low) / self._span, 0, 1) * (self.n_knots - 1)
        lower = np.minimum(places.astype(int), self.n_knots - 2)
        t = places - lower
        columns = np.stack([lower, lower + 1], axis=-1) + self._starts[:-1, None]
        rows = sparse.csr_array(
            (np.stack([1 - t, t], axis=-1).ravel(), columns.ravel(), np.arange(len(items) + 1) * 2 * items.shape[1]),
            shape=(len(items), self.n_columns_),
        )
        rows.eliminate_zeros()
        out.indptr[:], out.indices[: rows.nnz], out.data[: rows.nnz] = rows.indptr, rows.indices, rows.data

    def stored(self, items):
        """phi as an array, from the inverses that the paper prints."""
        sums = np.linalg.inv(np.eye(self.n_knots) - np.eye(self.n_knots, k=-1))
        inverse = np.linalg.matrix_power(sums, self.order)
        psi = self.transform(items).toarray().reshape(len(items), -1, self.n_knots)
        return (psi @ inverse).reshape(len(items), -1)  # row-wise: D^{-T} psi = (psiᵀ D^{-1})ᵀ


def small_problem(kind, seed=0, n=12, n_classes=3, d=3):
    """Items (n, d), the rows of these items, and a problem of this kind whose rows and classes have weights."""
    rng = np.random.default_rng(seed)
    items, sample = rng.normal(size=(n, d)), rng.random(n) + 0.1
    rows = EmbeddedRows(IdentityEmbedding().fit(items), items, 5)
    if "epsilon" in kind:
        return items, rows, regression_problem(rng.normal(size=n), sample, 0.7, epsilon=0.1, squared="squared" in kind)
    codes, weights = np.arange(n) % n_classes, np.append(rng.random(n_classes) + 0.1, 0.6)
    joint = kind == "crammer_singer"
    return items, rows, classification_problem(codes, sample, weights, squared="squared" in kind, joint=joint)
