"""A report as a widget of a notebook, by anywidget: the same page, and the row that is edited there as a table."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .._foundation.errors import InputError
from .._foundation.optional_imports import optional
from .._foundation.types import Floats
from .rows import PageRows

_SCRIPT = Path(__file__).parent / "page" / "widget.js"


def report_widget(html: str, title: str, height: int, columns: PageRows, first: Floats) -> Any:
    """Return a widget that shows a page, whose items are at first the encoded rows ``first`` (n_rows, n_features)."""
    return _widget_class()(html, title, height, columns, first)


@cache
def _widget_class() -> Any:
    """Return the class of widgets, whose base class is that of an optional package."""
    optional("anywidget")  # whose error names the extra
    import anywidget
    import traitlets

    class ReportWidget(anywidget.AnyWidget):
        """The page of a report in a notebook, as `Report.widget` makes it.

        Attributes
        ----------
        row : frame of pandas with one row, or ndarray of shape (1, n_features)
            The item that was edited last. What is assigned to it is shown as the first item.
        rows : frame of pandas, or ndarray of shape (n_rows, n_features)
            All items that the page lets edit: two of a distance, else one.
        ignored : str
            Why the last message of the page was ignored; "" if it was not.
        """

        _esm = _SCRIPT.read_text(encoding="utf-8")
        _html = traitlets.Unicode().tag(sync=True)
        _title = traitlets.Unicode().tag(sync=True)
        _height = traitlets.Int().tag(sync=True)
        _items = traitlets.Any().tag(sync=True)  # as JSON, which anything may have written
        row: Any = traitlets.TraitType()
        rows: Any = traitlets.TraitType()
        ignored = traitlets.Unicode()

        def __init__(self, html: str, title: str, height: int, columns: PageRows, first: Floats) -> None:
            self._columns = columns
            self._set_values(first, 0)
            super().__init__(_html=html, _title=title, _height=height, _items=columns.to_message(first), **self._tables)

        def __repr__(self) -> str:
            return f"Widget of the report {self._title!r}; .row and .rows are what its page shows"

        def _set_values(self, values: Floats, edited: int) -> None:
            self._tables = {"row": self._columns.to_table(values[[edited]]), "rows": self._columns.to_table(values)}
            self._values = values

        def _tell(self) -> None:
            """Give the values to the page, and to those who observe the tables."""
            with self.hold_trait_notifications():
                self._items = self._columns.to_message(self._values)
                for name, table in self._tables.items():
                    if getattr(self, name) is not table:
                        self.set_trait(name, table)

        @traitlets.validate("row", "rows")
        def _read(self, proposal: Any) -> Any:
            """Read a table that was assigned."""
            name, given = proposal["trait"].name, proposal["value"]
            if given is not self._tables[name]:
                n = 1 if name == "row" else len(self._values)
                values = self._columns.from_table(given, n, name)
                self._set_values(np.vstack([values, self._values[n:]]), 0)
            return self._tables[name]

        @traitlets.observe("row", "rows")
        def _show(self, change: Any) -> None:
            self._tell()

        @traitlets.observe("_items")
        def _hear(self, change: Any) -> None:
            """Read what the page has sent; anything but items is ignored, and the page gets the last items back."""
            if change["new"] == self._columns.to_message(self._values):
                return
            try:
                values = self._columns.from_message(change["new"], len(self._values))
            except InputError as error:
                self.ignored = f"{error}; it was ignored"
            else:
                self.ignored = ""
                differs = ~np.isclose(values, self._values, rtol=0.0, atol=0.0, equal_nan=True).all(axis=1)
                self._set_values(values, int(differs.argmax()))
            self._tell()

    return ReportWidget
