import pickle

import numpy as np
import pytest
from cases import assert_refused, candidate
from learners import made
from sklearn.base import clone

from semimetric import (
    AutoGroups,
    DistanceRegressor,
    JointGroups,
    LargeMarginLearner,
    PairLearner,
    SemimetricClassifier,
    SemimetricWarning,
    Tables,
    TranslationInvariant,
    TripletLearner,
    load,
)
from semimetric._foundation.errors import InputError
from semimetric.distances.learning.groups import last_gain
from semimetric.distances.learning.search import Choices

pytestmark = pytest.mark.filterwarnings("ignore:.*outside the range")
FAST = {"n_knots": 4, "alpha": 1e-4}
XOR = {"tables": "full", "directions": None, "n_knots": 4, "alpha": 1e-3}


def measured(seed, *, joint, m=800, n=6):
    """Pairs of six features: one counts alone, and 1 and 2 by their distance from the centre, or each alone."""
    rng = np.random.default_rng(seed)
    pairs = rng.random((2 * m, 2, n))
    a, b = pairs[:, 0], pairs[:, 1]
    y = np.abs(a[:, 0] - b[:, 0]) + rng.uniform(0, 0.05, 2 * m)
    if joint:
        radii = [np.hypot(p[:, 1] - 0.5, p[:, 2] - 0.5) for p in (a, b)]
        y += 2 * np.abs(radii[0] - radii[1])
    else:
        y += np.abs(a[:, 1] ** 2 - b[:, 1] ** 2) + 0.5 * np.abs(a[:, 2] - b[:, 2])
    return pairs[:m], y[:m], pairs[m:], y[m:]


def exclusive_or(seed, n):
    """Classes by whether exactly one of two features among six is large."""
    X = np.random.default_rng(seed).random((2 * n, 6))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)
    return X[:n], y[:n], X[n:], y[n:]


def judged(y, seed, m):
    index = np.random.default_rng(seed).integers(0, len(y), (m, 2))
    index = index[index[:, 0] != index[:, 1]]
    return index, np.where(y[index[:, 0]] == y[index[:, 1]], 1, -1)


def error(model, pairs, y):
    return float(np.sqrt(np.mean((model.predict(pairs) - y) ** 2)))


@pytest.fixture(scope="module")
def found():
    pairs, y, _, _ = measured(0, joint=True)
    return made(DistanceRegressor, groups="auto", **FAST).fit(pairs, y)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(2))
def test_features_that_act_together_are_found_and_lower_the_error(seed):
    pairs, y, fresh, truth = measured(seed, joint=True)
    model = made(DistanceRegressor, groups="auto", **FAST).fit(pairs, y)
    assert model.groups_ == ((0,), (1,), (2,), (3,), (4,), (5,), (1, 2))
    alone = DistanceRegressor(**FAST).fit(pairs, y)
    assert error(model, fresh, truth) < 0.7 * error(alone, fresh, truth)


@pytest.mark.parametrize("seed", range(4))
def test_of_features_that_add_up_no_pair_is_taken(seed):
    pairs, y, fresh, _ = measured(seed, joint=False)
    model, alone = (made(DistanceRegressor, groups=groups, **FAST).fit(pairs, y) for groups in ("auto", "singles"))
    assert model.recipe_ == alone.recipe_
    np.testing.assert_array_equal(model.predict(fresh), alone.predict(fresh))


@pytest.mark.slow
def test_the_recipe_given_again_is_the_same_model(found):
    pairs, y, fresh, _ = measured(0, joint=True)
    again = made(DistanceRegressor, **found.recipe_.__dict__).fit(pairs, y)
    np.testing.assert_allclose(again.predict(fresh), found.predict(fresh), rtol=1e-9)
    assert isinstance(found.recipe_.groups, JointGroups)
    assert again.group_choices_ == ()


@pytest.mark.compiled
@pytest.mark.slow
def test_knots_of_joint_features_are_chosen_where_numbers_of_knots_are():
    pairs, y, fresh, truth = measured(1, joint=True, m=500)
    model = DistanceRegressor(tables=Tables(groups="auto"), alpha=1e-4).fit(pairs, y)
    assert model.recipe_.joint.n_knots in (3, 4, 5, 6)
    counts = {len(k) for k in model.semimetric_.embedding.grid.select(np.array([1, 2])).knots}
    assert counts == {model.recipe_.joint.n_knots}
    assert error(model, fresh, truth) < 0.8 * error(DistanceRegressor(tables="full", alpha=1e-4).fit(pairs, y), fresh, truth)


@pytest.mark.slow
def test_pairs_judged_by_an_exclusive_or_are_told_apart():
    X, y, fresh, truth = exclusive_or(0, 300)
    (index, said), (asked, right) = judged(y, 1, 900), judged(truth, 2, 900)
    scores = {}
    for groups in ("singles", "auto"):
        model = made(PairLearner, groups=groups, preprocessor=X, **XOR).fit(index, said)
        scores[groups] = model.set_params(preprocessor=fresh).score(asked, right)
    assert model.groups_[6:] == ((0, 1),)
    assert scores["singles"] < 0.6 < 0.8 < scores["auto"]


