"""Values draw themselves: by the functions of `plotting`, into given axes or a new figure, with words and units of the user."""

import ast
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import reference
from cases import assert_refused

import semimetric as sm
from semimetric import plotting
from semimetric.distances.model.counterfactuals import Change, Counterfactual
from semimetric.distances.search.filter_refine import CertifiedNeighbors
from semimetric.distances.search.items import Neighbors, Recall
from semimetric.distances.search.tuning import TunedSearch, Tuning
from semimetric.distances.solvers.base import History

plt = pytest.importorskip("matplotlib.pyplot")
pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
LONG = "a name that is much longer than what fits beside a picture of bars"
FRAME = pd.DataFrame(
    {
        "plan": RNG.choice(["basic", "plus", "pro"], 120),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, 120), unit="D"),
        "letters": RNG.random(120) < 0.5,
        "age": RNG.integers(18, 80, 120),
        LONG: np.where(RNG.random(120) < 0.1, np.nan, RNG.random(120)),
    }
)
LEAVES = np.where((FRAME["age"] > 45) ^ (FRAME["plan"] == "pro"), "leaves", "stays")
WIDE = RNG.random((60, 50))
MODELS = {}


def model_of(name):
    """A classifier of mixed columns, of one column or of fifty, fitted once."""
    if not MODELS:
        learn = sm.SemimetricClassifier(predictor="kernel_ridge")
        MODELS["mixed"] = (learn.fit(FRAME, LEAVES), FRAME)
        for n in (1, 50):
            table = WIDE[:, :n]
            MODELS[str(n)] = (
                sm.SemimetricClassifier(predictor="kernel_ridge").fit(table, np.where(table[:, 0] > 0.5, "high", "low")),
                table,
            )
    return MODELS[name]


def distance_of(name):
    return model_of(name)[0].semimetric_


def row_of(name, k=0):
    table = model_of(name)[1]
    return table.iloc[[k]] if name == "mixed" else table[k]


def certified():
    return CertifiedNeighbors(
        np.array([[1.0, 2.0, 3.0]]), np.array([[4, 1, 2]]), np.array([[True, True, False]]), np.array([7])
    )


def tuning():
    tried = (TunedSearch("exact", 16, 10, 1.0, 90.0), TunedSearch("approximate", 1, 16, 0.96, 9.0))
    return Tuning(tried[1], Recall(0.95, 0.9, 40, 10), tried, 0.9, 0.93, "with recall@10 0.95")


def shapes():
    machine = sm.EmbeddedLinearClassifier(sm.PL2Embedding(3, pairs=[(0, 1)])).fit(WIDE[:, :3], WIDE[:, 0] > WIDE[:, 1])
    return sm.vectors.Shapes.of(machine)


def choices():
    pairs = RNG.integers(0, 60, (400, 2))
    gaps = np.abs(WIDE[pairs[:, 0], :2] - WIDE[pairs[:, 1], :2]).sum(axis=1)
    return sm.DistanceRegressor(n_knots=3, preprocessor=WIDE[:, :2]).fit(pairs, gaps).choices_


VALUES = {
    "Explanation": lambda size: model_of(size)[0].explain_neighbors(row_of(size), 3),
    "PredictionExplanation": lambda size: model_of(size)[0].explain(row_of(size)),
    "PredictionCounterfactual": lambda size: model_of(size)[0].counterfactual(row_of(size)),
    "Counterfactual": lambda _: Counterfactual(
        (Change("age", 34, 35, 2.0), Change(LONG, None, 0.5, 1.0)), np.zeros(5), 3.0, 1.0, 1.0
    ),
    "RefittedColumns": lambda size: model_of(size)[0].refitted_columns(),
    "NamedTables": lambda size: distance_of(size).tables(),
    "Table": lambda size: next(iter(distance_of(size).tables().values())),
    "History": lambda _: History(np.arange(3), np.array([3.0, 2.0, 1.9]), np.array([np.inf, 0.5, 0.0])),
    "Choices": lambda _: choices(),
    "Tuning": lambda _: tuning(),
    "Neighbors": lambda size: sm.NeighborIndex(distance_of(size)).fit(model_of(size)[1]).search(model_of(size)[1][:12], 4),
    "CertifiedNeighbors": lambda _: certified(),
    "Shapes": lambda _: shapes(),
}
SIZED = (
    "Explanation",
    "PredictionExplanation",
    "PredictionCounterfactual",
    "RefittedColumns",
    "NamedTables",
    "Table",
    "Neighbors",
)
CASES = [(name, size) for name in VALUES for size in (("mixed", "1", "50") if name in SIZED else ("",))]


