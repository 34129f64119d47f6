"""``semimetric fit`` with measured distances, and ``semimetric distance``."""

import json
from argparse import Namespace
from io import StringIO

import numpy as np
import pytest
from command_line import answer, call, paths

import semimetric
from semimetric import InputError
from semimetric.cli.parser import period
from semimetric.cli.search_commands import run_distance
from semimetric.data.times import PERIODS

pd = pytest.importorskip("pandas")


def test_fit_learns_reports_what_it_held_out_and_saves(folder, tmp_path, capsys):
    model = tmp_path / "m.smm"
    values = answer(capsys, "fit", *paths(folder, "items.csv", "pairs.csv"), "--id", "name", "--output", model)
    assert values["features"] == ["width", "height"]
    assert (values["n_items"], values["axioms"]) == (60, "semimetric")
    assert values["held_out"]["median_relative_error"] < 0.02
    assert values["held_out"]["pearson"] > 0.999
    assert 0 < values["held_out"]["n_pairs"] < values["n_pairs"]
    d = semimetric.load(model)
    assert d([1.0, 0.2], [6.0, 0.7]) == pytest.approx(6.5, rel=0.02)


def test_what_is_saved_has_the_tables_and_the_link_that_were_checked(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X, index = rng.dirichlet(np.full(5, 0.3), 120), rng.integers(0, 120, (1_500, 2))
    x, y = X[index.T]
    pd.DataFrame(X, columns=list("abcde")).assign(id=np.arange(120)).to_csv(tmp_path / "items.csv", index=False)
    apart = np.sqrt(((x - y) ** 2 / (x + y + 0.02)).sum(axis=1))
    pd.DataFrame({"left": index[:, 0], "right": index[:, 1], "distance": apart}).to_csv(tmp_path / "pairs.csv", index=False)
    files = tmp_path / "items.csv", tmp_path / "pairs.csv"
    values = answer(capsys, "fit", *files, "--id", "id", "--effort", "fast", "--output", tmp_path / "m.smm")
    assert values["held_out"]["median_relative_error"] < 0.002
    d = semimetric.load(tmp_path / "m.smm")
    first, *others = d.tables().values()
    assert all(np.array_equal(table.values, first.values) for table in others)
    assert np.median(np.abs(d.paired(x, y) / np.where(apart > 0, apart, 1.0) - 1.0)[apart > 0]) < 0.002


def test_what_is_saved_has_the_factors_and_the_directions_that_were_checked(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X, index, turn = rng.normal(size=(120, 4)), rng.integers(0, 120, (1_500, 2)), rng.normal(size=(4, 4))
    x, y = X[index.T]
    pd.DataFrame(X, columns=list("abcd")).assign(id=np.arange(120)).to_csv(tmp_path / "items.csv", index=False)
    apart = np.linalg.norm((x - y) @ turn, axis=1)
    pd.DataFrame({"left": index[:, 0], "right": index[:, 1], "distance": apart}).to_csv(tmp_path / "pairs.csv", index=False)
    files = tmp_path / "items.csv", tmp_path / "pairs.csv"
    values = answer(capsys, "fit", *files, "--id", "id", "--effort", "fast", "--output", tmp_path / "m.smm")
    assert values["held_out"]["median_relative_error"] < 0.01
    x, y = rng.normal(size=(2, 500, 4))
    d, true = semimetric.load(tmp_path / "m.smm"), np.linalg.norm((x - y) @ turn, axis=1)
    assert np.median(np.abs(d.paired(x, y) / true - 1.0)) < 0.01


def test_features_that_were_screened_are_screened_again(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X, index = rng.normal(size=(200, 620)), rng.integers(0, 200, (2_500, 2))

    def distance(x, y):
        return np.sqrt(((x - y)[..., :6] ** 2).sum(axis=-1))

    pd.DataFrame(X).add_prefix("c").assign(id=np.arange(200)).to_csv(tmp_path / "items.csv", index=False)
    pairs = pd.DataFrame({"left": index[:, 0], "right": index[:, 1], "distance": distance(*X[index.T])})
    pairs.to_csv(tmp_path / "pairs.csv", index=False)
    files = tmp_path / "items.csv", tmp_path / "pairs.csv"
    values = answer(capsys, "fit", *files, "--id", "id", "--effort", "fast", "--output", tmp_path / "m.smm")
    x, y = rng.normal(size=(2, 1_000, 620))
    error = np.median(np.abs(semimetric.load(tmp_path / "m.smm").paired(x, y) / distance(x, y) - 1.0))
    assert error < 1.4 * values["held_out"]["median_relative_error"], (error, values["held_out"])


@pytest.mark.slow
def test_fit_says_it_in_words(folder, tmp_path, capsys):
    model = tmp_path / "m.smm"
    code, out, err = call(capsys, "fit", *paths(folder, "items.csv", "pairs.csv"), "--id", "name", "--output", model)
    assert (code, err) == (0, "")
    assert out.startswith("Semimetric: semimetric")
    assert "pairs of items that were held out" in out
    assert out.endswith(f"saved as {model}\n")


def test_options_reach_the_learner(folder, tmp_path, capsys):
    model = tmp_path / "m.smm"
    values = answer(
        capsys, "fit", *paths(folder, "unnamed.csv", "numbered.csv"), "--left", "from", "--right", "to", "--target", "minutes",
        "--tables", "warped", "--axioms", "metric", "--n-knots", 3, "--alpha", 1e-6, "--directions", "even:width,height",
        "--relative", "--penalty", "ridge", "--held-out", 0, "--output", model,
    )  # fmt: skip
    assert (values["axioms"], values["n_knots"], values["alpha"], values["held_out"]) == ("metric", 3, 1e-6, None)
    assert len(semimetric.load(model).columns) > 2


def test_groups_by_name_and_no_axioms(folder, tmp_path, capsys):
    model = tmp_path / "m.smm"
    fit = ["fit", *paths(folder, "items.csv", "pairs.csv"), "--id", "name", "--held-out", 0, "--n-knots", 3, "--alpha", 1e-3]
    values = answer(capsys, *fit, "--output", model, "--groups", "width,height", "--axioms", "none")
    assert values["axioms"] == "none"
    assert semimetric.load(model).terms[0] == "width * height"


def test_histograms_of_bins_in_a_table(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(4), 40)
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "items.csv", index=False)
    pd.DataFrame({"place": [0.0, 1, 2, 5]}).to_csv(tmp_path / "bins.csv", index=False)
    pairs = rng.choice(40, (300, 2))
    emd = np.abs(np.cumsum(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)[:, :-1]) @ [1, 1, 3]
    pd.DataFrame({"left": pairs[:, 0], "right": pairs[:, 1], "distance": emd}).to_csv(tmp_path / "pairs.csv", index=False)
    values = answer(
        capsys, "fit", *paths(tmp_path, "items.csv", "pairs.csv"), "--directions", f"histogram:{tmp_path / 'bins.csv'}",
        "--tables", "warped", "--n-knots", 2, "--alpha", 1e-8, "--output", tmp_path / "m.smm",
    )  # fmt: skip
    assert values["held_out"]["median_relative_error"] < 0.01


def test_distance_of_all_pairs(folder, capsys):
    code, out, err = call(capsys, "distance", *paths(folder, "model.smm", "items.csv"), "--id", "name")
    assert (code, err) == (0, "")
    table = pd.read_csv(StringIO(out), index_col="item")
    X = pd.read_csv(folder / "items.csv")[["width", "height"]]
    assert np.allclose(table.to_numpy(), semimetric.load(folder / "model.smm").pairwise(X))
    assert list(table.columns) == list(table.index) == [f"item{k}" for k in range(60)]


def test_distance_to_other_items_as_json(folder, tmp_path, capsys):
    pd.DataFrame({"height": [0.5], "width": [2.0], "name": ["new"]}).to_parquet(tmp_path / "other.parquet")
    files = [*paths(folder, "model.smm", "items.csv"), tmp_path / "other.parquet"]
    values = answer(capsys, "distance", *files, "--id", "name")
    X = pd.read_csv(folder / "items.csv")[["width", "height"]]
    assert values["right"] == ["new"]
    assert np.allclose(
        values["distance"], semimetric.load(folder / "model.smm").pairwise(X, [[2.0, 0.5]])
    )  # by name, not place


def test_rows_are_numbered_from_0_without_ids(folder, capsys):
    code, _, err = call(capsys, "plot", *paths(folder, "model.smm", "items.csv"), "--around", 60, "--output", "p.png")
    assert code == 1
    assert "'60' is no row number (0 to 59)" in err


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_distance_of_listed_pairs_into_a_file(extension, folder, tmp_path, capsys):
    output = tmp_path / f"d.{extension}"
    files = paths(folder, "model.smm", "items.csv")
    code, out, _ = call(capsys, "distance", *files, "--id", "name", "--pairs", folder / "three.csv", "--output", output)
    assert (code, out) == (0, f"3 distances saved as {output}\n")
    written = pd.read_csv(output) if extension == "csv" else pd.read_parquet(output)
    given = pd.read_csv(folder / "three.csv")
    assert written[["left", "right"]].equals(given[["left", "right"]])
    assert np.allclose(written["distance"], given["distance"], rtol=0.05)


def test_distance_says_how_many_items_lie_outside_the_range(folder, tmp_path, capsys):
    far = tmp_path / "far.csv"
    pd.DataFrame({"name": ["a", "b"], "width": [5.0, 1e3], "height": [0.5, 0.5]}).to_csv(far, index=False)
    code, _, err = call(capsys, "distance", *paths(folder, "model.smm", "items.csv"), far, "--id", "name")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith(f"semimetric: 1 of 2 items of {far} (50 %) lie outside the range of the fit (width 50 %), where")


def test_columns_that_are_not_used_are_named_on_standard_error(folder, tmp_path, capsys):
    items = pd.read_csv(folder / "items.csv").assign(note="text", when="2024-01-01", tall=lambda t: t["height"] > 0.5)
    items.to_csv(tmp_path / "items.csv", index=False)
    files, model = [tmp_path / "items.csv", folder / "pairs.csv"], tmp_path / "m.smm"
    fit = ["fit", *files, "--id", "name", "--held-out", 0, "--n-knots", 3, "--alpha", 1e-3, "--output", model, "--json"]
    code, out, err = call(capsys, *fit)
    assert (code, json.loads(out)["features"]) == (0, ["width", "height", "tall"])
    told = "'note' (the same on every row); 'when' (the same on every row). To use one as categories"
    assert err.startswith(f"semimetric: columns of {files[0]} are left out: {told}")
    assert call(capsys, "distance", model, tmp_path / "items.csv", "--id", "name")[2] == ""  # the model says what it needs


def test_ids_keep_leading_zeros_and_whole_floats_are_integers(folder, tmp_path, capsys):
    distances = answer(
        capsys, "distance", *paths(folder, "model.smm", "items.csv"), "--pairs", folder / "three.csv", "--id", "name"
    )
    items, pairs = pd.read_csv(folder / "items.csv"), pd.read_csv(folder / "three.csv").drop(columns="distance")
    for write_items, write_pairs in (("{:03d}", "{:03d}"), ("{:d}", "{:.1f}"), ("{:.1f}", "{:d}")):
        number = {name: write_items.format(k) for k, name in enumerate(items["name"])}
        items.assign(name=items["name"].map(number)).replace({"name": {number["item59"]: "NA"}}).to_csv(
            tmp_path / "items.csv", index=False
        )
        place = {name: write_pairs.format(k) for k, name in enumerate(items["name"])}
        pairs.map(place.get).to_csv(tmp_path / "pairs.csv", index=False)
        files = [folder / "model.smm", tmp_path / "items.csv"]
        again = answer(capsys, "distance", *files, "--pairs", tmp_path / "pairs.csv", "--id", "name")
        assert again["distance"] == distances["distance"]
        assert again["left"] == [number[name].removesuffix(".0") for name in pairs["left"]]


def test_a_constant_feature_is_said_once_and_a_column_of_ids_is_asked_for(folder, tmp_path, capsys):
    items = pd.read_csv(folder / "unnamed.csv").assign(same=1.0, number=np.arange(60))
    items.to_csv(tmp_path / "items.csv", index=False)
    files = [tmp_path / "items.csv", folder / "numbered.csv"]
    columns = ["--left", "from", "--right", "to", "--target", "minutes"]
    fit = ["fit", *files, *columns, "--n-knots", 3, "--alpha", 1e-3, "--output", tmp_path / "m.smm"]
    code, _, err = call(capsys, *fit)
    assert code == 0
    assert err.count("'same' (the same on every row)") == 1
    assert "'number' (an id, another number on every row)" in err
    assert "'number'" not in call(capsys, *fit, "--id", "number")[2]


def test_distance_needs_the_features_of_the_model(folder, tmp_path):
    (tmp_path / "items.csv").write_text("a\n1.0\n2.0\n")
    given = Namespace(
        model=str(folder / "model.smm"), items=str(tmp_path / "items.csv"), other=None, pairs=None, id=None,
        output=None, json=False, n_jobs=None, left="left", right="right",
    )  # fmt: skip
    with pytest.raises(InputError):
        run_distance(given)


def test_circles_and_effort_reach_the_learner(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"hour": 24 * rng.random(60), "size": rng.random(60)})
    pairs = rng.integers(0, 60, (400, 2))
    gap = np.abs(np.subtract(*X["hour"].to_numpy()[pairs].T))
    y = np.minimum(gap, 24 - gap) / 12 + np.abs(np.subtract(*X["size"].to_numpy()[pairs].T))
    X.to_csv(tmp_path / "items.csv", index=False)
    pd.DataFrame({"left": pairs[:, 0], "right": pairs[:, 1], "distance": y}).to_csv(tmp_path / "pairs.csv", index=False)
    fit = ["fit", *paths(tmp_path, "items.csv", "pairs.csv"), "--output", tmp_path / "m.smm", "--effort", "fast", "--periodic"]
    values = answer(capsys, *fit, "hour=24")
    assert values["n_knots"] in (3, 6)  # which the effort compares
    d = semimetric.load(tmp_path / "m.smm")
    assert d.schema.kinds == ("periodic", "numeric")
    assert d([23.9, 0.5], [0.1, 0.5]) == pytest.approx(d([5.1, 0.5], [5.3, 0.5]), abs=0.1)
    answer(capsys, "distance", tmp_path / "m.smm", tmp_path / "items.csv")
    for given, words in (
        (["our=24"], "--periodic names 'our', which is no column of features"), (["hour=24", "hour=12"], "gives 'hour' twice"),
        (["hour=day"], "the column holds none"),
    ):  # fmt: skip
        code, _, err = call(capsys, *fit, *given)
        assert code == 1
        assert words in err
    for given in ("hour=0", "=24", "hour", "hour=noon"):
        with pytest.raises(SystemExit):
            call(capsys, *fit, given)
        assert "must be COLUMN=PERIOD, such as hour=24" in capsys.readouterr().err


@pytest.mark.parametrize("word", PERIODS)
def test_periods_of_times_are_those_of_the_learners(word):
    assert period(f"when={word}") == ("when", word)


def test_circles_of_a_table_with_classes(tmp_path, capsys):
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, 60), unit="h")
    table = pd.DataFrame({"when": when, "size": rng.random(60), "kind": np.where((when.hour + 6) % 24 < 12, "night", "day")})
    table.to_csv(tmp_path / "table.csv", index=False)
    options = ["--periodic", "when=day", "--n-knots", 5, "--alpha", 1e-2, "--directions", "none", "--tables", "warped"]
    answer(capsys, "fit", tmp_path / "table.csv", "--label", "kind", *options, "--output", tmp_path / "m.smm")
    (when, size) = semimetric.load(tmp_path / "m.smm").schema.features
    assert (when.kind, when.time, when.period, size.kind) == ("periodic", "day", 24.0, "numeric")
