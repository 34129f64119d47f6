"""``semimetric fit --label`` and ``semimetric neighbors``, through the command line."""

import numpy as np
import pytest
from command_line import answer, call

import semimetric
from semimetric.cli import main

pd = pytest.importorskip("pandas")
QUICK = ["--n-knots", 4, "--alpha", "0.01", "--directions", "none", "--tables", "warped"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Flowers of two species, a table of numbers, one with colours and empty cells, and models of both."""
    home, rng = tmp_path_factory.mktemp("labels"), np.random.default_rng(0)
    species = np.repeat(["setosa", "virginica"], 30)
    table = pd.DataFrame({"name": [f"{k:03d}" for k in range(60)], "width": rng.normal(size=60), "height": rng.normal(size=60)})
    table["width"] += 2.5 * (species == "virginica")
    table["species"] = species
    table.to_csv(home / "numbers.csv", index=False)
    colour = np.where(species == "setosa", "red", "NA")
    mixed = table.assign(colour=np.where(rng.random(60) < 0.7, colour, "blue"))
    mixed.loc[3, "colour"] = ""
    mixed.loc[5, "height"] = np.nan
    mixed.to_csv(home / "mixed.csv", index=False)
    mixed.iloc[[0, 40]].drop(columns=["species", "name"]).to_csv(home / "rows.csv", index=False)
    fit = ["--label", "species", "--id", "name", *QUICK]
    assert run("fit", home / "numbers.csv", *fit, "--output", home / "numbers.smm") == 0
    assert run("fit", home / "mixed.csv", *fit, "--missing", "level", "--output", home / "mixed.smm") == 0
    index = ["--id", "name", "-o", home / "numbers.index"]
    assert run("index", home / "numbers.smm", home / "numbers.csv", *index) == 0
    return home


@pytest.fixture(autouse=True)
def _at_home(home, monkeypatch):
    monkeypatch.chdir(home)


def run(*arguments):
    return main([str(a) for a in arguments])


def usage(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_fit_checks_itself_beside_euclid_and_saves(capsys, tmp_path):
    values = answer(
        capsys, "fit", "mixed.csv", "--label", "species", "--id", "name", "--missing", "level", *QUICK, "--output",
        tmp_path / "m.smm",
    )  # fmt: skip
    assert values["features"] == ["width", "height", "colour"]
    assert values["categories"] == ["colour"]
    assert values["classes"] == ["setosa", "virginica"]
    assert values["held_out"]["n_items"] == 12
    assert values["held_out"]["error"] <= 0.4
    assert 0 <= values["held_out"]["error_euclid"] <= 0.5
    assert sum(values["importances"].values()) == pytest.approx(1)
    assert semimetric.load(tmp_path / "m.smm").schema.features[2].categories == ("NA", "blue", "red")  # NA as it is written


def test_the_check_holds_no_copy_of_what_was_learned_from(capsys, tmp_path):
    """Random labels of rows that each occur twice: copies on both sides would tell each other's labels."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.random(100), "y": rng.random(100), "colour": rng.choice(["red", "blue"], 100)})
    table["kind"] = rng.choice(["u", "v"], 100)
    pd.concat([table, table]).to_csv(tmp_path / "twice.csv", index=False)
    options = ["--label", "kind", *QUICK, "--held-out", 0.4, "--output", tmp_path / "m.smm"]
    check = answer(capsys, "fit", tmp_path / "twice.csv", *options)["held_out"]
    assert check["n_items"] == 80
    assert check["error"] > 0.35
    assert check["error_euclid"] > 0.35


def test_fit_says_it_in_words_and_has_a_name_for_the_model(capsys, tmp_path, monkeypatch, home):
    monkeypatch.chdir(tmp_path)
    code, out, _ = call(capsys, "fit", home / "numbers.csv", "--label", "species", "--id", "name", *QUICK)
    assert code == 0
    assert "largest shares of the distance to other classes: width" in out
    assert "3 nearest neighbours are wrong on" in out
    assert "12 items that were held out; under Euclid on standardised columns on" in out
    assert (tmp_path / "model.smm").exists()


def test_the_choice_is_made_without_the_items_that_check_it(capsys, tmp_path):
    values = answer(
        capsys, "fit", "numbers.csv", "--label", "species", "--id", "name", "--n-knots", 4, "--directions", "none", "--tables",
        "warped", "--output", tmp_path / "m.smm",
    )  # fmt: skip
    assert values["alpha"] in (1e-2, 1e-3)
    assert (values["n_knots"], values["directions"], values["tables"]) == (4, None, "warped")


def test_without_a_check_nothing_is_known(capsys, tmp_path):
    fit = ["numbers.csv", "--label", "species", "--id", "name", *QUICK, "--held-out", 0, "--groups", "width,height"]
    fit[fit.index("warped")] = "full"
    code, out, _ = call(capsys, "fit", *fit, "--output", tmp_path / "m.smm")
    assert code == 0
    assert "nothing was held out" in out
    assert semimetric.load(tmp_path / "m.smm").terms[0] == "width * height"


def test_neighbours_are_those_of_brute_force(capsys, home):
    d, table = semimetric.load("numbers.smm"), pd.read_csv("numbers.csv", dtype={"name": str})
    distances = d.pairwise(table[["width", "height"]].iloc[:2], table[["width", "height"]])
    order = np.argsort(distances, axis=1, kind="stable")[:, :4]
    table.iloc[:2].to_csv("asked.csv", index=False)
    given = ["asked.csv", "--id", "name", "-k", 4]
    of_model = answer(capsys, "neighbors", "numbers.smm", *given, "--items", "numbers.csv")
    of_index = answer(capsys, "neighbors", "numbers.index", *given)
    assert of_model["id"] == of_index["id"] == table["name"].to_numpy()[order].ravel().tolist()
    assert of_model["query"] == ["000"] * 4 + ["001"] * 4
    assert of_model["rank"] == [1, 2, 3, 4] * 2
    np.testing.assert_allclose(of_model["distance"], np.take_along_axis(distances, order, axis=1).ravel())
    np.testing.assert_allclose(of_index["distance"], of_model["distance"])


@pytest.mark.parametrize("searched", [["numbers.smm", "--items", "numbers.csv"], ["numbers.index"]], ids=["model", "index"])
def test_terms_explain_the_distances(searched, capsys):
    pd.DataFrame({"width": [0.3], "height": [0.1]}).to_csv("one.csv", index=False)
    model, *items = searched
    given = ["neighbors", model, "one.csv", *items, "--id", "name", "--label", "species", "--explain"]
    values = answer(capsys, *given)
    assert values["label"] == ["setosa"] * 5
    for distance, terms in zip(values["distance"], values["terms"], strict=True):
        assert sum(part for _, part in terms) == pytest.approx(distance)
    _, out, _ = call(capsys, *given)
    assert out.splitlines()[0] == "row 0"
    assert out.splitlines()[1].startswith(f"  1. {values['id'][0]} (setosa) at ")
    assert "width " in out or "height " in out


def test_categories_and_empty_cells_are_read_as_in_the_fit(capsys):
    values = answer(capsys, "neighbors", "mixed.smm", "rows.csv", "--items", "mixed.csv", "--id", "name", "-k", 1, "--explain")
    assert values["id"] == ["000", "040"]
    assert values["distance"] == [0.0, 0.0]
    assert values["terms"] == [[], []]


def test_columns_that_can_be_no_features_are_named(capsys, tmp_path):
    table = pd.read_csv("numbers.csv", dtype={"name": str}).assign(note=[f"note {k}" for k in range(60)], empty=np.nan)
    table["name"] = range(60)
    table.to_csv(tmp_path / "t.csv", index=False)
    code, _, err = call(
        capsys, "fit", tmp_path / "t.csv", "--label", "species", *QUICK, "--held-out", 0, "--output", tmp_path / "m.smm"
    )
    assert code == 0
    assert "are left out: 'note' (60 different texts in 60 rows); 'empty' (empty)" in err
    assert "--categorical" in err
    assert "column name of" in err
    assert "give --id name" in err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "fit mixed.csv --label species --id name --missing error",
            "row 5 of mixed.csv has no height (1 such rows in all); fill them in",
        ),
        ("fit hole.csv --label species --missing error", "row 1 of hole.csv has no colour (2 such rows in all); fill them in"),
        ("fit numbers.csv --label kind", "numbers.csv has no column 'kind'; its columns are name, width"),
        ("fit numbers.csv --label species --id species", "the ids and the labels of numbers.csv are both the column 'species'"),
        ("fit gap.csv --label species", "row 1 of gap.csv has no species (1 such rows in all), which every row needs"),
        ("fit bare.csv --label species", "bare.csv has 2 rows and 0 columns of features"),
        ("fit endless.csv --label species", "row 0 of endless.csv has width=inf; finite numbers are required"),
        ("fit alone.csv --label species", "every class has one item, so none has a target"),
        ("fit numbers.csv --label species --directions even", "--directions even does not go with --label; use one of auto"),
        (
            "neighbors numbers.smm rows.csv",
            "numbers.smm is a model, which holds no items; give the table to search with --items",
        ),
        ("neighbors numbers.index numbers.csv --items numbers.csv", "numbers.index is an index, which holds its items"),
        ("neighbors numbers.index numbers.csv -k 61", "-k 61 asks for more than the 60 items that there are"),
        ("neighbors numbers.index numbers.csv --label kind", "the items of numbers.index have no column 'kind'"),
        (
            "neighbors mixed.smm numbers.csv --items mixed.csv",
            "numbers.csv has no column 'colour' (of 3 that the model needs, 1",
        ),
        ("neighbors numbers.smm words.csv --items numbers.csv", "column 'width' of words.csv is not of numbers"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_exit_code_1(command, message, capsys, home):
    (home / "gap.csv").write_text("width,species\n1,a\n2,\n3,b\n")
    (home / "bare.csv").write_text("species\na\nb\n")
    (home / "alone.csv").write_text("width,species\n1.5,a\n2,b\n")
    (home / "endless.csv").write_text("width,species\ninf,a\n2,b\n")
    (home / "hole.csv").write_text("colour,species\nred,a\n,b\n,b\nred,a\nred,a\nred,b\n")
    (home / "words.csv").write_text("width,height\nwide,1\n")
    code, out, err = call(capsys, *command.split())
    assert (code, out) == (1, "")
    assert err.startswith("semimetric: ")
    assert message in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fit numbers.csv", "required: PAIRS, --output (or --label COLUMN to learn from classes)"),
        ("fit numbers.csv pairs.csv --label species", "takes no PAIRS (pairs.csv); leave out one of the two"),
        ("fit numbers.csv --label species --target minutes --loss huber", "takes no --target, --loss"),
        ("fit numbers.csv --label species --target distance", "takes no --target"),
        ("fit numbers.csv --label species --relative --link sqrt", "takes no --relative, --link"),
        ("fit numbers.csv --label species --axioms none", "--axioms none does not go with --label"),
        ("fit numbers.csv --label species --target width", "takes no --target"),
        ("neighbors numbers.smm rows.csv -k 0", "must be an integer of at least 1"),
    ],
)
def test_wrong_usage_is_exit_code_2(command, message, capsys):
    assert message in usage(capsys, *command.split())


