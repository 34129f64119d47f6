"""Learning from parts of tuples: bad parts are named, and what parts cannot do is refused."""

import cases
import numpy as np
import pytest
from cases import assert_refused
from learners import made
from sklearn.linear_model import Ridge

from semimetric import Bounded, DistanceRegressor, NotSupportedError, SemimetricRegressor, out_of_core
from semimetric.data.parts.engine import SerialEngine
from semimetric.data.parts.tuples import TupleTable
from semimetric.distances.programs.penalties import Roughness
from semimetric.out_of_core.calls import fit_tuples, recipe_of

ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]
pytestmark = pytest.mark.usefixtures("small")


def in_blocks(options, pairs=POINTS, y=Y, weight=None, **more):
    return out_of_core.fit(made(DistanceRegressor, **options), pairs, y, weight, **more)


def spoilt(at, value, array=POINTS):
    array = array.astype(np.float64)
    array[at] = value
    return array


def test_bad_blocks_are_named():
    def refused(pairs, y, *parts, **options):
        assert_refused(lambda: in_blocks(cases.FAST | options, pairs, y), *parts)

    refused(spoilt((120, 1, 2), np.nan), Y, "rows 112 to 149 of pairs", "'x2'", "finite numbers")
    refused(POINTS, spoilt(3, -1.0, Y), "rows 0 to 36 of pairs: y[3] is -1", "must be >= 0", "axioms=None")
    refused(POINTS, spoilt(149, np.inf, Y), "rows 112 to 149 of pairs: y[37] is inf", "finite", "drop the pair")
    refused(POINTS, Y[:-1], "y has shape (149,) for 150 pairs", "one entry a pair")
    refused(POINTS[:, :1], Y, "(150, 1, 3)", "(n_pairs, 2, n_features)", "preprocessor=")
    refused(np.where(INDEX == INDEX[130, 0], 40, INDEX), Y, "row numbers between 0 and 39", "pair", preprocessor=ITEMS)
    refused(POINTS, np.ones(150), "all equal (1)", "hold nothing to learn", "different distances")
    refused(np.zeros_like(POINTS), Y, "constant", "differ in at least one", "other items")
    refused(POINTS[:0], Y[:0], "0 pairs", "at least one")
    for weights, part in (
        (np.zeros(150), "sample_weight is 0 for all pairs"),
        (np.arange(150) - 1.0, "sample_weight[0] is -1"),
    ):
        call = lambda w=weights: out_of_core.fit(DistanceRegressor(**cases.FAST), POINTS, Y, w)  # noqa: E731
        assert_refused(call, part, "required", "correct it")


def test_says_what_cannot_be_learned_from_blocks():
    def refused(model, *parts):
        assert_refused(lambda: out_of_core.fit(model, POINTS, Y), *parts, error=NotSupportedError)

    refused(DistanceRegressor(), "cannot be held out", "numbers for n_knots= and alpha=", "fit on a sample")
    refused(
        SemimetricRegressor(),
        "SemimetricRegressor learns from all its data at once",
        "DistanceRegressor",
        "sample",
    )
    refused(made(DistanceRegressor, **cases.FAST, missing="level"), "numbers only", "columns=", "in memory")
    refused(
        made(DistanceRegressor, **cases.FAST, loss="huber", solver="cvxpy"),
        "Reference needs all rows",
        "FirstOrder learn",
        '"auto"',
    )
    assert_refused(
        lambda: in_blocks({"n_knots": 15, "alpha": 1.0}, memory_limit="1 MB"),
        "second moments of",
        "memory_limit",
        "fewer knots",
    )


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"axioms": "metric"}, "axioms='metric' on full tables"),
        ({"axioms": "quasimetric"}, "axioms='quasimetric' on full tables"),
        ({"constraints": [Bounded(0.1)], "outside": "clip"}, "constraints="),
        ({"groups": "auto"}, "groups='auto'"),
    ],
)
def test_what_parts_cannot_impose_is_refused(options, part):
    assert_refused(lambda: in_blocks(cases.FAST | options), part, "fit on a sample", error=NotSupportedError)


@pytest.mark.parametrize("model", [SemimetricRegressor(), Ridge(), None])
def test_what_does_not_learn_from_parts_has_no_recipe_for_them(model):
    assert_refused(lambda: recipe_of(model), "learns from all its data at once", "use one of these", error=NotSupportedError)


@pytest.mark.parametrize("penalty", [None, Roughness(1e-3)])
def test_alpha_is_asked_for_only_where_the_penalty_has_none_of_its_own(penalty):
    options = cases.FAST | {"penalty": penalty}
    given = in_blocks(options)
    options.pop("alpha")
    assert in_blocks(options).semimetric_.weights.tobytes() == given.semimetric_.weights.tobytes()
    blocks = made(DistanceRegressor, **options).partial_fit(POINTS, Y)
    np.testing.assert_allclose(blocks.predict(POINTS), given.predict(POINTS), rtol=1e-5)


def test_no_parts_at_all_are_refused():
    model = DistanceRegressor(**cases.FAST)
    recipe, table = model.recipe_for_parts(), TupleTable(("u", "v", "w"), model.tuple_spec)
    call = lambda: fit_tuples(SerialEngine(), model, recipe, [], table)  # noqa: E731
    assert_refused(call, "there are 0 parts of pairs", "at least one is required")


def test_a_fit_from_parts_forgets_the_columns_of_an_earlier_fit():
    frame = pytest.importorskip("pandas").DataFrame(ITEMS, columns=["u", "v", "w"])
    model = DistanceRegressor(**cases.FAST, preprocessor=frame).fit(INDEX, Y)
    assert model.feature_names_in_.tolist() == ["u", "v", "w"]
    out_of_core.fit(model.set_params(preprocessor=None), POINTS, Y)
    assert not hasattr(model, "feature_names_in_")
    assert model.semimetric_.feature_names == ("x0", "x1", "x2")
