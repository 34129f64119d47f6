"""What is said of a distance: its facts, and no data."""

from mixed_distances import distance

from semimetric import Grid, PairEmbedding, Semimetric


def test_a_notebook_shows_kinds_ranges_and_categories():
    d = distance(1, gaps=True)
    html = d._repr_html_()
    assert "<tr><td>a</td><td>numeric</td><td>-2 to 2, or missing</td><td>5</td></tr>" in html
    assert "<td>c</td><td>periodic</td><td>period 4</td>" in html
    assert "<td>d</td><td>categorical</td><td>0, 1, 2</td>" in html
    for line in repr(d).splitlines():
        assert line in html


def test_many_features_and_categories_are_counted(rng):
    grid = Grid([[0.0, 1.0]] * 29 + [range(8)], ["numeric"] * 29 + ["categorical"])
    embedding = PairEmbedding(grid)
    d = Semimetric(embedding, rng.random(embedding.n_columns), rng.random(30) * grid.extends, tuple(f"f{k}" for k in range(30)))
    html = d._repr_html_()
    assert html.count("<tr>") == 1 + 20 + 1
    assert "<td>10 others</td>" in html
    few = Semimetric(PairEmbedding(grid.select([29])), rng.random(28), [0.0], ("kind",))
    assert "0, 1, 2, 3, ..." in few._repr_html_()
