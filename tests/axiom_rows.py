"""Symmetry and the zero diagonal as explicit rows E w = 0, for pair embeddings whose columns do not impose them."""

import numpy as np
from scipy import sparse

from semimetric.distances.pairs.full_tables import PairEmbedding


def symmetry_rows(embedding: PairEmbedding) -> sparse.csr_array:
    """One row w_ab - w_ba = 0 for every unordered pair of grid points of every group."""
    pairs = [(c[a, b], c[b, a]) for c in embedding.vertex_columns() for a in range(len(c)) for b in range(a)]
    rows = np.arange(len(pairs))
    left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    plus = sparse.csr_array((np.ones(len(rows)), (rows, left)), shape=(len(rows), embedding.n_columns))
    minus = sparse.csr_array((np.ones(len(rows)), (rows, right)), shape=(len(rows), embedding.n_columns))
    return plus - minus


def diagonal_rows(embedding: PairEmbedding) -> sparse.csr_array:
    """One row w_aa = 0 for every grid point of every group."""
    columns = np.concatenate([np.diag(c) for c in embedding.vertex_columns()])
    rows = np.arange(len(columns))
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(rows), embedding.n_columns))
