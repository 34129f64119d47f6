"""Tables as files have them: every estimator reads a frame by one reader, without a parameter about its columns."""

import io
import re
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score

import semimetric as sm
from semimetric import Columns, InputError, SemimetricWarning
from semimetric.data.schema import Schema
from semimetric.data.stored_frames import StoredColumn, StoredFrame

pd = pytest.importorskip("pandas")

LEFT_OUT = ("customer_id", "name", "country")
USED = ("plan", "age", "income", "signup", "newsletter", "charges")
LINE = (
    "6 columns: categories plan; numbers age, income, charges; times signup; yes or no newsletter; "
    "gaps in plan, income, charges; left out customer_id, name, country"
)


def customers(n=300, seed=0):
    """Return a table as `read_csv` gives it, whether each customer leaves, and what he spends."""
    rng = np.random.default_rng(seed)
    age, plan = rng.integers(18, 80, n), rng.choice(["basic", "plus", "pro"], n)
    frame = pd.DataFrame(
        {
            "customer_id": 10_000 + rng.permutation(n),
            "name": [f"Person {k}" for k in range(n)],
            "plan": plan,
            "age": age,
            "income": np.round(rng.lognormal(10, 0.5, n)),
            "signup": (pd.Timestamp("2018-01-01") + pd.to_timedelta(rng.integers(0, 2_000, n), "D")).strftime("%Y-%m-%d"),
            "newsletter": rng.random(n) < 0.5,
            "country": "DE",
            "charges": np.where(rng.random(n) < 0.05, " ", np.round(100 * rng.random(n), 2).astype(str)),
        }
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame.loc[rng.random(n) < 0.1, "plan"] = None
    leaves = np.where((age > 45) ^ (plan == "pro"), "leaves", "stays")
    return pd.read_csv(io.StringIO(frame.to_csv(index=False))), leaves, 2.0 * age + 30 * (plan == "pro")


FRAME, LEAVES, SPENDS = customers()
LEARN, NEW = FRAME[:200], FRAME[200:]
PAIRS = np.random.default_rng(1).integers(0, 200, (600, 2))
PAIRS = PAIRS[np.abs(SPENDS[PAIRS[:, 0]] - SPENDS[PAIRS[:, 1]]) > 0]
GAPS = np.abs(SPENDS[PAIRS[:, 0]] - SPENDS[PAIRS[:, 1]])
FAST = {"n_knots": 4, "alpha": 1e-3}


def years(x, y):
    """A distance of two rows, whose columns are those that are used."""
    return abs(x[USED.index("age")] - y[USED.index("age")]) + (x[0] != y[0])


def tuples_of(size):
    rows = np.random.default_rng(2).integers(0, 200, (400, size))
    return rows[(rows[:, 0] != rows[:, 1]) & (rows[:, -2] != rows[:, -1])]


FITTED = {
    "classifier": lambda X: sm.SemimetricClassifier(predictor="kernel_ridge").fit(X, LEAVES[:200]),
    "votes": lambda X: sm.SemimetricClassifier(sm.LargeMarginLearner(tables="full", **FAST)).fit(X, LEAVES[:200]),
    "regressor": lambda X: sm.SemimetricRegressor().fit(X, SPENDS[:200]),
    "regressor by pairs": lambda X: sm.SemimetricRegressor(sm.DistanceRegressor(**FAST), n_pairs=300).fit(X, SPENDS[:200]),
    "large margin": lambda X: sm.LargeMarginLearner(tables="full", directions=None, **FAST).fit(X, LEAVES[:200]),
    "kernel ridge": lambda X: sm.KernelRidgeLearner().fit(X, SPENDS[:200]),
    "distances": lambda X: sm.DistanceRegressor(preprocessor=X, **FAST).fit(PAIRS, GAPS),
    "pairs": lambda X: sm.PairLearner(preprocessor=X, **FAST).fit(PAIRS, np.where(GAPS < 20, 1, -1)),
    "triplets": lambda X: sm.TripletLearner(preprocessor=X, **FAST).fit(tuples_of(3)),
    "quadruplets": lambda X: sm.QuadrupletLearner(preprocessor=X, **FAST).fit(tuples_of(4)),
    "approximator": lambda X: sm.DistanceApproximator(years, sm.DistanceRegressor(**FAST), n_pairs=300).fit(X),
    "clusterer": lambda X: sm.SemimetricClusterer(n_clusters=3).fit(X),
    "outliers": lambda X: sm.SemimetricOutlierDetector().fit(X),
    "imputer": lambda X: sm.SemimetricImputer().fit(X),
    "index": lambda X: sm.NeighborIndex("gower").fit(X),
}


def quick(names):
    """Votes choose by fits on folds, in seconds."""
    return pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "votes")) for name in names])


