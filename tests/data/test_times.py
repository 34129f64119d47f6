"""Times become numbers that clocks and calendars show, whatever holds them."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import Columns, LargeMarginLearner, NeighborIndex, Schema, Semimetric, load
from semimetric._foundation.stored import state_of, value_of
from semimetric.data.schema import Feature
from semimetric.data.times import PERIODS, holds_times, zone_of

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

MOMENTS = [dt.datetime(2024, 2, 29, 18, 30), dt.datetime(2023, 12, 31, 23, 59, 59, 999_999), dt.datetime(1969, 7, 20, 20, 17)]


def by_hand(moment, unit):
    """The number of a time, counted by the calendar of Python."""
    if unit == "scale":
        return (moment.replace(tzinfo=None) - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "day":
        return (moment - midnight) / dt.timedelta(hours=1)
    if unit == "week":
        return moment.weekday() + (moment - midnight) / dt.timedelta(days=1)
    first = midnight.replace(month=1, day=1)
    return (moment - first) / (first.replace(year=first.year + 1) - first) * 365.25


def frames(moments):
    """The same times in every kind of table that holds times."""
    return {
        "pandas": pd.DataFrame({"when": pd.Series(moments)}),
        "pandas in nanoseconds": pd.DataFrame({"when": pd.Series(moments).astype("datetime64[ns]")}),
        "polars": pl.DataFrame({"when": moments}),
        "objects": pd.DataFrame({"when": pd.Series(moments, dtype=object)}),
        "rows": [[moment] for moment in moments],
        "array": np.array(moments, dtype="M8[ns]")[:, None],
    }


def schema_of(X, unit, **options):
    # an array alone is read as one of numbers; a parameter says that its columns are to be looked at
    return Schema.fit(X, periodic=None if unit == "scale" else {0: unit}, **options)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["scale", *PERIODS])
@given(st.lists(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)), min_size=1, max_size=5))
def test_times_are_what_the_calendar_says(unit, moments):
    for X in frames([*moments, *MOMENTS]).values():
        schema = schema_of(X, unit)
        want = np.array([by_hand(m, unit) for m in [*moments, *MOMENTS]])
        want = want % PERIODS[unit] if unit != "scale" else want
        np.testing.assert_allclose(schema.encode(X)[:, 0], want, rtol=1e-12, atol=1e-9)
        assert not schema.plain


@pytest.mark.parametrize("unit", ["scale", *PERIODS])
def test_clocks_are_those_of_the_zone_of_the_fit(unit):
    zone = ZoneInfo("Europe/Berlin")
    here = [moment.replace(tzinfo=zone) for moment in MOMENTS[:2]]
    there = [moment.astimezone(dt.UTC) for moment in here]
    forms = [pd.DataFrame({"when": m}) for m in (here, there)] + [pl.DataFrame({"when": pl.Series(there)})]
    forms += [[[m] for m in here], pd.DataFrame({"when": pd.Series(there, dtype=object)})]
    schema = schema_of(pd.DataFrame({"when": here}), unit)
    want = [by_hand(m if unit == "scale" else m.replace(tzinfo=None), unit) for m in (there if unit == "scale" else here[:2])]
    for X in forms:
        np.testing.assert_allclose(schema.encode(X)[:, 0], want, rtol=1e-12)
    assert zone_of(forms[0]["when"]) == "Europe/Berlin"


@pytest.mark.parametrize("unit", ["scale", *PERIODS])
def test_a_zone_may_be_an_offset_from_utc(unit):
    zone = dt.timezone(-dt.timedelta(hours=3, minutes=30))
    here = [moment.replace(tzinfo=zone) for moment in MOMENTS]
    there = [moment.astimezone(dt.UTC) for moment in here]
    want = [by_hand((m if unit == "scale" else h).replace(tzinfo=None), unit) for m, h in zip(there, here, strict=True)]
    frame = pd.DataFrame({"when": here})
    rows = [[moment] for moment in here]
    for schema in (schema_of(frame, unit), schema_of(rows, unit)):
        for X in (frame, rows, pl.DataFrame({"when": pl.Series(there)}), pd.DataFrame({"when": there})):
            np.testing.assert_allclose(schema.encode(X)[:, 0], want, rtol=1e-12)
    assert zone_of(frame["when"]) == "UTC-03:30"


@pytest.mark.parametrize("zones", [(dt.UTC, None), (None, dt.UTC)])
def test_times_with_and_without_a_zone_are_not_mixed(zones):
    rows = [[moment.replace(tzinfo=zone)] for moment, zone in zip(MOMENTS, zones, strict=False)]
    assert_refused(lambda: schema_of(rows, "scale").encode(rows), "'x0'", "unlike the fit or its first time", "convert them")


def test_a_zone_that_is_not_known_is_refused():
    for zone in ("Nowhere/City", "UTC+99:00", "../etc", "Europe"):
        assert_refused(lambda zone=zone: Feature("when", time="scale", zone=zone), repr(zone), "not known", "tzdata")


def test_dates_are_times_at_midnight():
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 3)]
    for X in (pl.DataFrame({"day": days}), pd.DataFrame({"day": days}), [[day] for day in days]):
        assert schema_of(X, "week").encode(X)[:, 0].tolist() == [0.0, 2.0]
        assert np.diff(schema_of(X, "scale").encode(X)[:, 0]).tolist() == [2.0]


def test_missing_times_are_missing():
    for X in frames([MOMENTS[0], None, MOMENTS[1]]).values():
        assert np.isnan(schema_of(X, "day", missing="level").encode(X)[:, 0]).tolist() == [False, True, False]
        assert_refused(lambda X=X: schema_of(X, "day").encode(X), "row 1 of X", "missing")
    schema = schema_of(frames(MOMENTS)["rows"], "day", missing="level")
    assert np.isnan(schema.encode([[None]])).all()


def test_numbers_are_taken_as_counted_already():
    schema = schema_of(frames(MOMENTS)["pandas"], "day")
    counted = schema.encode(frames(MOMENTS)["pandas"])
    np.testing.assert_array_equal(schema.encode(schema.decode(counted)), counted)


def test_a_schema_of_times_is_saved():
    schema = Schema.fit(pd.DataFrame({"when": MOMENTS, "n": [1.0, 2, 3]}), periodic={"when": "year"})
    assert value_of(state_of(schema), Schema, ()) == schema
    assert schema.features[0] == Feature("when", "periodic", period=365.25, time="year")


@pytest.fixture(scope="module")
def visits():
    """Visits in the morning of one class, and in the evening of the other."""
    rng = np.random.default_rng(0)
    evening = rng.random(80) > 0.5
    hours = pd.to_timedelta(rng.uniform(22, 26, 80) + 11 * ~evening, unit="h")
    frame = pd.DataFrame({"when": pd.Timestamp("2024-05-01") + pd.to_timedelta(rng.integers(0, 90, 80), unit="D") + hours})
    return frame.assign(noise=rng.random(80)), evening


def test_learners_indexes_and_files_take_times(visits, tmp_path):
    frame, evening = visits
    learner = LargeMarginLearner(n_knots=4, alpha=1e-3, directions=None, columns=Columns(periodic={"when": "day"})).fit(
        frame, evening
    )
    d = learner.semimetric_
    d.save(tmp_path / "d.smm")
    np.testing.assert_array_equal(load(tmp_path / "d.smm").pairwise(frame), d.pairwise(frame))
    neighbors = NeighborIndex(d).fit(frame).kneighbors(n_neighbors=3, return_distance=False)
    assert (evening[neighbors] == evening[:, None]).mean() > 0.95


def test_gower_takes_times_as_scales_and_as_periods(visits):
    frame, evening = visits
    d = Semimetric.gower(frame, periodic={"when": "day"})
    assert d.axioms.name == "metric"
    midnight = frame[:2].assign(when=pd.to_datetime(["2024-01-01 23:30", "2024-06-01 00:30"]), noise=0.0)
    assert d.pairwise(midnight)[0, 1] == pytest.approx(0.5 / 12)
    days = Semimetric.gower(frame[["when"]], scale="range").pairwise(frame[["when"]])
    seconds = np.subtract.outer(*[frame["when"].astype("int64").to_numpy()] * 2)
    np.testing.assert_allclose(days, np.abs(seconds) / np.abs(seconds).max(), atol=1e-9)


TIMES = pd.DataFrame({"when": MOMENTS})
AWARE = pd.DataFrame({"when": pd.Series(MOMENTS).dt.tz_localize("UTC")})
BAD = {
    "a number for a period": (lambda: Schema.fit(TIMES, periodic={"when": 24}), "the period 24", "'day', 'week', 'year'"),
    "another word": (lambda: Schema.fit(TIMES, periodic={"when": "month"}), "'month'", "holds times"),
    "a word without times": (lambda: Schema.fit([[1.0]], periodic={0: "day"}), "'day'", "holds none"),
    "no zone": (lambda: Schema.fit(AWARE).encode(TIMES), "no zone", "tz_localize('UTC')"),
    "a zone": (lambda: Schema.fit(TIMES).encode(AWARE), "a zone", "tz_localize(None)"),
    "no times": (lambda: Schema.fit(TIMES).encode(pd.DataFrame({"when": ["noon"]})), "holds no times", "as in the fit"),
    "a word among texts": (
        lambda: Schema.fit(TIMES, missing="level").encode([["2024-05-01"], ["noon"], [None]]),
        "the text 'noon' among",
        "None",
    ),
    "a text without a zone": (lambda: Schema.fit(AWARE).encode([["2024-05-01"]]), "no zone", '"2024-05-01T12:30+00:00"'),
    "a text with a zone": (lambda: Schema.fit(TIMES).encode([["2024-05-01T12:30Z"]]), "a zone", "a text without one"),
    "times instead of numbers": (lambda: Schema.fit([[1.0]]).encode(TIMES), "column 'when' of X holds times", "numbers"),
    "another kind": (lambda: Feature("when", "numeric", time="day"), "counts the day of times", "period"),
    "an unknown count": (lambda: Feature("when", time="month"), "time='month'", "'scale'"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused(name):
    call, *words = BAD[name]
    assert_refused(call, *words)


@pytest.mark.parametrize("unit", ["scale", *PERIODS])
def test_texts_of_iso_8601_are_the_times_that_they_write(unit):
    schema = schema_of(TIMES, unit)
    texts = [moment.isoformat() for moment in MOMENTS]
    forms = [[{"when": text} for text in texts], [[text] for text in texts], np.array(texts)[:, None]]
    forms += [pd.DataFrame({"when": texts}), pl.DataFrame({"when": texts}), pa.table({"when": texts})]
    forms += [[[texts[0]], [MOMENTS[1]], [f" {texts[2]} "]]]
    want = schema.encode(TIMES)
    for X in forms:
        np.testing.assert_array_equal(schema.encode(X), want)
    day = schema.encode([{"when": "2024-02-29"}, {"when": dt.datetime(2024, 2, 29)}])
    assert day[0] == day[1]
    aware = schema_of(AWARE, unit)
    np.testing.assert_array_equal(aware.encode([[f"{text}Z"] for text in texts]), aware.encode(AWARE))
    level = schema_of(TIMES, unit, missing="level").encode([["2024-02-29"], [None], [np.nan]])
    assert np.isnan(level[1:]).all()


def test_what_holds_times():
    assert all(holds_times(X["when"]) for X in frames(MOMENTS).values() if hasattr(X, "columns"))
    assert not any(holds_times(column) for column in (pd.Series([1.0]), pd.Series(["2020-01-01"]), np.array([None, "a"])))


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "+02:00"])
def test_times_on_a_scale_are_told_as_times_and_read_again(zone):
    times = pd.to_datetime(["1969-12-31 23:59:59", "2024-02-29 10:30:15", None, "2199-01-01 00:00:00"]).tz_localize(zone)
    frame = pd.DataFrame({"when": times, "size": 1.0})
    schema = Schema.fit(frame, missing="level")
    encoded = schema.encode(frame)
    told = schema.display(encoded)
    assert told[2, 0] is None
    assert [pd.Timestamp(told[k, 0]) for k in (0, 1, 3)] == [times[k] for k in (0, 1, 3)]
    np.testing.assert_array_equal(schema.encode(told), encoded)
