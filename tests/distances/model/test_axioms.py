"""What a distance claims holds at random points, and the name is the strongest that the claims give."""

import cases
import numpy as np
import pytest
from learners import made

from semimetric import Axioms, DistanceRegressor

AXIOMS = {
    "singles": "semimetric", "pairs": "semimetric", "touched": "semimetric", "swapped": "semimetric", "premetric": "premetric",
    "no axioms": "none", "warped": "metric", "base": "semimetric", "directions": "metric",
    "square root": "semimetric",
}  # fmt: skip


@pytest.mark.parametrize("name", AXIOMS)
def test_axioms_say_what_is_guaranteed(name):
    d = cases.fitted(name)[0].semimetric_
    assert d.axioms.name == AXIOMS[name]
    assert str(d.axioms).startswith(AXIOMS[name])
    assert d.axioms.continuous == (name != "swapped")
    assert AXIOMS[name] in repr(d)


def test_features_in_no_group_leave_positivity_unclaimed():
    items, index, y = cases.sample()
    d = made(DistanceRegressor, **cases.FAST, groups=[(0,), (2,)], preprocessor=items).fit(index, y).semimetric_
    assert not d.axioms.positive
    assert d.axioms.name == "pseudometric"  # these tables obey the triangle inequality, and are found to
    moved = items + [0.0, 0.01, 0.0]
    inside = (moved <= items.max(axis=0)).all(axis=1)
    assert (d.paired(items, moved)[inside] == 0).all()


def test_weights_at_zero_leave_positivity_unclaimed():
    items, index, y = cases.sample()
    none = {"penalty": "lasso", "alpha": 0.3, "delta": 0.0, "n_knots": 4, "preprocessor": items}
    d = made(DistanceRegressor, **none).fit(index, y).semimetric_
    assert (d.weights == 0).any()
    assert d.axioms.name == "pseudosemimetric"
    assert made(DistanceRegressor, **none | {"delta": 1e-6}).fit(index, y).semimetric_.axioms.name == "semimetric"


def test_axioms_are_named_by_the_strongest():
    facts = {"nonnegative": True, "zero_on_diagonal": True, "symmetric": True, "positive": True, "triangle": True}
    assert Axioms(**facts, continuous=True).name == "metric"
    for missing, name in {
        "triangle": "semimetric",
        "positive": "pseudometric",
        "symmetric": "quasimetric",
        "nonnegative": "none",
    }.items():
        assert Axioms(**facts | {missing: False}, continuous=True).name == name
    for missing, name in {"triangle": "pseudosemimetric", "symmetric": "pseudoquasimetric"}.items():
        assert Axioms(**facts | {"positive": False, missing: False}, continuous=True).name == name
    neither = facts | {"symmetric": False, "triangle": False}
    assert Axioms(**neither, continuous=True).name == "premetric"
    assert Axioms(**neither | {"positive": False}, continuous=True).name == "premetric, not positive"


@pytest.mark.parametrize("name", AXIOMS)
def test_every_axiom_that_is_claimed_holds_at_random_points(name, rng):
    d = cases.fitted(name)[0].semimetric_
    X = rng.uniform(-0.5, 1.5, (25, 3))
    D = d.pairwise(X)
    off_diagonal = ~np.eye(len(X), dtype=bool)
    claims = d.axioms
    assert not claims.nonnegative or (D >= 0).all()
    assert not claims.zero_on_diagonal or (np.diag(D) == 0).all()
    assert not claims.symmetric or (D == D.T).all()
    assert not claims.positive or (D[off_diagonal] > 0).all()
    assert not claims.triangle or (D[:, None, :] <= D[:, :, None] + D[None] + 1e-9).all()
