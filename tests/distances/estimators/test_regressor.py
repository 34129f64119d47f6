import warnings

import cases
import numpy as np
import pytest
from cases import assert_refused
from learners import made
from sklearn.base import clone

from semimetric import DistanceRegressor, JointGroups, NotSupportedError, Program, SemimetricWarning

ITEMS, INDEX, Y = cases.sample()
POINTS = ITEMS[INDEX]


def fit(pairs=INDEX, y=Y, preprocessor=ITEMS, sample_weight=None, **options):
    return made(DistanceRegressor, **cases.FAST | options, preprocessor=preprocessor).fit(pairs, y, sample_weight)


@pytest.mark.parametrize("name", cases.RECIPES)
def test_learns_and_records(name):
    model, items, index, y = cases.fitted(name)
    assert model.score(index, y) > 0.6
    assert model.n_features_in_ == 3
    assert model.solution_.relative_gap < 1e-3
    assert model.predict(index).dtype == np.float64


def test_points_and_row_numbers_give_the_same_model():
    knots = [[0.0, 0.4, 1.0]] * 3
    by_rows, by_points = fit(knots=knots), fit(POINTS, preprocessor=None, knots=knots)
    assert (by_rows.semimetric_.weights == by_points.semimetric_.weights).all()
    assert (by_rows.predict(INDEX) == by_points.predict(POINTS)).all()


@pytest.mark.filterwarnings("ignore:the distances of .* 'kl_div'")
def test_an_asymmetric_distance_needs_premetric():
    """Kullback and Leibler's divergence: d(x, y) != d(y, x)."""
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(3), 80)
    i, j = rng.integers(0, 80, (2, 600))
    y = (P[i] * np.log(P[i] / P[j])).sum(axis=1).clip(0)
    scores = [
        DistanceRegressor(n_knots=6, alpha=1e-5, program=Program(penalty="ridge"), axioms=a, preprocessor=P)
        .fit(np.column_stack([i, j]), y)
        .score(np.column_stack([i, j]), y)
        for a in ("semimetric", "premetric")
    ]  # fmt: skip
    assert scores[1] > scores[0] + 0.02


def test_pairs_in_both_orders_with_other_distances_are_told_of():
    X = np.random.default_rng(0).random((30, 2))
    pairs = np.argwhere(~np.eye(30, dtype=bool))
    there = np.maximum(X[pairs[:, 1], 0] - X[pairs[:, 0], 0], 0.0) + np.abs(X[pairs[:, 0], 1] - X[pairs[:, 1], 1])
    model = DistanceRegressor(preprocessor=X, n_knots=3, alpha=1e-4)
    with pytest.warns(SemimetricWarning, match='435 pairs are given in both orders.*use axioms="premetric"'):
        model.fit(pairs, there)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(model).set_params(axioms="premetric").fit(pairs, there)
        clone(model).fit(pairs, np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1))


def test_signed_targets_need_no_axioms():
    signed = ITEMS[INDEX[:, 0], 0] - ITEMS[INDEX[:, 1], 0]
    assert fit(y=signed, axioms=None, penalty="ridge", alpha=1e-8).score(INDEX, signed) > 0.999
    assert_refused(lambda: fit(y=signed), "y[", "must be >= 0", "axioms=None")


def test_relative_losses_serve_small_distances(rng):
    small = np.argsort(Y)[:30]
    error = {r: np.abs(fit(relative=r).predict(INDEX[small]) / Y[small] - 1).mean() for r in (False, 0.01)}
    assert error[0.01] < error[False]


def test_absolute_losses_ignore_gross_errors():
    true = cases.warped_sum(ITEMS[INDEX[:, 0]], ITEMS[INDEX[:, 1]])
    wrong = np.where(np.arange(len(Y)) % 10 == 0, 20 * Y.max(), true)
    errors = {loss: np.abs(fit(y=wrong, loss=loss).predict(INDEX) - true).mean() for loss in ("squared", "absolute")}
    assert errors["absolute"] < 0.3 * errors["squared"]


