"""The errors of an approximation, and when it is said to be useless."""

import warnings

import numpy as np
import pytest

from semimetric import SemimetricWarning
from semimetric.estimators.approximation_errors import ApproximationErrors

TRUE = 1.0 + np.random.default_rng(0).random(100)
OTHER = 1.0 + np.random.default_rng(1).random(100)


def test_errors_are_relative_and_of_pairs_apart():
    errors = ApproximationErrors.of(np.array([9.0, 1.1, 1.0]), np.array([0.0, 1.0, 2.0]))
    np.testing.assert_allclose(errors.relative, [0.1, 0.5])
    assert (errors.n_pairs, errors.quantiles((0.5,))) == (2, {0.5: pytest.approx(0.3)})
    assert errors.explained == 0.0
    assert ApproximationErrors.of(TRUE, TRUE).explained == 1.0
    assert ApproximationErrors.of(np.ones(3), np.zeros(3)).quantiles((0.5,)) == {}


def test_a_model_that_explains_nothing_is_said_to_be_useless():
    with pytest.warns(SemimetricWarning, match=r"on 100 pairs .* explains 0 % of .* hardly better than one distance"):
        ApproximationErrors.of(OTHER, TRUE).warn_if_useless()


@pytest.mark.parametrize(
    ("learned", "true"), [(OTHER[:19], TRUE[:19]), (9 + 0.01 * OTHER, 9 + 0.01 * TRUE), (TRUE + 0.1 * OTHER - 0.15, TRUE)],
    ids=["few pairs", "hardly differ", "good"],
)  # fmt: skip
def test_nothing_is_said_of_others(learned, true):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ApproximationErrors.of(learned, true).warn_if_useless()
    assert said == []