@cache
def value_of(name, size):
    """Made once for all tests, which draw it and change nothing of it."""
    return VALUES[name](size)


every_value = pytest.mark.parametrize(("name", "size"), CASES)


def labels(axes):
    """Labels of the rows, from the top."""
    return [tick.get_text() for tick in axes.get_yticklabels()]


def all_texts(axes):
    """Everything that a picture says."""
    legend = axes.get_legend()
    texts = [axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), *labels(axes), *(t.get_text() for t in axes.texts)]
    return (
        texts + [t.get_text() for t in axes.get_xticklabels()] + ([t.get_text() for t in legend.get_texts()] if legend else [])
    )


@pytest.mark.slow
def test_every_value_that_draws_itself_is_drawn_here():
    root = Path(sm.__file__).parent
    trees = [ast.parse(path.read_text()) for path in root.rglob("*.py")]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    drawn = {c.name for c in classes if any(isinstance(n, ast.FunctionDef) and n.name == "plot" for n in c.body)}
    assert drawn == set(VALUES)


@every_value
def test_a_value_draws_into_given_axes_or_a_new_figure(name, size):
    value = value_of(name, size)
    given = plt.subplots()[1]
    assert value.plot(given) is given
    own = value.plot()
    assert own.figure is not given.figure
    for axes in (given, own):
        axes.figure.draw_without_rendering()
        assert axes.has_data()
        assert axes.get_xlabel()
        assert max(map(len, labels(axes)), default=0) <= 60
        assert not re.search(r"00:00:00|Timestamp|np\.|nan|True|False", " ".join(all_texts(axes)))


@every_value
def test_a_value_has_a_table_for_notebooks(name, size):
    page = value_of(name, size)._repr_html_()
    assert page.count("<table>") == 1
    assert page.count("<tr>") > 1


def test_a_prediction_adds_up_from_the_mean_to_the_row():
    found = value_of("PredictionExplanation", "mixed")
    for most in (1, 3, 5):
        axes = found.plot(most=most)
        bars = [bar.get_width() for bar in axes.patches]
        assert sum(bars) == pytest.approx(found.score - found.base_score, rel=1e-9)
    colours = {bar.get_width() > 0: bar.get_facecolor() for bar in axes.patches}
    assert len(set(colours.values())) == len(colours)
    shown = dict(text.split(" = ") for text in labels(axes))
    assert shown["since"] == f"{FRAME['since'][0]:%Y-%m-%d}"
    assert shown["letters"] in ("yes", "no")
    assert any(label.startswith(LONG[:20]) and "…" in label for label in shown)
    assert axes.get_xlabel().startswith("adds to the log odds of ")


def test_bars_of_a_change_are_its_parts_of_the_distance():
    found = value_of("PredictionCounterfactual", "mixed")
    axes = found.plot()
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(found.distance, rel=1e-9)
    assert len(labels(axes)) == len(found.changes)
    assert all(" → " in label for label in labels(axes))
    assert axes.get_title().replace("\n", " ") == found.title


