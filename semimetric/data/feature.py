"""One column of a table: its name, its kind, and how its values become numbers and numbers values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._foundation.errors import InputError
from .._foundation.members import Members
from .._foundation.types import ArrayLike, Floats
from .._foundation.validation import check_choice
from .columns import Category, cells_of, check_categories, codes_of, numbers_of
from .feature_parameters import check_period
from .times import PERIODS, SCALE, clock_zone, days_or_hours

__all__ = ["KINDS", "Feature"]

KINDS = ("numeric", "periodic", "categorical")


@dataclass(frozen=True)
class Feature:
    """One column of a table.

    Parameters
    ----------
    name : str
    kind : {"numeric", "periodic", "categorical"}
    categories : tuple of str, bool, int or float
        The categories of a categorical feature, in the order of their codes.
    period : float
        The period of a periodic feature.
    missing : bool
        Whether a missing value is a level of its own; else it is an error.
    time : {"", "scale", "day", "week", "year"}
        What is counted of times, see `times`; "" for a column that holds none.
    zone : str
        The time zone of the clocks that are read, by name or offset from UTC; "" for times without a zone.
    """

    name: str
    kind: str = "numeric"
    categories: tuple[Category, ...] = ()
    period: float = 0.0
    missing: bool = False
    time: str = ""
    zone: str = ""

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_choice("time", self.time, ("", SCALE, *PERIODS))
        if self.time and (self.kind, self.period) != (
            ("numeric", 0.0) if self.time == SCALE else ("periodic", PERIODS[self.time])
        ):
            raise InputError(
                f"feature {self.name!r} is {self.kind} and counts the {self.time} of times; its kind and period are required"
            )
        if self.zone and clock_zone(self.zone) is None:
            raise InputError(
                f"feature {self.name!r} has the time zone {self.zone!r}, which is not known here; a name such as "
                "Europe/Berlin, or an offset such as +02:00, is required: correct it, or install the package tzdata"
            )
        if self.kind == "periodic":
            check_period(self.name, self.period)
        if self.kind == "categorical":
            check_categories(self.categories, f"{self.name!r}")

    def encode(self, column: Any, source: str) -> Floats:
        """The encoded column, float64 of shape (n_items,), NaN where a value is missing; ``source`` names the table."""
        if self.kind == "categorical":
            return codes_of(cells_of(column), self.categories, f"column {self.name!r} of {source}")
        if self.time:
            numbers = days_or_hours(column, self.time, self.zone, self.name, source)
        else:
            numbers = numbers_of(column, self.name, source)
        if self.kind == "periodic":
            finite = np.isfinite(numbers)
            numbers[finite] = np.mod(numbers[finite], self.period)  # infinity stays, and is refused later
            numbers[numbers == self.period] = 0.0  # np.mod rounds a tiny negative number up to the period
        return numbers

    def whole_knots(self, knots: ArrayLike) -> ArrayLike:
        """The knots of the feature, made of those that a user gives: its kind adds the codes of categories, or the seam."""
        if self.kind == "categorical":
            return np.arange(len(self.categories) + 1.0)
        if self.kind == "numeric":
            return knots
        turn = np.unique(np.mod(np.asarray(knots, dtype=np.float64), self.period))
        return np.append(turn, turn[0] + self.period)

    def decode(self, codes: Floats) -> NDArray[Any]:
        """The values that ``codes`` stand for, as objects; None for a category that is missing or was not in the fit.

        Of times they are the numbers that are counted.
        """
        if self.kind != "categorical":
            return codes.astype(object)
        values = np.array([*self.categories, None], dtype=object)
        return values[np.where(np.isnan(codes), len(self.categories), codes).astype(np.int64)]

    def labels(self, codes: Floats) -> list[Any]:
        """`decode` of one level each: "(other)" for a category that was not in the fit, "(missing)" for a missing value."""
        cells = zip(codes, self.decode(codes).tolist(), strict=True)
        return ["(missing)" if np.isnan(code) else "(other)" if cell is None else cell for code, cell in cells]

    def state(self) -> dict[str, Any]:
        """The feature as values that JSON can hold; of times only if it holds any, so that earlier versions read the others."""
        values = asdict(self) | {"categories": list(self.categories)}
        return values if self.time else {name: value for name, value in values.items() if name not in ("time", "zone")}

    @classmethod
    def read(cls, state: Members) -> Feature:
        """The feature whose `state` is given."""
        kinds = (str, bool, int, float)
        times = {name: state.text(name) for name in ("time", "zone") if name in state}
        return cls(
            state.text("name"),
            state.text("kind"),
            tuple(state.list_of("categories", kinds)),
            state.number("period"),
            state.flag("missing"),
            **times,
        )
