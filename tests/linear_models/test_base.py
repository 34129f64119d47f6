"""Linear machines that embed on the fly: the optimum of the stored route, gaps that bound, scikit-learn's habits."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from cases import assert_refused
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from semimetric import ConvergenceWarning, EmbeddedLinearClassifier, EmbeddedLinearRegressor, InputError, NotSupportedError
from semimetric.embeddings.vectors.base import FeatureMap, Ladder, Term
from semimetric.embeddings.vectors.identity import IdentityEmbedding
from semimetric.embeddings.vectors.piecewise import PL1Embedding, PL2Embedding
from semimetric.linear_models import classifier as classifier_module
from semimetric.linear_models.training import dual_descent as dual_module
from semimetric.linear_models.training import pegasos as pegasos_module
from semimetric.linear_models.training.dual_descent import DualDescent
from semimetric.linear_models.training.embedded_rows import EmbeddedRows
from semimetric.linear_models.training.problems import classes_problem
from semimetric.linear_models.training.coefficients import empty_machine

X, Y = load_wine(return_X_y=True)
X_DIABETES, VALUES = load_diabetes(return_X_y=True)
VALUES = VALUES / 100
TWO = (Y > 0).astype(int)
PL1 = PL1Embedding(5, knots="quantile")
WEIGHT = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)


class Ladders(FeatureMap):
    """Hats on even knots of every feature, as the rows psi of which D_d^{-T} psi is phi."""

    def __init__(self, order=1, n_knots=5, dtype=np.float64):
        self.order = order
        self.n_knots = n_knots
        self.dtype = dtype

    def _fit(self, items, y):
        self._low, self._span = items.min(axis=0), np.ptp(items, axis=0) + 1e-9
        self._order, self._starts = self.order, np.arange(items.shape[1] + 1) * self.n_knots
        self.n_columns_ = int(self._starts[-1])
        self.terms_ = tuple(Term((f,), int(a), int(a) + self.n_knots) for f, a in enumerate(self._starts[:-1]))

    @property
    def most_nonzeros(self):
        return 2 * self.n_features_in_

    @property
    def ladder(self):
        return Ladder(self._order, self._starts)

    def write(self, items, out):
        places = np.clip((items - self._low) / self._span, 0, 1) * (self.n_knots - 1)
        lower = np.minimum(places.astype(int), self.n_knots - 2)
        t = places - lower
        columns = np.stack([lower, lower + 1], axis=-1) + self._starts[:-1, None]
        rows = sparse.csr_array(
            (np.stack([1 - t, t], axis=-1).ravel(), columns.ravel(), np.arange(len(items) + 1) * 2 * items.shape[1]),
            shape=(len(items), self.n_columns_),
        )
        rows.eliminate_zeros()
        out.indptr[:], out.indices[: rows.nnz], out.data[: rows.nnz] = rows.indptr, rows.indices, rows.data

    def stored(self, items):
        """phi as an array, from the inverses that the paper prints."""
        sums = np.linalg.inv(np.eye(self.n_knots) - np.eye(self.n_knots, k=-1))
        inverse = np.linalg.matrix_power(sums, self.order)
        psi = self.transform(items).toarray().reshape(len(items), -1, self.n_knots)
        return (psi @ inverse).reshape(len(items), -1)  # row-wise: D^{-T} psi = (psiᵀ D^{-1})ᵀ


def objective(model, F, y, weight=None):
    """The machine's objective on stored rows, written out."""
    W, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    f, scaling = F @ W.T + b, getattr(model, "intercept_scaling", 1.0)
    weight = np.ones(len(y)) if weight is None else weight
    value = 0.5 * (W**2).sum() + 0.5 * ((b / scaling) ** 2).sum()
    if "epsilon" in model.loss:
        x = np.maximum(np.abs(y[:, None] - f) - model.epsilon, 0)
    elif model.multi_class == "crammer_singer":
        own = f[np.arange(len(y)), y]
        margins = f + 1
        margins[np.arange(len(y)), y] -= 1
        return value + model.C * weight @ (margins.max(axis=1) - own)
    else:
        signs = np.where(y[:, None] == np.arange(f.shape[1]), 1, -1) if f.shape[1] > 1 else 2 * y[:, None] - 1
        x = np.maximum(1 - signs * f, 0)
    return value + model.C * (weight[:, None] * (x**2 if "squared" in model.loss else x)).sum()


