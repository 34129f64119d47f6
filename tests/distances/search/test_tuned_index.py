"""Searches that are chosen by queries: what they reach, what they remember, and what they leave alone."""

import re

import numpy as np
import pytest

from semimetric import InputError, NeighborIndex, Semimetric, SemimetricWarning, load
from semimetric.distances.search import tuning
from semimetric.distances.search.items import Neighbors, Queries
from semimetric.distances.search.tuning import lower_confidence_bound

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4000, 6)) @ RNG.normal(size=(6, 6))
QUERIES = RNG.normal(size=(600, 6)) @ RNG.normal(size=(6, 6))


@pytest.fixture
def by_work(monkeypatch):
    """Time is the number of items that a search reads, so that what is chosen does not depend on the machine."""

    def work(self, queries, k, search):
        return 1e9 if search.algorithm == "exact" else 10.0 * search.n_probe + search.n_candidates

    monkeypatch.setattr(tuning, "_microseconds", work)


@pytest.mark.parametrize("n_lists", [1, 32])
@pytest.mark.parametrize("recall", [0.6, 0.9, 0.95])
def test_the_lower_bound_reaches_the_recall_on_queries_that_chose_nothing(by_work, n_lists, recall):
    index = NeighborIndex(Semimetric.l1(X), n_lists=n_lists).fit(X)
    tuning = index.tune(QUERIES, recall=recall, n_neighbors=5)
    assert tuning.recall.mean > tuning.lower_bound >= recall == tuning.asked
    assert tuning.recall.n_queries == 400
    assert tuning.chosen in tuning.tried
    tried = [1] if n_lists == 1 else [1, 2, 4, 8, 16, 32]
    assert [search.n_probe for search in tuning.tried[1:]][: len(tried)] == tried
    assert (index.algorithm, index.n_probe, index.n_candidates) == tuning.chosen[:1] + tuning.chosen[1:3]
    fewer = index.estimate_recall(QUERIES, 5, n_candidates=max(index.n_candidates // 4, 5))
    assert fewer.mean <= index.estimate_recall(QUERIES, 5).mean
    for part in ("taken: row", f"{tuning.lower_bound:.4f} with 95% confidence", f"{recall} was asked"):
        assert part in str(tuning)
        assert part in tuning._repr_html_()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recall", "n", "remedy"),
    [(0.99, 300, "give 6.. queries at least"), (1.0, 600, "which only exact search can promise"), (0.992, 600, "give")],
)
def test_what_no_sample_can_show_is_said_and_searched_exactly(by_work, recall, n, remedy):
    index = NeighborIndex(Semimetric.l1(X), algorithm="approximate", n_lists=8).fit(X)
    with pytest.warns(SemimetricWarning, match=f"exact search, .* microseconds a query: no approximate one .*{remedy}"):
        tuning = index.tune(QUERIES[:n], recall=recall, n_neighbors=5)
    assert (index.algorithm, tuning.chosen.algorithm, tuning.lower_bound, tuning.recall.mean) == ("exact", "exact", 1.0, 1.0)
    assert re.search(remedy, str(tuning))


SAMPLES = {
    "few values, skewed": (lambda rng, n: rng.choice([1.0, 0.9, 0.8, 0.3], n, p=[0.8, 0.1, 0.05, 0.05]), 0.945),
    "rare failures": (lambda rng, n: rng.choice([1.0, 0.2], n, p=[0.98, 0.02]), 0.984),
    "shares of ten": (lambda rng, n: rng.binomial(10, 0.95, n) / 10, 0.95),
    "all or nothing": (lambda rng, n: rng.binomial(1, 0.5, n).astype(float), 0.5),
    "the same": (lambda rng, n: np.full(n, 0.7), 0.7),
}


@pytest.mark.parametrize("n", [50, 667])
@pytest.mark.parametrize("name", SAMPLES)
def test_the_bound_is_below_the_mean_as_often_as_it_says(name, n):
    draw, mean = SAMPLES[name]
    rng = np.random.default_rng(0)
    bounds = np.array([lower_confidence_bound(draw(rng, n)) for _ in range(300)])
    assert (bounds > mean).mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)
    assert mean - bounds.mean() < (0.16 if n == 50 else 0.055)  # and it says something
    assert lower_confidence_bound(draw(rng, n), 0.5) > lower_confidence_bound(draw(np.random.default_rng(1), n), 0.999)


def test_a_promise_is_broken_at_most_as_often_as_it_says(monkeypatch):
    """Searches whose true recall is known: all tests of numbers of candidates together break 5 % of the promises at most."""

    def true_recall(n_candidates):
        return 1.0 - 0.5 * np.exp(-n_candidates / 40)

    def search(queries, k, *, algorithm, n_candidates=None, n_probe=None):
        there = queries.rows < (1.0 if algorithm == "exact" else true_recall(n_candidates))
        return Neighbors(np.sort(np.where(there, 0.0, 1.0 if algorithm == "exact" else np.inf), axis=1), None, None, None)

    monkeypatch.setattr(tuning, "_microseconds", lambda s, q, k, way: way.n_candidates + 1e6 * (way.algorithm == "exact"))
    rng, broken, n_candidates = np.random.default_rng(0), 0, []
    for seed in range(200):
        hard = np.where(rng.random((600, 1)) < 0.2, 0.3, 0.0)  # queries whose neighbours are all found late
        rows = np.minimum(rng.random((600, 10)) * (1 - hard) + hard, 1 - 1e-9)
        found = tuning.tune(
            search, Queries(rows), recall=0.9, n_neighbors=10, max_queries=600, n_lists=1, has_graph=False, n_items=10_000,
            n_probe=1, seed=seed, verbose=False,
        )  # fmt: skip
        assert found.chosen.algorithm == "approximate"
        recall = true_recall(found.chosen.n_candidates)
        mean = 0.8 * recall + 0.2 * np.clip((recall - 0.3) / 0.7, 0, 1)
        broken += mean < 0.9
        n_candidates.append(found.chosen.n_candidates)
    assert broken <= 0.05 * 200 + 2 * np.sqrt(0.05 * 0.95 * 200)
    assert np.median(n_candidates) < 120  # 68 would be enough if the recall were known


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
    found = index.tune(QUERIES, recall=0.8, max_queries=200)
    assert found.lower_bound >= 0.8
    assert found.recall.n_queries == 134


@pytest.mark.parametrize("recall", [0, -1, 1.1, np.nan, "0.9", True, None])
def test_a_recall_that_is_no_share_is_refused(recall):
    index = NeighborIndex(Semimetric.l1(X[:50])).fit(X[:50])
    with pytest.raises(InputError, match="recall="):
        index.tune(QUERIES, recall=recall)


def test_few_queries_are_refused():
    index = NeighborIndex(Semimetric.l1(X[:50])).fit(X[:50])
    with pytest.raises(InputError, match="19 different queries; 20 or more"):
        index.tune(QUERIES[:19])


def test_copies_of_queries_prove_nothing():
    rng = np.random.default_rng(0)
    index = NeighborIndex("l1").fit(rng.normal(size=(300, 3)))
    with pytest.raises(InputError, match="X has 2 different queries; 20 or more are required"):
        index.tune(np.repeat(rng.normal(size=(2, 3)), 150, axis=0), recall=0.95)