def test_bars_of_a_counterfactual_are_distances():
    found = value_of("Counterfactual", "")
    axes = found.plot()
    assert [bar.get_width() for bar in axes.patches] == [3.0, 2.0, 1.0]
    assert labels(axes) == ["as it is", "age: 34 → 35", f"{LONG[:23]}…: (missing) → 0.5"]
    assert axes.lines[0].get_xdata()[0] == found.within


def test_bars_of_columns_are_means_of_refits_with_two_deviations():
    found = value_of("RefittedColumns", "mixed")
    axes = found.plot(most=3)
    order = np.argsort(-found.losses.mean(axis=0), kind="stable")[:3]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(found.losses.mean(axis=0)[order])
    (bars,) = [container for container in axes.containers if hasattr(container, "has_xerr")]
    ends = np.array([path.vertices[:, 0] for path in bars.lines[2][0].get_paths()])
    assert np.diff(ends, axis=1)[:, 0] == pytest.approx(4 * found.losses.std(axis=0, ddof=1)[order])
    assert "3 largest of 5 columns" in axes.get_xlabel()
    frame = found.to_frame()
    assert frame["feature"].tolist()[0] == found.features[order[0]]
    assert frame["importance"].is_monotonic_decreasing
    assert found.features[order[0]] in repr(found)


@pytest.mark.parametrize("name", ["plan", "since", "letters", "age"])
def test_a_table_draws_what_the_distance_draws(name):
    d = distance_of("mixed")
    one, two = d.tables()[name].plot(), plotting.plot_table(d, name)
    assert all_texts(one) == all_texts(two)
    ticks = [text.get_text() for text in one.get_xticklabels()]
    assert {"plan": "basic", "since": f"{FRAME['since'].min():%Y-%m-%d}", "letters": "no"}.get(name, ticks[0]) in ticks


def test_bars_of_tables_are_their_largest_values():
    tables = distance_of("50").tables()
    axes = tables.plot(most=4)
    largest = np.array([table.values.max() for table in tables.values()])
    bars = [bar.get_width() for bar in axes.patches]
    assert bars[:4] == pytest.approx(np.sort(largest)[::-1][:4])
    assert sum(bars) == pytest.approx(largest.sum())
    assert labels(axes)[-1].endswith("other terms")
    rooted = sm.Semimetric.l1(WIDE[:, :2]).tables()
    assert rooted.plot().get_xlabel() == "largest part of the distance"


def test_bars_of_functions_go_from_least_to_largest():
    found = value_of("Shapes", "")
    axes = found.plot()
    spans = {name: np.ptp([*values.ravel(), 0.0]) for name, values in found.by_name().items()}
    for bar, name in zip(axes.patches, labels(axes), strict=True):
        assert bar.get_width() == pytest.approx(spans[name])
    assert {name for name, span in spans.items() if span} == set(labels(axes))


def test_ranks_have_the_distances_that_were_found():
    found = sm.NeighborIndex("l1").fit(WIDE).search(WIDE[:3], 4)
    axes = found.plot()
    assert [line.get_ydata().tolist() for line in axes.lines] == found.distances.tolist()
    band = sm.NeighborIndex("l1").fit(WIDE).search(WIDE, 4)
    assert band.plot().lines[0].get_ydata() == pytest.approx(np.median(band.distances, axis=0))
    hollow = certified().plot()
    assert [line.get_xdata().tolist() for line in hollow.lines] == [[1, 2, 3], [3]]
    assert "1 of 3 not proved" in hollow.get_title()
    nothing = Neighbors(np.empty((0, 3)), np.empty((0, 3)), np.empty(0), np.empty(0))
    assert_refused(nothing.plot, "0 queries with 3 items", "search for one")


