import numpy as np
import pytest

from semimetric import InputError, LargeMarginLearner, SemimetricClassifier
from semimetric.distances.model.explanations import Explanation
from semimetric.plotting.explanations import plot_explanation, plot_importances

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.repeat(["low", "high"], 30)
    X[y == "high", 1] += 4.0
    learner = LargeMarginLearner(n_knots=4, alpha=1e-2, directions=None, tables="warped")
    return SemimetricClassifier(learner).fit(X, y), X


@pytest.fixture
def explanation():
    parts = np.array([[0.1, 0.0, 0.5, 0.2], [0.3, 0.0, 0.6, 0.1]])
    return Explanation(np.array([7, 3]), np.array(["a", "b"]), parts.sum(axis=1), ("p", "q", "r", "s"), parts)


def widths(container):
    return [bar.get_width() for bar in container]


def labels(axes):
    return [tick.get_text() for tick in axes.get_yticklabels()]


def test_importances_are_sorted_and_named(model):
    ax = plt.subplots()[1]
    assert plot_importances(model[0], ax) is ax
    shown = widths(ax.patches)
    assert shown == sorted(shown, reverse=True)
    assert sum(shown) == pytest.approx(1.0)
    assert labels(ax)[0] == "x1"
    assert labels(ax) != labels(plot_importances(model[0].learner_, most=1))


def test_the_other_features_are_one_bar(model):
    ax = plot_importances(model[0], most=1)
    assert labels(ax) == ["x1", "3 other features"]
    assert sum(widths(ax.patches)) == pytest.approx(1.0)


def test_an_explanation_has_a_bar_a_neighbour_and_a_colour_a_term(explanation):
    ax = plot_explanation(explanation)
    assert labels(ax) == ["item 7 (a)", "item 3 (b)"]
    assert [c.get_label() for c in ax.containers] == ["r", "p", "s"]  # q adds nothing
    assert len({c[0].get_facecolor() for c in ax.containers}) == 3
    assert np.sum([widths(c) for c in ax.containers], axis=0) == pytest.approx(explanation.distances)
    assert [bar.get_x() for bar in ax.containers[1]] == pytest.approx([0.5, 0.6])
    assert ax.get_xlabel() == "distance"


def test_the_other_terms_are_one_part(explanation):
    ax = plot_explanation(explanation, most=1)
    assert [c.get_label() for c in ax.containers] == ["r", "2 other terms"]
    assert widths(ax.containers[1]) == pytest.approx([0.3, 0.4])


def test_a_root_is_said(explanation):
    root = Explanation(
        explanation.indices, explanation.targets, explanation.distances**0.5, explanation.terms, explanation.contributions
    )
    assert plot_explanation(root).get_xlabel() == "distance before the link"


def test_a_neighbour_that_is_the_item_itself_is_an_empty_bar():
    same = Explanation(np.array([0]), np.array([1]), np.zeros(1), ("a",), np.zeros((1, 1)))
    assert labels(plot_explanation(same)) == ["item 0 (class 1)"]


def test_what_a_classifier_explains_is_drawn(model):
    classifier, X = model
    ax = plot_explanation(classifier.explain_neighbors(X[0] + 0.1, 4))
    assert len(labels(ax)) == 4
    assert labels(ax)[0].endswith("(low)")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, e: plot_importances(LargeMarginLearner()), "LargeMarginLearner has no feature_importances_; give"),
        (lambda m, e: plot_importances(m, most=0), "most=0"),
        (lambda m, e: plot_explanation(e, most=0), "most=0"),
        (lambda m, e: plot_explanation([1, 2]), "is no Explanation; give what model.explain_neighbors"),
    ],
)
def test_wrong_input_is_refused(call, message, model, explanation):
    with pytest.raises(InputError, match=message):
        call(model[0], explanation)