def fitted(name, X):
    with pytest.warns(SemimetricWarning) as caught:
        model = FITTED[name](X)
    told = [str(w.message) for w in caught if "are left out" in str(w.message)]
    assert len(told) == 1, told  # one warning, which lists all
    return model, told[0]


@cache
def learned(name):
    """Fitted once for all tests, which change nothing of it."""
    return fitted(name, LEARN)


@quick(FITTED)
def test_a_table_is_read_as_it_is(name):
    model, told = learned(name)
    schema = model.semimetric_.schema
    assert (schema.names, schema.dropped) == (USED, LEFT_OUT)
    for part in ("'customer_id' (an id", "'name' (200 different texts in 200 rows)", "'country' (the same on every row)"):
        assert part in told
    features = dict(zip(schema.names, schema.features, strict=True))
    assert (features["plan"].kind, features["plan"].categories) == ("categorical", ("basic", "plus", "pro"))
    assert features["signup"].time == "scale"
    assert features["income"].missing
    assert features["charges"].missing
    assert features["age"].kind == features["newsletter"].kind == "numeric"
    d = model.semimetric_
    # what comes later is read by what was learned: with the columns that were left out, or without, and by name
    distances = d.pairwise(NEW, LEARN[:5])
    assert np.isfinite(distances).all()
    assert_array_equal(distances, d.pairwise(NEW[list(USED)], LEARN[:5]))
    row = NEW.iloc[3]
    assert d(row, LEARN.iloc[0]) == d(row.to_dict(), LEARN.iloc[0]) == pytest.approx(distances[3, 0], rel=1e-12)
    assert_refused(lambda: d.pairwise(NEW.drop(columns="age")), "5 features", "6 features are required")
    assert_refused(lambda: d.pairwise(NEW.rename(columns={"age": "years"})), "'years' is not among them", "required")


@pytest.mark.slow
@pytest.mark.parametrize("name", FITTED)
def test_polars_gives_the_same(name):
    polars = pytest.importorskip("polars")
    one, two = learned(name)[0], fitted(name, polars.from_pandas(LEARN))[0]
    assert one.semimetric_.schema == two.semimetric_.schema
    new = polars.from_pandas(NEW)
    assert_allclose(two.semimetric_.pairwise(new), one.semimetric_.pairwise(NEW), rtol=1e-9, atol=1e-12)


@quick(["classifier", "votes", "regressor", "large margin", "kernel ridge", "distances", "pairs"])
def test_a_line_says_what_was_understood(name):
    assert str(learned(name)[0].columns_) == LINE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classifier", "votes", "regressor", "regressor by pairs", "clusterer", "outliers", "imputer"])
def test_a_file_keeps_what_was_understood(name, tmp_path):
    model = learned(name)[0]
    model.save(tmp_path / "model.smm")
    again = sm.load(tmp_path / "model.smm")
    assert again.semimetric_.schema == model.semimetric_.schema
    answer = "transform" if name == "imputer" else "predict"
    got, want = getattr(again, answer)(NEW), getattr(model, answer)(NEW)
    assert got.equals(want) if name == "imputer" else (got == want).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classifier", "votes"])
def test_classes_are_learned(name):
    model = learned(name)[0]
    assert model.score(NEW, LEAVES[200:]) > 0.85
    assert list(model.feature_names_in_) == list(USED)
    assert model.n_features_in_ == len(USED) == len(model.feature_importances_)
    assert "age" in str(model.explain_neighbors(NEW.iloc[0]))
    assert "customer_id" not in str(model.explain_neighbors(NEW[:1]))


