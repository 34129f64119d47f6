"""Divergences that have a name: those of SciPy and scikit-learn, kept in files by their names."""

import numpy as np
import pytest
from cases import assert_refused, cityblock
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import jensenshannon
from sklearn.metrics.pairwise import additive_chi2_kernel

import semimetric as sm
from semimetric.data.calls import UserDistance
from semimetric.distances.model.base_distances import BaseDistance
from semimetric.distances.model.divergences import DIVERGENCES, closest_divergence

PEERS = {
    "jensenshannon": jensenshannon,
    "hellinger": lambda x, y: np.linalg.norm(np.sqrt(x) - np.sqrt(y)) / np.sqrt(2),
    "chi2": lambda x, y: -additive_chi2_kernel(x[None], y[None])[0, 0],
    "kl_div": lambda x, y: sum(a * np.log(a / b) if b else np.inf for a, b in zip(x, y, strict=True) if a),
}


def histograms(seed, n, zeros=False):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(5, 0.7), n)
    if zeros:
        P[rng.random(P.shape) < 0.3] = 0.0
        P[:, 0] += 0.1
        P /= P.sum(axis=1, keepdims=True)
    return P


def learned(bases, seed=0, **options):
    X = histograms(seed, 60)
    pairs = np.random.default_rng(1).integers(0, 60, (200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    y = DIVERGENCES["jensenshannon"](X[pairs[:, 0]], X[pairs[:, 1]])
    tables = sm.Tables("warped", base_distances=bases)
    model = sm.DistanceRegressor(n_knots=3, tables=tables, preprocessor=X, **{"alpha": 1e-3} | options).fit(pairs, y)
    return model, X, pairs, y


@pytest.mark.parametrize("name", DIVERGENCES)
@given(seed=st.integers(0, 10_000), zeros=st.booleans())
def test_it_is_that_of_scipy_or_scikit_learn(name, seed, zeros):
    X, Y = histograms(seed, 4, zeros), histograms(seed + 1, 4, zeros)
    found = DIVERGENCES[name](X, Y)
    assert_allclose(found, [PEERS[name](x, y) for x, y in zip(X, Y, strict=True)], rtol=1e-7, atol=1e-8)
    assert_array_equal([DIVERGENCES[name](x, y) for x, y in zip(X, Y, strict=True)], found)
    assert_array_equal(DIVERGENCES[name](X, X), 0.0)
    assert (found >= 0).all()
    if name != "kl_div":
        assert_array_equal(DIVERGENCES[name](Y, X), found)


METRICS = [name for name, each in DIVERGENCES.items() if each.metric_power]


@pytest.mark.parametrize("name", METRICS)
@given(seed=st.integers(0, 10_000), zeros=st.booleans(), share=st.floats(0.1, 1.0))
def test_it_is_a_metric_up_to_its_power(name, seed, zeros, share):
    x, y, z = (histograms(seed + k, 40, zeros) * (1 + k) for k in range(3))  # also of other sums
    y[:20] = x[:20] + 1e-3 * (z[:20] - x[:20])  # a short detour
    d, power = DIVERGENCES[name], share * DIVERGENCES[name].metric_power
    xz, xy, yz = (d(a, b) ** power for a, b in ((x, z), (x, y), (y, z)))
    assert (xz <= (xy + yz) * (1 + 1e-9) + 1e-7**share).all()


def test_beyond_its_power_it_is_none():
    x, y, z = np.eye(2)[[0]], np.full((1, 2), 0.5), np.eye(2)[[1]]
    for name in METRICS:
        d, power = DIVERGENCES[name], 2 * DIVERGENCES[name].metric_power
        assert d(x, z)[0] ** power > d(x, y)[0] ** power + d(y, z)[0] ** power


@pytest.mark.parametrize("kind", ["full", "warped"])
@pytest.mark.parametrize(("name", "exponent"), [("jensenshannon", 1.0), ("hellinger", 0.8), ("chi2", 0.5)])
def test_a_metric_may_have_it_as_a_part(name, exponent, kind, tmp_path):
    X = histograms(0, 60)
    pairs = np.random.default_rng(1).integers(0, 60, (200, 2))
    y = DIVERGENCES[name](X[pairs[:, 0]], X[pairs[:, 1]]) ** exponent + np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1)
    tables = sm.Tables(kind, base_distances=[name], base_exponents=exponent)
    model = sm.DistanceRegressor(n_knots=3, alpha=1e-6, axioms="metric", tables=tables, preprocessor=X).fit(pairs, y)
    d = model.semimetric_
    assert d.base_distances[0].weight > 0.5
    assert d.axioms.name == "metric"
    assert "divergences" in d.certify().proofs["triangle"]
    D = d.pairwise(X)
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-7).all()
    d.save(tmp_path / "d.smm")
    assert sm.load(tmp_path / "d.smm").axioms == d.axioms
    assert sm.metric_repair(d).axioms.triangle


