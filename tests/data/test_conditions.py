"""Conditions on columns: the grammar, what holds where, and what cannot be read."""

import operator
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import InputError
from semimetric.data.conditions import Compound, Predicate, TruthCells, read_condition
from semimetric.data.moments import TimeCells
from semimetric.data.payload import Payload, PayloadColumn
from semimetric.data.texts import TextCells
from semimetric.data.times import SCALE, days_or_hours

COLUMNS = {
    "price": np.array([1.0, 20.0, np.nan, 3e3]),
    "shoe size": np.array([40.0, 41.0, 42.0, 43.0], np.float32),
    "colour": TextCells.of(["red", "dark red and blue", "", 'a "b"']),
    "vip": TruthCells(np.array([1.0, np.nan, 0.0, 1.0])),
}


def rows_where(text):
    return np.flatnonzero(read_condition(text).holds(COLUMNS)).tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("price == 1", [0]), ("price != 1", [1, 3]), ("price < 20", [0]), ("price<=20", [0, 1]), ("price > 20", [3]),
        ("price >= 2e1", [1, 3]), ("`shoe size` > 40 and `shoe size` < 43", [1, 2]), ("price >= -inf", [0, 1, 3]),
        ("colour == 'red'", [0]), ('colour != "red"', [1, 2, 3]), ('colour == "dark red and blue"', [1]),
        ("colour == 'a \"b\"'", [3]), ("colour == ''", [2]), ("colour >= 'b'", [0, 1]),
        ("  price > 0 and colour != 'red' and `price` < 100  ", [1]), ("price > 1e9", []),
        ("price == 1 or price == 20", [0, 1]), ("price in (1, 20)", [0, 1]), ("price in(3e3)", [3]),
        ("colour in ('red', '')", [0, 2]), ("colour not in ('red', '')", [1, 3]), ("price not in (1, 5)", [1, 3]),
        ("not price == 1", [1, 3]), ("not not price == 1", [0]), ("not (price == 1 or colour == '')", [1, 3]),
        ("price == 1 or price == 20 and colour == 'red'", [0]), ("(price == 1 or price == 20) and colour == 'red'", [0]),
        ("price > 1 and (colour == '' or `shoe size` > 41)", [3]), ("((price<2))or(`shoe size`>=43)", [0, 3]),
        ("not price > 5 or colour == ''", [0, 2]), ("not colour in ('red', '')", [1, 3]),
        ("price > 1 & colour == 'a \"b\"' | colour == 'red'", [0, 3]), ("colour in ['red', '']", [0, 2]), ("vip", [0, 3]),
        ("~vip", [2]), ("not vip", [2]), ("vip & price > 20", [3]), ("~vip | price == 1", [0, 2]), ("vip == True", [0, 3]),
        ("vip != True", [2]), ("~(vip | price > 2)", []), ("~(price > 5)", [0]), ("not ~vip", [0, 3]), ("~~vip", [0, 3]),
        ("price.isna()", [2]), ("~price.isnull()", [0, 1, 3]), ("price.notna()", [0, 1, 3]), ("colour.isna()", []),
        ("`shoe size`.notnull() & vip.isna()", [1]), ("1 < price <= 3e3", [1, 3]), ("42 > `shoe size`", [0, 1]),
        ("'b' > colour >= 'a'", [3]), ("1 < price < 3e3 and vip", []), ("True == vip", [0, 3]),
    ],
)  # fmt: skip
def test_rows_on_which_a_condition_holds(text, rows):
    assert rows_where(text) == rows


