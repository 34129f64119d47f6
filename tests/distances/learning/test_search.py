"""Candidates, the table that is printed of them, and the loop that fits and judges them."""

import pickle
import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from cases import assert_refused, candidate
from hypothesis import assume, given
from hypothesis import strategies as st

from semimetric import NotSupportedError
from semimetric.distances.learning.comparison_fit import simplest_with_discriminants
from semimetric.distances.learning.groups import last_gain
from semimetric.distances.learning.large_margin import first_unless_better
from semimetric.distances.learning.search import Choices, one_standard_error

LOSSES = st.lists(st.integers(0, 6), min_size=3, max_size=3)


def gain_and_error(candidate, other):
    """The mean gain over another candidate, and the square of its standard error, as exact fractions."""
    gains = [Fraction(b) - Fraction(a) for a, b in zip(candidate.losses, other.losses, strict=True)]
    mean = sum(gains) / len(gains)
    variance = sum((g - mean) ** 2 for g in gains) / (len(gains) - 1)
    return mean, variance / len(gains)


def better(candidate, other):
    mean, squared_error = gain_and_error(candidate, other)
    return mean > 0 and mean**2 > squared_error


def rounding_decides(candidate, other):
    mean, squared_error = gain_and_error(candidate, other)
    return mean**2 == squared_error != 0


@st.composite
def compared(draw):
    """Candidates as `compare` gives them: numbers of knots in increasing order, and of each all strengths in any order."""
    sizes = draw(st.lists(st.integers(2, 9), min_size=1, max_size=3, unique=True).map(sorted))
    alphas = draw(st.lists(st.sampled_from([1e-3, 1e-2, 0.1, 1.0]), min_size=1, max_size=3, unique=True))
    return [candidate(n, alpha, tuple(map(float, draw(LOSSES)))) for n in sizes for alpha in alphas]


@given(LOSSES, LOSSES)
def test_better_is_by_more_than_one_standard_error(one, other):
    one, other = (candidate(3, 0.1, tuple(map(float, losses))) for losses in (one, other))
    assume(not rounding_decides(one, other))
    assert one.better_than(other) == better(one, other)
    assert not (one.better_than(other) and other.better_than(one))


@given(st.floats(1e-3, 1e3), st.integers(2, 12))
def test_one_fold_makes_none_better(gain, n_folds):
    """The gain is just the standard error, in whichever direction rounding goes; of one fold no error is known."""
    one = candidate(3, 0.1, (0.0,) * n_folds)
    for losses in ((gain,) + (0.0,) * (n_folds - 1), (0.0,) * (n_folds - 1) + (gain,)):
        assert not one.better_than(candidate(3, 0.1, losses))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not candidate(3, 0.1, (0.0,)).better_than(candidate(3, 0.1, (gain,)))


@given(compared())
def test_the_simplest_has_the_fewest_knots_and_then_the_strongest_penalty(candidates):
    best = min(candidates, key=lambda c: sum(map(Fraction, c.losses)))
    assume(not any(rounding_decides(best, c) for c in candidates))
    as_good = [c for c in candidates if not better(best, c)]
    n_knots = min(c.settings["n_knots"] for c in as_good)
    alpha = max(c.settings["alpha"] for c in as_good if c.settings["n_knots"] == n_knots)
    found = one_standard_error(candidates)
    assert (found.settings["n_knots"], found.settings["alpha"]) == (n_knots, alpha)


def lowest(candidates):
    return min(candidates, key=lambda c: c.loss)


def choice(n_knots, alpha, *losses, **settings):
    return candidate(n_knots, alpha, losses, **settings)


SCALES, TABLES = {"tables": "warped"}, {"tables": "full"}
USES = {
    "measured distances": Choices(
        [choice(3, 0.1, 2.0, 2.1), choice(3, 1.0, 2.0, 2.2), choice(4, 0.1, 1.0, 1.1), choice(4, 1.0, 1.2, 0.8)]
    ),
    "comparisons": Choices(
        [
            choice(2, 0.1, 0.10, 0.30), choice(2, 1.0, 0.10, 0.32), choice(2, 0.1, 0.20, 0.21, directions="discriminant"),
            choice(2, 1.0, 0.30, 0.31, directions="discriminant"),
        ],
        "held-out error", simplest_with_discriminants,
    ),
    "classes": Choices(
        [
            choice(16, 0.01, 0.2, 0.3, directions="combined", **SCALES),
            choice(16, 0.1, 0.3, 0.2, directions="combined", **SCALES),
            choice(16, 0.1, 0.4, 0.3, **SCALES), choice(5, 0.01, 0.31, 0.1, **TABLES),
        ],
        "wrong votes", first_unless_better,
    ),
    "groups": Choices(
        [
            choice(None, 0.1, 0.5, 0.6), choice(None, 0.01, 0.2, 0.3, groups=((0, 2),)),
            choice(None, 0.02, 0.2, 0.3, groups=((0, 2), (1, 2))),
        ],
        "loss of groups", last_gain, ("u", "v", "w"),
    ),
}  # fmt: skip
ROWS = {
    "measured distances": "4",
    "comparisons": "discriminant, 2",
    "classes": "warped, combined, 16",
    "groups": "+ u * w",
}


