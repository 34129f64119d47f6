import numpy as np
import pytest

from semimetric import InputError
from semimetric.cli.where_conditions import Condition, read_conditions, rows_where

COLUMNS = {
    "price": np.array([1.0, 20.0, np.nan, 3e3]),
    "shoe size": np.array([40.0, 41.0, 42.0, 43.0]),
    "colour": np.array(["red", "dark red and blue", "", 'a "b"'], dtype=object),
}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("price == 1", [0]), ("price != 1", [1, 3]), ("price < 20", [0]), ("price<=20", [0, 1]), ("price > 20", [3]),
        ("price >= 2e1", [1, 3]), ("`shoe size` > 40 and `shoe size` < 43", [1, 2]), ("price >= -inf", [0, 1, 3]),
        ("colour == 'red'", [0]), ('colour != "red"', [1, 2, 3]), ('colour == "dark red and blue"', [1]),
        ("colour == 'a \"b\"'", [3]), ("colour == ''", [2]), ("colour >= 'b'", [0, 1]),
        ("  price > 0 and colour != 'red' and `price` < 100  ", [1]), ("price > 1e9", []),
    ],
)  # fmt: skip
def test_rows_on_which_a_condition_holds(text, rows):
    assert np.flatnonzero(rows_where(text, COLUMNS)).tolist() == rows


def test_conditions_are_values():
    assert read_conditions("a == 1 and `b c` != 'x and y'") == [Condition("a", "==", 1.0), Condition("b c", "!=", "x and y")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read from '' on"),
        ("price = 3", "cannot be read from 'price = 3' on"),
        ("price < 3 or price > 4", "cannot be read from 'or price > 4' on"),
        ("price < 3 and", "cannot be read from 'and' on"),
        ("price < 3 and and", "cannot be read from 'and' on"),
        ("price < 3and price > 1", "the value 3and, which is no number"),
        ("shoe size > 3", "cannot be read from 'shoe size > 3' on"),
        ("colour == red", 'quote text, as in colour == "red"'),
        ("tall == true", "write 1 and 0 for true and false"),
        ("price < nan", "the value nan, which is no number"),
        ("colour == 'red", "cannot be read from"),
        ("__import__('os').system('x') == 1", "cannot be read from"),
        ("weight < 3", "names 'weight', which is no column of the index; its columns are price, shoe size, colour"),
        ("price < 'cheap'", "compares price, a column of numbers, with text, 'cheap'; write it bare"),
        ("colour == 3", "compares colour, a column of text, with a number, 3.0; quote it"),
    ],
)
def test_what_cannot_be_read_is_named(text, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        rows_where(text, COLUMNS)
