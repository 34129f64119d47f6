"""Searches that are chosen by queries: what they reach, what they remember, and what they leave alone."""

import numpy as np
import pytest

from semimetric import InputError, NeighborIndex, Semimetric, load
from semimetric.distances.search import tuning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4000, 6)) @ RNG.normal(size=(6, 6))
QUERIES = RNG.normal(size=(300, 6)) @ RNG.normal(size=(6, 6))


@pytest.fixture
def by_work(monkeypatch):
    """Time is the number of items that a search reads, so that what is chosen does not depend on the machine."""

    def work(self, queries, k, search):
        return 1e9 if search.algorithm == "exact" else 10.0 * search.n_probe + search.n_candidates

    monkeypatch.setattr(tuning, "_microseconds", work)


@pytest.mark.parametrize("n_lists", [1, 32])
@pytest.mark.parametrize("recall", [0.6, 0.9, 1.0])
def test_the_recall_is_reached_on_queries_that_chose_nothing(by_work, n_lists, recall):
    index = NeighborIndex(Semimetric.l1(X), n_lists=n_lists).fit(X)
    tuning = index.tune(QUERIES, recall=recall, n_neighbors=5)
    assert tuning.chosen.recall >= recall
    assert tuning.recall.mean >= recall - 0.08
    enough = [search for search in tuning.tried if search.recall >= recall]
    assert tuning.chosen == min(enough, key=lambda s: s.microseconds)
    assert [search.n_probe for search in tuning.tried[1:]] == ([1] if n_lists == 1 else [1, 2, 4, 8, 16, 32])
    if tuning.chosen.algorithm == "approximate":
        assert (index.algorithm, index.n_probe, index.n_candidates) == tuning.chosen[:1] + tuning.chosen[1:3]
        fewer = index.estimate_recall(QUERIES, 5, n_candidates=max(index.n_candidates // 4, 5))
        assert fewer.mean <= index.estimate_recall(QUERIES, 5).mean
    assert "taken: row" in str(tuning)
    assert "<table>" in tuning._repr_html_()


def test_what_is_chosen_is_saved_and_used_by_searchers(by_work, tmp_path):
    index = NeighborIndex(Semimetric.l1(X), n_lists=16).fit(X)
    exact = index.kneighbors(QUERIES, 5)[0]
    index.tune(QUERIES, recall=0.7, n_neighbors=5)
    found = index.kneighbors(QUERIES, 5)
    assert 0.6 < (found[0] <= exact[:, -1:]).mean() < 1
    index.save(tmp_path / "items")
    read = load(tmp_path / "items")
    assert (read.algorithm, read.n_probe, read.n_candidates) == (index.algorithm, index.n_probe, index.n_candidates)
    for a, b in zip(found, read.kneighbors(QUERIES, 5), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(index.searcher(5)(QUERIES)[1], found[1])


def test_search_stays_exact_where_that_is_fastest(monkeypatch):
    monkeypatch.setattr(tuning, "_microseconds", lambda self, q, k, s: 0.0 if s.algorithm == "exact" else 1.0)
    index = NeighborIndex(Semimetric.l1(X), algorithm="approximate", n_probe=3, n_candidates=7).fit(X)
    assert index.tune(QUERIES).chosen.algorithm == "exact"
    assert (index.algorithm, index.n_probe, index.n_candidates) == ("exact", 3, 7)


def test_an_interrupted_tuning_leaves_the_index_as_it_was(monkeypatch):
    index = NeighborIndex(Semimetric.l1(X), n_lists=8, n_probe=3).fit(X)

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning.Recall, "of", interrupt)
    with pytest.raises(KeyboardInterrupt):
        index.tune(QUERIES)
    assert (index.algorithm, index.n_probe, index.n_candidates) == ("exact", 3, None)


def test_real_times_choose_something_that_reaches_the_recall():
    index = NeighborIndex(Semimetric.l1(X), n_lists=8).fit(X)
    assert index.tune(QUERIES, recall=0.9, max_queries=60).chosen.recall >= 0.9


@pytest.mark.parametrize("recall", [0, -1, 1.1, np.nan, "0.9", True, None])
def test_a_recall_that_is_no_share_is_refused(recall):
    index = NeighborIndex(Semimetric.l1(X[:50])).fit(X[:50])
    with pytest.raises(InputError, match="recall="):
        index.tune(QUERIES, recall=recall)


def test_few_queries_are_refused():
    index = NeighborIndex(Semimetric.l1(X[:50])).fit(X[:50])
    with pytest.raises(InputError, match="19 queries; 20 or more"):
        index.tune(QUERIES[:19])
