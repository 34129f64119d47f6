"""Files that earlier versions saved open in this one, and give the answers that they gave then (see tests/saved/make.py)."""

import json
from pathlib import Path

import cases
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import semimetric
from semimetric.distances.search import segment

SAVED = Path(__file__).parents[1] / "saved"
VERSIONS = sorted(path.parent for path in SAVED.glob("*/answers.json"))
ANSWERS = {folder.name: json.loads((folder / "answers.json").read_text()) for folder in VERSIONS}
MODELS = [(version, name) for version, answers in ANSWERS.items() for name in answers["models"]]
ESTIMATORS = [(version, name) for version, answers in ANSWERS.items() for name in answers.get("estimators", ())]
FOLDERS = [(version, name) for version in ANSWERS for name in ("index", "shards")]


def read(items):
    """The items of a model: an array, or a frame."""
    return pd.DataFrame(items) if isinstance(items, dict) else np.array(items)


def rows(X):
    return [X.iloc[[k]] for k in range(len(X))] if hasattr(X, "columns") else list(X)


def assert_close(found, saved):
    """Equal but for what another processor may add up in another order."""
    assert_allclose(found, saved, rtol=1e-12, atol=1e-15)


def test_the_version_before_the_rooms_is_among_them():
    assert "0.1.0" in ANSWERS
    assert len(ANSWERS["0.1.0"]["models"]) == len(list((SAVED / "0.1.0").glob("*.smm"))) == 11


@pytest.mark.parametrize(("version", "name"), MODELS)
def test_a_saved_distance_keeps_its_meaning(version, name):
    base = [cases.cityblock] if name == "base" else []
    d = semimetric.load(SAVED / version / f"{name.replace(' ', '-')}.smm", base_distances=base)
    answers = ANSWERS[version]["models"][name]
    X = read(answers["items"])
    assert_close(d.pairwise(X), answers["distances"])
    assert_close(d.outside(X), answers["outside"])
    assert_close([d.contributions(x, y) for x, y in zip(rows(X)[:-1], rows(X)[1:], strict=True)], answers["contributions"])
    if "transformed" in answers:
        assert_close(d.transform(X), answers["transformed"])
    else:
        with pytest.raises(semimetric.SemimetricError):
            d.transform(X)


@pytest.mark.parametrize(("version", "name"), ESTIMATORS)
def test_a_saved_estimator_answers_as_it_did(version, name):
    model, saved = semimetric.load(SAVED / version / f"of-{name}.smm"), ANSWERS[version]["estimators"][name]
    answer = getattr(model, saved["method"])(np.array(saved["items"]))
    answer = answer.toarray() if hasattr(answer, "toarray") else answer
    assert_allclose(answer, saved["answer"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize(("version", "name"), FOLDERS)
def test_a_saved_index_answers_as_it_did(version, name, one_by_one, mmap, monkeypatch):
    """Also by the saved codes, which the search of so few items leaves aside."""
    if not one_by_one:
        monkeypatch.setattr(segment, "_FEW", 0)
        monkeypatch.setattr(segment, "_WORTH", 0)
    index, answers = semimetric.load(SAVED / version / name, mmap=mmap), ANSWERS[version][name]
    X = np.array(answers["queries"])
    assert_array_equal(index.ids_, answers["ids"])
    for algorithm in ("exact", "brute", "approximate") if one_by_one else ("exact", "brute"):
        distances, ids = index.kneighbors(X, 3, algorithm=algorithm)
        assert_close(distances, answers[algorithm]["distances"])
        assert_array_equal(ids, answers[algorithm]["ids"])
    distances, ids = index.radius_neighbors(X, answers["radius"] * (1 + 1e-12))
    for found, saved in zip([*distances, *ids], answers["within"]["distances"] + answers["within"]["ids"], strict=True):
        assert len(found) == len(saved)
    assert_close(np.concatenate(distances), sum(answers["within"]["distances"], []))
    assert_array_equal(np.concatenate(ids), sum(answers["within"]["ids"], []))
