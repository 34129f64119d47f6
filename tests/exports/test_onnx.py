"""Graphs of ONNX: the runtime gives what Python gives, for rows of every kind."""

import mixed_distances
import numpy as np
import pandas as pd
import pytest
import reports_cases
from cases import assert_refused
from sklearn.datasets import load_diabetes, load_wine

import semimetric as sm
from semimetric import NotSupportedError, Semimetric

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
from semimetric.exports.onnx import input_arrays, probes  # noqa: E402


def run(path, given):
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, given), strict=True))


def assert_distance(d, X, Y, path):
    d.to_onnx(path, what="distance")
    found = run(path, input_arrays(d.schema, X, "X", "x.") | input_arrays(d.schema, Y, "Y", "y."))["distance"]
    index = np.column_stack([np.arange(len(X)), len(X) + np.arange(len(X))])
    np.testing.assert_allclose(found, d.paired_by_index(np.vstack([X, Y]), index), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in reports_cases.DISTANCES if name != "too large to be whole"])
def test_every_kind_of_table_and_scale(name, tmp_path):
    d = reports_cases.DISTANCES[name]()
    X = reports_cases.vectors(40, 1, any(d.schema.missing))
    X[0, 0], X[1, 3], X[4, 2] = 1e4, -40.0, 3.0
    assert_distance(d, X, X[::-1], str(tmp_path / "d.onnx"))


@pytest.mark.parametrize("link", ["identity", "sqrt", sm.PowerLink(0.3), sm.ConcaveLink((0.5, 1.0), (2.0, 1.0, 0.25))])
@pytest.mark.parametrize("bends", [False, True])
def test_directions_joint_tables_and_links(bends, link, tmp_path):
    d = mixed_distances.distance(4, "pairs", bends=bends, gaps=True, link=link)
    X = mixed_distances.items(np.random.default_rng(5), 40, gaps=True)
    assert_distance(d, X, X[::-1], str(tmp_path / "d.onnx"))


def wine_with_trees(**options):
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X[["alcohol", "flavanoids", "proline"]]
    trees = sm.PartitionFeatures("random", n_trees=20, random_state=0)
    learner = sm.LargeMarginLearner(n_knots=4, alpha=1e-2, tables="warped", directions=trees, random_state=0, **options)
    return learner.fit(X, y).semimetric_, X


def test_coordinates_of_scales_and_trees(tmp_path):
    d, X = wine_with_trees()
    path = str(tmp_path / "t.onnx")
    d.to_onnx(path)
    found = run(path, {"X": X.to_numpy() * [1.3, 1.0, 1.0]})["coordinates"]
    np.testing.assert_allclose(found, d.transform(X.to_numpy() * [1.3, 1.0, 1.0]), rtol=1e-12, atol=1e-12)
    assert found.shape[1] == len(d.coordinate_names)