def test_help_has_an_example(capsys):
    for command in ("fit", "neighbors"):
        with pytest.raises(SystemExit):
            run(command, "--help")
        out = capsys.readouterr().out
        assert "example:" in out
        assert "--label species" in out


def test_neighbors_refuses_a_sharded_index_and_names_the_command_that_takes_one(capsys, tmp_path):
    items = pd.read_csv("numbers.csv")[["width", "height"]].to_numpy()
    semimetric.ShardedIndex.build(tmp_path / "shards", semimetric.load("numbers.smm"), items, n_shards=2)
    code, out, err = call(capsys, "neighbors", tmp_path / "shards", "rows.csv")
    assert (code, out) == (1, "")
    assert "shards is a sharded index, and neighbors searches one index; use semimetric query" in err


@pytest.mark.slow
def test_a_model_with_defaults_is_the_sum_that_was_checked(capsys, tmp_path):
    words = ["fit", "numbers.csv", "--label", "species", "--id", "name", "--output", tmp_path / "m.smm"]
    values = answer(capsys, *words)
    assert "components" in values["directions"] or "forest" in values["directions"]
    assert values["held_out"]["n_items"] == 12
    table = pd.read_csv("numbers.csv")
    learned = semimetric.LargeMarginLearner(columns=semimetric.Columns([])).fit(table[["width", "height"]], table["species"])
    items = table[["width", "height"]]
    np.testing.assert_allclose(
        semimetric.load(tmp_path / "m.smm").pairwise(items), learned.semimetric_.pairwise(items), rtol=1e-9, atol=1e-12
    )


def test_what_is_wrong_with_columns_is_told_once_though_two_fits_find_it(capsys, home, tmp_path):
    table = pd.read_csv("numbers.csv", dtype={"name": str})
    table["width"] = table["width"].round(0)
    table["same"] = 1.0
    table.to_csv(tmp_path / "tied.csv", index=False)
    words = ["fit", tmp_path / "tied.csv", "--label", "species", "--id", "name", *QUICK, "--output", tmp_path / "m.smm"]
    for held_out in ([], ["--held-out", 0]):
        code, _, err = call(capsys, *words, *held_out)
        assert code == 0
        assert err.count("the same on every row") == 1