def test_a_distance_that_it_is_is_learned():
    model, _, pairs, y = learned(["jensenshannon"], alpha=1e-9)
    assert_allclose(model.predict(pairs), y, rtol=1e-5)
    assert model.semimetric_.axioms.symmetric
    assert [base.name for base in model.semimetric_.base_distances] == ["jensenshannon"]


@pytest.mark.parametrize("bases", [["hellinger"], ("chi2", cityblock, "jensenshannon")])
def test_files_hold_its_name_and_ask_for_callables_alone(bases, tmp_path):
    model, X, pairs, _ = learned(bases)
    model.save(tmp_path / "model.smm")
    model.semimetric_.save(tmp_path / "d.smm")
    functions = [each for each in bases if callable(each)]
    again = sm.load(tmp_path / "model.smm", base_distances=functions)
    assert_array_equal(again.predict(pairs), model.predict(pairs))
    assert list(again.tables.base_distances) == list(bases)
    assert type(again.tables.base_distances) is type(bases)
    d = sm.load(tmp_path / "d.smm", base_distances=functions)
    assert_array_equal(d.pairwise(X), model.semimetric_.pairwise(X))
    assert_refused(
        lambda: sm.load(tmp_path / "d.smm", base_distances=[*functions, cityblock]),
        "base distances",
        "the same callables",
        error=sm.StorageError,
    )
    assert_refused(
        lambda: sm.load(tmp_path / "model.smm", base_distances=[*functions, cityblock]),
        "base distances",
        "the same callables",
        error=sm.StorageError,
    )


def test_what_it_cannot_take_is_refused():
    assert_refused(lambda: learned(["jensen"]), "base_distances[0]='jensen'", "did you mean 'jensenshannon'", "'kl_div'")
    assert_refused(lambda: learned("hellinger"), "base_distances='hellinger'", "['hellinger']")
    X = histograms(0, 30) - 0.1
    tables = sm.Tables(base_distances=["chi2"])
    model = sm.DistanceRegressor(n_knots=3, alpha=1e-3, tables=tables, preprocessor=X)
    pairs = np.array([[k, k + 1] for k in range(29)])
    assert_refused(lambda: model.fit(pairs, np.arange(1.0, 30.0)), "'chi2'", "numbers >= 0")
    d = learned(["hellinger"])[0].semimetric_
    assert_refused(lambda: d.paired(X[:2], X[2:4]), "'hellinger'", "numbers >= 0")