def test_values_are_learned():
    assert learned("regressor")[0].score(NEW, SPENDS[200:]) > 0.8


def test_what_was_not_in_the_fit():
    model = learned("classifier")[0]
    new = NEW.assign(plan="gold", country="FR", name=None)
    with pytest.warns(SemimetricWarning, match="no row has a category of 'plan' that was in the fit, such as 'basic'"):
        shares = model.predict_proba(new)
    assert_allclose(shares.sum(axis=1), 1.0)  # an unknown category is as far from all that are known
    gap = NEW.assign(age=NEW["age"].where(NEW["age"] > 30))
    assert_refused(lambda: model.predict(gap), "a missing value (NaN", 'Columns(missing="level")', "that has gaps")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)
        anywhere = sm.SemimetricClassifier(columns=Columns(missing="level")).fit(LEARN, LEAVES[:200])
        assert np.isfinite(anywhere.predict_proba(gap)).all()
        assert np.isfinite(cross_val_score(sm.SemimetricClassifier(predictor="kernel_ridge"), FRAME, LEAVES, cv=3)).all()


def test_columns_say_otherwise():
    columns = Columns(["age", "country"], periodic={"signup": "year"}, drop=["customer_id", "name"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = sm.SemimetricClassifier(columns=columns, predictor="kernel_ridge").fit(LEARN, LEAVES[:200])
    assert model.columns_.dropped == ("customer_id", "name")
    kinds = dict(zip(model.columns_.names, model.columns_.kinds, strict=True))
    assert [name for name, kind in kinds.items() if kind == "categorical"] == ["plan", "age", "country"]
    assert kinds["signup"] == "periodic"
    nothing = sm.SemimetricClassifier(columns=Columns(drop=None))
    assert_refused(lambda: nothing.fit(LEARN, LEAVES[:200]), "column 'name' of X is not of numbers", "drop it")
    both = Columns(["plan"], drop=["plan"])
    assert_refused(lambda: sm.KernelRidgeLearner(columns=both).fit(LEARN, SPENDS[:200]), "'plan' is in drop=", "leave it out")
    assert_refused(
        lambda: sm.SemimetricClassifier(Forgetful(), columns=columns).fit(LEARN, LEAVES[:200]),
        "columns= is for the learner",
        "Forgetful has none",
        "leave it out",
    )


class Forgetful(sm.LargeMarginLearner):
    """A learner without columns."""

    def get_params(self, deep=True):
        return {name: value for name, value in super().get_params(deep).items() if not name.startswith("columns")}


NUMBERED = {
    "groups": {"tables": sm.Tables(groups=[(0, 1), (2,)])},
    "constraints": {"program": sm.Program(constraints=[sm.Monotone([0])])},
    "knots of each": {"n_knots": [4] * len(FRAME.columns)},
    "directions": {"directions": np.ones((1, len(FRAME.columns)))},
}


@pytest.mark.filterwarnings("ignore:columns of")
@pytest.mark.parametrize("name", NUMBERED)
def test_numbers_of_features_never_shift(name):
    model = sm.DistanceRegressor(**{**FAST, **NUMBERED[name]}, preprocessor=LEARN)
    assert_refused(lambda: model.fit(PAIRS, GAPS), "names features by number", "customer_id, name, country", "drop")


def test_names_of_features_need_no_numbers():
    program = sm.Program(constraints=[sm.Monotone(["age"])])
    model = sm.DistanceRegressor(**FAST, program=program, preprocessor=LEARN)
    with pytest.warns(SemimetricWarning, match="are left out"):
        assert model.fit(PAIRS, GAPS).columns_.dropped == LEFT_OUT


@pytest.mark.filterwarnings("ignore:columns of")
def test_what_is_left_out_is_not_filled_in():
    filled = sm.SemimetricImputer().fit_transform(LEARN)
    assert list(filled) == list(FRAME)
    assert not filled.isna().any(axis=None)
    assert filled["name"].equals(LEARN["name"])
    assert filled["charges"].dtype == np.float64
    gaps = LEARN.assign(name=LEARN["name"].where(LEARN["age"] > 30))
    assert_refused(lambda: sm.SemimetricImputer().fit(gaps), "the columns name of X are left out", "missing", "drop them")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:columns of X are left out", "ignore:features .* are constant")
@pytest.mark.parametrize(
    ("target", "model", "least"), [("leaves", sm.SemimetricClassifier, 0.92), ("spends", sm.SemimetricRegressor, 0.95)]
)
def test_five_lines_from_a_file_to_a_report(target, model, least, tmp_path):
    frame, leaves, spends = customers(5_000)
    path = tmp_path / "customers.csv"
    frame.assign(**{target: leaves if target == "leaves" else spends}).to_csv(path, index=False)

    table = pd.read_csv(path)
    X, y = table.drop(columns=target), table[target]
    fitted = model().fit(X[:4000], y[:4000])
    report = sm.report(fitted, X[4000:], y[4000:])
    report.write_html(tmp_path / "report.html")

    assert str(fitted.columns_) == LINE
    assert fitted.score(X[4000:], y[4000:]) > least
    page = (tmp_path / "report.html").read_text()
    assert all(name in page for name in USED)
    assert "customer_id" not in page


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(20, 60))
def test_numbers_in_frames_are_read_as_arrays(seed, n):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    frame = pd.DataFrame(X, columns=list("abc"))
    schema = Columns().read(frame)
    assert schema == Schema.numeric("abc")
    assert_array_equal(schema.encode(frame), X)
    assert str(schema) == "3 columns: numbers a, b, c"


@settings(max_examples=30)
@given(st.data())
def test_another_order_of_the_rows_reads_the_same(data):
    order = data.draw(st.permutations(range(60)))
    table = FRAME[:60]
    assert Schema.fit(table.iloc[order], missing="auto", drop=list(LEFT_OUT)) == Schema.fit(
        table, missing="auto", drop=list(LEFT_OUT)
    )


READ = {
    "few rows are no proof": (pd.DataFrame({"id": [1, 2, 3], "same": 1.0}), ("id", "same")),
    "an id by its name": (pd.DataFrame({"RowNumber": np.arange(30), "x": np.arange(30) % 7}), ("x",)),
    "a number of its own": (pd.DataFrame({"week": np.arange(30), "width": np.arange(30) % 7}), ("week", "width")),
    "an id that repeats": (pd.DataFrame({"shop_id": np.arange(30) % 9, "x": np.arange(30) % 7}), ("shop_id", "x")),
    "empty": (pd.DataFrame({"none": [None] * 30, "x": np.arange(30) % 7}), ("x",)),
    "a dtype says so": (pd.DataFrame({"c": pd.Categorical(["a"] * 30), "x": np.arange(30) % 7}), ("c", "x")),
}


@pytest.mark.parametrize("name", READ)
@pytest.mark.filterwarnings("ignore:columns of X are left out")
def test_which_columns_are_features(name):
    frame, used = READ[name]
    assert Schema.fit(frame, missing="auto", drop="auto").names == used


TYPED = {
    "numbers": (
        [*np.arange(39) / 4, "free"],
        "'(cost|x1)' of X is not of numbers: row 39 has 'free'; all others are numbers: correct it",
    ),
    "whole numbers that repeat": (
        [*np.arange(600) % 30, "nan"],
        "'(cost|x1)' of X is not of numbers: row 600 has 'nan'; all others are",
    ),
    "truth": ([*np.arange(39) / 4, True, "a"], "'(cost|x1)' of X is not of numbers: row 40 has 'a'; all others are"),
}


@pytest.mark.parametrize("name", TYPED)
def test_a_text_among_typed_numbers_is_refused(name):
    cells, message = TYPED[name]
    frame = pd.DataFrame({"x": np.arange(len(cells)) % 7, "cost": pd.Series(cells, dtype=object)})
    for table, options in ((frame, {"drop": "auto"}), (frame, {}), (frame.to_numpy(), {})):
        with pytest.raises(InputError, match=message):
            Schema.fit(table, **options)
    assert Schema.fit(frame, drop=["cost"]).names == ("x",)


@pytest.mark.parametrize("pattern", ["${:,}.00", "{} %", "{},5", "-{} €", "{:,}"])
def test_a_warning_says_that_text_is_numbers_as_people_write_them(pattern):
    texts = [pattern.format(1_000 + k) for k in range(60)]
    frame = pd.DataFrame({"x": np.arange(60) % 7, "cost": texts})
    with pytest.warns(SemimetricWarning, match=f"60 of them numbers as people write them, such as '{re.escape(texts[0])}'"):
        assert Schema.fit(frame, drop="auto").names == ("x",)


@pytest.mark.parametrize("pattern", ["192.168.0.{}", "1.2.{}", "+49 30 {}", "{} kg", "A-{}"])
def test_other_texts_with_digits_are_no_numbers_as_people_write_them(pattern):
    frame = pd.DataFrame({"x": np.arange(60) % 7, "cost": [pattern.format(1_000 + k) for k in range(60)]})
    with pytest.warns(SemimetricWarning) as caught:
        Schema.fit(frame, drop="auto")
    assert not any("as people write them" in str(warning.message) for warning in caught)


def test_a_warning_says_what_spoils_a_column_of_text():
    n = 60
    frame = pd.DataFrame({"x": np.arange(n) % 7, "cost": [f"{k}.5" for k in range(n - 1)] + ["free"]})
    frame["when"] = [f"2024-01-{k % 28 + 1:02d}T{k % 24:02d}:00" for k in range(n - 1)] + ["soon"]
    frame["part"] = [f"{k}" for k in range(n - 9)] + ["A"] * 9
    message = (
        r"'cost' \(60 .* 59 of them numbers, but row 59 has 'free', which is none\); "
        r"'when' \(.* 59 of them times, but row 59 has 'soon', .*\); "
        r"'part' \(52 different texts in 60 rows, 51 of them numbers\)"
    )
    with pytest.warns(SemimetricWarning, match=message):
        assert Schema.fit(frame, drop="auto").names == ("x",)
    zips = pd.DataFrame({"zip": [f"{10_000 + k % 30}" for k in range(600)] + ["10002-1234"]})
    with pytest.warns(SemimetricWarning, match="'zip' of X is of numbers, but row 600 has '10002-1234', .* read as categories"):
        assert Schema.fit(zips).kinds == ("categorical",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Schema.fit(zips, categorical_features=["zip"]).kinds == ("categorical",)
        stars = pd.DataFrame({"stars": pd.Series(([1, 2, 3, 4, 5] * n)[: n - 1] + ["none"], dtype=object)})
        assert Schema.fit(stars).kinds == ("categorical",)
    tags = pd.DataFrame({"x": np.arange(100.0), "tags": pd.Series([["a"]] * 95 + ["b"] * 5)})
    assert_refused(lambda: Schema.fit(tags), "no categories", "text or numbers", "")


def test_text_of_few_values_dates_and_numbers():
    frame = pd.DataFrame(
        {
            "few": ["a", "b"] * 15,
            "time": ["2024-01-01T10:00+01:00", "2024-07-01T10:00+02:00"] * 15,
            "nearly a time": ["2024-01-01", "soon"] * 15,
            "numbers": [f"{k / 7:.4f}" for k in range(30)],
        }
    )
    schema = Schema.fit(frame)
    assert schema.kinds == ("categorical", "numeric", "categorical", "numeric")
    assert (schema.features[1].time, schema.features[1].zone) == ("scale", "UTC")
    assert schema.encode(frame)[0, 1] * 24 % 24 == pytest.approx(9.0)
    assert schema.encode(frame)[8, 3] == float(frame["numbers"][8])


def test_arrays_are_numbers_as_they_were():
    X = np.random.default_rng(0).random((60, 2))
    X[0, 0] = np.nan
    y = X[:, 1] > 0.5
    for model in (sm.SemimetricClassifier(), sm.LargeMarginLearner(), sm.KernelRidgeLearner("classes")):
        with pytest.raises(InputError, match=r"row 0 of X has a missing value \(NaN"):
            model.fit(X, y)
    constant = np.column_stack([X[1:, 1], np.ones(59)])
    assert sm.KernelRidgeLearner("classes").fit(constant, y[1:]).n_features_in_ == 2


def masked():
    return np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[False, False], [False, True]])


