"""The codes of a set of items, held once: packed as they were made until a query scans them, and then in FAISS's layout."""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from .._foundation.mapped import is_mapped
from .._foundation.types import Integers
from .faiss_scan import Scan

__all__ = ["ItemCodes"]

_BUILDING = Lock()  # One thread at a time turns codes into a scan, so that none finds them gone.


class ItemCodes:
    """Codes of items, which segments of the same items share.

    Parameters
    ----------
    packed : ndarray of shape (n, n_bytes), uint8
        Two columns a byte, the even one in the low bits. Codes that are mapped from a file stay there.
    n_columns : int
    member : ndarray of shape (n,) or None
        The inverted list of each item; None is one list.
    """

    def __init__(self, packed: NDArray[np.uint8], n_columns: int, member: Integers | None = None) -> None:
        self._packed: NDArray[np.uint8] | None = packed
        self._scan: Scan | None = None
        self.n_columns, self.member = n_columns, member

    @property
    def held(self) -> NDArray[np.uint8] | None:
        """The packed codes as far as they are held beside the scan, or None."""
        return self._packed

    @property
    def made(self) -> Scan | None:
        """The scan, if a query has made it already."""
        return self._scan

    @property
    def packed(self) -> NDArray[np.uint8]:
        """The packed codes (n, n_bytes), which are unpacked from FAISS's layout where they are held there alone."""
        with _BUILDING:
            if self._packed is not None:
                return self._packed
            assert self._scan is not None  # Codes are dropped when the scan is there.
            return self._scan.packed()

    @property
    def scan(self) -> Scan:
        """The codes in FAISS's layout, made by the first query; packed codes in memory are dropped then."""
        if self._scan is None:
            with _BUILDING:
                if self._scan is None:
                    assert self._packed is not None
                    self._scan = Scan(self._packed, self.n_columns, self.member)
                    if not is_mapped(self._packed):
                        self._packed = None
        return self._scan
