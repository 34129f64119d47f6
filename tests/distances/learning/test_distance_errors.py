"""The errors of learned distances: their figures, how they are printed, and when a model is said to be useless."""

import warnings

import cases
import numpy as np
import pytest
from learners import made
from scipy.stats import spearmanr

from semimetric import DistanceApproximator, DistanceRegressor, SemimetricWarning
from semimetric.distances.learning.errors import DistanceErrors, UnseenPairs, quantiles_of, relative_errors

TRUE = 1.0 + np.random.default_rng(0).random(100)
OTHER = 1.0 + np.random.default_rng(1).random(100)
ITEMS = np.random.default_rng(0).random((120, 2))
INDEX = np.column_stack(np.triu_indices(120, 1))


def unseen(true, predicted, recalls=()):
    true, predicted = np.asarray(true, float), np.asarray(predicted, float)
    items = np.arange(2 * len(true)).reshape(-1, 2)
    nothing = np.zeros(len(true), dtype=bool)
    return UnseenPairs(true, predicted, np.zeros(len(true)), items, nothing, nothing, recalls)


def errors(true, predicted, **options):
    return DistanceErrors.of(unseen(true, predicted, **options), "of a test")


def test_errors_are_relative_and_of_pairs_apart():
    found = errors([0.0, 1.0, 2.0], [9.0, 1.1, 1.0])
    np.testing.assert_allclose(relative_errors(np.array([0.0, 1.0, 2.0]), np.array([9.0, 1.1, 1.0])), [0.1, 0.5])
    assert (found.median, found.mean, found.quantile_90) == pytest.approx((0.3, 0.3, 0.46))
    assert (found.n_pairs, found.n_items, found.n_queries) == (3, 6, 0)
    assert errors(TRUE, TRUE).r2 == 1.0
    assert np.isnan(list(quantiles_of(np.empty(0), (0.5, 0.9)).values())).all()


def test_figures_are_those_of_their_definitions():
    found = errors(TRUE, OTHER, recalls=(0.5, 0.7))
    assert found.r2 == pytest.approx(1 - np.square(TRUE - OTHER).sum() / np.square(TRUE - TRUE.mean()).sum())
    assert found.rank_correlation == pytest.approx(spearmanr(TRUE, OTHER).statistic)
    assert (found.recall, found.n_queries) == (pytest.approx(0.6), 2)


