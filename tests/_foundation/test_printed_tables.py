from datetime import date, datetime

import numpy as np
import pytest

from semimetric._foundation.text import cell_text, html_table, text_table

ROWS = [["", "a"], ["long", "1"], ["x", "1000"]]


def test_columns_are_aligned():
    assert text_table(ROWS) == ["         a", "long     1", "   x  1000"]
    assert text_table(ROWS, left=1) == ["         a", "long     1", "x     1000"]


def test_the_first_row_is_the_header_and_text_is_escaped():
    html = html_table([["a & b"], ["<script>"]], title="5 > 4", notes=["n"])
    assert html == (
        "<div><table><caption>5 &gt; 4</caption><thead><tr><th>a &amp; b</th></tr></thead>"
        "<tbody><tr><td>&lt;script&gt;</td></tr></tbody></table><p>n</p></div>"
    )
    assert "caption" not in html_table([["a"]])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.23456, "1.235"),
        (np.float32(2), "2"),
        (7, "7"),
        ("red", "red"),
        (True, "yes"),
        (np.False_, "no"),
        (0.12346, "0.1235"),
        (2019.0, "2019"),
        (9999.4, "9999"),
        (9999.6, "10,000"),
        (-21560.4, "-21,560"),
        (1234567.0, "1,234,567"),
        (2e16, "2e+16"),
        (np.inf, "inf"),
        (date(2024, 5, 1), "2024-05-01"),
        (datetime(2024, 5, 1), "2024-05-01"),
        (datetime(2024, 5, 1, 12, 30, 7), "2024-05-01 12:30"),
        (np.nan, "(missing)"),
        (None, "(missing)"),
    ],
)
def test_cells_are_short(value, text):
    assert cell_text(value) == text
    assert len(cell_text("x" * 100)) == 24
