"""Votes in a report: those of the page against Python's, and how often votes on items held out were right."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import semimetric as sm
from semimetric.distances.search.votes import VoteRule
from semimetric.reports.facts import vote_facts

PAGE = Path(sm.__file__).parent / "reports" / "page"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js, which runs the scripts of a page, is not there")
RUN = """
const { voteOf } = require(process.argv[1]);
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const found = given.rows.map(({ every, targets }) => voteOf(given.rule, every, targets, given.classes));
console.log(JSON.stringify(found.map((each) => ({ ...each, share: [...each.share] }))));
"""
RULES = [
    VoteRule(3),
    VoteRule(4, "distance", smoothing=0.3),
    VoteRule(50, "kernel", bandwidth=0.4, smoothing=0.05),
    VoteRule(5, "kernel", bandwidth=0.7, bandwidth_neighbor=8),
    VoteRule(4, "distance", average="median"),
    VoteRule(6, average="median"),
]


def of_page(rule):
    return {
        "neighbors": rule.n_neighbors, "weights": rule.weights, "bandwidth": rule.bandwidth,
        "bandwidthNeighbor": rule.bandwidth_neighbor, "smoothing": rule.smoothing, "average": rule.average,
    }  # fmt: skip


def voted(rule, distances, targets, classes):
    rows = [
        {"every": [{"other": k, "distance": d} for k, d in enumerate(row)], "targets": targets} for row in distances.tolist()
    ]
    given = json.dumps({"rule": of_page(rule), "rows": rows, "classes": classes})
    command = ["node", "-e", RUN, str(PAGE / "votes.js")]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_votes_of_the_page_are_those_of_python(rule):
    rng = np.random.default_rng(0)
    distances = np.sort(np.round(rng.random((40, 30)) * 3, 1), axis=1)  # many ties, some of them at 0
    codes, values = rng.integers(0, 3, 30), rng.normal(size=30).round(1)
    near = np.tile(np.arange(30), (40, 1))
    shares = np.bincount(codes, minlength=3) / 30
    expected = rule.probabilities(distances, codes[near], shares)
    found = voted(rule, distances, [f"c{code}" for code in codes], ["c0", "c1", "c2"])
    for each, row, weights in zip(found, expected, rule.votes(distances), strict=True):
        np.testing.assert_allclose([dict(each["classes"])[f"c{c}"] for c in range(3)], row, atol=1e-12)
        share = dict(each["share"])
        np.testing.assert_allclose(
            [share.get(k, 0.0) for k in range(30)], weights / (weights.sum() + rule.smoothing), atol=1e-12
        )
    averages = [each["value"] for each in voted(rule, distances, values.tolist(), None)]
    if not rule.smoothing:
        np.testing.assert_allclose(averages, rule.values(distances, values[near]), atol=1e-12)


QUICK = sm.LargeMarginLearner(n_knots=4, alpha=1e-2, directions=None, tables="warped", random_state=0)


def items():
    rng = np.random.default_rng(0)
    X = rng.random((90, 2))
    return X, np.where(X[:, 0] + 0.2 * rng.normal(size=90) > 0.5, "large", "small")


@pytest.mark.slow
def test_rows_count_all_items_held_out_and_add_up_to_the_error():
    model = sm.SemimetricClassifier(sm.LargeMarginLearner(effort="fast", random_state=0)).fit(*items())
    facts = vote_facts(model)
    parts = model.learner_.held_out_neighbors_
    n = sum(len(part.targets) for part in parts)
    assert sum(row[1] for row in facts["rows"]) == n
    right = 0
    for part in parts:
        chosen = model.vote_rule_.probabilities(part.distances, part.neighbor_targets, part.class_shares).argmax(axis=1)
        right += int((chosen == part.targets).sum())
    assert 0 < right < n
    assert sum(row[1] * row[3] for row in facts["rows"]) == pytest.approx(right)
    assert f"{1 - right / n:.2%} of the items are given another class" in facts["notes"][0]
    for name, _, share, _ in facts["rows"]:
        low, high = (float(part.rstrip("%")) / 100 for part in name.split(" to "))
        assert low - 1e-9 <= share <= high + 1e-9


def test_a_page_votes_only_where_it_votes_as_the_model_does():
    X, y = items()
    options = {"n_neighbors": 3, "weights": "uniform"}
    model = sm.SemimetricClassifier(QUICK, **options).fit(X, y)
    assert sm.report(model).page["votes"] == of_page(model.vote_rule_) | {"said": str(model.vote_rule_)}
    assert sm.report(model, X, y).page["votes"] is not None  # these are the items that vote
    assert sm.report(model, max_items=50).page["votes"] is None
    assert sm.report(model.semimetric_, X, y).page["votes"] is None
    weighted = sm.SemimetricClassifier(QUICK, **options).fit(X, y, np.arange(90) % 3 + 1.0)
    assert sm.report(weighted).page["votes"] is None
    balanced = sm.SemimetricClassifier(QUICK, **options, class_weight="balanced").fit(X, y)
    assert sm.report(balanced).page["votes"] is None
    assert vote_facts(balanced) is None


def test_a_page_of_a_machine_says_which_it_is_and_takes_whole_numbers_as_its_values():
    X, y = items()
    values = np.round(10 * X[:, 0]).astype(int)
    model = sm.SemimetricRegressor().fit(X, values)
    report = sm.report(model, X, values)
    assert report.page["votes"] is None
    assert report.page["items"]["targetName"] == "value"
    facts = {row[0]: row[1] for table in report.facts["evidence"] if table["title"] == "Model" for row in table["rows"]}
    assert facts["machine"].startswith("kernel ridge regression on exp(-d /")
    compared = sm.report(sm.SemimetricClassifier().fit(X, y)).facts["evidence"]
    assert "What was compared" in {table["title"] for table in compared}
