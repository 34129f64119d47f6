"""The page's own distance equals Python's: its JavaScript is run by node."""

import json
import shutil
import subprocess
from pathlib import Path

import mixed_distances
import numpy as np
import pytest
from learners import made
from reports_cases import DISTANCES, vectors

import semimetric as sm
from semimetric import NotSupportedError
from semimetric.reports import facts
from semimetric.reports.facts import distance_tables
from semimetric.reports.report import script_json
from semimetric.reports.subjects import packed

PAGE = Path(facts.__file__).parent / "page"
AGREE = 1e-9
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node, which runs the page's JavaScript, is not installed")


def evaluated(d, x, y):
    """Distances and their parts as the page computes them."""
    given = script_json({"model": distance_tables(d)[0], "raw": d.n_features, "x": packed(x), "y": packed(y)})
    command = [NODE, str(Path(__file__).parent / "evaluate.js"), str(PAGE / "distance.js")]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: np.array(values, dtype=float) for name, values in json.loads(done.stdout).items()}


def assert_same(d, x, y):
    found = evaluated(d, x, y)
    rows = np.arange(len(x))
    expected = d.paired_by_index(np.vstack([x, y]), np.column_stack([rows, len(rows) + rows]))
    np.testing.assert_allclose(found["distance"], expected, rtol=AGREE, atol=AGREE)
    np.testing.assert_allclose(found["terms"], d.contributions_of_encoded(x, y), rtol=AGREE, atol=AGREE)
    features = d.contributions_of_encoded(x, y, by="features")
    np.testing.assert_allclose(found["features"], features, rtol=AGREE, atol=AGREE)
    return expected


@needs_node
@pytest.mark.parametrize("name", DISTANCES)
def test_distances_of_every_kind(name):
    d = DISTANCES[name]()
    gaps = any(d.schema.missing)
    x, y = vectors(120, 1, gaps=gaps), vectors(120, 2, gaps=gaps)
    y[:10] = x[:10]
    assert len(np.unique(assert_same(d, x, y))) > 50


@needs_node
@pytest.mark.parametrize("groups", mixed_distances.GROUPS)
@pytest.mark.parametrize("bends", [False, True])
def test_directions_and_joint_tables(groups, bends):
    rng = np.random.default_rng(4)
    for gaps, link in ((False, "sqrt"), (True, "identity")):
        d = mixed_distances.distance(3, groups, bends=bends, gaps=gaps, link=link)
        assert_same(d, mixed_distances.items(rng, 80, gaps), mixed_distances.items(rng, 80, gaps))


@needs_node
@pytest.mark.parametrize("leaf_tables", ["tied", "full"])
def test_trees(leaf_tables, rng):
    X = vectors(150, 3)
    y = (X[:, 0] > 1.5) ^ (X[:, 2] > 1)
    trees = sm.PartitionFeatures("extra-trees", n_trees=6, max_leaf_nodes=7, leaf_tables=leaf_tables, random_state=0)
    options = {"periodic": {1: 24}, "categorical_features": [2], "missing": "level"}
    X[rng.random(X.shape) < 0.1] = np.nan
    model = made(sm.LargeMarginLearner, n_knots=4, alpha=1e-2, directions=trees, tables="full", **options).fit(X, y)
    d = model.semimetric_
    assert d.directions.n_trees == 6
    items = d.schema.encode(X)
    assert_same(d, items[:80], items[60:140])


@needs_node
def test_known_distances(rng):
    table = [["red", 1.0, 2.0], ["blue", 2.0, 8.0], ["red", 4.0, 9.0], ["green", 4.5, 1.0]] * 3
    d = sm.gower(table)
    items = d.schema.encode(table)
    assert_same(d, items, items[::-1].copy())
    d = sm.Semimetric.emd(np.arange(6))
    assert_same(d, rng.dirichlet(np.ones(6), 30), rng.dirichlet(np.ones(6), 30))


@needs_node
@pytest.mark.parametrize(
    "link", [0.7, 1.4, sm.ConcaveLink(bends=(), slopes=(2.0,)), sm.ConcaveLink((0.5, 2.0), (1.0, 0.6, 0.1))]
)
def test_links(link):
    d = mixed_distances.distance(5, link=link)
    rng = np.random.default_rng(6)
    assert_same(d, mixed_distances.items(rng, 80, False), mixed_distances.items(rng, 80, False))


def test_a_distance_that_is_too_large_is_not_in_the_page(monkeypatch):
    d = DISTANCES["all pairs"]()
    assert distance_tables(d)[1] == ""
    monkeypatch.setattr(facts, "MOST_NUMBERS", 100)
    tables, why_not = distance_tables(d)
    assert "a page holds 100" in why_not
    assert tables is None


def test_an_embedding_that_scripts_do_not_know_is_not_in_the_page():
    d = DISTANCES["tables"]()
    assert distance_tables(d)[1] == ""
    other = sm.Semimetric.__new__(sm.Semimetric)
    for name, value in vars(d).items():
        object.__setattr__(other, name, value)
    object.__setattr__(other, "embedding", object())
    tables, why_not = distance_tables(other)
    assert "Its embedding is a object" in why_not
    assert tables is None


def test_not_supported_is_an_error_of_python_only():
    with pytest.raises(NotSupportedError):
        DISTANCES["touched"]().tables()  # which the page has all the same
    assert distance_tables(DISTANCES["touched"]())[0] is not None
