import numpy as np
import pytest
from cases import assert_refused
from sklearn.decomposition import PCA
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from semimetric import HistogramFeatures, UniformDirections
from semimetric.distances.features.fitted_directions import fit_directions
from semimetric.distances.features.linear_directions import Directions

NAMES = ("L", "a", "b")


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3))


DIRECTIONS = {
    "pca": "pca",
    "an array": [[1.0, 1.0, 0.0]],
    "fresh": PCA(2),
    "even": UniformDirections(("a", "b"), n_directions=3),
    "a list": [UniformDirections((0, 1), n_directions=3), PCA(1)],
}


@pytest.mark.parametrize("name", DIRECTIONS)
def test_directions_join_the_raw_features(X, name):
    fitted = fit_directions(DIRECTIONS[name], X, names=NAMES, random_state=0)
    features = fitted.append(X)
    assert len(set(fitted.names)) == len(fitted.names) == len(fitted.matrix)
    np.testing.assert_array_equal(features[:, :3], X)
    np.testing.assert_allclose(features[:, 3:], X @ fitted.matrix.T)


def test_a_fitted_transformer_is_taken_as_it_is_and_a_fresh_one_is_not_changed(X):
    fitted, fresh = PCA(2).fit(X[:10]), PCA(2)
    np.testing.assert_array_equal(fit_directions(fitted, X, names=NAMES).matrix, fitted.components_)
    fit_directions(fresh, X, names=NAMES)
    assert not hasattr(fresh, "components_")
    assert fit_directions(None, X, names=NAMES) is None


def test_given_directions_stay_and_a_transformers_copies_of_raw_features_go(X):
    assert fit_directions([[0.0, 1.0, 0.0]], X, names=NAMES).names == ("direction0",)
    assert fit_directions(HistogramFeatures([0.0, 1.0, 2.0], bins=True), X, names=NAMES).names == ("slice0<1.5", "mass")


BAD = {
    "name": ("lda", "directions='lda'", "is not known here", "fit them yourself"),
    "shape": ([[1.0, 2.0]], "shape (1, 2)", "(n_directions, 3) is required"),
    "ragged": ([[1.0, 0.0], [1.0]], "directions cannot be read", "(n_directions, 3)", "one number a feature"),
    "needs labels": (NeighborhoodComponentsAnalysis(1), "NeighborhoodComponentsAnalysis", "fit it yourself", "give it fitted"),
    "zero": ([[0.0, 0.0, 0.0]], "directions", "none may be all 0", "correct or drop"),
    "nan": ([[np.nan, 1.0, 0.0]], "directions", "must be finite", "correct or drop"),
    "one feature": (UniformDirections((1,)), "features=(1,)", "at least two", "leave these directions out"),
    "repeated": (UniformDirections((1, 1)), "features=(1, 1)", "at least two"),
    "unknown column": (UniformDirections(("a", "c")), "feature 'c' is not among", "name a column"),
    "outside": (UniformDirections((0, 3)), "feature 3 lies outside 0 to 2", "correct features="),
    "none asked for": (UniformDirections(n_directions=0), "n_directions=0", "must be an integer >= 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_directions_are_refused(X, name):
    directions, *parts = BAD[name]
    assert assert_refused(lambda: fit_directions(directions, X, names=NAMES), *parts)


def test_a_map_that_is_not_linear_is_refused(X):
    from sklearn.preprocessing import QuantileTransformer

    assert_refused(
        lambda: fit_directions(QuantileTransformer(n_quantiles=5), X, names=NAMES), "QuantileTransformer", "needs a linear map"
    )


def test_directions_are_named(X):
    assert Directions(np.ones((1, 3)), ("sum",)).names == ("sum",)
    assert fit_directions("pca", X, names=NAMES).names == ("pca0", "pca1", "pca2")


def table_of_a_category_and_a_gap(rng):
    """Two numbers of which one is missing for a third of the items, a category between them, and a third number."""
    X = rng.normal(size=(60, 4))
    X[:, 1] = rng.integers(0, 3, 60)
    X[::3, 2] = np.nan
    return X, np.array([True, False, True, True]), ("L", "kind", "a", "b")


def test_a_list_of_transformers_is_each_of_them_fitted_among_the_numbers_that_are_there(rng):
    X, usable, names = table_of_a_category_and_a_gap(rng)
    parts = [PCA(2, random_state=0), UniformDirections(("a", "b"), n_directions=3), UniformDirections(n_directions=4)]
    fitted = fit_directions(parts, X, names=names, usable=usable)
    alone = [fit_directions(part, X, names=names, usable=usable) for part in parts]
    np.testing.assert_array_equal(fitted.matrix, np.vstack([part.matrix for part in alone]))
    assert fitted.names == tuple(f"{k}:{name}" for k, part in enumerate(alone) for name in part.names)
    whole = X[~np.isnan(X).any(axis=1)][:, usable]
    np.testing.assert_allclose(fitted.matrix[:2, usable], PCA(2, random_state=0).fit(whole).components_, rtol=1e-12, atol=1e-15)
    assert not fitted.matrix[:, 1].any()
    np.testing.assert_array_equal(fitted.append(X)[:, :4], X)
    mapped = fitted.append(X)[:, 4:]
    lacks = np.isnan(X) @ fitted.uses.T
    np.testing.assert_array_equal(np.isnan(mapped), lacks)
    np.testing.assert_allclose(mapped[~lacks], (np.nan_to_num(X) @ fitted.matrix.T)[~lacks])


def test_directions_of_a_table_are_refused_where_they_use_what_is_no_number(rng):
    X, usable, names = table_of_a_category_and_a_gap(rng)

    def refused(directions, *parts, items=X):
        assert_refused(lambda: fit_directions(directions, items, names=names, usable=usable), *parts)

    refused([[0.0, 1.0, 0.0, 1.0]], "directions= use 'kind', which is no number", "combine numbers", "leave it out")
    refused([PCA(1), UniformDirections(("kind", "a"))], "directions= use 'kind'", "combine numbers", "leave it out")
    other = Directions(np.ones((1, 3)), ("sum",))
    refused(other, "directions= are of 3 features, but there are 4", "", "give those of the items")
    never = X.copy()
    never[1::3, 0] = never[2::3, 3] = np.nan
    for directions in ("pca", [PCA(1), PCA(2)]):
        refused(
            directions, "have no items to be fitted on: 3 features are numbers", "no item has all", "give an array", items=never
        )
