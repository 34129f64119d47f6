"""Base distances: known distances that are added to a learned distance, each with a weight of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..._foundation.errors import InputError, StorageError
from ..._foundation.names import did_you_mean
from ..._foundation.stored import check_array, storable
from ..._foundation.threads import blocks
from ..._foundation.types import Floats, FrozenValue, freeze
from ...data.calls import UserDistance
from ...data.schema import Schema
from .divergences import DIVERGENCES, Divergence
from .limits import MOST

_PAIRS = 1 << 16  # pairs that a function is called with at once
_MOST_POWER = 20
_SAME = "give the same function, of the same version"


@dataclass(frozen=True, eq=False)
class BaseDistance(FrozenValue):
    """A known distance D that adds the term ``weight D^power`` to the sum."""

    function: UserDistance
    weight: float  # >= 0
    name: str
    probe: Floats = field(repr=False)  # (k, 2, n_features), a few pairs of training items
    values: Floats = field(repr=False)  # (k,), their distances, by which a callable given to a loaded model is checked
    power: float = 1  # > 0; with the square-root link twice that which was asked for

    def __post_init__(self) -> None:
        freeze(self, "probe", "values")
        if not (0 < self.power <= _MOST_POWER and np.isfinite(self.weight)):
            raise InputError(
                f"base distance {self.name!r} has the weight {self.weight!r} and the power {self.power!r}; a finite "
                f"weight, and a power > 0 of at most {_MOST_POWER}, are required"
            )
        if not (self.values >= 0).all():
            raise InputError(f"base distance {self.name!r} has the value {self.values.min()}; distances >= 0 are required")

    @property
    def divergence(self) -> Divergence | None:
        """The divergence with a name that it is, if any."""
        function = self.function.function
        return function if isinstance(function, Divergence) else None

    @property
    def by_columns(self) -> bool:
        """True if the term is a sum over columns: of a divergence, at the power that undoes its root."""
        return self.divergence is not None and self.power == (2.0 if self.divergence.rooted else 1.0)

    @cached_property
    def symmetric(self) -> bool:
        """True if D(y, x) = D(x, y): of a divergence as known, else for the pairs of the probe; or the weight is 0."""
        if self.divergence is not None:
            return self.divergence.symmetric or self.weight == 0
        return self._gives(self.probe[:, 1], self.probe[:, 0], self.values)

    @cached_property
    def zero_on_diagonal(self) -> bool:
        """True if D(x, x) = 0: of a divergence, else for the items of the probe; or the weight is 0."""
        if self.divergence is not None:
            return True
        items = self.probe.reshape(-1, self.probe.shape[2])
        return self._gives(items, items, np.zeros(len(items)))

    @property
    def metric(self) -> bool:
        """True if the term is proved to satisfy the triangle inequality: of a divergence at a power that is not too large."""
        return self.weight == 0 or (self.divergence is not None and self.power <= self.divergence.metric_power)

    def _gives(self, x: Floats, y: Floats, expected: Floats) -> bool:
        if self.weight == 0:
            return True
        try:
            return bool(np.allclose(self.function(x, y), expected, rtol=1e-9, atol=1e-12))
        except Exception:  # a user's function may raise anything; then nothing is shown
            return False

    def paired(self, x: Floats, y: Floats) -> Floats:
        """Return the term ``weight D^power`` for each row of x and the same row of y, shape (n,)."""
        values = self.function(x, y)
        if values.shape != (len(x),):
            raise InputError(
                f"base distance {self.name!r} returned shape {values.shape} for {len(x)} pairs; one number a pair is "
                "required: correct the function"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            terms = self.weight * values**self.power
        bad = np.flatnonzero(~((values >= 0) & (values < np.inf) & (np.abs(terms) <= MOST)))
        if len(bad):
            left, right = (np.array2string(v[bad[0]], precision=6, threshold=8) for v in (x, y))
            raise InputError(
                f"base distance {self.name!r} returned {values[bad[0]]} for {left} and {right}; a finite number >= 0 is "
                f"required, whose term is below {MOST:.2g}: correct the function, or leave such items out"
            )
        return terms

    def parts(self, x: Floats, y: Floats) -> Floats:
        """Return the term of a row of x and the same row of y: one part a column if it is `by_columns`, else whole (n, 1)."""
        terms = self.paired(x, y)[:, None]  # which refuses what is no number
        if self.divergence is None or not self.by_columns:
            return terms
        return self.weight * self.divergence.parts(x, y)

    def add_pairwise(self, x: Floats, y: Floats, out: Floats) -> None:
        """Add the term of the rows x_i and y_j to ``out[i, j]``, one block of rows at a time."""
        for block in blocks(len(x), max(1, _PAIRS // max(len(y), 1))):
            part = x[block]
            out[block] += self.paired(np.repeat(part, len(y), axis=0), np.tile(y, (len(part), 1))).reshape(len(part), len(y))

    @property
    def stored(self) -> "StoredTerm":
        """All but the function, for a file."""
        divergence = "" if self.divergence is None else self.divergence.name
        batches = self.function.form == "batches"
        return StoredTerm(self.name, self.weight, self.power, batches, self.probe, self.values, divergence)


@storable
@dataclass(frozen=True, eq=False)
class StoredTerm:
    """A base distance in a file, which holds its function only if that is a divergence with a name."""

    name: str
    weight: float
    power: float
    batches: bool  # True if the function takes batches
    probe: Floats  # (k, 2, n_features)
    values: Floats  # (k,)
    divergence: str = ""  # its name, if it has one

    def __post_init__(self) -> None:
        if self.divergence and self.divergence not in DIVERGENCES:
            raise StorageError(
                f"base distance {self.name!r} is the divergence {self.divergence[:60]!r}, which is not known; restore the file"
            )

    def with_function(self, function: Any, schema: Schema) -> BaseDistance:
        """Return the base distance with its function, which takes the values that the schema decodes.

        It must give the stored values again.
        """
        check_array("probe", self.probe, np.float64, None, 2, len(schema.names), missing=True)
        check_array("values", self.values, np.float64, len(self.probe))
        check_probe(schema, self.probe.reshape(-1, len(schema.names)), "the array 'probe'")
        if not callable(function):
            raise StorageError(f"base distance {self.name!r} must be callable, not {function!r}; give the function itself")
        wrapped = UserDistance(function, "batches" if self.batches else "vectors", schema=None if schema.plain else schema)
        got = wrapped(self.probe[:, 0], self.probe[:, 1])
        if got.shape != self.values.shape or not np.allclose(got, self.values, rtol=1e-9, atol=1e-12):
            what, advice = ("the divergence", "restore the file") if self.divergence else ("the callable given for", _SAME)
            raise StorageError(f"{what} {self.name!r} does not give the values that it gave when the model was saved; {advice}")
        return BaseDistance(wrapped, self.weight, self.name, self.probe, self.values, self.power)


def check_probe(schema: Schema, probe: Floats, name: str) -> None:
    """Refuse encoded vectors (n, n_features) with values that the schema does not give."""
    missing = np.isnan(probe)
    lacks = (missing & ~np.array(schema.missing)).any(axis=0)
    for k, feature in enumerate(schema.features):
        codes = probe[~missing[:, k], k]
        known = feature.kind != "categorical" or np.isin(codes, np.arange(len(feature.categories) + 1)).all()
        if lacks[k] or not known:
            raise InputError(
                f"{name} has a value of {feature.name!r} that is missing or no code of a category; restore the file"
            )


def base_functions(given: Any, items: Floats, schema: Schema | None = None) -> tuple[UserDistance, ...]:
    """Return the functions that are given as ``Tables(base_distances=)``, each tried on a few of the items."""
    if callable(given) or isinstance(given, str) or not isinstance(given, Sequence):
        name = repr(given) if isinstance(given, str) else getattr(given, "__name__", "function")
        raise InputError(f"base_distances={given!r} must be a sequence of callables and names; give a list, such as [{name}]")
    functions = []
    for k, function in enumerate(given):
        name = f"base_distances[{k}]"
        if not isinstance(function, str):
            functions.append(UserDistance.of_vectors(function, items, name=name, schema=schema))
            continue
        if function not in DIVERGENCES:
            known = ", ".join(map(repr, DIVERGENCES))
            raise InputError(
                f"{name}={function!r} is not known{did_you_mean(function, DIVERGENCES)}; give a callable, or {known}"
            )
        if schema is not None and not schema.plain:
            raise InputError(f"{name}={function!r} takes numbers alone, and the items have other columns; give a callable")
        DIVERGENCES[function](items, items)  # which refuses numbers < 0
        functions.append(UserDistance(DIVERGENCES[function], "batches", kinds=("item", "item"), name=name))
    return tuple(functions)