@pytest.mark.slow
def test_triplets_of_an_exclusive_or_are_put_in_order():
    X, y, fresh, truth = exclusive_or(1, 300)

    def triplets(labels):
        t = np.random.default_rng(3).integers(0, len(labels), (3000, 3))
        same, other = labels[t[:, 0]] == labels[t[:, 1]], labels[t[:, 0]] != labels[t[:, 2]]
        return t[same & other & (t[:, 0] != t[:, 1])]

    model = made(TripletLearner, groups=AutoGroups(max_groups=1), preprocessor=X, **XOR).fit(triplets(y))
    assert model.groups_[6:] == ((0, 1),)
    assert model.set_params(preprocessor=fresh).score(triplets(truth)) > 0.75


def test_a_feature_tied_by_difference_stays_single():
    pairs, y, _, _ = measured(0, joint=True)
    model = made(DistanceRegressor, groups="auto", knots="uniform", constraints=[TranslationInvariant([1])], **FAST).fit(
        pairs, y
    )
    assert all(1 not in group for group in model.semimetric_.embedding.groups if len(group) > 1)


@pytest.mark.compiled
@pytest.mark.slow
def test_neighbours_of_few_items_of_an_exclusive_or_find_the_pair_and_vote_no_worse():
    X, y, fresh, truth = exclusive_or(0, 100)
    given = {"tables": "full", "directions": None, "alpha": 1e-3}
    scores = {}
    for groups in ("singles", "auto"):
        model = SemimetricClassifier(made(LargeMarginLearner, groups=groups, **given)).fit(X, y)
        scores[groups] = model.score(fresh, truth)
    assert model.learner_.groups_[6:] == ((0, 1),)
    assert scores["auto"] >= scores["singles"] > 0.9


@pytest.mark.slow
def test_a_category_and_a_number_that_act_together_are_found():
    rng = np.random.default_rng(0)
    pairs = rng.random((900, 2, 4))
    pairs[:, :, 0] = rng.integers(0, 2, (900, 2))
    signs = 2 * pairs[:, :, 0] - 1
    y = 2 * np.abs(np.diff(signs * (pairs[:, :, 1] - 0.5))).ravel() + np.abs(np.diff(pairs[:, :, 2])).ravel()
    model = made(DistanceRegressor, groups="auto", categorical_features=[0], **FAST).fit(pairs, y)
    assert model.groups_[4:] == ((0, 1),)


@pytest.mark.slow
def test_the_choice_is_seeded_cloned_pickled_and_printed(found):
    pairs, y, fresh, _ = measured(0, joint=True)
    again = clone(found).fit(pairs, y)
    np.testing.assert_array_equal(again.predict(fresh), found.predict(fresh))
    assert again.group_choices_ == found.group_choices_
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.predict(fresh), found.predict(fresh))
    assert repr(copy.group_choices_) == repr(found.group_choices_)
    assert "+ x1 * x2" in repr(found.group_choices_)
    assert clone(DistanceRegressor(tables=Tables(groups=AutoGroups(3)))).get_params()["tables__groups"] == AutoGroups(3)


def test_what_is_saved_is_what_is_loaded(found, tmp_path):
    found.semimetric_.save(tmp_path / "model")
    fresh = measured(0, joint=True)[2]
    again = load(tmp_path / "model").paired(fresh[:, 0], fresh[:, 1])
    np.testing.assert_array_equal(again, found.predict(fresh))


@pytest.mark.slow
def test_the_budget_is_kept():
    pairs, y, _, _ = measured(0, joint=True, m=600)
    y = y + np.abs(np.diff(np.abs(pairs[:, :, 3] - pairs[:, :, 4]))).ravel()
    fit = lambda **budget: made(DistanceRegressor, groups=AutoGroups(**budget), **FAST).fit(pairs, y)  # noqa: E731
    assert set(fit().groups_[6:]) == {(1, 2), (3, 4)}
    assert len(fit(max_groups=1).groups_) == 7
    assert len(fit(max_columns=200).groups_) == 7  # a table has 120


BUDGETS = {
    "no group": (lambda: AutoGroups(max_groups=0), "max_groups=0", "an integer >= 1"),
    "no weights": (lambda: AutoGroups(max_columns=0), "max_columns=0", "an integer >= 1"),
    "no candidates": (lambda: AutoGroups(max_candidates=None), "max_candidates=None", "an integer >= 1"),
    "one knot": (lambda: JointGroups(((0, 1),), n_knots=1), "n_knots=1", "an integer >= 2"),
    "no share": (lambda: JointGroups(((0, 1),), penalty_factor=0.0), "penalty_factor=0.0", "> 0"),
}


