import pickle

import numpy as np
import pytest
from cases import assert_refused
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, LinearSVC

from semimetric import ConvergenceWarning, DPLMClassifier, GibbsChains, SemimetricWarning
from semimetric.datasets.planar import make_horseshoe, make_s_shape, make_zigzag
from semimetric.vectors.pieces import dplm
from semimetric.vectors.pieces.gibbs_chains import Chain

pytestmark = pytest.mark.filterwarnings("ignore::semimetric.ConvergenceWarning")
PLANES = {"local": "plane", "chains": GibbsChains(n_sweeps=300, n_chains=1)}


def separable(rng, n=60, d=2, slope=0.5):
    X = rng.uniform(-1, 1, (n, d))
    height = X[:, 0] - slope * X[:, 1]
    X[:, 0] += 0.3 * np.sign(height)  # an empty band
    return X, (height > 0).astype(int)


@pytest.fixture(scope="module")
def horseshoe():
    X, y = make_horseshoe()
    return DPLMClassifier(alpha=1.0, chains=GibbsChains(n_sweeps=2000), local="plane").fit(X, y)


@pytest.fixture(scope="module")
def small():
    """160 items, their classes, and planes of one short chain."""
    X, y = make_horseshoe(100, 60)
    return X, y, DPLMClassifier(**PLANES).fit(X, y)


SHORT = GibbsChains(n_sweeps=20)
IN_ANY_UNIT = (
    PLANES | {"chains": GibbsChains(n_sweeps=150, n_chains=1), "local": "svm"},
    {"n_components": 3, "local": "plane"},
)


@pytest.fixture(scope="module")
def unscaled():
    return [DPLMClassifier(**parameters).fit(*make_horseshoe(100, 60)) for parameters in IN_ANY_UNIT]


def test_the_horseshoe_has_six_planes_and_seven_segments(horseshoe):
    assert horseshoe.n_components_ == 6
    assert horseshoe.posterior_n_components_.argmax() == 6
    X, y = make_horseshoe(2000, 1200, random_state=5)
    assert horseshoe.score(X, y) > 0.99
    across = np.abs(horseshoe.pieces_[0].normals[:, 0])
    assert sorted(np.round(across).tolist()) == [0, 0, 1, 1, 1, 1]  # both tops of the U are one plane


@pytest.mark.parametrize("make", [make_horseshoe, make_s_shape])
@pytest.mark.slow
def test_machines_separate_what_bends(make):
    model = DPLMClassifier(alpha=1.0, chains=GibbsChains(n_sweeps=1500)).fit(*make())
    assert model.score(*make(random_state=4)) > 0.97
    assert not hasattr(model, "predict_proba")


def test_a_linearly_separable_set_gives_one_piece_and_its_plane(rng):
    X, y = separable(rng, n=150)
    model = DPLMClassifier(**PLANES | {"chains": GibbsChains(n_sweeps=1500, n_chains=1)}).fit(X, y)
    assert model.n_components_ == 1
    normal = model.pieces_[0].normals[0]
    assert normal @ np.array([1.0, -0.5]) / np.hypot(1, 0.5) > 0.95
    assert model.score(X, y) > 0.97


def test_one_component_is_one_plane(rng):
    X, y = separable(rng)
    for local in ("plane", "svm"):
        model = DPLMClassifier(n_components=1, local=local).fit(X, y)
        Z = rng.normal(size=(50, 2)) * 5
        pieces = model.pieces_[0]
        assert np.allclose(model.decision_function(Z), (Z - pieces.centres[0]) @ pieces.normals[0])
        assert np.linalg.norm(pieces.normals[0]) == pytest.approx(1)


@pytest.mark.parametrize("factor", [2.0**-40, 3.7, 2.0**300])
@pytest.mark.slow
def test_a_common_factor_of_all_features_plays_no_part(factor, unscaled):
    X, y = make_horseshoe(100, 60)
    for parameters, one in zip(IN_ANY_UNIT, unscaled, strict=True):
        other = DPLMClassifier(**parameters).fit(X * factor, y)
        assert np.array_equal(one.pieces_[0].components, other.pieces_[0].components)
        assert (one.predict(X) == other.predict(X * factor)).all()
        assert np.allclose(other.decision_function(X * factor) / factor, one.decision_function(X), atol=1e-6)