TIMES = {
    "when": TimeCells(np.array([0.0, 19753.0, 19753 + 8.5 / 24, np.nan]), ""),
    "sent": TimeCells(np.array([0.0, 19753.0, 19753 + 8.5 / 24, np.nan]), "UTC"),
    "born": TextCells.of(["2024-01-31", "2024-01-31T08:30", "", "1999-12-31"]),
    "seen": TextCells.of(["2024-01-31T01:00+01:00", "2024-01-31T00:30Z", "", "2024-01-31 08:30:00+00:00"]),
    "city": TextCells.of(["Rome", "Rome", "Oslo", "2024-01-31"]),
}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("when >= 2024-01-31", [1, 2]), ("when == '2024-01-31'", [1]), ("when > 2024-01-31 and city == 'Oslo'", [2]),
        ("when >= '2024-01-31 08:30'", [2]), ("when == 2024-01-31T08:30:00", [2]), ("not when < 2024-01-31", [1, 2]),
        ("when in (1970-01-01, '2024-01-31T08:30:00.000')", [0, 2]), ("when not in (1970-01-01)", [1, 2]),
        ("sent == 2024-01-31T01:00+01:00", [1]), ("sent == 2024-01-31", [1]), ("sent <= 2024-01-31T09:30+01:00", [0, 1, 2]),
        ("sent >= 2024-01-31T08:30:00Z", [2]), ("born >= 2024-01-31", [0, 1]), ("born == '2024-01-31'", [0]),
        ("born != 2024-01-31", [1, 3]), ("seen == 2024-01-31", [0]), ("seen > 2024-01-31T00:30Z", [3]),
        ("city == '2024-01-31'", [3]),
    ],
)  # fmt: skip
def test_rows_on_which_a_condition_on_times_holds(text, rows):
    assert np.flatnonzero(read_condition(text).holds(TIMES)).tolist() == rows


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("when > 2024-13-01", ("'2024-13-01'", "month must be", "2024-01-31T08:30")),
        ("when > 2024-02-30", ("'2024-02-30'", "no date or time (day ")),
        ("when > 2024-1-31", ("'2024-1-31'", "two digits")),
        ("when > 31.01.2024", ("'31.01.2024'", "not written as year-month-day")),
        ("when > 2024/01/31", ("'2024/01/31'", "not written as year-month-day")),
        ("when > 2024-01", ("'2024-01'", "no date or time")),
        ("when > 2024-01-31T25:00", ("no date or time", "hour must be")),
        ("when > 'noon'", ("'noon'", "no date or time")),
        ("when > ''", ("''", "no date or time")),
        ("when > 2024", ("when, a column of times", "with a number, 2024.0", "a date such as 2024-01-31")),
        ("when > 2024-01-31T08:30+01:00", ("no time zone", "offset", "leave the offset out")),
        ("sent > 0001-01-01T00:00+14:00", ("UTC has not", "correct it")),
        ("city > 2024-01-31", ("item 0 has 'Rome'", "no time", "put 2024-01-31 in quotes")),
    ],
)  # fmt: skip
def test_malformed_times_are_refused_in_words(text, parts):
    assert_refused(lambda: read_condition(text).holds(TIMES), *parts)


def test_a_number_is_not_compared_with_a_time():
    assert_refused(lambda: rows_where("price > 2024-01-31"), "a column of numbers", "a time, 2024-01-31", "the number bare")
    mixed = {"when": TextCells.of(["2024-01-31", "2024-01-31T00:00Z"])}
    assert_refused(lambda: read_condition("when > 2024-01-01").holds(mixed), "some times have an offset", "give all one")


@given(st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)), st.integers(-12, 14))
def test_a_time_equals_itself_in_every_column_and_zone(time, hours):
    days = days_or_hours(np.array([np.datetime64(time, "us")]), SCALE, "", "when", "X")
    assert read_condition(f"when == {time.isoformat()}").holds({"when": TimeCells(days, "")}).all()
    there = time.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=hours))).isoformat()
    assert read_condition(f"when == {there} and when == '{there}'").holds({"when": TimeCells(days, "UTC")}).all()


def test_conditions_are_values():
    a, b = Predicate("a", "==", (1.0,)), Predicate("b c", "!=", ("x and y",))
    assert read_condition("a == 1 and `b c` != 'x and y'") == Compound("and", (a, b))
    assert read_condition("not (a == 1 and `b c` != 'x and y')") == Compound("or", (a.negated(), b.negated()))
    assert read_condition("a in (1, -2)") == Predicate("a", "in", (1.0, -2.0))


SIGNS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
ROW = st.fixed_dictionaries({"size": st.none() | st.integers(0, 3), "my kind": st.sampled_from(["", "a", "b c"])})
VALUES = {"size": st.integers(-1, 4), "my kind": st.sampled_from(["", "a", "b c", "(or)"])}