def test_a_search_is_drawn_by_time_and_recall():
    axes = tuning().plot()
    assert {(90.0, 1.0), (9.0, 0.96)} <= {(x, y) for line in axes.lines for x, y in zip(*line.get_data(), strict=True)}
    assert "above 0.930 with 95 % confidence" in axes.get_title().replace("\n", " ")
    assert "asked for: 0.9" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_choices_are_lines_over_strengths_or_rows_of_settings():
    found = choices()
    axes = found.plot()
    assert (axes.get_xlabel(), axes.get_xscale()) == ("alpha", "log")
    (line,) = [container.lines[0] for container in axes.containers]
    assert sorted(zip(*line.get_data(), strict=True)) == sorted((c.settings["alpha"], c.loss) for c in found)
    rows = sm.SemimetricClassifier(random_state=0).fit(FRAME, LEAVES).choices_
    axes = rows.plot()
    assert labels(axes) == [rows.setting_text(c) for c in rows]
    assert axes.lines[-1].get_xdata()[0] == rows.chosen.loss
    assert_refused(lambda: plotting.plot_choices(type(found)()), "nothing was left to choose", "default")


def test_a_history_leaves_out_gaps_that_are_not_known():
    axes = value_of("History", "").plot()
    objective, gap = (line.get_ydata() for line in axes.lines)
    assert objective.tolist() == [3.0, 2.0, 1.9]
    assert np.isnan(gap).tolist() == [True, False, True]
    negative = History(np.arange(2), np.array([-1.0, -2.0]), np.array([1.0, 0.0])).plot()
    assert negative.get_yscale() == "linear"
    assert negative.lines[1].get_ydata().tolist() == [1.0, 0.0]


def test_a_new_figure_is_as_high_as_its_rows():
    explanation = value_of("PredictionExplanation", "50")
    few, many = (explanation.plot(most=most).figure.get_figheight() for most in (3, 50))
    assert few < 4 < 12 < many
    given = plt.subplots(figsize=(4, 3))[1]
    explanation.plot(given, most=50)
    assert given.get_yticklabels()[0].get_fontsize() < 8  # so that labels of many rows do not overlap
    assert_refused(lambda: explanation.plot(most=0), "most=0", "1")


@pytest.mark.parametrize("name", sorted(set(VALUES) - {"Shapes", "Table"}))
def test_another_value_is_refused(name):
    """Each picture names the value that it is of, and the call that returns it."""
    size = next(size for known, size in CASES if known == name)
    other = value_of("History" if name != "History" else "Tuning", "")
    function = getattr(plotting, DRAWS[name])
    assert function(value_of(name, size), plt.subplots()[1]).has_data()
    refused = f"no {NAMED.get(name, name)}; give what"
    assert_refused(lambda: function(other), f"is a {type(other).__name__}", refused, "returns")


DRAWS = {
    "Explanation": "plot_explanation",
    "PredictionExplanation": "plot_prediction_explanation",
    "PredictionCounterfactual": "plot_prediction_counterfactual",
    "Counterfactual": "plot_counterfactual",
    "RefittedColumns": "plot_refitted_columns",
    "NamedTables": "plot_tables",
    "History": "plot_history",
    "Choices": "plot_choices",
    "Tuning": "plot_tuning",
    "Neighbors": "plot_neighbors",
    "CertifiedNeighbors": "plot_neighbors",
}
NAMED = dict.fromkeys(("Neighbors", "CertifiedNeighbors"), "Neighbors or CertifiedNeighbors")


def test_what_bounds_prove_is_a_table_and_a_picture():
    words = ["tree", "three", "free", "house", "mouse", "mice", "thee", "these"]
    index = sm.FilterRefineIndex(None, reference.edit_distance, bounds=sm.EditBounds()).fit(words)
    found = index.search(["treee", "mose"], 3)
    assert found._repr_html_().count("<tr>") == 3
    assert "all proved" in found._repr_html_()
    assert found.plot().get_title() == "The nearest items"
    within = index.search_radius(["treee", "mose"], 1.5)
    assert within._repr_html_().count("<tr>") == 3
    assert f"<td>{len(within.ids[0])}</td>" in within._repr_html_()