def test_equation_26_as_printed_depends_on_the_unit():
    X, y = make_horseshoe(100, 60)
    for w_prior, most in (("covariance", np.inf), ("precision", 1 + 1e-6), (50.0, 1 + 1e-6)):
        one = {"n_components": 1, "local": "plane", "w_prior": w_prior}
        small, large = (s * DPLMClassifier(**one).fit(X * s, y).pieces_[0].steepness[0] for s in (0.1, 100.0))
        assert (1.2 if w_prior == "covariance" else 1 - 1e-6) < large / small < most


@pytest.mark.slow
def test_the_order_of_items_plays_no_part(small):
    X, y, one = small
    order = np.random.default_rng(0).permutation(160)
    other = DPLMClassifier(**PLANES).fit(X[order], y[order])
    assert np.array_equal(one.trace_, other.trace_)
    assert np.array_equal(one.decision_function(X), other.decision_function(X))


def test_probabilities_are_how_far_the_boundary_may_reach(horseshoe):
    X, _ = make_horseshoe(300, 200, random_state=3)
    P, f, pieces = horseshoe.predict_proba(X), horseshoe.decision_function(X), horseshoe.pieces_[0]
    assert np.allclose(P.sum(axis=1), 1)
    assert ((P[:, 1] > 0.5) == (f > 0)).all()
    assert np.allclose(P[:, 1], norm.cdf(f * pieces.steepness[pieces.of_items(X)]))


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_every_class_against_the_rest_or_every_other(rng, multi_class):
    centres = np.array([[0.0, 0], [4, 0], [0, 4]])
    y = rng.integers(0, 3, 150)
    X = centres[y] + rng.normal(size=(150, 2)) * 0.5
    model = DPLMClassifier(chains=GibbsChains(n_sweeps=200), multi_class=multi_class).fit(X, np.array(["a", "b", "c"])[y])
    assert model.score(X, np.array(["a", "b", "c"])[y]) > 0.97
    assert model.decision_function(X).shape == (150, 3)
    assert model.n_components_.shape == model.r_hat_.shape == (3,)
    assert len(model.posterior_n_components_) == len(model.trace_) == 3
    if multi_class == "ovr":
        two = DPLMClassifier(chains=GibbsChains(n_sweeps=200)).fit(X, y == 1)
        assert np.array_equal(model.pieces_[1].boundary_points, two.pieces_[0].boundary_points)
        assert not hasattr(model, "class_pairs_")
    else:
        two = DPLMClassifier(chains=GibbsChains(n_sweeps=200)).fit(X[y != 1], y[y != 1])
        assert model.class_pairs_.tolist() == [[0, 1], [0, 2], [1, 2]]
        assert np.array_equal(model.pieces_[1].boundary_points, two.pieces_[0].boundary_points)
        votes = np.round(model.decision_function(X))
        assert np.array_equal(votes.sum(axis=1), np.full(150, 3))
        assert np.array_equal(
            votes[:, 1] + votes[:, 2] - 1, (model.pieces_[0].decision(X) > 0) + (model.pieces_[1].decision(X) > 0)
        )