@pytest.mark.filterwarnings("ignore:Liblinear failed")
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize(
    ("y", "loss", "multi_class"),
    [(y, loss, "ovr") for y in (TWO, Y) for loss in ("hinge", "squared_hinge")] + [(Y, "hinge", "crammer_singer")],
)
def test_the_optimum_of_the_stored_route(y, loss, multi_class, weight):
    model = EmbeddedLinearClassifier(PL1, loss=loss, multi_class=multi_class, C=0.3, tol=1e-7).fit(X, y, weight)
    F = model.embedding_.transform(X)
    stored = LinearSVC(loss=loss, multi_class=multi_class, C=0.3, dual=True, tol=1e-8, max_iter=100_000).fit(F, y, weight)
    best, found = objective(stored, F, y, weight), objective(model, F, y, weight)
    assert found == pytest.approx(best, rel=1e-6)
    assert model.duality_gap_ <= 1e-7
    np.testing.assert_allclose(model.decision_function(X), F @ model.coef_.T + model.intercept_ if y is Y else (
        F @ model.coef_[0] + model.intercept_), atol=1e-12)  # fmt: skip
    assert (model.predict(X) == stored.predict(F)).mean() > 0.99


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("class_weight", [{0: 3.0, 1: 0.5}, "balanced"])
def test_class_weights_are_those_of_linear_svc(class_weight, multi_class):
    setting = {"class_weight": class_weight, "multi_class": multi_class, "loss": "hinge", "C": 0.1, "max_iter": 100_000}
    model = EmbeddedLinearClassifier(PL1, **setting, tol=1e-9).fit(X, Y)
    stored = LinearSVC(**setting, dual=True, tol=1e-8).fit(model.embedding_.transform(X), Y)
    np.testing.assert_allclose(model.coef_, stored.coef_, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, stored.intercept_, atol=2e-4)


@pytest.mark.filterwarnings("ignore:Liblinear failed")
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_the_optimum_of_linear_svr(loss, epsilon):
    model = EmbeddedLinearRegressor(PL1, C=0.1, loss=loss, epsilon=epsilon, tol=1e-6, intercept_scaling=2.0, max_iter=20_000)
    model.fit(X_DIABETES, VALUES)
    F = model.embedding_.transform(X_DIABETES)
    setting = {"loss": loss, "epsilon": epsilon, "intercept_scaling": 2.0, "dual": True, "tol": 1e-7, "max_iter": 100_000}
    stored = LinearSVR(C=0.1, **setting).fit(F, VALUES)
    assert objective(model, F, VALUES) == pytest.approx(objective(stored, F, VALUES), rel=1e-5)
    np.testing.assert_allclose(model.predict(X_DIABETES), F @ model.coef_ + model.intercept_, atol=1e-12)


def test_squared_loss_without_epsilon_is_ridge_regression():
    model = EmbeddedLinearRegressor(PL1, C=2.0, tol=1e-12).fit(X_DIABETES, VALUES)
    F = np.column_stack([model.embedding_.transform(X_DIABETES).toarray(), np.ones(len(VALUES))])
    ridge = np.linalg.solve(F.T @ F + np.eye(F.shape[1]) / 4.0, F.T @ VALUES)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), ridge, atol=1e-5)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("setting", [{}, {"loss": "hinge"}, {"loss": "hinge", "multi_class": "crammer_singer"}], ids=str)
def test_ladders_give_the_optimum_of_the_dense_rows(order, setting):
    model = EmbeddedLinearClassifier(Ladders(order), C=1e-2, tol=1e-6, max_iter=20_000, **setting).fit(X, Y)
    F = model.embedding_.stored(X)
    np.testing.assert_allclose(model.decision_function(X), F @ model.coef_.T + model.intercept_, atol=1e-8)
    stored = LinearSVC(C=1e-2, dual=True, tol=1e-6, max_iter=100_000, **({"loss": "squared_hinge"} | setting)).fit(F, Y)
    assert objective(model, F, Y) == pytest.approx(objective(stored, F, Y), rel=1e-4)