@pytest.mark.parametrize("directions", [None, "pca", sm.PartitionFeatures("random", n_trees=5, random_state=0)])
def test_scales_of_numbers_with_gaps(directions, tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    rng = np.random.default_rng(6)
    X = X[["alcohol", "flavanoids", "proline"]]
    X = X.mask(rng.random(X.shape) < 0.25)
    learner = sm.LargeMarginLearner(n_knots=4, alpha=1e-2, tables="warped", directions=directions, random_state=0)
    model = sm.SemimetricClassifier(learner, n_neighbors=5, weights="distance", random_state=0).fit(X, y)
    d, path = model.semimetric_, str(tmp_path / "t.onnx")
    odd = pd.DataFrame(np.vstack([X.to_numpy()[:40] * [1.3, 1.0, -2.0], [[np.nan] * 3]]), columns=X.columns)
    rows = odd.to_numpy()
    d.to_onnx(path)
    found = run(path, {"X": rows})["coordinates"]
    np.testing.assert_allclose(found, d.transform(rows), rtol=1e-12, atol=1e-12)
    assert_distance(d, rows, rows[::-1], path)
    model.to_onnx(path)
    np.testing.assert_allclose(run(path, {"X": rows})["probabilities"], model.predict_proba(odd), rtol=1e-9, atol=1e-12)


def test_gower_with_gaps(tmp_path):
    rng = np.random.default_rng(7)
    colours, numbers = rng.choice(["red", "blue", "it's"], 30), rng.normal(size=(2, 30))
    table = pd.DataFrame({"colour": colours, "n": numbers[0], "m": numbers[1].round()})
    table = table.mask(rng.random(table.shape) < 0.3)
    d, path = Semimetric.gower(table), str(tmp_path / "d.onnx")
    X = np.vstack([d.schema.encode(table), [[np.nan] * 3, [3.0, 1e4, -7.0]]])
    d.to_onnx(path)
    rows = d.schema.display(X)
    np.testing.assert_allclose(run(path, input_arrays(d.schema, X))["coordinates"], d.transform(rows), rtol=1e-12, atol=1e-12)
    assert_distance(d, X, X[::-1], path)
    empty = Semimetric.gower(table.replace({"colour": {"red": ""}}), categorical_features=["colour"])
    assert_refused(lambda: empty.to_onnx(path), "'colour'", "has '' for both", "learn again", NotSupportedError)


def test_columns_of_text_are_inputs_of_their_own(tmp_path):
    table = pd.DataFrame(
        {"colour": ["red", "blue", "red", "green"], "n": [1.0, 2.0, 3.0, 5.0], "ok": [True, False, True, True]}
    )
    d = Semimetric.gower(table)
    path = str(tmp_path / "t.onnx")
    d.to_onnx(path)
    rows = pd.DataFrame({"colour": ["green", "pink", "it's"], "n": [9.0, -1.0, 2.5], "ok": [True, False, True]})
    given = {"colour": rows[["colour"]].to_numpy(object)} | {c: rows[[c]].to_numpy(np.float64) for c in ("n", "ok")}
    np.testing.assert_allclose(run(path, given)["coordinates"], d.transform(rows), rtol=1e-12, atol=1e-12)
    onnx.checker.check_model(path)
    assert {(o.domain, o.version) for o in onnx.load(path).opset_import} == {("", 19)}


def test_missing_text_is_empty_and_what_python_refuses_is_nan(tmp_path):
    table = pd.DataFrame({"colour": ["red", "blue", None, "red"], "hour": [1.0, 23.0, 12.0, 6.0]})
    path = str(tmp_path / "d.onnx")
    Semimetric.gower(table, periodic={"hour": 24}, categorical_features=["colour"]).to_onnx(path, what="distance")
    x = {"x.colour": np.array([["red"], [""], ["red"]], object), "x.hour": np.array([[25.5], [np.nan], [np.inf]])}
    y = {"y.colour": np.array([["other"], [""], ["red"]], object), "y.hour": np.array([[-0.5], [2.0], [1.0]])}
    found = run(path, x | y)["distance"]
    d = Semimetric.gower(table, periodic={"hour": 24}, categorical_features=["colour"])
    want = d.paired([["red", 25.5], [None, None]], [["other", -0.5], [None, 2.0]])
    np.testing.assert_allclose(found[:2], want, rtol=1e-12, atol=1e-12)
    assert np.isnan(found[2])
    numbers = reports_cases.DISTANCES["tables"]()
    numbers.to_onnx(path, what="distance")
    X = reports_cases.vectors(4, 0)
    odd = X.copy()
    odd[0, 0], odd[1, 1], odd[2, 2] = np.nan, np.nan, np.nan
    assert np.isnan(run(path, {"X": odd, "Y": X})["distance"]).tolist() == [True, True, True, False]
    assert np.isnan(run(path, {"X": X, "Y": odd})["distance"]).tolist() == [True, True, True, False]


@pytest.mark.parametrize("names", [False, True])
def test_a_kernel_machine_of_classes(names, tmp_path):
    X, y = load_wine(return_X_y=True)
    y = np.array(["one", "two", "three"])[y] if names else y
    model = sm.SemimetricClassifier(sm.KernelRidgeLearner("classes", effort="fast"), predictor="kernel_ridge").fit(X[:, :5], y)
    path = str(tmp_path / "m.onnx")
    model.to_onnx(path)
    found = run(path, {"X": X[:, :5] * 1.05})
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X[:, :5] * 1.05), rtol=1e-10, atol=1e-12)
    assert found["label"].tolist() == model.predict(X[:, :5] * 1.05).tolist()