def spirals(n, seed):
    """Three arms that wind into one another."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    angle = rng.uniform(0.6, 2.0, n) * np.pi
    turned = angle + y * 2 * np.pi / 3
    return (angle / 2 * np.vstack([np.cos(turned), np.sin(turned)])).T + 0.15 * rng.normal(size=(n, 2)), y


@pytest.mark.slow
def test_three_curved_classes_are_told_apart_as_well_as_by_a_kernel():
    (X, y), unseen = spirals(600, 0), spirals(600, 1)
    model = DPLMClassifier(n_components="auto", chains=GibbsChains(n_sweeps=500)).fit(X, y)
    assert model.score(*unseen) > SVC(C=100.0).fit(X, y).score(*unseen) - 0.01
    assert model.score(*unseen) > LinearSVC(C=10.0).fit(X, y).score(*unseen) + 0.3
    assert model.n_components_.max() <= 24
    assert (model.n_components_ > 1).all()
    assert not model.choice_.one_piece
    scaled = DPLMClassifier(n_components="auto", chains=GibbsChains(n_sweeps=500)).fit(3.7 * X, y)
    assert scaled.predict(3.7 * unseen[0]).tolist() == model.predict(unseen[0]).tolist()


@pytest.mark.slow
def test_a_wider_overlap_teaches_machines_from_more_items(monkeypatch):
    X, y = make_horseshoe(100, 60)
    seen, fit = [], LinearSVC.fit

    def counting(self, X, y):
        seen.append(len(X))
        return fit(self, X, y)

    monkeypatch.setattr(LinearSVC, "fit", counting)
    taught = []
    for overlap in (1.0, 1.5, 1e9):
        seen.clear()
        DPLMClassifier(n_components=4, C=10.0, overlap=overlap).fit(X, y)
        taught.append(sum(seen))
    assert taught[0] <= 160 < taught[1] < taught[2] == 4 * 160


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"), [("counted", True), ("prior_points", "items"), ("w_prior", "precision"), ("chains__refine", False)]
)
def test_readings_of_the_paper_change_what_they_should(name, value, small):
    X, y, one = small
    other = clone(DPLMClassifier(**PLANES)).set_params(**{name: value}).fit(X, y)
    assert not np.array_equal(one.decision_function(X), other.decision_function(X))
    assert np.isfinite(other.decision_function(X)).all()
    assert np.array_equal(one.trace_, other.trace_) == (name == "chains__refine")


@pytest.mark.slow
def test_what_has_not_settled_is_said():
    X, y = make_horseshoe()
    with pytest.warns(ConvergenceWarning, match=r"R-hat .* is \d+\.\d+, at most 1.1 is required; .*raise n_sweeps=60"):
        DPLMClassifier(chains=GibbsChains(n_sweeps=60)).fit(X, y)


def test_ctrl_c_leaves_a_model_that_predicts(monkeypatch):
    X, y = make_horseshoe(100, 60)
    calls, advance = iter(range(100)), Chain.advance

    def stopping(self, *arguments):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return advance(self, *arguments)

    monkeypatch.setattr(Chain, "advance", stopping)
    for labels, n_traces in ((y, 1), (np.arange(160) % 3, 3)):
        calls = iter(range(100))
        model = DPLMClassifier(chains=GibbsChains(n_sweeps=1000, n_chains=1), w_prior=1000.0)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, labels)
        assert len(model.predict(X)) == 160
        traces = [model.trace_] if n_traces == 1 else model.trace_
        assert [t.shape[1] for t in traces] == [200, 0, 0][:n_traces]


def test_few_and_degenerate_items():
    one = DPLMClassifier(chains=SHORT).fit([[1.0, 7.0], [2.0, 7.0]], ["a", "b"])  # one item a class, a constant feature
    assert one.predict([[0.0, 7.0], [9.0, 7.0]]).tolist() == ["a", "b"]
    assert DPLMClassifier(chains=SHORT, local="plane").fit([[1.0], [2.0]], [0, 1]).predict([[1.4], [1.6]]).tolist() == [0, 1]
    with pytest.warns(SemimetricWarning, match="belong to several classes"):
        DPLMClassifier(chains=SHORT).fit([[0.0], [0.0], [0.0], [1.0]], [0, 0, 1, 1])


def test_parameters_out_of_range_are_refused_before_any_work(monkeypatch):
    X, y = make_horseshoe(20, 12)

    def refused(given, required, remedy="", **parameters):
        assert_refused(lambda: DPLMClassifier(**parameters).fit(X, y), given, required, remedy)

    refused("n_components=999 is more than there are boundary points", "", "give fewer, or None", n_components=999)
    monkeypatch.setattr(dplm, "split_classes", None)  # no work is done
    refused("alpha=0", "> 0", alpha=0)
    refused("alpha='many'", "'auto'", alpha="many")
    refused("alpha=-1.0", "> 0", alpha=-1.0)
    refused("n_sweeps=0", ">= 1", chains=GibbsChains(n_sweeps=0))
    refused("burn_in=10", "left behind the burn-in", "raise n_sweeps", chains=GibbsChains(n_sweeps=10, burn_in=10))
    refused("n_chains=0", ">= 1", chains=GibbsChains(n_chains=0))
    refused("n_auxiliary=0", ">= 1", chains=GibbsChains(n_auxiliary=0))
    refused("n_components=0", ">= 1", n_components=0)
    refused("local='tree'", "use one of 'svm', 'plane'", local="tree")
    refused("w_prior='wide'", "'precision', 'covariance'", w_prior="wide")
    refused("w_prior=0", "> 0", w_prior=0)
    refused("prior_points='x'", "'boundary', 'items'", prior_points="x")
    refused("C=0", "> 0", C=0)
    refused("C='large'", "'auto'", C="large")
    refused("overlap=0.5", ">= 1", "its own piece", overlap=0.5)
    refused("overlap=-1", ">= 1", "its own piece", overlap=-1)
    refused("overlap='wide'", "'auto'", overlap="wide")
    refused("multi_class='all'", "'ovo', 'ovr'", multi_class="all")
    refused("n_components='many'", "'auto'", n_components="many")
    refused("neighbors='l2' finds no", "an unfitted estimator", "None for Euclid", neighbors="l2")
    refused("chains=500 is no GibbsChains", "", "None for its defaults", chains=500)
    assert_refused(lambda: DPLMClassifier().fit(X, np.zeros(32)), "one class only", "two classes", "add some")


@pytest.mark.slow
def test_it_pickles_and_is_seeded():
    X, y = make_s_shape(150)
    model = DPLMClassifier(chains=GibbsChains(n_sweeps=100)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.decision_function(X) == model.decision_function(X)).all()
    assert np.array_equal(DPLMClassifier(chains=GibbsChains(n_sweeps=100)).fit(X, y).trace_, model.trace_)
    assert not np.array_equal(DPLMClassifier(chains=GibbsChains(n_sweeps=100), random_state=1).fit(X, y).trace_, model.trace_)
    given = DPLMClassifier(n_components=3).fit(X, y)
    assert given.n_components_ <= 3
    assert not hasattr(given, "r_hat_")
    assert (np.diff(given.trace_) >= -1e-9 * np.abs(given.trace_[1:])).all()


PIECES_OF = {
    make_horseshoe: (6, 6),
    make_s_shape: (3, 3),
    make_zigzag: (9, 9),
    lambda random_state: make_moons(400, noise=0.15, random_state=random_state): (3, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", PIECES_OF)
def test_by_default_sets_get_the_pieces_that_they_have(make):
    fewest, most = PIECES_OF[make]
    model = DPLMClassifier(chains=GibbsChains(n_sweeps=1000)).fit(*make(random_state=1))
    assert fewest <= model.n_components_ <= most
    assert model.score(*make(random_state=3)) > 0.96
    choice = model.choice_
    assert not choice.one_piece
    assert choice.accuracy[choice.chosen] > choice.accuracy[0] + 0.05  # the first candidate is one piece


@pytest.mark.slow
def test_where_classes_overlap_along_a_plane_held_out_items_ask_for_one_piece(rng):
    X = rng.normal(size=(80, 4))
    y = X[:, 0] + rng.normal(size=80) > 0
    model = DPLMClassifier(chains=GibbsChains(n_sweeps=100)).fit(X, y)
    assert model.n_components_ == 1
    assert model.r_hat_ == 1
    assert model.posterior_n_components_.tolist() == [0, 1]
    scaled = (X - X.mean(axis=0)) / np.abs(X - X.mean(axis=0)).max()
    C = model.choice_.C[model.choice_.chosen]
    machine = LinearSVC(C=C, dual="auto", max_iter=20_000, random_state=0).fit(scaled, y)
    assert np.array_equal(model.predict(X), machine.predict(scaled))


def test_a_class_of_one_item_leaves_nothing_to_choose_by():
    model = DPLMClassifier(chains=SHORT).fit([[0.0], [1.0], [2.0], [9.0]], [0, 0, 0, 1])
    assert model.choice_.one_piece
    assert np.isnan(model.choice_.accuracy).all()


@pytest.mark.slow
def test_as_many_pieces_as_asked_for_or_a_warning():
    X, y = make_horseshoe()
    for k in (2, 6, 7):
        assert DPLMClassifier(n_components=k).fit(X, y).n_components_ == k
    with pytest.warns(
        SemimetricWarning, match=r"n_components=40 pieces were asked for, (\d+) are left: .*give n_components=\1, "
    ):
        DPLMClassifier(n_components=40).fit(X, y)


def test_parameters_of_chains_are_set_through_the_model():
    model = DPLMClassifier().set_params(chains__n_sweeps=30, chains__n_chains=1)
    assert model.get_params()["chains__n_sweeps"] == 30
    assert clone(model).chains.n_chains == 1
    assert DPLMClassifier().get_params()["chains"] is None
    X, y = make_horseshoe(40, 30)
    search = GridSearchCV(DPLMClassifier(n_components=2, local="plane"), {"chains__n_sweeps": [20, 40]}, cv=2).fit(X, y)
    assert search.best_params_["chains__n_sweeps"] in (20, 40)
