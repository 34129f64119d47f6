"""What every effort means, as docs/effort.md shows it, and what the learners make of it."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from semimetric import DistanceRegressor, InputError, LargeMarginLearner, PairLearner, TripletLearner, Triplets
from semimetric.distances.learning import sum_of_distances
from semimetric.distances.learning.options import COMPARISONS, DISTANCES, EFFORTS, LABELS, WIDE_DISTANCES, SearchCost

PAGE = Path(__file__).parents[3] / "docs" / "effort.md"
KINDS = {
    "labelled items": LABELS,
    "comparisons": COMPARISONS,
    "measured distances": DISTANCES,
    "wide distances": WIDE_DISTANCES,
}


def listed(values):
    """Settings by the kind of columns, as a cell of the table."""
    shown = {
        kind: ", ".join(f"{v:,}" if isinstance(v, int) else f"{v:g}" for v in np.atleast_1d(x).tolist())
        for kind, x in values.items()
    }
    if len(set(shown.values())) == 1:
        return next(iter(shown.values()))
    return "; ".join(f"{kind} {cell}" for kind, cell in shown.items() if cell)


def row(kind, effort):
    limits = KINDS[kind][effort]
    folds = f"{limits.n_folds} x {limits.n_repeats}" if limits.n_repeats > 1 else str(limits.n_folds)
    cells = (kind, effort, listed(limits.n_knots), listed(limits.alphas), folds, f"{limits.n_rows:,}", listed(limits.n_columns))
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_shows_the_limits(kind, effort):
    assert row(kind, effort) in PAGE.read_text().splitlines()


def test_the_page_says_how_many_of_many_items_are_held_out():
    page = " ".join(PAGE.read_text().split())
    assert "the least of 2,000, n / 4 and 30 million / n are held out once" in page
    for n, least in ((2_600, 650), (12_000, 2_000), (50_000, 600)):
        problem = SimpleNamespace(
            dataset=SimpleNamespace(items=np.arange(n, dtype=float)[:, None], labels=np.arange(n) % 2),
            recipe=SimpleNamespace(random_state=0, effort="default"),
        )
        ((part, held),) = sum_of_distances.folds_of(problem)
        assert least <= len(held) <= least + 2  # by class, rounded
        assert len(part) + len(held) == n


@pytest.mark.parametrize("kind", KINDS)
def test_more_effort_looks_further(kind):
    fast, default, thorough = (KINDS[kind][effort] for effort in EFFORTS)
    for less, more in ((fast, default), (default, thorough)):
        for name in ("n_knots", "alphas"):
            tried, other = getattr(less, name), getattr(more, name)
            assert all(set(tried[k]) <= set(other[k]) for k in tried)
        assert (less.n_folds * less.n_repeats, less.n_rows) < (more.n_folds * more.n_repeats, more.n_rows)
        assert less.n_passes <= more.n_passes
        assert all(less.n_columns[k] <= more.n_columns[k] for k in less.n_columns)


def test_what_was_judged_is_said_in_words():
    assert SearchCost("pairs", 50, 50, 12, 12).sample == "50 pairs"
    assert SearchCost("pairs", 1000, 20_000, 12, 12).sample == "a sample of 1,000 of 20,000 pairs"
    assert SearchCost("pairs", 50, 50, 12, 12).fits == "12 fits"
    assert SearchCost("pairs", 50, 50, 12, 99).fits == '12 fits; effort="thorough" makes 99'


def examples():
    rng = np.random.default_rng(0)
    pairs, triplets = rng.random((120, 2, 2)), rng.random((120, 3, 2))
    y = np.abs(pairs[:, 0] - pairs[:, 1]).sum(axis=1)
    X = rng.random((60, 3))
    labels = partial(LargeMarginLearner, triplets=Triplets(base="positions"))
    return {
        "distances": (partial(DistanceRegressor, tables="full"), (pairs, y), DISTANCES, "pairs"),
        "pairs": (PairLearner, (pairs, np.where(y < 0.5, 1, -1)), COMPARISONS, "pairs"),
        "triplets": (TripletLearner, (triplets,), COMPARISONS, "triplets"),
        "labels": (labels, (X, (X[:, 0] > 0.5).astype(int)), LABELS, "items"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", examples())
def test_learners_compare_what_their_effort_says_and_count_it(name):
    learner, data, limits, rows = examples()[name]
    choices = {effort: learner(effort=effort).fit(*data).choices_ for effort in ("fast", "default")}
    for effort, found in choices.items():
        assert {len(c.losses) for c in found} == {limits[effort].n_folds}
        assert {c.settings["alpha"] for c in found} == set(limits[effort].alphas["warped"])
        assert found.cost[:4] == (rows, len(data[0]), len(data[0]), sum(len(c.losses) for c in found))
        assert "taken: the " in repr(found)
    fast, default = choices["fast"].cost, choices["default"].cost
    assert fast.n_fits < default.n_fits < default.n_thorough == fast.n_thorough


@pytest.mark.slow
@pytest.mark.parametrize("name", examples())
def test_a_thorough_fit_makes_as_many_fits_as_were_foretold(name):
    learner, data, _, _ = examples()[name]
    foretold = learner(effort="fast").fit(*data).choices_.cost.n_thorough
    assert learner(effort="thorough").fit(*data).choices_.cost.n_fits == foretold


def test_other_efforts_are_refused():
    with pytest.raises(InputError, match=r"effort='quick' is not known; .*'thorough'"):
        DistanceRegressor(effort="quick").fit(np.random.default_rng(0).random((9, 2, 2)), np.arange(9.0))