def test_a_masked_cell_is_missing():
    assert np.isnan(Schema.fit(masked(), categorical_features=[0], missing="level").encode(masked())[1, 1])
    encode = Schema.fit(masked(), categorical_features=[0]).encode
    assert_refused(lambda: encode(masked()), "row 1 of X has a missing value", "finite values are required", "fill them in")


def kept(frame, tmp_path):
    """Return the frame of a model that was saved and loaded, and both models."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SemimetricWarning)
        model = sm.DistanceRegressor(preprocessor=frame, **FAST).fit(PAIRS, GAPS)
    model.save(tmp_path / "model.smm")
    return sm.load(tmp_path / "model.smm").preprocessor, model, sm.load(tmp_path / "model.smm")


WIDE = LEARN.assign(
    colour=pd.Categorical(["red", None] * 100, categories=["red", "blue"]),
    when=pd.Timestamp("2024-01-01", tz="Europe/Berlin") + pd.to_timedelta(np.arange(200), "h"),
    born=pd.Series(pd.to_datetime(["2024-01-01", None] * 100)),
    yes=pd.array([True, None] * 100, dtype="boolean"),
    count=pd.array([1, None] * 100, dtype="Int64"),
)


@pytest.mark.filterwarnings("ignore:Series.values returning")  # how old polars reads times of pandas
@pytest.mark.parametrize("library", ["pandas", "named rows", "polars"])
def test_a_model_is_saved_with_its_frame(library, tmp_path):
    frame = WIDE.set_axis([f"row {k}" for k in range(200)]) if library == "named rows" else WIDE
    if library == "polars":
        frame = pytest.importorskip("polars").from_pandas(WIDE)
    found, model, again = kept(frame, tmp_path)
    assert type(found) is type(frame)
    assert list(found.columns) == list(frame.columns)
    assert again.columns_ == model.columns_ == Columns(drop=list(LEFT_OUT)).read(found)
    assert_array_equal(again.predict(PAIRS), model.predict(PAIRS))
    if library == "named rows":
        assert list(found.index) == list(frame.index)
        names = np.array(frame.index)[PAIRS[:5]]
        assert_array_equal(again.predict(names), model.predict(PAIRS[:5]))


def test_what_no_file_holds_is_refused(tmp_path):
    spans = LEARN.assign(span=pd.Timedelta(days=1))
    model = sm.DistanceRegressor(preprocessor=spans, columns=Columns(drop=["span", *LEFT_OUT]), **FAST).fit(PAIRS, GAPS)
    refused = lambda: model.save(tmp_path / "model.smm")  # noqa: E731
    assert_refused(refused, "column 'span' of preprocessor is of dtype Duration", "no file holds", error=sm.NotSupportedError)


DAMAGED = {
    "another library": {"library": "os"},
    "names": {"names": ("a", "b")},
    "no columns": {"names": (), "columns": ()},
    "lengths": {"names": ("a", "b"), "columns": (StoredColumn(np.arange(3)), StoredColumn(np.arange(2)))},
    "a zone": {"columns": (StoredColumn(np.arange(3), zone="Nowhere/City"),)},
    "categories": {"columns": (StoredColumn(np.arange(3), categories=("a", "a")),)},
}


@pytest.mark.parametrize("name", DAMAGED)
def test_frames_of_damaged_files_are_refused(name):
    whole = StoredFrame.of(pd.DataFrame({"a": [1, 2, 3]}), "X")
    assert whole.restored(()).equals(pd.DataFrame({"a": [1, 2, 3]}))
    assert_refused(lambda: replace(whole, **DAMAGED[name]).restored(()), "restore the file", "")