@pytest.mark.parametrize(("true", "predicted"), [([0.0, 0.0], [1.0, 2.0]), ([1.0], [1.0]), ([1.0, 2.0], [3.0, 3.0])])
def test_figures_that_pairs_cannot_tell_are_nan_without_a_word(true, predicted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = errors(true, predicted)
    assert np.isnan(found.rank_correlation)
    assert found == errors(true, predicted)
    assert "of a test" in str(found)


def test_few_pairs_and_queries_are_printed_in_words():
    text = str(errors([1.0], [1.0 + 1e-9], recalls=(1.0,)))
    for words in ("Errors on 1 pair of 2 items:", "error below 0.0001 % (median)", "R² not known, rank correlation not known"):
        assert words in text
    assert (
        "10 nearest neighbours 1.00 (1 item, each compared with all others held out: a rough figure; by chance 1.00, and "
        "lower among more items)" in text
    )
    assert "nan" not in text + errors([0.0, 0.0], [1.0, 2.0])._repr_html_() + str(errors([0.0, 0.0], [1.0, 2.0]))
    many = str(errors(TRUE, TRUE, recalls=(0.5,) * 10))
    assert "0.50 (10 items, each compared with all others held out; by chance 0.05, and lower among more items)" in many
    assert "relative error 0 % (median)" in many


def test_what_is_not_known_says_why():
    assert str(DistanceErrors(note="nothing was held out")) == "Errors are not known: nothing was held out"
    assert DistanceErrors() != errors(TRUE, OTHER)
    assert hash(DistanceErrors()) == hash(DistanceErrors())


def test_a_model_that_explains_nothing_is_said_to_be_useless():
    with pytest.warns(SemimetricWarning, match=r"on 100 pairs .* explains 0 % of .* hardly better than one distance"):
        errors(TRUE, OTHER).warn_if_useless()


@pytest.mark.parametrize(
    ("learned", "true"), [(OTHER[:19], TRUE[:19]), (9 + 0.01 * OTHER, 9 + 0.01 * TRUE), (TRUE + 0.1 * OTHER - 0.15, TRUE)],
    ids=["few pairs", "hardly differ", "good"],
)  # fmt: skip
def test_nothing_is_said_of_others(learned, true):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        errors(true, learned).warn_if_useless()
    assert said == []


def test_the_error_of_an_approximation_is_that_of_all_pairs_of_other_items():
    model = DistanceApproximator(
        cases.warped_sum, DistanceRegressor(n_knots=4, alpha=1e-5), n_pairs=2000, validation_fraction=0.3
    ).fit(ITEMS)
    new = np.random.default_rng(9).random((400, 2, 2))
    true = cases.warped_sum(new[:, 0], new[:, 1])
    fresh = np.median(relative_errors(true, model.predict(new)))
    assert 0.6 < model.error_.median / fresh < 1.6
    assert (model.error_.n_pairs, model.error_.n_items) == (600, 36)
    assert model.error_.median == model.error_quantiles_[0.5]
    assert model.error_.recall > 0.8
    assert model.error_.n_queries == 600 // 35


def test_recall_is_of_every_item_where_all_pairs_are_evaluated():
    model = DistanceApproximator(
        cases.warped_sum, DistanceRegressor(n_knots=4, alpha=1e-5), n_pairs=4000, validation_fraction=0.25
    ).fit(ITEMS)
    assert model.error_.n_queries == model.error_.n_items == 30
    assert model.n_calls_ == 4000 + 30 * 29 // 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* pairs of items that were set aside", "ignore:.* lie outside the range of the fit")
def test_items_set_aside_from_given_pairs_teach_nothing():
    """The items whose pairs change no weight are those that were set aside, and the errors are of their pairs."""
    rows = INDEX[(INDEX < 24).all(axis=1)]
    y = cases.warped_sum(ITEMS[rows[:, 0]], ITEMS[rows[:, 1]])
    options = {"preprocessor": ITEMS, "n_knots": 3, "alpha": 1e-5, "validation_fraction": 0.4}
    model = made(DistanceRegressor, **options).fit(rows, y)

    def teaches(item):
        other = np.where((rows == item).any(axis=1), 2 * y, y)
        return not np.array_equal(
            made(DistanceRegressor, **options).fit(rows, other).semimetric_.weights, model.semimetric_.weights
        )

    aside = [item for item in range(24) if not teaches(item)]
    both = np.isin(rows, aside).all(axis=1)
    learned = model.semimetric_.paired_by_index(ITEMS, rows[both])
    assert (len(aside), model.error_.n_items, model.error_.n_pairs) == (10, 10, both.sum())
    assert model.error_.median == pytest.approx(np.median(relative_errors(y[both], learned)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* lie outside the range of the fit")
def test_folds_of_items_judge_models_that_have_not_seen_them():
    """Of few items the errors on the pairs learned from are too good, and those of the folds are those of new items."""
    rng = np.random.default_rng(3)
    items, new = rng.random((40, 3)), rng.random((600, 2, 3))
    rows = np.column_stack(np.triu_indices(40, 1))
    noise = np.exp(0.2 * rng.standard_normal(len(rows)))
    model = DistanceRegressor(preprocessor=items).fit(rows, cases.warped_sum(items[rows[:, 0]], items[rows[:, 1]]) * noise)
    true = cases.warped_sum(new[:, 0], new[:, 1]) * np.exp(0.2 * rng.standard_normal(600))
    fresh = np.median(relative_errors(true, model.predict(new)))
    assert 0.8 < model.error_.median / fresh < 1.3
    assert model.error_.n_pairs == 5 * 28
    assert (model.error_.n_items, model.error_.n_queries) == (40, 0)


@pytest.mark.slow
def test_all_pairs_are_learned_from_where_folds_judge():
    rows = INDEX[(INDEX < 40).all(axis=1)]
    y = cases.warped_sum(ITEMS[rows[:, 0]], ITEMS[rows[:, 1]])
    judged, plain = (DistanceRegressor(preprocessor=ITEMS, validation_fraction=share).fit(rows, y) for share in ("auto", 0))
    np.testing.assert_array_equal(judged.semimetric_.weights, plain.semimetric_.weights)
    assert np.isfinite(judged.error_.median)
    assert "no items were set aside" in str(plain.error_)


def test_what_cannot_be_held_out_says_so():
    rows, y = INDEX[:300], cases.warped_sum(ITEMS[INDEX[:300, 0]], ITEMS[INDEX[:300, 1]])
    given = {"preprocessor": ITEMS, "n_knots": 3, "alpha": 1e-5}
    assert "settings were given, so that nothing was compared" in made(DistanceRegressor, **given).fit(rows, y).error_.note
    with pytest.warns(SemimetricWarning, match=r"validation_fraction=0.1 of 120 items leaves .* 20 set aside are required"):
        model = made(DistanceRegressor, **given, validation_fraction=0.1).fit(rows, y)
    assert np.isnan(model.error_.r2)
    assert "in parts" in made(DistanceRegressor, **given).partial_fit(rows, y).error_.note
    for share in ("some", 1.5):
        bad = DistanceRegressor(validation_fraction=share)
        cases.assert_refused(lambda m=bad: m.fit(rows, y), f"validation_fraction={share!r}", "between 0 and 1", "must")


def test_errors_are_printed_after_a_fit_that_is_verbose(capsys):
    rows, y = INDEX, cases.warped_sum(ITEMS[INDEX[:, 0]], ITEMS[INDEX[:, 1]])
    options = {"preprocessor": ITEMS, "n_knots": 3, "alpha": 1e-5, "validation_fraction": 0.3}
    model = made(DistanceRegressor, **options, verbose=True).fit(rows, y)
    assert str(model.error_).splitlines()[1] in capsys.readouterr().err
    made(DistanceRegressor, **options).fit(rows, y)
    assert "relative error" not in capsys.readouterr().err


def test_errors_are_a_table_in_notebooks():
    html = errors(TRUE, 1.1 * TRUE, recalls=(0.5, 0.75))._repr_html_()
    for cell in ("10 %", "1.000", "0.62", "nearest, 2 items, each", "Errors on 100 pairs of 200 items: of a test"):
        assert cell in html
    assert "recall" not in errors(TRUE, TRUE)._repr_html_()
    assert "Errors are not known: &lt;why&gt;" in DistanceErrors(note="<why>")._repr_html_()