def test_a_base_distance_takes_what_it_explains():
    model = fit(y=2.5 * cases.cityblock(ITEMS[INDEX[:, 0]], ITEMS[INDEX[:, 1]]), base_distances=(cases.cityblock,),
                penalty="ridge-zero", alpha=1e-2)  # fmt: skip
    assert model.semimetric_.base_distances[0].weight == pytest.approx(2.5, rel=0.01)


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"n_knots": "auto", "alpha": "auto", "random_state": 1}, marks=pytest.mark.slow),
        {"base_distances": (cases.cityblock,)},
    ],
)
def test_a_pair_of_weight_zero_is_as_good_as_absent(options):
    keep = np.arange(len(Y)) % 3 > 0
    weighted, absent = fit(sample_weight=keep.astype(float), **options), fit(INDEX[keep], Y[keep], **options)
    assert weighted.recipe_.n_knots == absent.recipe_.n_knots
    assert weighted.choices_ == absent.choices_
    assert (weighted.semimetric_.weights == absent.semimetric_.weights).all()


def test_threads_do_not_change_the_weights():
    np.testing.assert_allclose(fit(n_jobs=2).semimetric_.weights, fit().semimetric_.weights, rtol=1e-9)


BAD = {
    "no y": (lambda: fit(y=None), "requires y to be passed", "y is None", "one distance a pair"),
    "one pair": (lambda: fit(INDEX[:1], Y[:1]), "1 pairs", "all equal", "at least two pairs"),
    "all equal": (lambda: fit(y=np.ones(len(Y))), "all equal (1)", "nothing to learn", "at different distances"),
    "all equal but for weight 0": (
        lambda: fit(INDEX[:3], [1.0, 2.0, 1.0], sample_weight=[1, 0, 1]),
        "2 of 3 pairs have a weight > 0", "all equal (1)", "at least two pairs",
    ),
    "all zero": (lambda: fit(y=np.zeros(len(Y))), "all distances in y are 0", "nothing to learn", "give pairs"),
    "out of range": (lambda: fit(INDEX + 1000), "pair 0", "there are 40 items", "between 0 and 39"),
    "other features": (lambda: fit().predict(np.ones((1, 2))), "dtype float64", "must be integers", "drop preprocessor="),
    "n_knots": (lambda: fit(n_knots="many"), "n_knots='many'", 'must be a number or "auto"'),
    "groups": (lambda: fit(groups=[(0, 0)]), "group (0, 0)", "each once"),
    "duplicate knots": (lambda: fit(knots=[[0, 0, 1]] * 3), "knots 0 and 1 of feature 0", "strictly increasing", "drop"),
    "decreasing knots": (lambda: fit(knots=[[1, 0]] * 3), "are 1 and 0", "strictly increasing", "sort them"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_three_parts(name):
    assert assert_refused(*BAD[name])


def test_numbers_of_knots_may_be_an_array():
    want = fit(n_knots=[3, 4, 5]).semimetric_.weights
    assert (fit(n_knots=np.array([3, 4, 5])).semimetric_.weights == want).all()
    some = {"preprocessor": ITEMS, "n_knots": np.array([3, 4, 5])}
    assert made(DistanceRegressor, **some).fit(INDEX, Y).recipe_.n_knots == [3, 4, 5]
    assert made(DistanceRegressor, **some, alpha=1e-3).partial_fit(INDEX, Y).semimetric_.embedding.grid.sizes.tolist() == [
        3,
        4,
        5,
    ]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["items", "y", "points"])
def test_values_that_are_no_numbers_are_refused(where, value):
    items, y, points = ITEMS.copy(), Y.copy(), POINTS.copy()
    items[3, 1] = y[5] = points[2, 1, 0] = value
    calls = {"items": lambda: fit(preprocessor=items), "y": lambda: fit(y=y), "points": lambda: fit(points, preprocessor=None)}
    with pytest.raises(ValueError, match=r"NaN or infinity"):
        calls[where]()


def test_prediction_wants_the_features_of_the_fit():
    model = fit(POINTS, preprocessor=None)
    assert_refused(lambda: model.predict(POINTS[:, :, :2]), "pairs has 2 features", "3 features are required", "same columns")


def test_constant_features_are_warned_of_and_carry_nothing():
    items = np.column_stack([ITEMS, np.full(len(ITEMS), 7.0)])
    with pytest.warns(SemimetricWarning, match="feature x3 is constant: nothing is learned there"):
        model = fit(preprocessor=items)
    np.testing.assert_allclose(model.predict(INDEX), fit().predict(INDEX), rtol=0.1)
    assert model.semimetric_.contributions(items[0], items[1])[3] == 0


@pytest.mark.parametrize("options", [{}, {"n_knots": "auto", "alpha": "auto"}, {"base_distances": (cases.cityblock,)}])
def test_items_that_are_all_the_same_are_refused(options):
    same = np.ones_like(ITEMS)
    assert_refused(lambda: fit(preprocessor=same, **options), "all 3 features are constant", "differ in at least one", "give")


@pytest.mark.filterwarnings("ignore:features? .* constant")
@pytest.mark.parametrize("tables", ["full", "warped"])
def test_groups_of_constant_features_need_a_base_distance(tables):
    options = {"preprocessor": np.column_stack([ITEMS, np.ones(len(ITEMS))]), "groups": [(3,)], "tables": tables}
    assert_refused(lambda: fit(**options), "every feature that groups= names is constant", "is required", "name others")
    model = fit(y=cases.cityblock(*POINTS.swapaxes(0, 1)), base_distances=(cases.cityblock,), **options)
    assert model.score(INDEX, cases.cityblock(*POINTS.swapaxes(0, 1))) > 0.999


def test_fit_forgets_what_partial_fit_gathered_and_says_so():
    model = DistanceRegressor(**cases.FAST, preprocessor=ITEMS)
    model.partial_fit(INDEX[:50], Y[:50]).fit(INDEX, Y)
    assert (model.semimetric_.weights == fit().semimetric_.weights).all()
    assert_refused(
        lambda: model.partial_fit(INDEX[:50], Y[:50]), "learned by fit", "no second moments", "fresh model", NotSupportedError
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* lie outside the range of the fit")
def test_how_people_see_colours(real_data):
    """Random folds of measured colour differences: better than the CIELAB distance."""
    data = np.load(real_data("combvd_colour.npz"), allow_pickle=False)
    pairs, y = np.stack([data["lab1"], data["lab2"]], axis=1), data["dv"]
    fold = np.random.default_rng(0).integers(0, 5, len(y))
    out = np.empty(len(y))
    for k in range(5):
        out[fold == k] = DistanceRegressor(n_knots=6, alpha=1e-4).fit(pairs[fold != k], y[fold != k]).predict(pairs[fold == k])

    def stress(d):
        return 100 * np.sqrt(1 - (d @ y) ** 2 / (d @ d) / (y @ y))

    assert stress(out) < 0.9 * stress(np.linalg.norm(pairs[:, 0] - pairs[:, 1], axis=1))


def test_groups_are_named_by_the_columns_of_a_frame():
    items, index, y = cases.sample()
    frame = pytest.importorskip("pandas").DataFrame(items, columns=["u", "v", "w"])
    named = made(DistanceRegressor, **cases.FAST, groups=[("w", "u"), ("v",)], preprocessor=frame).fit(index, y)
    numbered = made(DistanceRegressor, **cases.FAST, groups=[(2, 0), (1,)], preprocessor=items).fit(index, y)
    assert named.semimetric_.terms[:2] == ("w * u", "v")
    assert (named.semimetric_.weights == numbered.semimetric_.weights).all()


def test_later_blocks_must_have_the_columns_of_the_first():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.random((30, 3)), columns=list("abc"))
    index = rng.integers(0, 30, (60, 2))
    y = cases.cityblock(frame.to_numpy()[index[:, 0]], frame.to_numpy()[index[:, 1]]) + 0.1
    model = DistanceRegressor(n_knots=3, alpha=1e-3, preprocessor=frame).partial_fit(index, y)
    model.set_params(preprocessor=frame[list("cba")])
    assert_refused(lambda: model.partial_fit(index, y), "the columns c, b, a", "their order differs")


def test_joint_groups_have_the_knots_and_the_share_that_they_ask_for():
    """Features of a joint group have its number of knots, the others their own; a larger share smooths the table more."""
    model = fit(n_knots=6, groups=JointGroups(((0, 2),), n_knots=3))
    embedding = model.semimetric_.embedding
    assert [len(knots) for knots in embedding.grid.knots] == [3, 6, 3]
    assert embedding.groups == ((0,), (1,), (2,), (0, 2))
    assert [len(k) for k in fit(n_knots=6, groups=JointGroups(((0, 2),))).semimetric_.embedding.grid.knots] == [6, 6, 6]
    same = fit(n_knots=3, groups=[(0,), (1,), (2,), (0, 2)])
    shared = fit(n_knots=3, groups=JointGroups(((0, 2),), penalty_factor=1.0))
    np.testing.assert_allclose(shared.semimetric_.weights, same.semimetric_.weights, rtol=1e-9)
    loose, tight = (fit(n_knots=3, groups=JointGroups(((0, 2),), penalty_factor=share)) for share in (1e-2, 1e4))
    assert loose.solution_.objective < shared.solution_.objective < tight.solution_.objective


def test_what_auto_has_chosen_outlives_an_interrupted_fit(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("semimetric.distances.learning.measured_fit.fit_distances", stop)
    model = DistanceRegressor(n_knots=3, preprocessor=ITEMS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(INDEX, Y)
    assert model.recipe_.alpha == model.choices_.chosen.settings["alpha"]
    assert not hasattr(model, "semimetric_")


def test_few_pairs_are_fitted_with_fixed_settings_and_a_warning():
    with pytest.warns(SemimetricWarning, match=r"5 pairs over .* too few .* n_knots=3, alpha=0.01 are taken") as said:
        model = DistanceRegressor(preprocessor=ITEMS).fit(INDEX[:5], Y[:5])
    assert sum("too few" in str(w.message) for w in said) == 1
    assert (model.recipe_.n_knots, model.recipe_.alpha, model.choices_) == (3, 1e-2, ())
    with pytest.warns(SemimetricWarning, match="too few .* and alpha=0.01 is taken"):
        assert DistanceRegressor(preprocessor=ITEMS, n_knots=4).fit(INDEX[:5], Y[:5]).recipe_.n_knots == 4


@pytest.mark.parametrize(("number", "name"), [(1, "singles"), (2, "pairs"), (9, [(0, 1, 2)])])
def test_a_number_of_features_makes_every_group_of_that_size(number, name):
    one, other = (fit(groups=g, n_knots=2, alpha=1e-3) for g in (number, name))
    assert one.groups_ == other.groups_
    assert (one.semimetric_.weights == other.semimetric_.weights).all()


def ties_told(**options):
    """Whether learning from a column most of whose values are 0 tells that ties leave fewer knots."""
    rng = np.random.default_rng(0)
    items = np.column_stack([np.maximum(rng.normal(size=150) - 0.8, 0), rng.random(150)])
    rows = rng.integers(0, 150, (600, 2))
    y = np.abs(items[rows[:, 0]] - items[rows[:, 1]]) @ [1.0, 3.0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made(DistanceRegressor, preprocessor=items, effort="fast", validation_fraction=0, **options).fit(rows, y)
    return any("ties in the data leave fewer knots" in str(w.message) for w in told)


def test_ties_are_told_to_who_gave_the_number_of_knots_alone():
    assert not ties_told()
    assert ties_told(n_knots=8)
    assert ties_told(groups=JointGroups(((0, 1),), n_knots=6), alpha=1e-3)
