"""Intervals around predicted distances: what they cover, when they are refused, and that a file keeps them."""

import numpy as np
import pandas as pd
import pytest
from cases import assert_refused
from learners import made
from sklearn.base import clone

from semimetric import DistanceApproximator, DistanceRegressor, NotSupportedError, load

RNG = np.random.default_rng(0)
ITEMS, NEW = RNG.random((200, 3)), RNG.random((800, 2, 3))
ROWS = np.random.default_rng(1).permutation(np.column_stack(np.triu_indices(200, 1)))[:4_000]


def euclidean(x, y):
    return np.sqrt(np.square(np.asarray(x) - np.asarray(y)).sum(axis=-1))


def approximator(seed=0, items=ITEMS, **options):
    settings = {"n_pairs": 1_500, "n_knots": 3, "alpha": 1e-4, "validation_fraction": 0.3, "random_state": seed}
    return made(DistanceApproximator, euclidean, **settings | options).fit(items)


def regressor(**options):
    settings = {"preprocessor": ITEMS, "n_knots": 3, "alpha": 1e-4, "validation_fraction": 0.4}
    return made(DistanceRegressor, **settings | options).fit(ROWS, euclidean(ITEMS[ROWS[:, 0]], ITEMS[ROWS[:, 1]]))


def covered(model, pairs, level=0.9):
    predicted, lower, upper = model.predict(pairs, interval=level)
    true = euclidean(pairs[:, 0], pairs[:, 1])
    np.testing.assert_array_equal(predicted, model.predict(pairs))
    assert np.isfinite(upper).all()
    assert (lower >= 0).all()
    assert (lower <= predicted).all()
    assert (predicted <= upper).all()
    return (lower <= true) & (true <= upper)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* lie outside the range of the fit")
def test_intervals_hold_the_distances_of_new_items():
    """20 fits, each judged by 400 pairs that share no item.

    The share that one fit covers varies by the calibration: of m items by no more than the quantile of m / 2 pairs that share
    none, so its variance is at most that of a proportion of m / 2 trials; that of all pairs together is the binomial's.
    """
    shares = {0.8: [], 0.9: []}
    for seed in range(20):
        rng = np.random.default_rng(100 + seed)
        model = approximator(seed, rng.random((200, 3)))
        pairs = rng.random((400, 2, 3))
        for level, found in shares.items():
            found.append(covered(model, pairs, level).mean())
    m = model.intervals_.quantile.n_items
    for level, found in shares.items():
        error = np.sqrt(level * (1 - level) / 20 * (1 / 400 + 2 / m))
        assert abs(np.mean(found) - level) < 3 * error + 0.01


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* lie outside the range of the fit")
@pytest.mark.parametrize(
    "options", [{}, {"n_knots": "auto", "alpha": "auto", "validation_fraction": "auto"}], ids=["aside", "folds"]
)
def test_intervals_of_given_pairs_hold_new_distances(options):
    model = regressor(**options)
    m = model.intervals_.quantile.n_items
    assert abs(covered(model, NEW).mean() - 0.9) < 3 * np.sqrt(0.09 * (1 / 800 + 2 / m))


@pytest.mark.filterwarnings("ignore:.* lie outside the range of the fit")
def test_larger_shares_have_wider_intervals():
    model = approximator()
    widths = [np.subtract(*model.predict(NEW, interval=level)[:0:-1]).mean() for level in (0.5, 0.8, 0.9, 0.95)]
    assert widths == sorted(widths)
    assert widths[0] < 0.7 * widths[2]