@pytest.mark.parametrize(("call", "given", "required"), BUDGETS.values(), ids=BUDGETS)
def test_impossible_budgets_are_refused(call, given, required):
    assert_refused(call, given, required, "")


def test_a_budget_in_which_no_pair_fits_is_refused():
    pairs, y, _, _ = measured(0, joint=True, m=100)
    model = made(DistanceRegressor, groups=AutoGroups(max_columns=100), **FAST)
    assert_refused(lambda: model.fit(pairs, y), "max_columns=100", "120 weights", "fewer knots")


@pytest.mark.parametrize("learner", [DistanceRegressor(tables="warped"), PairLearner(), LargeMarginLearner(tables="warped")])
def test_scales_have_no_joint_groups(learner):
    learner.set_params(tables__groups="auto")
    with pytest.raises(
        ValueError, match=r'tables="warped" has one scale a feature; use Tables\(groups="singles"\), or tables="full"'
    ):
        learner.fit(np.random.default_rng(0).random((20, 2, 3)), np.ones(20))


def test_blocks_of_pairs_hold_none_out():
    pairs, y, _, _ = measured(0, joint=True, m=50)
    with pytest.raises(InputError, match="groups='auto' finds pairs of features"):
        made(DistanceRegressor, groups="auto", **FAST).partial_fit(pairs, y)


def test_one_feature_has_no_pair():
    pairs = np.random.default_rng(0).random((60, 2, 1))
    model = made(DistanceRegressor, groups="auto", **FAST).fit(pairs, np.abs(np.diff(pairs[:, :, 0])).ravel())
    assert (model.groups_, model.group_choices_) == (((0,),), ())
    assert "nothing was left" in repr(model.group_choices_)


def test_the_last_step_that_was_better_is_chosen():
    steps = [candidate(4, 1.0, losses, groups=pairs) for losses, pairs in (
        ((3.0, 3.1), ()), ((2.0, 2.1), ((0, 1),)), ((2.0, 2.2), ((0, 1), (1, 2))),
    )]  # fmt: skip
    choices = Choices(steps, "held-out loss", last_gain, "abc")
    assert choices.chosen is steps[1]
    assert repr(choices).splitlines() == [
        "held-out loss, mean of 2 folds; * the choice",
        " groups \\ alpha     1 ",
        "single features  3.05 ",
        "        + a * b  2.05*",
        "        + b * c   2.1 ",
        "taken: the last step that was better than the one before, and than its rivals, by more than one standard error",
    ]


def test_a_joint_table_must_beat_those_of_its_features_under_a_weaker_penalty():
    """What a weaker penalty gains alone, joint tables have not gained: an additive target has none, whatever alpha is given."""
    pairs = np.random.default_rng(0).normal(size=(900, 2, 3))
    y = np.square(pairs[:, 0] - pairs[:, 1]) @ [1.0, 2.0, 3.0]
    with pytest.warns(SemimetricWarning, match=r"at alpha=0\.01, but not less .* too strong for these data"):
        model = DistanceRegressor(tables=Tables(groups="auto"), n_knots=4, alpha=1e-2).fit(pairs, y)
    assert model.groups_ == ((0,), (1,), (2,))
    assert {c.settings["alpha"] for c in model.group_choices_ if c.settings["groups"]} == {1e-3, 1e-5}
    assert " alone" in repr(model.group_choices_)


def test_of_each_step_the_share_that_loses_least_is_judged_beside_its_features_apart():
    tried = [
        candidate(4, 1.0, (3.0, 3.1)), candidate(4, 0.1, (2.5, 2.6), groups=((0, 1),), strength=0.1),
        candidate(4, 0.01, (2.0, 2.1), groups=((0, 1),), strength=0.01),
    ]  # fmt: skip
    assert last_gain(tried) is tried[2]
    for losses, chosen in (((2.3, 2.4), 2), ((2.0, 2.1), 0)):
        assert last_gain([*tried, candidate(4, 0.1, losses, groups=((0,), (1,)), strength=0.1)]) is tried[chosen]
    assert last_gain([*tried, candidate(4, 0.1, (1.0, 1.0), groups=((0,), (2,)), strength=0.1)]) is tried[2]


def test_a_group_of_one_has_its_share_of_the_penalty():
    pairs, y, fresh, _ = measured(0, joint=False, m=200)
    groups = JointGroups(((0,), (1,), (2,), (3,), (4,), (5,)), penalty_factor=0.1)
    weaker = DistanceRegressor(n_knots=4, alpha=1e-4).fit(pairs, y)
    shared = DistanceRegressor(n_knots=4, alpha=1e-3, tables=Tables(groups=groups)).fit(pairs, y)
    assert shared.groups_ == weaker.groups_
    np.testing.assert_allclose(shared.predict(fresh), weaker.predict(fresh), rtol=1e-6)