def test_a_kernel_machine_of_values(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = sm.SemimetricRegressor(effort="fast", random_state=0).fit(X[:150, :4], y[:150])
    path = str(tmp_path / "m.onnx")
    model.to_onnx(path)
    np.testing.assert_allclose(run(path, {"X": X[150:, :4]})["variable"][:, 0], model.predict(X[150:, :4]), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["uniform", "distance", "kernel"])
def test_votes(weights, tmp_path):
    X, y = (array[::3] for array in load_wine(return_X_y=True))
    learner = sm.LargeMarginLearner(n_knots=3, alpha=1e-2, random_state=0)
    model = sm.SemimetricClassifier(learner, n_neighbors=5, weights=weights, random_state=0).fit(X[:, :3], y)
    values = sm.SemimetricRegressor(sm.KernelRidgeLearner(), n_neighbors=4, weights=weights, random_state=0).fit(
        X[:, :3], X[:, 4]
    )
    near = np.vstack([X[:40, :3], X[:40, :3] * 1.02])
    for fitted, name, want in ((model, "probabilities", "predict_proba"), (values, "variable", "predict")):
        path = str(tmp_path / f"{name}.onnx")
        fitted.to_onnx(path)
        found = run(path, {"X": near})[name]
        np.testing.assert_allclose(found.squeeze(), getattr(fitted, want)(near), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_models_that_a_graph_cannot_say_are_refused(tmp_path, monkeypatch):
    X, y = (array[::3] for array in load_wine(return_X_y=True))
    learner = sm.LargeMarginLearner(n_knots=3, alpha=1e-2, random_state=0)
    model = sm.SemimetricClassifier(learner, n_neighbors=3, weights="uniform")
    path = tmp_path / "m.onnx"
    weighted = model.fit(X[:, :2], y, sample_weight=np.where(y == 0, 2.0, 1.0))
    assert_refused(lambda: weighted.to_onnx(path), "count differently", "a graph cannot", "kernel_ridge", NotSupportedError)
    monkeypatch.setattr("semimetric.exports.onnx._MOST_ITEMS", 10)
    fitted = model.fit(X[:, :2], y)
    assert_refused(lambda: fitted.to_onnx(path), "60 items", "at most 10", 'what="transform"', NotSupportedError)
    large = reports_cases.DISTANCES["too large to be whole"]()
    assert_refused(
        lambda: large.to_onnx(path, what="distance"), "weight * height", "exported", "name candidates", NotSupportedError
    )
    tables = reports_cases.DISTANCES["tables"]()
    assert_refused(lambda: tables.to_onnx(path), "warped", "pairwise(X)", error=NotSupportedError)
    assert_refused(lambda: tables.to_onnx(path, what="graph"), "what='graph'", "transform")
    assert not path.exists()


def test_a_graph_that_differs_is_not_written(tmp_path, monkeypatch):
    d, _ = wine_with_trees()
    path = tmp_path / "t.onnx"
    path.write_bytes(b"before")
    monkeypatch.setattr("semimetric.exports.onnx.climbed", lambda g, values, knots, heights: g.op("Mul", values, values))
    assert_refused(lambda: d.to_onnx(path), "differs from Python", "not written", "use it in Python", NotSupportedError)
    assert path.read_bytes() == b"before"


def test_any_name_of_a_column_is_an_input_but_for_that_of_an_output(tmp_path):
    table = pd.DataFrame({"_1": ["a", "b", "a", "c"], "__2_0": [1.0, 2.0, 3.0, 5.0], 'x"\n; DROP': [1.0, 0.0, 2.0, 4.0]})
    path = str(tmp_path / "t.onnx")
    d = Semimetric.gower(table)
    d.to_onnx(path)
    given = {c: table[[c]].to_numpy(object if c == "_1" else np.float64) for c in table}
    np.testing.assert_allclose(run(path, given)["coordinates"], d.transform(table), rtol=1e-12, atol=1e-12)
    for name in ("coordinates", ""):
        d = Semimetric.gower(table.rename(columns={"_1": name}))
        assert_refused(lambda d=d: d.to_onnx(path), repr(name), "a graph needs", "rename the column")


def test_probes_hold_every_kind_of_value():
    d = reports_cases.DISTANCES["missing"]()
    rows, grid = probes(d), d.embedding.grid
    assert np.isnan(rows).any(axis=0).all()
    outside = (rows < grid.low) | (rows > grid.high)
    assert outside[:, grid.extends].any(axis=0).all()
    assert (rows[:, 2] == len(d.schema.features[2].categories)).any()
