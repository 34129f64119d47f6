"""Groups of features: by name, by number or by column name, and what is no group."""

from itertools import combinations

import pytest
from cases import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from semimetric import AutoGroups, InputError, JointGroups
from semimetric.data.feature_groups import automatic, resolve_groups


@pytest.mark.parametrize(
    ("groups", "n", "want"),
    [
        ("singles", 2, ((0,), (1,))),
        ("pairs", 3, ((0, 1), (0, 2), (1, 2))),
        ("pairs", 1, ((0,),)),
        (1, 2, ((0,), (1,))),
        (2, 3, ((0, 1), (0, 2), (1, 2))),
        (3, 4, ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))),
        (9, 3, ((0, 1, 2),)),
        ([[2, 0]], 3, ((2, 0),)),
    ],
)
def test_groups_by_name_and_as_given(groups, n, want):
    assert resolve_groups(groups, n) == want


BAD = {
    "none": ([], "groups is empty", "at least one group"),
    "empty group": ([()], "group ()", "at least one feature, and each once"),
    "repeated feature": ([(0, 0)], "group (0, 0)", "each once"),
    "no group": ([0, 1], "groups= holds 0, which is no group", "write (0,) for a group of one"),
    "a name for a group": (["ab"], "groups= holds 'ab', which is no group", "write ('ab',)"),
    "a name without names": ([("a", 1)], "groups= names the feature 'a'", "a number is required: correct it"),
    "a part of a feature": ([(0.5, 1)], "groups= names the feature 0.5", "correct it"),
    "unknown feature": ([(0, 3)], "group (0, 3)", "outside 0 to 2", "correct groups="),
    "repeated group": ([(0, 1), (1, 0)], "repeats a set of features", "each group once"),
    "unknown name": ("all", "groups='all'", "not known", "use one of 'singles'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_groups_are_refused(name):
    groups, *parts = BAD[name]
    assert assert_refused(lambda: resolve_groups(groups, 3), *parts)


def test_groups_by_column_name():
    assert resolve_groups([("b", 0), ("c",)], 3, ("a", "b", "c")) == ((1, 0), (2,))
    with pytest.raises(InputError, match="the feature 'd'; a number is required, or one of the columns a, b, c: correct it"):
        resolve_groups([("d",)], 3, ("a", "b", "c"))


@given(st.integers(1, 6), st.data())
def test_every_list_of_different_sets_of_features_is_kept_as_it_is(n, data):
    sets = [s for size in range(1, n + 1) for s in combinations(range(n), size)]
    chosen = data.draw(st.lists(st.sampled_from(sets), min_size=1, max_size=8, unique=True))
    groups = [tuple(data.draw(st.permutations(group))) for group in chosen]
    names = tuple(f"c{k}" for k in range(n))
    assert resolve_groups(groups, n) == tuple(groups)
    assert resolve_groups([[names[f] for f in group] for group in groups], n, names) == tuple(groups)


def test_joint_groups_come_after_every_single_feature():
    assert resolve_groups(JointGroups(((2, 0), ("b", "c"))), 3, ("a", "b", "c")) == ((0,), (1,), (2,), (2, 0), (1, 2))
    assert resolve_groups(JointGroups(((1,), (0, 2))), 3) == ((0,), (1,), (2,), (0, 2))  # the factor is for (1,) too
    assert JointGroups(((1,), ("c", "a")), penalty_factor=0.5).penalty_factors("abc") == {(1,): 0.5, (2, 0): 0.5}
    twice = JointGroups(((0, 1), (1, 0)))
    assert_refused(lambda: resolve_groups(twice, 3), "groups repeats a set of features", "each group once")


def test_groups_that_are_to_be_found_have_a_budget():
    assert automatic("auto") == AutoGroups()
    assert automatic(AutoGroups(3)) == AutoGroups(3)
    for given_groups in ("pairs", [(0, 1)], JointGroups(((0, 1),))):
        assert automatic(given_groups) is None
    for budget in ("auto", AutoGroups()):
        assert_refused(lambda b=budget: resolve_groups(b, 3), "finds pairs of features", "of which there are none", "pairs")


def test_too_many_groups_of_a_size_are_refused_before_they_are_listed():
    assert_refused(lambda: resolve_groups(25, 50), "groups=25 makes 126,410,606,437,752 groups", "name those that matter")
    assert_refused(lambda: resolve_groups(0, 4), "groups=0", "an integer >= 1")


@pytest.mark.parametrize(
    ("options", "given", "required"),
    [
        ({"n_knots": 1}, "n_knots=1", "an integer >= 2"),
        ({"n_knots": 2.5}, "n_knots=2.5", "an integer >= 2"),
        ({"penalty_factor": 0.0}, "penalty_factor=0.0", "must be > 0"),
    ],
    ids=str,
)
def test_joint_groups_need_two_knots_and_a_positive_share(options, given, required):
    assert_refused(lambda: JointGroups(((0, 1),), **options), given, required)
    assert JointGroups(((0, 1),), n_knots=2).n_knots == 2


@pytest.mark.parametrize("wrong", [True, 0.5, None])
def test_what_cannot_be_walked_through_is_no_list_of_groups(wrong):
    assert_refused(lambda: resolve_groups(wrong, 8), f"groups={wrong!r} is no list of groups", "'singles' or 'pairs'")
