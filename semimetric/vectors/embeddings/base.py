"""The interface of every embedding of single vectors, for scikit-learn and for linear models that never store all rows.

    f(x) = <w, phi(x)>,   phi(x) a row of n_columns_ numbers, most of them 0

An embedding writes its rows into CSR buffers, block by block: `transform` keeps all rows, and a linear model needs only one
block at a time. Embeddings with a difference operator write sparse rows psi, of which phi = D^{-T} psi is the dense form (paper
1, eq. 7).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import check_feature_names, validated
from ..._foundation.errors import InputError
from ..._foundation.estimator import SavedEstimator, ShortRepr, check_names
from ..._foundation.stored import Stored, StoredIfSet, storable
from ..._foundation.threads import blocks, map_blocks
from ..._foundation.types import ArrayLike, Floats, Integers
from ..._foundation.validation import check_choice, check_count, check_n_jobs
from ..._kernels.csr_rows import Chunk, DifferenceOperator

_BLOCK = 1 << 18  # entries that a thread writes at a time
_INT32 = np.iinfo(np.int32).max


class Term(NamedTuple):
    """A summand of f: the numbers of the features that it depends on, and its columns ``start:stop``."""

    features: tuple[int, ...]
    start: int
    stop: int


class FeatureMap(ShortRepr, SavedEstimator, TransformerMixin, BaseEstimator, ABC):
    """An embedding of vectors as a scikit-learn transformer.

    Embeddings have these parameters where they make sense: ``missing`` ("error" refuses missing values, with "zeros" they add
    nothing, with "indicator" they have columns of their own), ``dtype`` (float64 or float32, that of the output),
    ``sparse_output``, and ``n_jobs`` (the number of threads).

    Attributes
    ----------
    n_columns_ : int
        The number of columns of phi.
    terms_ : tuple of Term
        The summands of f, in the order of their columns.
    """

    missing: str = "error"
    missing_choices: tuple[str, ...] = ("error", "zeros", "indicator")  # the values of ``missing`` that the class has
    dtype: Any = np.float64
    sparse_output: bool | str = "auto"
    zero_preserving: bool = False
    n_jobs: int | None = None
    n_columns_: int
    n_features_in_: Stored[int]
    feature_names_in_: StoredIfSet[NDArray[Any]]

    @abstractmethod
    def _fit(self, items: Floats | sparse.csr_array, y: ArrayLike | None) -> None:
        """Check the parameters; then set ``n_columns_``, ``terms_`` and what `write` needs."""

    if TYPE_CHECKING:  # some embeddings set it, others compute it

        @property
        def terms_(self) -> tuple[Term, ...]: ...

    @property
    @abstractmethod
    def most_nonzeros(self) -> int:
        """The most entries that a row can have, which buffers must hold."""

    def nonzeros_at_most(self, items: Floats | sparse.csr_array) -> Integers:
        """Return the most entries that the row of each encoded item can have, shape (n_items,); at most `most_nonzeros`."""
        return np.full(items.shape[0], self.most_nonzeros, np.int64)

    @abstractmethod
    def write(self, items: Floats, out: Chunk) -> None:
        """Write the rows of the encoded ``items``, of shape (B, n_features) and C-contiguous, into ``out``.

        The columns of each row are sorted, and there are no explicit zeros.
        """

    def write_phi(self, items: Floats, new_chunk: Callable[[int], Chunk]) -> Chunk | None:
        """Return phi of the encoded ``items`` if that is quicker than sums of the rows of `write`; else None.

        ``new_chunk`` gives buffers for rows with so many entries in all.
        """
        return None

    @property
    def difference_operator(self) -> DifferenceOperator | None:
        """The operator that turns the written rows into phi; None if they are phi."""
        return None

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns; `feature_names` are those of the features."""
        raise NotImplementedError

    @property
    def feature_names(self) -> list[str]:
        """The names of the features: those of the frame in the fit, or x0, x1, ..."""
        known = getattr(self, "feature_names_in_", None)
        return [f"x{k}" for k in range(self.n_features_in_)] if known is None else [str(name) for name in known]

    @property
    def unnamed(self) -> Self:
        """The fitted embedding without the names of its features: it takes arrays of values made up, and does not warn."""
        other = copy(self)
        other.__dict__.pop("feature_names_in_", None)
        return other

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Fit what the embedding needs, such as knots.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_items, n_features)
            Finite numbers; NaN only if ``missing`` is not "error", and a sparse matrix only with ``zero_preserving=True``.
        y : array-like of shape (n_items,) or None
            Used only by embeddings whose parameters say so.

        Raises
        ------
        InputError
            If a parameter or the data cannot be used.
        """
        self._check_output()
        self._fit(self.encode(X, reset=True), y)
        return self

    def check_restored(self) -> None:
        check_names(self, check_count("n_features_in_", self.n_features_in_))
        check_n_jobs(self.n_jobs)
        self._check_output()

    def _check_output(self) -> None:
        check_choice("missing", self.missing, self.missing_choices)
        check_choice("sparse_output", self.sparse_output, ("auto", True, False))
        if not _is_float_type(self.dtype):
            raise InputError(f"dtype={self.dtype!r}: float32 or float64 is required")

    def transform(self, X: ArrayLike) -> Any:
        """Return phi of every row, a CSR matrix of shape (n_items, n_columns_), or an array as ``sparse_output`` says.

        Indices are int32 if they fit, else int64. Every row is sorted and has no explicit zeros.

        Raises
        ------
        InputError
            If X cannot be used, or a table is asked for by `set_output` with ``sparse_output=True``.
        """
        container = _get_output_config("transform", self)["dense"]
        if container != "default" and self.sparse_output is True:
            raise InputError(
                f"the output is to be a table of {container}, which holds no sparse matrix, but sparse_output=True; give "
                '"auto" or False, or set_output(transform="default")'
            )
        matrix = self._matrix(self.encode(X))
        return matrix if self.sparse_output and container == "default" else matrix.toarray()

    def encode(self, X: ArrayLike, *, reset: bool = False) -> Floats | sparse.csr_array:
        """Return the valid table X as float64, of which `dense_rows` takes blocks for `write`.

        Raises
        ------
        InputError
            If X is sparse and the embedding does not map zeros to nothing.
        """
        if not reset:
            check_is_fitted(self, "n_columns_")
        if sparse.issparse(X) and not self.zero_preserving:
            raise InputError(
                f"X is sparse, but {type(self).__name__} maps 0 to something; give X.toarray(), or use "
                "zero_preserving=True where the map has it, so that zeros add nothing"
            )
        choice = f', or use {type(self).__name__}(missing="{self.missing_choices[-1]}")' if self.missing_choices[1:] else ""
        advice = f"fill them in, drop these rows{choice}"
        options: Any = {"dtype": np.float64, "order": "C", "accept_sparse": "csr", "advice": advice}
        return validated(self, X, may_miss=self.missing != "error", reset=reset, **options)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the columns, which contain the values of knots, such as ``x0@5.1*x1@3.3``."""
        check_is_fitted(self, "n_columns_")
        check_feature_names(self, input_features)
        return np.array(list(self.names), dtype=object)

    def _matrix(self, items: Floats | sparse.csr_array) -> sparse.csr_array:
        """Return all rows: threads write blocks at places that are long enough, and gaps are closed at the end."""
        n = items.shape[0]
        reserved = np.concatenate([[0], np.cumsum(self.nonzeros_at_most(items))])
        most = int(reserved[-1])
        index = np.int32 if max(self.n_columns_, most) <= _INT32 else np.int64
        indices = np.empty(most, index)
        data = np.empty(most, self.dtype)
        size = max(_BLOCK * n // max(most, 1), 1)

        def fill(rows: slice) -> Integers:
            place = slice(reserved[rows.start], reserved[rows.stop])
            part = Chunk(np.zeros(rows.stop - rows.start + 1, np.int64), indices[place], data[place])
            self.write(dense_rows(items, rows), part)
            return part.indptr

        indptrs = map_blocks(fill, n, size=size, n_jobs=self.n_jobs)
        starts = np.cumsum([0, *(indptr[-1] for indptr in indptrs)])
        for rows, start, stop in zip(blocks(n, size), starts[:-1], starts[1:], strict=True):
            written = int(reserved[rows.start])
            if written != start:
                for array in (indices, data):
                    array[start:stop] = array[written : written + stop - start]
        indices.resize(int(starts[-1]), refcheck=False)
        data.resize(int(starts[-1]), refcheck=False)
        shifted = (indptr[1:] + start for indptr, start in zip(indptrs, starts[:-1], strict=True))
        indptr = np.concatenate([[0], *shifted]).astype(index)
        return sparse.csr_array((data, indices, indptr), shape=(n, self.n_columns_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.sparse = self.zero_preserving
        tags.transformer_tags.preserves_dtype = []  # the output has the dtype of the parameter ``dtype``
        return tags


class DenseMap(FeatureMap):
    """An embedding whose rows are dense: `values` gives them, and `transform` returns an array."""

    sparse_output = False
    terms_: tuple[Term, ...]

    @abstractmethod
    def values(self, items: Floats) -> Floats:
        """Return phi of encoded items, float64 of shape (B, n_columns_)."""

    @property
    def most_nonzeros(self) -> int:
        return self.n_columns_

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return phi of every row, shape (n_items, n_columns_)."""
        items = self.encode(X)
        out = np.empty((items.shape[0], self.n_columns_), self.dtype)

        def fill(rows: slice) -> None:
            out[rows] = self.values(dense_rows(items, rows))

        map_blocks(fill, len(out), size=max(_BLOCK // max(self.n_columns_, 1), 1), n_jobs=self.n_jobs)
        return out

    def write(self, items: Floats, out: Chunk) -> None:
        n = len(items) * self.n_columns_
        out.indptr[:] = np.arange(len(items) + 1) * self.n_columns_
        out.indices[:n].reshape(len(items), -1)[:] = np.arange(self.n_columns_)
        out.data[:n] = self.values(items).ravel()


def _is_float_type(dtype: Any) -> bool:
    """Return True for float64 or float32; None, which NumPy takes for float64, gives False."""
    try:
        return dtype is not None and np.dtype(dtype) in (np.float32, np.float64)
    except (TypeError, ValueError, SyntaxError):  # what NumPy raises for texts that are no dtype
        return False


def dense_rows(items: Floats | sparse.csr_array, rows: slice | Integers) -> Floats:
    """Return some rows of encoded items as a C-contiguous float64 array, as `FeatureMap.write` takes them."""
    part = items[rows]
    return part.toarray() if isinstance(part, sparse.sparray | sparse.spmatrix) else np.ascontiguousarray(part)


def check_columns_fit(n_columns: int, what: str) -> int:
    """Return the number of columns; refuse more than an int64 can number (``what`` says where they come from)."""
    if n_columns > np.iinfo(np.int64).max:
        raise InputError(f"{what} makes {n_columns} columns; at most 2**63 - 1 can be numbered: use fewer knots or features")
    return n_columns


def distinct_labels(values: Floats) -> list[str]:
    """Return increasing numbers with as few digits, at least 3, as make them distinct; else with positions appended."""
    for digits in range(3, 18):
        labels = [f"{value:.{digits}g}" for value in values]
        if len(set(labels)) == len(labels):
            return labels
    return [f"{label}#{k}" for k, label in enumerate(labels)]


@storable
class IdentityEmbedding(FeatureMap):
    """phi(x) = x, as sparse rows; X may be sparse too."""

    zero_preserving = True
    missing_choices = ("error",)

    def __init__(self, *, dtype: Any = np.float64, n_jobs: int | None = None) -> None:
        self.dtype = dtype  # the dtype of phi
        self.n_jobs = n_jobs  # the number of threads

    def _fit(self, items: Floats | sparse.csr_array, y: ArrayLike | None) -> None:
        self.n_columns_ = items.shape[1]

    def check_restored(self) -> None:
        super().check_restored()
        self.n_columns_ = self.n_features_in_

    @property
    def terms_(self) -> tuple[Term, ...]:
        """One summand for each feature, made anew each time the attribute is read."""
        return tuple(Term((k,), k, k + 1) for k in range(self.n_columns_))

    @property
    def most_nonzeros(self) -> int:
        return self.n_columns_

    @property
    def names(self) -> list[str]:
        return self.feature_names

    def write(self, items: Floats, out: Chunk) -> None:
        rows, columns = np.nonzero(items)
        out.indptr[0] = 0
        np.cumsum(np.bincount(rows, minlength=len(items)), out=out.indptr[1:])
        out.indices[: len(columns)] = columns
        out.data[: len(columns)] = items[rows, columns]