@pytest.mark.parametrize("passes", [1, 3, 10, 40])
@pytest.mark.parametrize("solver", ["dual", "pegasos"])
@pytest.mark.parametrize("setting", [{}, {"loss": "hinge"}, {"loss": "hinge", "multi_class": "crammer_singer"}], ids=str)
def test_the_gap_bounds_the_distance_to_the_optimum(passes, solver, setting):
    best = EmbeddedLinearClassifier(PL1, tol=1e-7, **setting).fit(X, Y)
    F = best.embedding_.transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = EmbeddedLinearClassifier(PL1, solver=solver, max_iter=passes, tol=0.0, **setting).fit(X, Y)
    found = objective(model, F, Y)
    assert 0 < model.duality_gap_ <= 1
    assert objective(best, F, Y) >= (1 - model.duality_gap_) * found - 1e-9
    assert found >= objective(best, F, Y) * (1 - 1e-6)


@pytest.mark.parametrize("setting", [{}, {"loss": "hinge"}, {"loss": "hinge", "multi_class": "crammer_singer"}], ids=str)
def test_pegasos_comes_near_the_optimum_and_squared_losses_close_its_gap(setting):
    best = EmbeddedLinearClassifier(PL1, C=0.1, tol=1e-7, **setting).fit(X, Y)
    F = best.embedding_.transform(X)
    model = EmbeddedLinearClassifier(PL1, C=0.1, solver="pegasos", max_iter=200, **setting).fit(X, Y)
    assert model.n_iter_ == 200
    assert objective(model, F, Y) < 1.02 * objective(best, F, Y)
    assert setting or model.duality_gap_ < 0.02


def test_a_stream_of_blocks_learns():
    order = np.random.default_rng(1).permutation(len(Y))
    for solver in ("dual", "pegasos"):
        model = EmbeddedLinearClassifier(PL1Embedding(5).fit(X), solver=solver)
        for _ in range(5):
            for rows in np.array_split(order, 6):
                model.partial_fit(X[rows], Y[rows], classes=[0, 1, 2])
        assert model.score(X, Y) > 0.95
        assert np.isnan(model.duality_gap_)
    before = model.fit(X, Y).coef_.copy()
    after = model.partial_fit(X[:20], Y[:20]).coef_
    assert 0 < np.abs(after - before).max() < np.abs(before).max()
    line = EmbeddedLinearRegressor("linear")
    for _ in range(30):
        line.partial_fit(X[:, :1] / 10, X[:, 0] / 10)
    assert line.score(X[:, :1] / 10, X[:, 0] / 10) > 0.9


def test_warm_starts_need_fewer_passes():
    model = EmbeddedLinearClassifier(PL1, loss="hinge", tol=1e-6, warm_start=True).fit(X, Y)
    cold, weights = model.n_iter_, model.coef_.copy()
    assert model.fit(X, Y).n_iter_ < cold / 3
    np.testing.assert_allclose(model.coef_, weights, atol=1e-2)
    F = model.embedding_.transform(X)
    again = clone(model).set_params(C=2.0).fit(X, Y)
    assert objective(model.set_params(C=2.0).fit(X, Y), F, Y) == pytest.approx(objective(again, F, Y), rel=2e-6)
    with pytest.warns(UserWarning, match="starting afresh"):
        model.fit(X[:100], Y[:100])


def test_a_warm_start_from_one_against_the_rest_reaches_the_joint_optimum():
    joint = {"loss": "hinge", "multi_class": "crammer_singer", "C": 0.01}
    x = np.random.default_rng(0).normal(size=(120, 4))
    y = (x[:, 0] ** 2 + x[:, 1] > 1) * 1 + (x[:, 2] > 0.7)
    model = EmbeddedLinearClassifier(C=10.0, tol=1e-6, warm_start=True).fit(x, y).set_params(**joint).fit(x, y)
    cold = EmbeddedLinearClassifier(tol=1e-6, **joint).fit(x, y)
    assert model.duality_gap_ <= 1e-6
    np.testing.assert_allclose(model.decision_function(x), cold.decision_function(x), atol=1e-3)


