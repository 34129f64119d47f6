"""Tables from a small made-up file of results, counted by hand."""

import json
from importlib import import_module

import pytest

# Errors of the splits 2 and 3; None: failed.
ERRORS = {
    "a": {"semimetric": (0.10, 0.20), "euclid": (0.20, 0.20), "forest": (0.10, 0.10), "nca": (None, None)},
    "b": {"semimetric": (0.30, 0.30), "euclid": (0.20, 0.40), "forest": (0.40, 0.40), "nca": (0.20, 0.20)},
    "c": {"semimetric": (0.00, 0.10), "euclid": (0.20, 0.30), "forest": (0.10, 0.20), "nca": (0.10, 0.10)},
}
METHODS = ["semimetric", "euclid", "nca", "forest"]


def lines():
    for name, methods in ERRORS.items():
        for method, errors in methods.items():
            for split, error in enumerate(errors, start=2):
                row = {"benchmark": "knn_accuracy", "set": name, "method": method, "split": split, "error": error}
                if error is None:
                    yield row | {"failed": "more than 1 s"}
                else:
                    yield row | {"log_loss": 2 * error + 0.1 * (method == "forest"), "processor_seconds": 3.0}


@pytest.fixture
def summary():
    return import_module("accuracy_summary")


@pytest.fixture
def found(summary, tmp_path):
    file = tmp_path / "results.jsonl"
    rows = [*lines(), {"benchmark": "another", "set": "a"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return summary.gathered(import_module("report").read(file, "knn_accuracy"))


def by_name(table, column):
    return {row[column]: row for row in table}


def test_errors_are_means_over_the_splits(summary, found):
    table = by_name(summary.error_table(found, METHODS), "set")
    assert table["a"] == {"set": "a", "splits": 2, "semimetric": "15.0", "euclid": "20.0", "nca": None, "forest": "10.0"}


def test_totals_are_over_what_is_done_and_over_what_all_have_done(summary, found):
    rows = by_name(summary.totals(found, METHODS), "method")
    assert rows["semimetric"]["summed error"] == pytest.approx(15 + 30 + 5)
    assert rows["semimetric"]["on the 2 of all"] == pytest.approx(30 + 5)
    assert (rows["nca"]["sets"], rows["nca"]["failed on"], rows["nca"]["splits"]) == (2, 1, "2")
    assert rows["nca"]["summed error"] == rows["nca"]["on the 2 of all"] == pytest.approx(20 + 10)
    assert rows["forest"]["summed log loss"] == pytest.approx(2 * 0.65 + 3 * 0.1)
    assert rows["forest"]["processor s, sum"] == pytest.approx(9)


def test_comparisons_are_over_the_sets_that_both_have_done(summary, found):
    rows = by_name(summary.against(found, METHODS), "against")
    count = {method: [row[name] for name in ("sets", "won", "drawn", "lost")] for method, row in rows.items()}
    assert count == {"euclid": [3, 2, 1, 0], "nca": [2, 1, 0, 1], "forest": [3, 2, 0, 1]}
    assert rows["euclid"]["lower on"] == "67 %"
    assert rows["nca"]["summed error"] == pytest.approx(35)
    assert rows["nca"]["its"] == pytest.approx(30)
    assert rows["forest"]["log loss lower on"] == "2 of 3"


def test_only_splits_that_both_have_are_compared(summary, found):
    found["b", "euclid"].pop(3)
    row = by_name(summary.against(found, METHODS), "against")["euclid"]
    assert (row["won"], row["drawn"], row["lost"]) == (2, 0, 1)


def test_a_method_that_failed_has_the_last_rank(summary, found):
    rows, test = summary.rank_table(found, METHODS)
    ranks = {row["method"]: row["mean rank"] for row in rows}
    expected = {"semimetric": (2 + 2.5 + 1) / 3, "euclid": (3 + 2.5 + 4) / 3, "nca": (4 + 1 + 2) / 3, "forest": (1 + 4 + 3) / 3}
    assert ranks == pytest.approx(expected)
    assert [row["method"] for row in rows] == sorted(ranks, key=ranks.get)
    assert test.startswith("3 sets; Friedman ")


def test_failures_are_told_with_their_reason(summary, found):
    rows = summary.failures(found, METHODS)
    assert [(row["set"], row["method"], row["split"], row["failed"]) for row in rows] == [
        ("a", "nca", 2, "more than 1 s"), ("a", "nca", 3, "more than 1 s"),
    ]  # fmt: skip
    assert summary.failures(found, ["euclid"]) == []


def test_everything_is_printed(summary, capsys):
    summary.summarize(list(lines()), METHODS)
    printed = capsys.readouterr().out
    assert "semimetric against each" in printed
    assert "mean ranks of distances that vote by error (3 sets" in printed
    summary.summarize([], METHODS)
    assert "no results" in capsys.readouterr().out