@st.composite
def stated(draw, depth=3):
    """A condition as text, and the function that says of a row whether it is true, false, or None: unknown."""
    kind = draw(st.sampled_from(["compare", "in", "not", "and", "or"] if depth else ["compare", "in"]))
    if kind == "not":
        text, says = draw(stated(depth=depth - 1))
        return f"not ({text})", lambda row: None if says(row) is None else not says(row)
    if kind in ("and", "or"):
        parts = [draw(stated(depth=depth - 1)) for _ in range(draw(st.integers(2, 3)))]
        text = f" {kind} ".join(f"({text})" for text, _ in parts)
        return text, lambda row: three_valued(kind, [says(row) for _, says in parts])
    column = draw(st.sampled_from(sorted(VALUES)))
    if kind == "in":
        values = draw(st.lists(VALUES[column], min_size=1, max_size=3))
        among = draw(st.booleans())
        text = f"`{column}` {'in' if among else 'not in'} ({', '.join(map(written, [*values, values[0]]))})"
        return text, lambda row: None if row[column] is None else (row[column] in values) == among
    sign, value = draw(st.sampled_from(sorted(SIGNS))), draw(VALUES[column])
    return (
        f"`{column}` {sign} {written(value)}",
        lambda row: None if row[column] is None else SIGNS[sign](row[column], value),
    )


def written(value):
    return f'"{value}"' if isinstance(value, str) else str(value)


def three_valued(word, answers):
    """The logic of SQL: "or" is true if one answer is, "and" false if one is, and else one that is unknown decides."""
    decisive = word == "or"
    if decisive in answers:
        return decisive
    return None if None in answers else not decisive


@given(stated(), st.lists(ROW, min_size=1, max_size=8))
def test_what_holds_is_what_the_logic_of_three_values_says(condition, rows):
    text, says = condition
    columns = {
        "size": np.array([np.nan if row["size"] is None else row["size"] for row in rows], dtype=np.float64),
        "my kind": TextCells.of([row["my kind"] for row in rows]),
    }
    assert read_condition(text).holds(columns).tolist() == [says(row) is True for row in rows]


@given(stated(), st.lists(ROW, min_size=1, max_size=8))
def test_where_nothing_is_missing_it_is_what_pandas_answers(condition, rows):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([row | {"size": row["size"] or 0} for row in rows])
    columns = {"size": frame["size"].to_numpy(np.float64), "my kind": TextCells.of(frame["my kind"])}
    assert read_condition(condition[0]).holds(columns).tolist() == frame.eval(condition[0], engine="python").tolist()


NULLABLE = st.fixed_dictionaries(
    {
        "size": st.none() | st.integers(0, 3),
        "vip": st.none() | st.booleans(),
        "my kind": st.sampled_from(["a", "b c"]),
        "rank": st.integers(0, 3),
        "when": st.sampled_from(["2024-01-01", "2024-02-03"]),
    }
)
SHARED = [
    "vip", "~vip", "not vip", "vip == True", "vip != False", "size > 1", "2 > size", "0 < size <= 2", "size != 2",
    "rank in [1, 3]", "rank not in (0, 2)", "`my kind` == 'a'", "`my kind` in ['b c', 'x']", "'a' < `my kind`",
    "when >= '2024-01-15'", "'2024-01-02' > when", "size.isna()", "~size.notnull()", "vip.notna()", "when.isnull()",
]  # fmt: skip


@st.composite
def joined(draw, depth=3):
    """A condition in what both grammars share."""
    kind = draw(st.sampled_from(["one", "and", "or", "&", "|", "not", "~"] if depth else ["one"]))
    if kind == "one":
        return draw(st.sampled_from(SHARED))
    if kind in ("not", "~"):
        return f"{kind} ({draw(joined(depth=depth - 1))})"
    left, right = draw(joined(depth=depth - 1)), draw(joined(depth=depth - 1))
    return f"{left} {kind} {right}" if draw(st.booleans()) else f"({left}) {kind} {right}"


