from functools import partial

import numpy as np
import pytest

from semimetric import DistanceRegressor
from semimetric.cli import demo
from semimetric.cli.demo import DemoResult
from semimetric.cli.parser import DemoSizes
from semimetric.cli.tables import read_items
from semimetric.datasets.digits import exact_emd

pytest.importorskip("ot")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "DistanceRegressor", partial(DistanceRegressor, alpha=0.1))  # to choose it takes a while
        return demo.run(DemoSizes(train_images=200, train_pairs=600, test_pairs=60, queries=3), n_jobs=None)


@pytest.mark.slow
def test_what_it_reports_is_plausible_even_when_small(result):
    r = result.report
    assert r.median_relative_error < 0.05
    assert r.pearson > 0.98
    assert 0.5 < r.first_10 <= r.first_20 <= 1
    assert r.first_10 <= r.reranked == r.first_20
    assert (r.train_images, r.unseen_images, r.test_pairs, r.queries) == (200, 1597, 60, 3)
    assert r.exact_microseconds > r.learned_microseconds > 0
    assert r.speedup == pytest.approx(r.exact_microseconds / r.learned_microseconds)


@pytest.mark.slow
def test_the_defaults_reach_what_the_readme_shows():
    r = demo.run().report
    assert r.median_relative_error < 0.0105  # 0.93 % on its picture
    assert r.first_10 > 0.93
    assert r.first_20 == 1.0


def test_queries_and_gallery_are_images_that_it_never_saw(result):
    train = np.random.default_rng(0).permutation(1797)[:200]
    assert not set(train) & set(np.concatenate([result.queries, result.gallery]))
    assert not set(result.queries) & set(result.gallery)


def test_exact_distances_are_exact_and_learned_ones_the_models(result):
    X, C = result.digits.histograms, result.digits.bin_coordinates
    q, g = result.queries[1], result.gallery[4]
    assert result.exact[1, 4] == exact_emd(X[q], X[g], C)[0]
    assert result.learned[1, 4] == pytest.approx(result.semimetric(X[q], X[g]))


def test_retrieval_by_hand():
    exact = np.arange(30.0)[None]
    half = np.concatenate([np.arange(5), np.arange(100, 105), np.arange(5, 10), np.arange(200, 215)]).astype(float)[None]
    assert demo._retrieval(exact, exact) == (1.0, 1.0, 1.0)
    assert demo._retrieval(exact, -exact) == (0.0, 0.0, 0.0)
    assert demo._retrieval(exact, half) == (0.5, 1.0, 1.0)  # the first ten are 0-4 and 10-14
    assert demo._retrieval(exact, np.roll(exact, 5, axis=1)) == (0.5, 0.5, 0.5)


def test_heights_price_the_moves(result):
    X = result.digits.histograms
    x, y = demo._pair_to_draw(result)
    heights = demo._heights(result.semimetric, X[x], X[y])
    assert heights @ (X[x] - X[y]) == pytest.approx(result.semimetric(X[x], X[y]), rel=0.1)
    assert abs(heights.mean()) < 1e-9


def test_the_picture_and_the_table_are_written(result, tmp_path):
    demo.draw(result, str(tmp_path / "demo.png"))
    demo.write_digits(result, str(tmp_path / "demo.csv"))
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "demo.png").stat().st_size > 50_000
    pytest.importorskip("pandas")
    table = read_items(str(tmp_path / "demo.csv"), result.semimetric.schema, "name")
    assert np.array_equal(table.frame.to_numpy(), result.digits.histograms[result.queries])
    assert table.ids[0].endswith(f"-{result.queries[0]}")


def test_a_pair_is_found_whatever_the_labels(result):
    digits = type(result.digits)(result.digits.histograms, result.digits.bin_coordinates, np.zeros(1797, np.int64))
    values = vars(result) | {"digits": digits}
    assert demo._pair_to_draw(DemoResult(**values)) == (result.queries[0], result.gallery[0])
