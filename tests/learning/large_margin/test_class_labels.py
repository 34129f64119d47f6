"""Class labels as numbers."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from semimetric import InputError, LargeMarginLearner

RNG = np.random.default_rng(0)
X, Y = load_wine(return_X_y=True)
FAST = {"n_knots": 5, "alpha": 1e-2, "directions": None, "tables": "warped"}


def learned(**changes):
    return LargeMarginLearner(**FAST | changes)


def test_labels_of_several_types_or_missing_are_refused():
    pd = pytest.importorskip("pandas")
    for other in (pd.NA, np.nan, None, 1):
        with pytest.raises(InputError, match="several types, or missing ones"):
            learned().fit(X, pd.Series([other, *np.array(["a", "b", "c"])[Y[1:]]], dtype=object))


def test_float_labels_are_refused():
    with pytest.raises(ValueError, match="continuous"):
        learned().fit(X, RNG.random(len(X)))