def test_a_warm_start_of_pegasos_keeps_to_the_intercept_and_ladder_that_are_asked_for():
    model = EmbeddedLinearClassifier("linear", solver="pegasos", warm_start=True, max_iter=2).fit(X, TWO)
    before = model.intercept_
    rescaled = clone(model).fit(X, TWO).set_params(intercept_scaling=1e-9).fit(X, TWO)
    np.testing.assert_allclose(rescaled.intercept_, before * 2 / 4, rtol=1e-6)  # the weights of two passes fade over two more
    assert before != 0 == model.set_params(fit_intercept=False).fit(X, TWO).intercept_
    ladder = (
        EmbeddedLinearClassifier(Ladders(0), solver="pegasos", warm_start=True).fit(X, TWO).set_params(embedding=Ladders(1))
    )
    with pytest.warns(UserWarning, match="starting afresh"):
        ladder.fit(X, TWO)
    assert (ladder.coef_ == clone(ladder).fit(X, TWO).coef_).all()


def test_weights_of_another_objective_count_as_one_pass():
    strong = EmbeddedLinearClassifier(PL1, C=10.0, solver="pegasos", warm_start=True).fit(X, TWO)
    model = pickle.loads(pickle.dumps(strong)).set_params(C=1e-2).fit(X, TWO)
    best = EmbeddedLinearClassifier(PL1, C=1e-2, tol=1e-6).fit(X, TWO)
    F = best.embedding_.transform(X)
    assert objective(model, F, TWO) < 1.2 * objective(best, F, TWO)
    strong.fit(X, TWO)
    assert strong._state.clock.steps == 40 * len(X)  # the same objective goes on
    stream = clone(strong)
    for _ in range(3):
        stream.partial_fit(X, TWO, classes=np.unique(TWO))
    assert stream.fit(X, TWO)._state.clock.steps == 23 * len(X)  # that of a stream too


def test_learning_holds_no_more_than_four_bytes_a_row_beside_its_variables():
    items = np.random.default_rng(0).random((100_000, 2))
    embedding, codes = IdentityEmbedding().fit(items), (items[:, 0] > 0.5).astype(int)
    problem = classes_problem(codes, None, np.ones(3), squared=True, joint=False)
    assert problem.codes.itemsize == 1
    rows, solver, machine = EmbeddedRows(embedding, items, 1000), DualDescent(1e-9, 1, np.random.RandomState(0)), empty_machine
    for _ in range(2):  # the first compiles
        dual = np.zeros((len(items), 1))
        tracemalloc.start()
        assert solver.learn(rows, problem, machine(embedding, 1, 1.0), dual).n_iter == 1
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert 4 * len(items) <= most < 7 * len(items)


def test_a_fit_that_is_refused_leaves_the_machine_as_it_was():
    model = EmbeddedLinearClassifier(PL1, tol=1e-2).fit(X, TWO)
    scores = model.decision_function(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 14, np.nan, X), Y)
    assert model.classes_.tolist() == [0, 1]
    assert (model.decision_function(X) == scores).all()


def test_calibration_with_weights_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = EmbeddedLinearClassifier(PL1, calibration="logistic", tol=1e-2).fit(X, Y, sample_weight=1 + WEIGHT)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_blocks_and_threads_change_nothing_but_rounding():
    one = EmbeddedLinearClassifier(PL1, tol=1e-8).fit(X, Y)
    many = EmbeddedLinearClassifier(PL1, tol=1e-8, block_size=3, n_jobs=2).fit(X, Y)
    np.testing.assert_allclose(many.decision_function(X), one.decision_function(X), atol=1e-3)
    again = EmbeddedLinearClassifier(PL1, tol=1e-8, block_size=3).fit(X, Y)
    assert (again.coef_ == many.coef_).all()