@pytest.mark.parametrize("make", [approximator, regressor])
def test_a_file_keeps_errors_and_intervals(make, tmp_path):
    model = make()
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.error_ == model.error_
    pairs = ITEMS[ROWS[:50]]
    for a, b in zip(again.predict(pairs, interval=0.8), model.predict(pairs, interval=0.8), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_clone_has_the_same_parameters_and_the_same_intervals():
    model = regressor()
    copy = clone(model)
    assert copy.get_params()["validation_fraction"] == 0.4
    assert not hasattr(copy, "error_")
    y = euclidean(ITEMS[ROWS[:, 0]], ITEMS[ROWS[:, 1]])
    np.testing.assert_array_equal(copy.fit(ROWS, y).predict(ROWS, interval=0.9).upper, model.predict(ROWS, interval=0.9).upper)


BAD = {
    "one": (lambda: regressor().predict(ROWS, interval=1.0), "interval=1.0", "between 0 and 1", "0.9"),
    "none": (lambda: regressor().predict(ROWS, interval=0), "interval=0", "must be > 0", "interval"),
    "text": (lambda: regressor().predict(ROWS, interval="wide"), "interval='wide'", "a finite number", "interval"),
    "much": (lambda: regressor().predict(ROWS, interval=0.9999), "interval=0.9999", "pairs of", "validation_fraction="),
    "folds": (
        lambda: regressor(validation_fraction="auto").predict(ROWS, interval=0.9), "settings were given", "were held out",
        "validation_fraction=0.3", NotSupportedError,
    ),
    "nothing": (
        lambda: approximator(validation_fraction=0).predict(ITEMS[ROWS], interval=0.9), "no items were set aside",
        "not learned from", "validation_fraction=0.3", NotSupportedError,
    ),
    "few": (
        lambda: approximator(items=ITEMS[:30], validation_fraction=0.2).predict(ITEMS[ROWS], interval=0.9),
        "15 pairs of 6 items", "too few were held out", "validation_fraction=0.3", NotSupportedError,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_intervals_that_cannot_be_made_are_refused(name):
    call, *parts = BAD[name]
    error = parts.pop() if isinstance(parts[-1], type) else ValueError
    assert assert_refused(call, *parts, error=error)


@pytest.mark.filterwarnings("ignore:.* lie outside the range of the fit")
def test_nothing_of_an_earlier_fit_is_left():
    model = regressor()
    model.set_params(validation_fraction=0).fit(ROWS, euclidean(ITEMS[ROWS[:, 0]], ITEMS[ROWS[:, 1]]))
    assert not hasattr(model, "intervals_")
    assert np.isnan(model.error_.median)


@pytest.mark.parametrize("link", ["power", "concave"])
def test_fits_that_chose_a_link_are_counted(link):
    model = regressor(validation_fraction="auto", link=link)
    assert len(model.link_choices_) == 7  # three exponents, and four around .75
    n_fits = len(model.link_choices_) * len(model.link_choices_.chosen.losses)
    assert model.error_.note.startswith(f"only {n_fits} fits compared settings")


def test_signed_distances_have_intervals_below_0():
    signed = ITEMS[ROWS[:, 0], 0] - ITEMS[ROWS[:, 1], 0] + 0.1 * RNG.standard_normal(len(ROWS))
    settings = {"preprocessor": ITEMS, "n_knots": 3, "alpha": 1e-6, "penalty": "ridge", "axioms": None}
    model = made(DistanceRegressor, **settings, validation_fraction=0.4).fit(ROWS, signed)
    predicted, lower, upper = model.predict(ROWS, interval=0.9)
    assert (lower < 0).mean() > 0.4
    assert 0.85 < ((lower <= signed) & (signed <= upper)).mean() < 0.95
    np.testing.assert_allclose(upper - predicted, predicted - lower)


def test_tables_with_categories_have_intervals(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"size": rng.random(150), "kind": pd.Categorical(rng.choice(list("abc"), 150))})
    size, kind = frame["size"].to_numpy(), frame["kind"].cat.codes.to_numpy()
    rows = np.column_stack(np.triu_indices(150, 1))
    i, j = rows.T
    y = np.abs(size[i] - size[j]) + 0.5 * (kind[i] != kind[j]) + 0.1 * rng.random(len(rows))
    model = DistanceRegressor(preprocessor=frame, n_knots=3, alpha=1e-4, validation_fraction=0.3).fit(rows, y)
    _, lower, upper = model.predict(rows, interval=0.9)
    assert 0.9 - 0.12 < ((lower <= y) & (y <= upper)).mean() < 0.9 + 0.09  # by 30 items, see above
    model.set_params(preprocessor=None).save(tmp_path / "m")
    again = load(tmp_path / "m").set_params(preprocessor=frame)
    np.testing.assert_array_equal(again.predict(rows, interval=0.9).lower, lower)


def test_print_shows_the_errors_of_a_fitted_model_and_repr_the_parameters():
    model = approximator()
    assert str(model) == f"{model!r}\n{model.error_}"
    assert "relative error" in str(model)
    assert "relative error" not in repr(model)
    assert str(clone(model)) == repr(model)
    given = regressor(validation_fraction="auto")
    assert given.error_.note.startswith("settings were given, so that nothing was compared")
    assert str(given).endswith("validation_fraction=0.3 sets items aside")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:on .* pairs of items that were")
@pytest.mark.filterwarnings("ignore:.*hardly better")
def test_pairs_that_features_were_screened_on_judge_nothing(monkeypatch):
    monkeypatch.setattr("semimetric.distances.estimators.regressor._ENOUGH_FITS", 0)
    rng = np.random.default_rng(0)
    items, index, noise = rng.normal(size=(60, 8)), rng.integers(0, 60, (800, 2)), rng.random(800)
    many = {"directions": rng.normal(size=(700, 8)), "preprocessor": items}
    narrow = DistanceRegressor(preprocessor=items).fit(index, noise)
    assert narrow.error_.n_pairs > 0  # of folds that it has not seen
    model = made(DistanceRegressor, **many).fit(index, noise)
    assert model.error_.n_pairs == 0
    assert "screened on all pairs" in model.error_.note
    with pytest.raises(NotSupportedError, match="screened on all pairs.*validation_fraction="):
        model.predict(index, interval=0.9)
    aside = made(DistanceRegressor, **many, validation_fraction=0.4).fit(index, noise)
    assert aside.error_.n_pairs > 20
    assert aside.error_.r2 < 0.2  # nothing was to be learned
