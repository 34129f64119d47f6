"""Links: they increase from 0, are undone by their inverses, and those that are concave keep the triangle inequality."""

import pickle

import numpy as np
import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st
from searches import rough_distance

from semimetric import ConcaveLink, Grid, InputError, PairEmbedding, PowerLink, Semimetric, load
from semimetric._foundation.stored import state_of, value_of
from semimetric._kernels.metric import linked
from semimetric.distances.model.links import LinkLike, checked_link, link_function

SUMS = np.concatenate([[0.0, 0.3, 0.7, 1.0, 2.0], np.geomspace(1e-6, 1e6, 40)])
LINKS = {
    "identity": "identity",
    "root": "sqrt",
    "power": PowerLink(0.7),
    "square": PowerLink(2.0),
    "pieces": ConcaveLink((0.3, 1.0), (2.0, 1.0, 0.1)),
    "one piece": ConcaveLink((), (3.0,)),
}
every_link = pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)


@every_link
def test_a_link_increases_from_0_and_is_undone(link):
    g = link_function(link)
    values = g.apply(np.sort(SUMS))
    assert values[0] == 0
    assert (np.diff(values[np.append(True, np.diff(np.sort(SUMS)) > 0)]) > 0).all()
    np.testing.assert_allclose(g.invert(values), np.sort(SUMS), rtol=1e-10)


@every_link
def test_its_slope_is_that_of_its_values_and_says_whether_it_is_concave(link):
    g, at = link_function(link), np.geomspace(1e-3, 1.1e3, 57)
    step = 1e-6 * at
    np.testing.assert_allclose(g.slope(at), (g.apply(at + step) - g.apply(at - step)) / (2 * step), rtol=1e-5)
    assert (np.diff(g.slope(at)) <= 1e-12).all() == g.concave


@every_link
def test_compiled_and_of_one_number_it_is_the_same(link):
    g = link_function(link)
    want = g.apply(SUMS)
    np.testing.assert_allclose([g.of_one(float(s)) for s in SUMS], want, rtol=1e-12)
    np.testing.assert_allclose([linked(s, *g.parts) for s in SUMS], want, rtol=1e-12)
    assert np.isnan(g.of_one(np.nan))
    assert np.isnan(linked(np.nan, *g.parts))


@every_link
def test_it_is_stored_and_read(link):
    assert value_of(state_of(link), LinkLike, ()) == link
    assert pickle.loads(pickle.dumps(link)) == link


@given(
    st.lists(st.floats(0.01, 3.0), min_size=0, max_size=5), st.lists(st.floats(0.01, 1.0), min_size=6, max_size=6),
    st.floats(0, 20), st.floats(0, 20),
)  # fmt: skip
def test_concave_links_are_subadditive(gaps, steps, a, b):
    """g(a + b) <= g(a) + g(b), which is what keeps the triangle inequality (docs/mathematics.md, section 11)."""
    slopes = tuple(np.cumsum(steps[: len(gaps) + 1])[::-1])
    for g in (ConcaveLink(tuple(np.cumsum(gaps)), slopes), PowerLink(steps[0] * 0.9 + 0.1)):
        assert g.apply(np.array(a + b)) <= (g.apply(np.array(a)) + g.apply(np.array(b))) * (1 + 1e-12)


@pytest.mark.parametrize(("link", "triangle"), [("identity", True), (0.5, True), (LINKS["pieces"], True), (1.5, False)])
def test_a_metric_stays_one_under_concave_links_alone(link, triangle, rng):
    embedding = PairEmbedding(Grid([np.linspace(0.0, 1.0, 4)] * 2))
    d = Semimetric(embedding, embedding.prior(np.array([3.0, 1.0])), np.ones(2), ("a", "b"), link=link)
    assert d.axioms.triangle == triangle
    assert d.axioms.name == ("metric" if triangle else "semimetric")
    X = rng.normal(size=(40, 2))
    D = d.pairwise(X)
    longest = (D[:, None] - D[:, :, None] - D[None]).max()  # D[i, k] - D[i, j] - D[j, k]
    assert (longest <= 1e-12) == triangle
    assert d.certify().triangle == ("proved" if triangle else "violated")


def test_a_report_says_that_a_link_is_not_concave():
    d = Semimetric(PairEmbedding(Grid([[0.0, 1.0]])), np.array([1.0]), np.zeros(1), ("a",), link=1.0 + 1e-12)
    report = d.certify()
    assert report.triangle == "not proved"
    assert "is not concave" in report.proofs["triangle"]


def test_a_number_is_an_exponent_and_1_is_the_identity():
    assert checked_link(0.5) == PowerLink(0.5)
    assert checked_link(1) == checked_link(ConcaveLink((2.0,), (1.0, 1.0))) == "identity"
    d = rough_distance(Grid([[0.0, 1.0]]), link=0.8)
    assert d.link == PowerLink(0.8)
    assert "link power 0.8" in repr(d)


@every_link
def test_a_saved_distance_has_its_link(link, tmp_path, rng):
    d, X = rough_distance(Grid([[0.0, 1.0], [0.0, 2.0]]), link=link), rng.normal(size=(6, 2))
    d.save(tmp_path / "d.smm")
    again = load(tmp_path / "d.smm")
    assert again.link == d.link
    np.testing.assert_array_equal(again.pairwise(X), d.pairwise(X))


REFUSED = {
    "name": (lambda: checked_link("log"), "link='log' is not known", "a number from 0.1 to 10"),
    "truth": (lambda: checked_link(True), "link=True is not known", "is required"),
    "exponent": (lambda: PowerLink(0.0), "the exponent 0.0 makes no link", "from 0.1 to 10"),
    "not a number": (lambda: PowerLink(float("nan")), "the exponent nan", "is required"),
    "text": (lambda: PowerLink("1"), "the exponent '1'", "is required"),
    "bends": (lambda: ConcaveLink((2.0, 1.0), (3.0, 2.0, 1.0)), "do not increase from 0", "are required"),
    "pieces": (lambda: ConcaveLink((2.0,), (3.0,)), "1 bends make 2 pieces", "1 slopes"),
    "convex": (lambda: ConcaveLink((2.0,), (1.0, 2.0)), "slopes=(1.0, 2.0)", "none larger than the one before"),
    "flat": (lambda: ConcaveLink((2.0,), (1.0, 0.0)), "make no link", "0.0001 of the first"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_no_link_is_refused_in_words(case):
    assert_refused(case[0], *case[1:])


def test_powers_that_overflow_are_refused_and_not_infinite():
    d = rough_distance(Grid([[0.0, 1.0]]), link=4.0)
    with pytest.raises(InputError, match="overflows"):
        d.paired([[0.0]], [[1e200]])
    with pytest.raises(InputError, match="overflows"):
        d(np.array([0.0]), np.array([1e200]))
    with pytest.raises(InputError, match="overflows"):
        ConcaveLink((), (1e10,)).apply(np.array([1e300]))


def test_base_distances_and_weights_below_0_have_no_power():
    embedding = PairEmbedding(Grid([[0.0, 1.0]]))
    with pytest.raises(InputError, match="the link power 0.7 sums have no sign"):
        Semimetric(embedding, np.array([-1.0]), np.ones(1), ("a",), link=0.7)