@given(joined(), st.lists(NULLABLE, min_size=1, max_size=8))
def test_rows_are_those_of_a_query_of_pandas(condition, rows):
    """Numbers and truth values of nullable dtypes may be missing. NaN, NaT, and ``in`` know no third value in pandas."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows).astype({"size": "Float64", "vip": "boolean", "when": "datetime64[us]"})
    payload = Payload.read(frame, len(frame), ())
    columns = {name: PayloadColumn.compared([payload[name]]) for name in payload.names}
    found = np.flatnonzero(read_condition(condition).holds(columns))
    assert found.tolist() == frame.query(condition, engine="python").index.tolist()


@given(st.text(st.sampled_from("ab `'\"()[]<>=!,.1-notindra&|~@"), max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        read = read_condition(text)
    except InputError:
        return
    assert read.negated().negated() == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the condition '' is not complete; comparisons such as price < 20"),
        ("wine5", "names 'wine5', which is no column of the items"),
        ("price", "names price alone, and it is no column of truth values; compare it, as in price == 1"),
        ("not colour", 'as in colour == "text"'),
        ("price and colour == 'red'", "names price alone"),
        ("~price > 3", "~ before a comparison of 'price', and ~ binds more tightly; write ~(price < 20), or not price < 20"),
        ("price > @limit", "no variables of Python"),
        ("@vip", "no variables of Python"),
        ("@limit < price", "no variables of Python"),
        ("colour.str.contains('red')", "give a mask of the items"),
        ("price.between(3, 5)", "write 3 <= price <= 5"),
        ("price between 3 and 5", "cannot be read from 'between 3 and 5' on"),
        ("colour.isin(['red'])", "write colour in"),
        ("price.abs() > 3", "calls abs of price, which is not known here; use .isna()"),
        ("3 < 5", "compares two values; name a column, with backticks"),
        ("3 < price < shoe", "the value shoe"),
        ("price in [3)", "cannot be read from ')' on"),
        ("colour == ['red']", "cannot be read from \"['red']\" on"),
        ("price > 3 && price < 5", "cannot be read from '& price < 5' on"),
        ("3", "is not complete"),
        ("price is null", "cannot be read from 'is null' on"),
        ("price + 1 > 3", "cannot be read from '+ 1 > 3' on"),
        ("price = 3", "cannot be read from '= 3' on"),
        ("price < 3 and", "the condition 'price < 3 and' is not complete"),
        ("price < 3 and and", "cannot be read from 'and' on"),
        ("price < 3and price > 1", "the value 3and, which is no number"),
        ("price < 3 price > 1", "cannot be read from 'price > 1' on"),
        ("shoe size > 3", "cannot be read from 'size > 3' on"),
        ("(price < 3", "is not complete"),
        ("price < 3)", "cannot be read from ')' on"),
        ("price in 3", "cannot be read from '3' on"),
        ("price in ()", "cannot be read from ')' on"),
        ("price in (3", "is not complete"),
        ("price not 3", "cannot be read from '3' on"),
        ("colour == red", 'quote text, as in colour == "red"'),
        ("colour in (red, 'blue')", 'quote text, as in colour in ("red")'),
        ("tall == true", "write True and False for truth values"),
        ("price < nan", "the value nan, which is no number"),
        ("colour == 'red", 'cannot be read from "\'red" on'),
        ("__import__('os').system('x') == 1", "cannot be read from"),
        ("weight < 3", "names 'weight', which is no column of the items; their columns are price, shoe size, colour"),
        ("price == 1 or weight < 3", "names 'weight'"),
        ("price < 'cheap'", "compares price, a column of numbers, with text, 'cheap'; write the number bare"),
        ("vip == 'yes'", "compares vip, a column of truth values, with text, 'yes'; write True or False"),
        ("colour in ('red', 3)", "compares colour, a column of text, with a number, 3.0; quote it"),
        ("(" * 51 + "price < 3" + ")" * 51, "more than 50 parentheses inside one another"),
        ("(" * 99999, "more than 50 parentheses"),
    ],
)
def test_what_cannot_be_read_is_named(text, message):
    assert_refused(lambda: rows_where(text), "the condition ", message)


def test_many_nots_and_parts_are_no_trouble():
    assert rows_where("not " * 20_000 + "price == 1") == [0]
    assert rows_where(" or ".join(["price == 1"] * 5000)) == [0]
