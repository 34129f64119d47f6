"""What a rule says, pandas finds: the items of a leaf and no others."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semimetric import PartitionFeatures, Schema
from semimetric.data.schema import Feature
from semimetric.distances.features.leaf_rules import leaf_rules, rule
from semimetric.distances.features.partitions import OUTERMOST, Step


def asked(frame, text):
    """The rows that pandas finds for a rule."""
    text = re.sub(r"(\w+) is not missing", r"\1.notna()", text)
    text = re.sub(r"(\w+) is missing", r"\1.isna()", text)
    return set(frame.index) if text == "always" else set(frame.query(text, engine="python").index)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_pandas_finds_the_items_of_every_leaf(seed):
    rng = np.random.default_rng(seed)
    colors = np.array(["red", "green", "it's blue"])
    learn, new = (
        pd.DataFrame({"age": rng.normal(40, 15, 80), "hour": 24 * rng.random(80), "color": colors[rng.integers(0, 3, 80)]})
        for _ in range(2)
    )
    learn.loc[rng.random(80) < 0.2, "age"] = np.nan
    new.loc[rng.random(80) < 0.2, "age"] = np.nan
    new.loc[:5, "color"] = "mauve"
    schema = Schema.fit(learn, categorical_features=["color"], periodic={"hour": 24}, missing="level")
    trees = PartitionFeatures("random", n_trees=4, random_state=seed).fit(schema.encode(learn)).partitions_
    for frame in (learn, new):
        leaves = trees.apply(schema.encode(frame))
        for t in range(4):
            for leaf, text in enumerate(leaf_rules(trees, t, schema)):
                assert asked(frame, text) == set(np.flatnonzero(leaves[:, t] == leaf)), text


def left(feature, threshold, missing=True):
    return Step(feature, threshold, True, missing)


def right(feature, threshold, missing=False):
    return Step(feature, threshold, False, missing)


NUMBERS = Schema((Feature("age"), Feature("pay", missing=True), Feature("color", "categorical", ("blue", "green", "red"))))
SAID = {
    "always": [],
    "age > 40 and (pay <= 2.5 or pay is missing)": [right(0, 40.0), left(1, 2.5)],
    "30.5 < age <= 40": [right(0, 20.0), left(0, 50.0), right(0, 30.5), left(0, 40.0)],
    "age <= 0.1": [left(0, 0.3), left(0, 0.1), left(0, 0.2)],
    "color in ['blue', 'green']": [left(2, 1.0)],
    "color not in ['blue', 'green']": [right(2, 1.0)],
    "color in ['green']": [right(2, 0.0), left(2, 1.5)],
    "pay is missing": [left(1, -OUTERMOST)],
    "pay is not missing": [right(1, -OUTERMOST)],
    "pay > 3": [right(1, -OUTERMOST), right(1, 3.0)],
    "pay <= 3": [left(1, OUTERMOST, False), left(1, 3.0)],
    "(pay > 1 or pay is missing)": [right(1, 1.0, True)],
}


@pytest.mark.parametrize("text", SAID)
def test_conditions_of_a_feature_are_told_as_one(text):
    assert rule(SAID[text], NUMBERS) == text


def test_times_are_told_as_times():
    schema = Schema((Feature("when", time="scale"),))
    assert rule([right(0, 19723.5)], schema) == "when > 2024-01-01 12:00:00"
