"""Series of any length as features that change little, or not at all, when time is stretched and squeezed."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._foundation.arrays import as_floats
from ..._foundation.errors import ObjectError
from ..._foundation.stored import Stored, storable
from ..._foundation.types import Floats
from ..._foundation.validation import check_count
from ...data.object_lists import Objects, as_objects
from .objects import ObjectFeatures

_MOST = 10_000  # values of one kind that are taken of a channel
_MOST_CHANNELS = 1_000_000


@storable
class SeriesFeatures(ObjectFeatures):
    """Ends and extremes, values along the path, quantiles, and envelopes, of series of one or several channels.

    Dynamic time warping (Sakoe & Chiba 1978) lets every value last as long as it likes. So features are

    - ends and extremes of every channel: its first, last, lowest and highest value, and how far it rises and falls in all. They
      are the same however often values are repeated. Each of the first four differs between two series by at most their
      distance under warping with the ground distance |a - b|, summed along the path (Kim, Park & Chu 2001).
    - path: the values at ``n_path`` evenly spaced positions of the path of the series, whose length is the change of its
      values and not time. They too are the same however often values are repeated.
    - quantiles of the values, and the length: how long values last.
    - envelope: the mean, the lowest and the highest value in each of ``n_windows`` windows of time. Neighbouring windows
      overlap by half, so that these change little if a value comes somewhat sooner or later.

    Parameters
    ----------
    n_path : int, default 16
    n_quantiles : int, default 8
    n_windows : int, default 8
        Each at most 10,000.
        0 leaves such features out, each of the three.

    Attributes
    ----------
    n_channels_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from semimetric import SeriesFeatures
    >>> model = SeriesFeatures(n_path=3, n_quantiles=0, n_windows=0)
    >>> model.fit_transform([[0.0, 1.0, 4.0], [0.0, 0.0, 1.0, 4.0, 4.0]]).tolist()
    [[0.0, 4.0, 0.0, 4.0, 4.0, 0.0, 3.0, 0.0, 2.0, 4.0], [0.0, 4.0, 0.0, 4.0, 4.0, 0.0, 5.0, 0.0, 2.0, 4.0]]
    """

    n_channels_: Stored[int]

    def __init__(self, *, n_path: int = 16, n_quantiles: int = 8, n_windows: int = 8) -> None:
        self.n_path = n_path
        self.n_quantiles = n_quantiles
        self.n_windows = n_windows

    def fit(self, X: Objects, y: object = None) -> SeriesFeatures:
        """Record the number of channels of a sequence of arrays of shape (n_times,) or (n_times, n_channels).

        Series that are empty, not finite, or of another number of channels, are refused with an `InputError`; y is ignored.
        """
        self._check_parameters()
        self.n_channels_ = _series(X)[0].shape[1]
        return self

    def transform(self, X: Objects) -> Floats:
        """Return the features, shape (n_objects, n_features_out).

        Parameters
        ----------
        X : sequence of arrays of shape (n_times,) or (n_times, n_channels)
        """
        check_is_fitted(self, "n_channels_")
        return np.array([self._row(s) for s in _series(X, self.n_channels_)])

    def _row(self, s: Floats) -> Floats:
        steps = np.diff(s, axis=0)
        moved = np.maximum(steps, 0.0).sum(axis=0), np.maximum(-steps, 0.0).sum(axis=0)
        ends = [s[0], s[-1], s.min(axis=0), s.max(axis=0), *moved, [len(s)]]
        return np.concatenate([*ends, self._path(s, steps), self._quantiles(s), self._envelope(s)])

    def _path(self, s: Floats, steps: Floats) -> Floats:
        """Return the values where the series has gone evenly spaced shares of its way, shape (n_path * n_channels,)."""
        length = np.linalg.norm(steps, axis=1)
        kept = np.concatenate([[True], length > 0])
        gone = np.concatenate([[0.0], np.cumsum(length[length > 0])])
        places = np.linspace(0.0, gone[-1], self.n_path) if self.n_path > 1 else np.full(self.n_path, gone[-1] / 2)
        return np.concatenate([np.interp(places, gone, channel) for channel in s[kept].T])

    def _quantiles(self, s: Floats) -> Floats:
        levels = (np.arange(self.n_quantiles) + 0.5) / max(self.n_quantiles, 1)
        return np.quantile(s, levels, axis=0, method="hazen").T.ravel()

    def _envelope(self, s: Floats) -> Floats:
        """Return the mean, the lowest and the highest value in every window, shape (3 * n_windows * n_channels,)."""
        out = np.empty((s.shape[1], self.n_windows, 3))
        for k in range(self.n_windows):
            begin = k * len(s) / (self.n_windows + 1)
            window = s[int(begin) : max(int(np.ceil(begin + 2 * len(s) / (self.n_windows + 1))), int(begin) + 1)]
            out[:, k] = np.column_stack([window.mean(axis=0), window.min(axis=0), window.max(axis=0)])
        return out.ravel()

    @property
    def _names_out(self) -> list[str]:
        channels = [f" of channel {c}" for c in range(self.n_channels_)] if self.n_channels_ > 1 else [""]
        kinds = ("first", "last", "lowest", "highest", "rise", "fall")
        names = [f"{kind}{channel}" for kind in kinds for channel in channels] + ["length"]
        names += [f"path {k}{channel}" for channel in channels for k in range(self.n_path)]
        names += [f"quantile {k}{channel}" for channel in channels for k in range(self.n_quantiles)]
        return names + [
            f"{kind} in window {k}{channel}"
            for channel in channels
            for k in range(self.n_windows)
            for kind in ("mean", "lowest", "highest")
        ]

    def check_restored(self) -> None:
        self._check_parameters()
        check_count("n_channels_", self.n_channels_, most=_MOST_CHANNELS)

    def _check_parameters(self) -> None:
        for name in ("n_path", "n_quantiles", "n_windows"):
            check_count(name, getattr(self, name), minimum=0, most=_MOST)


def _series(X: Objects, n_channels: int | None = None) -> list[Floats]:
    objects = as_objects(X)
    found = []
    for k in range(len(objects)):
        s = as_floats(objects[k], f"X[{k}]")
        s = s[:, None] if s.ndim == 1 else s
        n_channels = s.shape[1] if n_channels is None and s.ndim == 2 else n_channels
        if s.ndim != 2 or not len(s) or s.shape[1] != n_channels or not n_channels:
            wanted = f"(n_times, {n_channels})" if n_channels and n_channels > 1 else "(n_times,)"
            raise ObjectError(k, f"has shape {np.shape(objects[k])}; {wanted} with a value or more is required")
        if not np.isfinite(s).all():
            raise ObjectError(k, "has values that are not finite; fill gaps in, or leave them out")
        found.append(s)
    return found