def test_single_precision_and_sparse_rows():
    full = EmbeddedLinearClassifier(PL1, tol=1e-6).fit(X, Y)
    half = EmbeddedLinearClassifier(PL1Embedding(5, knots="quantile", dtype=np.float32), tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(half.decision_function(X), full.decision_function(X), atol=1e-2)
    items = sparse.random_array((80, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    labels = np.asarray(items.sum(axis=1) > 3)
    dense, held = (EmbeddedLinearClassifier("linear").fit(form, labels) for form in (items.toarray(), items))
    assert (dense.coef_ == held.coef_).all()


@pytest.mark.parametrize("calibration", ["logistic", "isotonic"])
@pytest.mark.parametrize("y", [Y, TWO], ids=["three", "two"])
def test_calibrated_probabilities(calibration, y):
    model = EmbeddedLinearClassifier(PL1, calibration=calibration, tol=1e-3).fit(X, y, sample_weight=1 + WEIGHT)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.classes_[p.argmax(axis=1)] == y).mean() > 0.95
    assert -np.log(np.maximum(p[np.arange(len(y)), y], 1e-3)).mean() < 0.3
    assert not hasattr(EmbeddedLinearClassifier(), "predict_proba")


@pytest.mark.parametrize("fits", [0, 3], ids=["the fit itself", "a fold"])
def test_ctrl_c_ends_calibration_too(fits, monkeypatch):
    original, calls = DualDescent.learn, []

    def learn(*arguments):
        calls.append(arguments)
        learned = original(*arguments)
        return learned._replace(status="interrupted") if len(calls) > fits else learned

    monkeypatch.setattr(DualDescent, "learn", learn)
    model = EmbeddedLinearClassifier(PL1, calibration="logistic", tol=1e-3)
    with pytest.warns(ConvergenceWarning, match="interrupted"), pytest.warns(UserWarning, match="scores but no probabilities"):
        model.fit(X, Y)
    assert len(calls) == fits + 1
    assert model.status_ == ("solved" if fits else "interrupted")
    assert model.score(X, Y) > 0.9
    with pytest.raises(NotFittedError, match="scores but no probabilities"):
        model.predict_proba(X)


def test_ctrl_c_between_the_passes_of_calibration_keeps_the_scores(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(classifier_module, "calibrate", stop)
    with pytest.warns(UserWarning, match="scores but no probabilities"):
        model = EmbeddedLinearClassifier(PL1, calibration="logistic").fit(X, Y)
    assert (model.status_, model.score(X, Y) > 0.9) == ("solved", True)


@pytest.mark.parametrize(("module", "name", "solver"), [(dual_module, "dual_pass", "dual"),
                                                        (pegasos_module, "stochastic_pass", "pegasos")])  # fmt: skip
def test_ctrl_c_keeps_the_weights(module, name, solver, monkeypatch):
    original, calls = getattr(module, name), iter(range(10**6))

    def interrupted(*arguments):
        if next(calls) == 5:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(module, name, interrupted)
    model = EmbeddedLinearClassifier(PL1, solver=solver, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="interrupted after .* only with warm_start=True"):
        model.fit(X, TWO)
    assert model.status_ == "interrupted"
    assert model.score(X, TWO) > 0.8
    assert 0 < model.duality_gap_ <= 1


def test_a_limit_of_passes_is_said_with_the_gap():
    with pytest.warns(ConvergenceWarning, match="max_iter=2 passes"):
        EmbeddedLinearRegressor(max_iter=2, tol=1e-9).fit(X_DIABETES, VALUES)


@pytest.mark.parametrize("setting", [{}, {"loss": "hinge"}, {"loss": "hinge", "multi_class": "crammer_singer"}], ids=str)
def test_weights_of_rows_are_repetitions(setting):
    scaled = X / X.max(axis=0)
    rows = np.repeat(np.arange(len(Y)), WEIGHT.astype(int))
    weighted = EmbeddedLinearClassifier("linear", tol=1e-9, max_iter=20_000, **setting).fit(scaled, Y, WEIGHT)
    repeated = clone(weighted).fit(scaled[rows], Y[rows])
    np.testing.assert_allclose(weighted.decision_function(scaled), repeated.decision_function(scaled), atol=2e-3)


def test_search_clone_pickle_and_embeddings_that_are_fitted():
    search = GridSearchCV(EmbeddedLinearClassifier(PL1Embedding(), tol=1e-2), {"embedding__n_knots": [2, 4]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    model = search.best_estimator_
    assert (pickle.loads(pickle.dumps(model)).decision_function(X) == model.decision_function(X)).all()
    assert not hasattr(model.embedding, "n_columns_")
    known = PL1Embedding(3).fit(X)
    assert EmbeddedLinearClassifier(known).fit(X[:90], Y[:90]).embedding_ is known
    pairs = EmbeddedLinearClassifier(PL2Embedding(3), tol=1e-2).fit(X, Y)
    assert pairs.coef_.shape == (3, pairs.embedding_.n_columns_)


C, R = EmbeddedLinearClassifier, EmbeddedLinearRegressor
BAD = {
    "loss": (lambda: C(loss="logistic").fit(X, Y), "loss='logistic'", "use one of 'squared_hinge'"),
    "C": (lambda: C(C=0).fit(X, Y), "C=0", "must be > 0"),
    "embedding": (lambda: C("rbf").fit(X, Y), "embedding='rbf'", "is required"),
    "one class": (lambda: C().fit(X, np.ones(len(X))), "one class only", "requires two", "another class"),
    "unseen class": (lambda: C().partial_fit(X, Y, classes=[0, 1]), "the class 2", "[0, 1]", "name all"),
    "no classes": (lambda: C().partial_fit(X, Y), "classes=None", "required", "give classes="),
    "weights": (lambda: C().fit(X, Y, -np.ones(len(X))), "non-negative", "correct or drop it"),
    "threads": (lambda: C(n_jobs=0).fit(X, Y), "n_jobs=0", "is required", "-1 for all cores"),
    "threads of a stream": (lambda: R(n_jobs=0.5).partial_fit(X, Y), "n_jobs=0.5", "is required"),
    "epsilon": (lambda: R(epsilon=-1).fit(X, Y), "epsilon=-1", "must be >= 0"),
    "sparse": (lambda: C().fit(sparse.csr_array(X), Y), "X is sparse", "toarray()"),
    "one weight": (lambda: C().fit(X, Y, 2.0), "sample_weight=2.0", "required", "give an array"),
    "class weight": (lambda: C(class_weight={0: -1.0}).fit(X, Y), "class_weight={0: -1.0}", ">= 0 are required", "drop them"),
    "no number": (lambda: C(class_weight={1: np.nan}).fit(X, Y), "class_weight={1: nan}", "finite factors"),
    "one of a class": (lambda: C(calibration="logistic").fit(X[58:], Y[58:]), "class 0 has one row", "two rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_three_parts(name):
    assert isinstance(assert_refused(*BAD[name]), InputError)


def test_what_does_not_go_together():
    with pytest.raises(NotSupportedError, match='but loss=.squared_hinge.; give loss="hinge"'):
        C(multi_class="crammer_singer").fit(X, Y)
    with pytest.raises(NotSupportedError, match=r"'balanced' needs all rows; give class_weight as a dict"):
        C(class_weight="balanced").partial_fit(X, Y, [0, 1, 2])


def test_before_fit():
    assert not hasattr(C(), "coef_")
    with pytest.raises(NotFittedError):
        C().predict(X)


CHECKED = [
    C(tol=1e-3),
    C("linear", loss="hinge", multi_class="crammer_singer", tol=1e-3),
    C("linear", solver="pegasos"),
    C(PL1Embedding(3), calibration="logistic", tol=1e-3),
    R(tol=1e-3),
]


def expected_failures(estimator):
    """Weighted rows and repeated ones differ by knots, by the order of steps, or within the tolerance."""
    names = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    if getattr(estimator, "calibration", None):
        names += ("check_classifiers_train",)  # the largest score predicts, not the largest probability
    return dict.fromkeys(names, "knots, order and tolerance; or a score that is not a probability")


@pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
