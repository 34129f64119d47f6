"""Several models side by side: agreement and differences against what can be counted by hand, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from scipy.stats import spearmanr

import semimetric as sm

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.random((60, 3)), columns=["a", "b", "c"])
A, B = sm.Semimetric.l1(X), sm.Semimetric.l1(X).reweighted({"a": 5.0})


def tables(models, **options):
    found = sm.report(models, X, **options)
    return found, {each["title"]: each for each in found.facts["comparison"]}


def test_agreement_is_the_rank_correlation_of_all_pairs_and_the_share_of_common_neighbours():
    _, found = tables({"even": A, "mostly a": B})
    one, other = A.pairwise(X), B.pairwise(X)
    upper = np.triu_indices(60, 1)
    name, correlation, common = found["Agreement"]["rows"][0]
    assert name == "even and mostly a"
    assert correlation == pytest.approx(spearmanr(one[upper], other[upper])[0])
    near = [np.argsort(np.where(np.eye(60, dtype=bool), np.inf, d), axis=1)[:, :10] for d in (one, other)]
    assert common == pytest.approx(np.mean([len(set(p) & set(q)) / 10 for p, q in zip(*near, strict=True)]))


def test_a_model_beside_itself_agrees_and_differs_nowhere():
    _, found = tables({"one": A, "other": A})
    _, correlation, common = found["Agreement"]["rows"][0]
    assert correlation == pytest.approx(1.0)
    assert common == 1.0
    assert found["Where one and other differ most"]["rows"] == []


def test_pairs_that_are_told_are_those_of_the_largest_difference_of_shares():
    _, found = tables({"even": A, "mostly a": B})
    rows = found["Where even and mostly a differ most"]["rows"]
    upper = np.triu_indices(60, 1)
    shares = [np.array([(d[upper] <= value).mean() for value in d[upper]]) for d in (A.pairwise(X), B.pairwise(X))]
    apart = np.abs(shares[0] - shares[1])
    most = int(apart.argmax())
    assert {rows[0][0], rows[0][1]} == {f"row {upper[0][most]}", f"row {upper[1][most]}"}
    assert rows[0][2].startswith(f"{shares[0][most]:.0%}: ")
    assert rows[0][3].startswith(f"{shares[1][most]:.0%}: ")
    items = [name for row in rows for name in row[:2]]
    assert len(set(items)) == len(items) == 16


def test_importances_stand_side_by_side():
    _, found = tables({"even": A, "mostly a": B})
    shares = {row[0]: row[1:] for row in found["Importances side by side"]["rows"]}
    assert shares["a"][1] > 0.6 > shares["a"][0]
    assert sum(row[0] for row in shares.values()) == pytest.approx(1.0)


def test_measured_distances_judge_every_model():
    pairs = RNG.integers(0, 60, (200, 2))
    y = A.pairwise(X)[pairs[:, 0], pairs[:, 1]]
    _, found = tables({"even": A, "mostly a": B}, pairs=pairs, distances=y)
    rows = found["Errors on measured distances"]["rows"]
    assert rows[0][1:] == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)
    assert rows[1][1] > 0.3


def test_the_page_is_of_the_first_and_has_a_tab_more():
    found, _ = tables({"<b>even</b>": A, "mostly a": B})
    page = found.to_html()
    assert 'id="tab-models"' in page
    assert "<b>even</b>" not in page
    assert "Where \\<b" not in page
    assert "## Agreement" in found.to_markdown()
    assert found.page["nRaw"] == 3
    assert 'id="tab-models"' not in sm.report(A, X).to_html()
    assert sm.report([A], X).facts["comparison"] == []


def test_models_of_an_asymmetric_distance_and_of_other_columns():
    from reports_cases import DISTANCES, vectors

    d = DISTANCES["asymmetric"]()
    told = d.schema.display(vectors(30, 1))
    found = sm.report([d, d], told).facts["comparison"][0]
    assert found["rows"][0][1] == pytest.approx(1.0)
    wide = sm.Semimetric.l1(np.random.default_rng(0).random((9, 4)))
    assert_refused(lambda: sm.report([A, wide], X), "3", "4")


def test_what_cannot_be_compared_is_refused():
    assert_refused(lambda: sm.report([]), "there is no model", "give a Semimetric")
    assert_refused(lambda: sm.report([A, B]), "fewer than 3", "give X")
    assert_refused(lambda: sm.report([A, B], X.iloc[:2]), "fewer than 3", "give X")
    one, other = (sm.NeighborIndex(A).fit(X.iloc[:n]) for n in (9, 10))
    assert_refused(lambda: sm.report([one, other]), "different items", "give X")
    assert sm.report([one, other], X).facts["comparison"]
    assert_refused(lambda: sm.report([A, "b"], X), "model is a str, which has no distance", "give a Semimetric")
