"""`Semimetric.to_frame`: every cell of every table as a row, which is what the term adds between two such items."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_distances import distance

import semimetric as sm

RAW = ("a", "b", "c", "d")
CODES = {"(missing)": np.nan, "(other)": 99.0}


def placed(features, points):
    """An item for each level of a term: the features of the term have that level, the others 0; shape (n, 4)."""
    X = np.zeros((len(points), len(RAW)))
    for row, point in zip(X, points, strict=True):
        for f, level in zip(features, point if isinstance(point, tuple) else (point,), strict=True):
            row[f] = CODES.get(level, level)
    return X


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["singles", "pairs", "of everything"]), st.booleans())
def test_a_row_is_what_its_term_adds_between_two_such_items(seed, groups, gaps):
    d = distance(seed, groups, gaps=gaps)
    frame = d.to_frame()
    assert list(frame.columns) == ["feature", "a", "b", "distance"]
    assert list(frame["feature"].unique()) == [term for term in d.terms if term != "outside range"]
    n_raw = 0
    for term, rows in frame.groupby("feature", sort=False):
        names = d.tables()[term].names
        assert len(rows) == d.tables()[term].values.size
        if set(names) <= set(RAW):
            n_raw += 1
            features, rows = [RAW.index(name) for name in names], rows.iloc[:: max(1, len(rows) // 150)]
            x, y = placed(features, rows["a"]), placed(features, rows["b"])
            added = d.contributions(x, y)[:, d.terms.index(term)]
            np.testing.assert_allclose(rows["distance"], added, rtol=1e-12, atol=1e-12)
    assert n_raw == {"singles": 4, "pairs": 6, "of everything": 4}[groups]


def test_levels_are_what_a_person_wrote_and_numbers_stay_numbers():
    table = pd.DataFrame({"colour": ["red", "blue", None], "size": [1.0, 2.0, 4.0]})
    frame = sm.gower(table).to_frame().set_index(["feature", "a", "b"])["distance"]
    assert frame["colour", "red", "blue"] == frame["colour", "(other)", "red"] == pytest.approx(0.5)
    assert frame["colour", "(missing)", "(missing)"] == 0
    assert frame["size", 1.0, 4.0] > 0
    assert sm.Semimetric.l1([[0.0], [3.0]]).to_frame()["a"].dtype == float