@pytest.mark.parametrize("use", USES)
def test_every_use_prints_one_kind_of_table(use):
    choices = USES[use]
    title, header, *rows = repr(choices).splitlines()
    rows = [line for line in rows if "end of what was tried" not in line and not line.startswith(("expect ", "taken: "))]
    assert title == f"{choices.measure}, mean of 2 folds; * the choice"
    settings, *alphas = re.split(r"  +", header.strip())
    assert settings.endswith(r"\ alpha")
    assert [float(a) for a in alphas] == list(dict.fromkeys(c.settings["alpha"] for c in choices))
    assert len({len(line) for line in (header, *rows)}) == 1
    starred = [line for line in rows if re.search(r"\d\*", line)]
    assert len(starred) == 1
    assert starred[0].strip().startswith(ROWS[use])
    assert re.findall(r"(\S+)\*(?= |$)", starred[0])[-1] == f"{choices.chosen.loss:.3g}"


@pytest.mark.parametrize("use", USES)
def test_choices_are_a_frame_and_a_table_in_a_notebook(use):
    choices = USES[use]
    frame = choices.to_frame()
    assert frame["loss"].tolist() == [c.loss for c in choices]
    assert frame["alpha"].tolist() == [c.settings["alpha"] for c in choices]
    assert frame.index[frame["chosen"]].tolist() == [choices.index(choices.chosen)]
    assert set(frame.columns) >= ({"groups"} if use == "groups" else {"n_knots", "tables", "directions"})
    html = choices._repr_html_()
    assert html.count(f"{choices.chosen.loss:.3g}*</td>") == 1
    assert choices.measure in html
    assert len(Choices().to_frame()) == 0
    assert "nothing was left" in Choices()._repr_html_()
    assert_refused(lambda: Choices().chosen, "nothing was compared", "`recipe_` has what was given", error=NotSupportedError)


@given(compared())
def test_the_star_stands_in_the_row_and_the_column_of_the_choice(candidates):
    choices = Choices(candidates)
    _, header, *rows = repr(choices).splitlines()
    (row,) = [line for line in rows if "*" in line]
    assert int(row.split()[0]) == choices.chosen.settings["n_knots"]
    place = row.index("*")
    assert float(header[: place + 1].split()[-1]) == choices.chosen.settings["alpha"]


@given(compared())
def test_what_is_expected_of_a_choice_is_judged_by_folds_that_did_not_choose_it(candidates):
    choices, expected = Choices(candidates), []
    for fold in range(3):
        left = [replace(c, losses=tuple(np.delete(c.losses, fold))) for c in candidates]
        expected.append(candidates[left.index(one_standard_error(left))].losses[fold])
    assert choices.expected_losses == tuple(expected)
    assert choices.expected_loss == pytest.approx(np.mean(expected))
    assert choices.standard_error == pytest.approx(np.std(expected, ddof=1) / np.sqrt(3))
    assert f"expect {choices.expected_loss:.3g} ± " in repr(choices)


@pytest.mark.parametrize("choices", [Choices(), Choices([candidate(3, 0.1, (0.5, 0.6))])], ids=["nothing", "two folds"])
def test_of_two_folds_nothing_is_expected(choices):
    assert choices.expected_losses == ()
    assert np.isnan([choices.expected_loss, choices.standard_error]).all()
    assert "expect" not in repr(choices)


def test_of_noise_chance_is_expected():
    """Many settings that are all as good as chance: the best looks better in every trial, but no better is to be expected."""
    expected = []
    for seed in range(30):
        losses = 0.5 + 0.05 * np.random.default_rng(seed).normal(size=(20, 6))
        choices = Choices([candidate(k, 0.1, tuple(row)) for k, row in enumerate(losses)], rule=lowest)
        assert choices.chosen.loss < 0.49
        assert abs(choices.expected_loss - 0.5) < 4 * 0.05 / np.sqrt(6)
        expected.append(choices.expected_loss)
    assert abs(np.mean(expected) - 0.5) < 3 * np.std(expected, ddof=1) / np.sqrt(30)


@pytest.mark.parametrize("use", USES)
def test_choices_are_pickled_with_their_rule(use):
    again = pickle.loads(pickle.dumps(USES[use]))
    assert again == USES[use]
    assert again.chosen == USES[use].chosen
    assert (one_standard_error(again) == again.chosen) == (use == "measured distances")  # so the rule came along
    assert (again.measure, again.names, repr(again)) == (USES[use].measure, USES[use].names, repr(USES[use]))
