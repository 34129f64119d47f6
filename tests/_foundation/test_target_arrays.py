"""Targets are classes of one type, or finite values, or refused in one sentence."""

import numpy as np
import pytest

import semimetric
from semimetric._foundation.arrays import check_one_type


@pytest.mark.parametrize("y", [["a", None], [1, "a"], [1.5, "a"], [None, None]], ids=str)
def test_labels_of_several_types_or_missing_are_refused(y):
    """By whatever learns from classes, in one sentence, and not by a TypeError of NumPy."""
    labels = np.array(y * 4, dtype=object)
    X = np.random.default_rng(0).random((8, 2))
    models = (
        semimetric.ConicEmbedding(anchors="class"),
        semimetric.LargeMarginLearner(n_knots=2, alpha=1e-2, directions=None),
        semimetric.SemimetricClassifier(),
        semimetric.BoundaryPoints(),
        semimetric.SupportPointClassifier(),
        semimetric.DPLMClassifier(),
        semimetric.EmbeddedLinearClassifier(),
        semimetric.PL1Embedding(knots="tree"),
        semimetric.PL2Embedding(pairs="best", n_pairs=1),
    )
    for model in models:
        with pytest.raises(semimetric.InputError, match=r"classes of several types, or missing ones|y\[\d\] is missing"):
            model.fit(X, labels)
    check_one_type(np.array(list("ab"), dtype=object))
    check_one_type(np.array([1.0, np.nan]))
