"""What the learners from comparisons share: what they learn, promise and refuse."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import assert_absent, assert_refused
from comparisons import FAST, INDEX, ITEMS, LEARNERS, PAIRS, TRIPLETS, Y, every_learner, learned, one_learner_quickly
from learners import made
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from semimetric import NotSupportedError, SemimetricWarning, TripletLearner


@every_learner
@pytest.mark.parametrize(
    "changes", [{}, {"tables": "full"}, {"loss": "hinge"}, {"directions": "discriminant"}, {"outside": "clip"}], ids=str
)
def test_it_orders_what_it_saw_and_claims_its_axioms(name, changes):
    model, tuples, y = learned(name, **changes)
    assert model.score(tuples, *y) > 0.9
    assert set(np.unique(model.predict(tuples))) <= {-1, 1}
    assert model.semimetric_.axioms.name == "metric" or changes.get("tables") == "full"
    assert model.pair_score(PAIRS).tolist() == (-model.pair_distance(PAIRS)).tolist()
    if changes.get("tables") == "full":
        assert_absent(model, "transform", 'tables="warped"')
    else:
        at = model.transform(ITEMS)
        np.testing.assert_allclose(np.abs(at[PAIRS[:, 0]] - at[PAIRS[:, 1]]).sum(axis=1), model.pair_distance(PAIRS), atol=1e-9)


@every_learner
def test_points_and_row_numbers_are_the_same(name):
    model, tuples, y = learned(name, knots="uniform")  # quantiles count an item as often as it is given
    points = clone(model).set_params(preprocessor=None).fit(ITEMS[tuples], *y)
    np.testing.assert_allclose(points.decision_function(ITEMS[tuples]), model.decision_function(tuples), rtol=1e-5, atol=1e-7)


@every_learner
def test_weights_count_tuples_and_zero_is_absent(name):
    kind, tuples, y = LEARNERS[name]
    weight = np.random.default_rng(1).integers(0, 3, 600)
    rows = np.repeat(np.arange(600), weight)
    one = made(kind, **FAST, preprocessor=ITEMS).fit(tuples, *y, sample_weight=weight)
    other = made(kind, **FAST, preprocessor=ITEMS).fit(tuples[rows], *(v[rows] for v in y))
    np.testing.assert_allclose(one.semimetric_.pairwise(ITEMS), other.semimetric_.pairwise(ITEMS), rtol=1e-3, atol=1e-4)


@every_learner
def test_decisions_are_differences_of_distances(name):
    model, tuples, _ = learned(name)
    if name == "pairs":
        want = model.threshold_ - model.pair_distance(tuples)
    else:
        far = tuples[:, [0, 2]] if name == "triplets" else tuples[:, 2:]
        want = model.pair_distance(far) - model.pair_distance(tuples[:, :2])
    np.testing.assert_allclose(model.decision_function(tuples), want, atol=1e-12)


@pytest.mark.slow
@one_learner_quickly
def test_auto_says_what_it_compared(name):
    kind, tuples, y = LEARNERS[name]
    model = kind(preprocessor=ITEMS).fit(tuples, *y)
    assert model.score(tuples, *y) > 0.9
    assert "held-out error" in repr(model.choices_)
    assert repr(model.choices_).count("*") == 2
    assert {c.settings["directions"] for c in model.choices_} == {None, "discriminant"}
    assert model.recipe_.n_knots == model.choices_.chosen.settings["n_knots"]
    again = kind(preprocessor=ITEMS).fit(tuples, *y)
    assert (again.decision_function(tuples) == model.decision_function(tuples)).all()


@every_learner
def test_clone_pickle_and_get_params(name):
    model, tuples, _ = learned(name)
    assert str(clone(model).get_params()) == str(model.get_params())
    assert not hasattr(clone(model), "semimetric_")
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(tuples) == model.predict(tuples)).all()
    with pytest.raises(Exception, match="not fitted"):
        clone(model).predict(tuples)


@one_learner_quickly
def test_grid_search(name):
    kind, tuples, y = LEARNERS[name]
    model = made(kind, **FAST, preprocessor=ITEMS)
    search = GridSearchCV(model, {"alpha": [1e-4, 1e-1], "n_knots": [2, 4]}, cv=3).fit(tuples, *y)
    assert search.best_score_ > 0.9


@every_learner
def test_frames_name_the_features(name):
    kind, tuples, y = LEARNERS[name]
    model = made(kind, **FAST, preprocessor=pd.DataFrame(ITEMS, columns=list("abc"))).fit(tuples, *y)
    assert model.semimetric_.terms[:3] == ("a", "b", "c")
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@every_learner
def test_contradictions_are_outvoted(name):
    kind, tuples, y = LEARNERS[name]
    wrong = np.arange(600) % 10 == 0
    turn = {"triplets": [0, 2, 1], "quadruplets": [2, 3, 0, 1]}
    if name == "pairs":
        noisy, labels = tuples, (np.where(wrong, -Y, Y),)
    else:
        noisy, labels = np.where(wrong[:, None], tuples[:, turn[name]], tuples), ()
    assert made(kind, **FAST, preprocessor=ITEMS).fit(noisy, *labels).score(tuples, *y) > 0.9


BAD = {
    "constant": (lambda: TripletLearner().fit(np.ones((5, 3, 2))), "all 2 features are constant", "required", "give other"),
    "same": (lambda: TripletLearner(**FAST).fit(ITEMS[INDEX[:, [0, 0, 0]]]), "600 tuples", "compares equal points", "differ"),
    "loss": (lambda: TripletLearner(loss="squared").fit(ITEMS[TRIPLETS]), "loss='squared'", "not known", "'squared_hinge'"),
    "axioms": (lambda: TripletLearner(axioms=None).fit(ITEMS[TRIPLETS]), "axioms=None", "not known", "'semimetric'"),
    "weights": (lambda: TripletLearner(**FAST).fit(ITEMS[TRIPLETS], sample_weight=-np.ones(600)), "sample_weight", "non-neg"),
    "knots": (lambda: TripletLearner(n_knots="many").fit(ITEMS[TRIPLETS]), "n_knots='many'", "must be a number"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    assert_refused(*BAD[name])


def test_few_tuples_are_fitted_with_fixed_settings_and_a_warning():
    few = np.array([(i, j, k) for i in range(5) for j in range(5) for k in range(5) if len({i, j, k}) == 3])
    with pytest.warns(SemimetricWarning, match=r"60 triplets .* too few .* directions=None, n_knots=2, alpha=0.01 are taken"):
        model = TripletLearner(preprocessor=ITEMS).fit(few)
    assert (model.recipe_.directions, model.recipe_.n_knots, model.recipe_.alpha) == (None, 2, 1e-2)
    with pytest.warns(SemimetricWarning, match="too few .* and directions=None is taken instead"):
        model = TripletLearner(n_knots=4, alpha=0.1, preprocessor=ITEMS).fit(few)
    assert (model.recipe_.n_knots, model.recipe_.alpha, model.choices_) == (4, 0.1, ())


NAMES = np.array([f"item{k}" for k in range(80)])
WAYS = {
    "labels": (pd.DataFrame(ITEMS, index=NAMES, columns=list("abc")), lambda tuples: NAMES[tuples]),
    "a function": (lambda names: ITEMS[names], lambda tuples: tuples),
    "points": (ITEMS, lambda tuples: ITEMS[tuples]),
}


@every_learner
@pytest.mark.parametrize("way", WAYS)
def test_items_by_label_by_function_and_as_points_are_the_same_items(way, name):
    model, tuples, y = learned(name)
    preprocessor, given = WAYS[way]
    other = clone(model).set_params(preprocessor=preprocessor).fit(given(tuples), *y)
    for method in ("predict", "decision_function"):
        np.testing.assert_array_equal(getattr(other, method)(given(tuples)), getattr(model, method)(tuples))
    assert other.score(given(tuples), *y) == model.score(tuples, *y)
    np.testing.assert_array_equal(other.pair_distance(given(PAIRS)), model.pair_distance(PAIRS))
    np.testing.assert_array_equal(other.pair_distance(ITEMS[PAIRS]), model.pair_distance(PAIRS))
    np.testing.assert_array_equal(other.transform(ITEMS[3:5]), model.transform([3, 4]))
    if way != "points":
        np.testing.assert_array_equal(other.transform(given(np.array([3, 4]))), model.transform([3, 4]))
    if way == "labels":
        assert other.feature_names_in_.tolist() == ["a", "b", "c"]


@every_learner
def test_a_shuffled_index_of_integers_is_warned_of_once_in_fit(name):
    kind, tuples, y = LEARNERS[name]
    frame = pd.DataFrame(ITEMS, index=np.arange(80)[::-1])
    with pytest.warns(SemimetricWarning, match="row numbers"):
        model = made(kind, **FAST, preprocessor=frame).fit(tuples, *y)
    np.testing.assert_array_equal(model.decision_function(tuples), learned(name)[0].decision_function(tuples))


def test_metric_learn_s_names_for_distances():
    model, pairs, _ = learned("pairs")
    with pytest.warns(FutureWarning, match="call pair_distance, or pair_score"):
        assert (model.score_pairs(pairs) == model.pair_distance(pairs)).all()
    metric = model.get_metric()
    assert metric(ITEMS[0], ITEMS[1], squared=True) == metric(ITEMS[0], ITEMS[1]) ** 2
    before = metric(ITEMS[0], ITEMS[1])
    model.fit(ITEMS[pairs] ** 2, Y)
    assert metric(ITEMS[0], ITEMS[1]) == before


def saturating(gaps):
    """Parts of a distance in which large differences count no more than moderate ones."""
    return 1 - np.exp(-9 * gaps)


@pytest.mark.slow
@one_learner_quickly
@pytest.mark.parametrize(("shape", "want"), [(saturating, "full"), (np.asarray, "warped")], ids=["saturating", "linear"])
def test_tables_are_full_where_scales_cannot_hold_the_distance(name, shape, want):
    kind, size = LEARNERS[name][0], {"pairs": 2, "triplets": 3, "quadruplets": 4}[name]
    tuples = np.random.default_rng(0).random((3000, size, 3))
    near, far = tuples[:, [0, 1]], tuples[:, [-2, -1] if size == 4 else [0, -1]]
    d_near, d_far = (shape(np.abs(pair[:, 0] - pair[:, 1])) @ [1.0, 2.0, 3.0] for pair in (near, far))
    if size == 2:
        given = lambda rows: (tuples[rows], np.where(d_near < np.median(d_near), 1, -1)[rows])  # noqa: E731
    else:
        swap = d_near > d_far
        tuples[swap] = tuples[swap][:, [0, 2, 1] if size == 3 else [2, 3, 0, 1]]
        given = lambda rows: (tuples[rows],)  # noqa: E731
    learn, held = slice(0, 1500), slice(1500, None)
    options = {"directions": None, "alpha": 1e-4, "effort": "fast"}
    auto, scales = (made(kind, tables=tables, **options).fit(*given(learn)) for tables in ("auto", "warped"))
    assert auto.recipe_.tables == auto.choices_.chosen.settings["tables"] == want
    assert hasattr(auto, "transform") == (want == "warped")
    gain = auto.score(*given(held)) - scales.score(*given(held))
    assert gain > 0.03 if want == "full" else gain == 0.0


@pytest.mark.slow
def test_what_rules_one_kind_of_tables_out_is_not_compared():
    def tables(**changes):
        return learned("triplets", tables="auto", **changes)[0]

    metric = tables(axioms="metric")
    assert (metric.recipe_.tables, len(metric.choices_), hasattr(metric, "transform")) == ("warped", 0, True)
    for changes in ({"axioms": "quasimetric"}, {"groups": [(0, 1), (2,)]}):
        assert (tables(**changes).recipe_.tables, hasattr(tables(**changes), "transform")) == ("full", False)
    open_ = tables()
    assert {c.settings["tables"] for c in open_.choices_} == {"warped", "full"}
    assert not hasattr(TripletLearner(tables="auto"), "transform")
    assert_refused(
        made(TripletLearner, **FAST, tables="auto").recipe_for_parts,
        'tables="auto" compares',
        "fit on a sample",
        error=NotSupportedError,
    )
    assert_refused(lambda: tables(axioms="semimetric", alpha=1e-3, loss="none"), "loss='none'", "not known")
