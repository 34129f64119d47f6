"""The same data in other forms, and data that cannot be used.

The data are small whole numbers, so that every form holds them without an error. A new form joins by one row.
"""

import tempfile
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse


class Offered:
    """An object that is no array, but offers one."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype)


def _strided(X):
    wide = np.full((*X.shape[:-1], 2 * X.shape[-1]), 99, X.dtype)
    wide[..., ::2] = X
    return wide[..., ::2]


def _read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def _unaligned(X):
    raw = np.zeros(X.nbytes + 1, np.uint8)
    out = raw[1:].view(X.dtype).reshape(X.shape)
    out[...] = X
    return out


@cache
def _folder():
    """A folder of this process, which goes with it: fits in parts open a mapped file again by its name."""
    return tempfile.TemporaryDirectory(prefix="mapped-")


def _mapped(X):
    file = Path(tempfile.mkdtemp(dir=_folder().name)) / "mapped.npy"
    np.save(file, X)
    return np.load(file, mmap_mode="r")


def _objects(X, kind):
    out = np.empty(X.shape, dtype=object)
    out.flat = [kind(v) for v in X.ravel()]
    return out


SAME = {
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "uint64": lambda X: X.astype(np.uint64),
    "big-endian": lambda X: X.astype(">f8"),
    "big-endian integers": lambda X: X.astype(">i4"),
    "Fortran order": np.asfortranarray,
    "negative strides": lambda X: X[::-1].copy()[::-1],
    "strided": _strided,
    "read-only": _read_only,
    "unaligned": _unaligned,
    "mapped": _mapped,
    "objects": lambda X: X.astype(object),
    "integers as objects": lambda X: X.astype(np.int64).astype(object),
    "decimals": lambda X: _objects(X, Decimal),
    "fractions": lambda X: _objects(X, lambda v: Fraction(int(v))),
    "numpy scalars as objects": lambda X: _objects(X, np.float32),
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "list of arrays": list,
    "masked, without a mask": np.ma.masked_array,
    "offered": Offered,
}


# the forms that keep whole numbers whole, for row numbers
WHOLE = {
    *("int64", "int8", "uint64", "big-endian integers", "Fortran order", "negative strides", "strided", "read-only"),
    *("unaligned", "mapped", "lists", "tuples", "list of arrays", "masked, without a mask", "offered"),
}


def _with(X, value, dtype=None):
    X = np.array(X, dtype=dtype or np.asarray(X).dtype)
    X.flat[X.size // 2] = value
    return X


def _masked(X):
    mask = np.zeros(X.shape, bool)
    mask.flat[-1] = True
    return np.ma.masked_array(X, mask)


def _ragged(X):
    rows = X.tolist()
    rows[1] = rows[1][:-1]
    return rows


BAD = {
    "NaN": lambda X: _with(X, np.nan),
    "infinity": lambda X: _with(X, np.inf),
    "minus infinity": lambda X: _with(X, -np.inf),
    "NaN as float16": lambda X: _with(X, np.nan, np.float16),
    "None": lambda X: _with(X, None, object),
    "NaN as an object": lambda X: _with(X, float("nan"), object),
    "a masked value": _masked,
    "complex": lambda X: X + 1j,
    "complex objects": lambda X: _with(X, 1j, object),
    "dates": lambda X: X.astype("M8[D]"),
    "durations": lambda X: X.astype("m8[s]"),
    "text": lambda X: _with(X, "much", object),
    "numbers as text": lambda X: X.astype(str),
    "numbers as text objects": lambda X: X.astype(str).astype(object),
    "bytes": lambda X: X.astype(bytes),
    "dicts": lambda X: _with(X, {"a": 1}, object),
    "lists in cells": lambda X: _cell(X, [1.0]),
    "ragged": _ragged,
    "records": lambda X: np.zeros(len(X), dtype=[("a", float), ("b", float)]),
    "huge integers": lambda X: _with(X, 10**400, object),
    "huge long doubles": lambda X: _with(X, np.longdouble("1e4000"), np.longdouble),
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[..., :0],
    "a number": lambda X: 3.0,
    "one number in an array": lambda X: np.array(3.0),
    "flat": np.ravel,
    "one axis more": lambda X: X[..., None],
    "nothing": lambda X: None,
    "a word": lambda X: "items",
    "a generator": iter,
    "a set": lambda X: {1.0, 2.0},
    "a dict": lambda X: {"a": [1.0, 2.0]},
    "a module": lambda X: np,
}


def _cell(X, value):
    X = X.astype(object)
    X[(0,) * X.ndim] = value
    return X


def _duplicates(X):
    """A COO matrix in which every entry stands twice, with half its value."""
    m = sparse.coo_array(X)
    return sparse.coo_array((np.tile(m.data / 2, 2), tuple(np.tile(c, 2) for c in m.coords)), shape=X.shape)


def _unsorted(X):
    m = sparse.csr_array(X)
    for a, b in zip(m.indptr[:-1], m.indptr[1:], strict=True):
        m.indices[a:b] = m.indices[a:b][::-1]
        m.data[a:b] = m.data[a:b][::-1]
    m.has_sorted_indices = False
    return m


def _wide_indices(X):
    m = sparse.csr_array(X)
    m.indices, m.indptr = m.indices.astype(np.int64), m.indptr.astype(np.int64)
    return m


def _explicit_zeros(X):
    m = sparse.csr_array(np.where(X == 0, 7.0, X))
    m.data[m.data == 7.0] = np.where(X.ravel() == 0, 0.0, 7.0)[np.flatnonzero(m.toarray().ravel() == 7.0)]
    return m


SPARSE = {kind: (lambda X, kind=kind: getattr(sparse, kind)(X)) for kind in (
    f"{f}_{k}" for f in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia") for k in ("array", "matrix")
)} | {
    "duplicate entries": _duplicates,
    "unsorted indices": _unsorted,
    "64-bit indices": _wide_indices,
    "explicit zeros": _explicit_zeros,
    "sparse integers": lambda X: sparse.csr_array(X.astype(np.int32)),
    "sparse float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}  # fmt: skip

# objects that stand for no classes, and those that stand for no categories
OBJECTS = {"objects", "integers as objects", "numpy scalars as objects", "decimals", "fractions"}
ODD_OBJECTS = {"decimals", "fractions", "long double"}
TEXT = {"text", "bytes", "numbers as text", "numbers as text objects"}
# what a column of categories may hold where it is not fitted: they are new categories
NEW_CATEGORIES = TEXT | {"complex objects", "huge integers", "huge long doubles", "infinity", "minus infinity"}
# the dtypes that stand for classes
NAMES = {"numbers as text", "numbers as text objects", "bytes", "dates", "durations"}