@pytest.mark.parametrize(
    ("name", "link", "exponent", "by_columns"),
    [("jensenshannon", "sqrt", 1.0, True), ("chi2", "identity", 1.0, True), ("chi2", "sqrt", 0.5, True),
     ("hellinger", "identity", 1.0, False), ("chi2", "sqrt", 1.0, False)],
)  # fmt: skip
def test_a_sum_over_columns_is_explained_by_columns(name, link, exponent, by_columns):
    X = histograms(0, 60)
    y = DIVERGENCES[name](X[:30], X[30:])
    tables = sm.Tables("warped", base_distances=[name], base_exponents=exponent)
    model = sm.DistanceRegressor(n_knots=2, alpha=1e-3, link=link, tables=tables)
    d = model.fit(np.stack([X[:30], X[30:]], axis=1), y).semimetric_
    parts = d.contributions(X[:9], X[9:18], by="features")
    assert d.contribution_names("features") == (*d.feature_names, *([] if by_columns else [name]))
    assert_allclose(parts.sum(axis=1), d.contributions(X[:9], X[9:18]).sum(axis=1), rtol=1e-9)
    (base,) = d.base_distances
    assert base.weight > 0
    if by_columns:
        alone = np.tile(X[0], (5, 1))
        alone[np.arange(5), np.arange(5)] *= 0.5  # a row for every column, in which it alone differs
        assert_allclose(base.parts(X[:1].repeat(5, axis=0), alone), np.diag(base.paired(X[:1].repeat(5, axis=0), alone)))
        assert d.explain(X[0], X[1:3]).contributions.shape == (2, 5)


def test_axioms_are_known_and_not_tried_out():
    """On rows of which one is a permutation of the other, Kullback and Leibler's divergence is symmetric by chance."""
    X = np.array([[0.2, 0.8], [0.8, 0.2]])
    for name, symmetric in (("kl_div", False), ("hellinger", True)):
        function = UserDistance(DIVERGENCES[name], "batches")
        base = BaseDistance(function, 1.0, name, X[None], DIVERGENCES[name](X[:1], X[1:]))
        assert base.symmetric is symmetric
        assert base.zero_on_diagonal


@pytest.mark.parametrize(("name", "exponent"), [("jensenshannon", 1.0), ("chi2", 0.5), ("hellinger", 2.0), ("kl_div", 1.0)])
@given(seed=st.integers(0, 10_000))
def test_the_closest_is_the_one_that_made_the_distances(name, exponent, seed):
    X, Y = histograms(seed, 40), histograms(seed + 1, 40)
    match = closest_divergence(X, Y, 0.7 * DIVERGENCES[name](X, Y) ** exponent)
    assert (match.name, match.exponent, match.n_pairs) == (name, exponent, 40)
    assert_allclose([match.factor, match.error], [0.7, 0.0], atol=1e-12)
    assert closest_divergence(X - 0.5, Y, np.ones(40)) is None
    assert closest_divergence(X, Y, np.zeros(40)) is None


def test_a_distance_that_has_a_name_is_told():
    X = np.random.default_rng(0).dirichlet(np.full(20, 0.2), 120)
    pairs = np.random.default_rng(1).permutation(np.argwhere(np.tri(120, k=-1)))[:1500]
    y = 2 * DIVERGENCES["chi2"](X[pairs[:, 0]], X[pairs[:, 1]]) ** 0.5
    told = r"the distances of 1500 pairs agree with 2 times 'chi2' to the power 0.5 up to .*\['chi2'\], base_exponents=0.5\)"
    options = {"n_knots": 3, "alpha": 1e-4, "preprocessor": X, "validation_fraction": 0.0}
    with pytest.warns(sm.SemimetricWarning, match=told):
        sm.DistanceRegressor(**options).fit(pairs, y)
    named = sm.Tables(base_distances=["chi2"], base_exponents=0.5)
    model = sm.DistanceRegressor(tables=named, **options | {"alpha": 1e-9}).fit(pairs, y)
    assert_allclose(model.predict(pairs), y, rtol=1e-3)
    with pytest.warns(sm.SemimetricWarning, match=told):
        sm.DistanceRegressor(axioms="metric", **options).fit(pairs, y)
    sm.DistanceRegressor(axioms="metric", **options).fit(pairs, y**2)  # which chi2 itself is not
    options["preprocessor"] = bits = (X > 0.1) * 1.0
    apart = np.abs(bits[pairs[:, 0]] - bits[pairs[:, 1]]).sum(axis=1)  # chi2 of bits, which tables are as well
    sm.DistanceRegressor(**options).fit(pairs, apart)
