"""Ctrl-C, wherever it comes: the best weights are kept, and whoever waits for them learns that they are not the last."""

import cases
import numpy as np
import pandas as pd
import pytest
from learners import made

from semimetric import DistanceRegressor, FirstOrder, Gram, InteriorPoint, Newton
from semimetric.cli import main
from semimetric.distances import Status
from semimetric.distances.programs.design_matrix import MatrixDesign
from semimetric.distances.solvers import box_quadratic, gram

ITEMS, INDEX, Y = cases.sample()
SOLVERS = {
    "gram": (Gram(), box_quadratic.BoxQuadratic, "gap", 1),
    "gram, in its factorisation": (Gram(), gram, "solve_regular", 0),
    "newton": (Newton(), MatrixDesign, "rmatvec", 1),
    "interior point": (InteriorPoint(), MatrixDesign, "matvec", 6),
    "interior point, certifying": (InteriorPoint(), MatrixDesign, "rmatvec", 9),
    "first order": (FirstOrder(), MatrixDesign, "rmatvec", 30),
}


def interrupt(patched, owner, name, after):
    """Ctrl-C in call number ``after``, once."""
    original, calls = getattr(owner, name), iter(range(10**9))

    def call(*args, **kwargs):
        if next(calls) == after:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    patched.setattr(owner, name, call)


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_returns_its_best_weights(name, monkeypatch):
    program = cases.program(cases.PENALTIES["lasso"])
    best = InteriorPoint(tol=1e-8).solve(program)
    solver, *where = SOLVERS[name]
    with monkeypatch.context() as patched:
        interrupt(patched, *where)
        with pytest.warns(UserWarning, match="interrupted by the user"):
            solution = solver.solve(program)
    assert solution.status is Status.INTERRUPTED
    assert (solution.weights >= program.lower).all()
    assert solution.objective == pytest.approx(program.objective(solution.weights))
    assert solution.objective - solution.gap <= best.objective + 1e-12


def test_before_there_are_weights_ctrl_c_raises(monkeypatch):
    interrupt(monkeypatch, MatrixDesign, "rmatvec", 0)
    with pytest.raises(KeyboardInterrupt):
        InteriorPoint().solve(cases.program(loss="absolute"))


def test_inside_interior_points_of_a_quadratic(rng, monkeypatch):
    A = rng.random((5, 20))
    one = box_quadratic.BoxQuadratic(A.T @ A, A.T @ rng.random(5), np.zeros(20), np.full(20, np.inf))
    interrupt(monkeypatch, box_quadratic, "_step", 2)
    found, _ = box_quadratic.interior(one, tol=1e-12, max_iter=50)
    assert found.interrupted
    assert found.n_iter == 2


@pytest.mark.filterwarnings("ignore:Solution")
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_estimators_keep_the_weights_and_raise(learn, monkeypatch):
    model = made(DistanceRegressor, **cases.FAST, penalty="lasso", preprocessor=ITEMS)
    with monkeypatch.context() as patched:
        interrupt(patched, gram, "_search", 0)
        with pytest.raises(KeyboardInterrupt, match="nothing is fitted"):  # on the way to the weighted L1 distance
            getattr(model, learn)(INDEX, Y)
    assert not hasattr(model, "semimetric_")
    with monkeypatch.context() as patched:
        interrupt(patched, gram, "_search", 1)
        with pytest.raises(KeyboardInterrupt, match="the best so far"):
            getattr(model, learn)(INDEX, Y)
    assert model.solution_.status is Status.INTERRUPTED
    assert np.isfinite(model.predict(INDEX)).all()
    getattr(model, learn)(INDEX, Y)  # a block that was interrupted did not count
    assert model.solution_.status is Status.SOLVED
    assert model.score(INDEX, Y) > 0.6


def test_the_command_line_ends_with_130_and_saves_nothing(tmp_path, monkeypatch, capsys):
    pd.DataFrame(ITEMS, columns=list("abc")).to_csv(tmp_path / "items.csv", index=False)
    frame = pd.DataFrame(INDEX, columns=["left", "right"]).assign(distance=Y)
    frame.to_csv(tmp_path / "pairs.csv", index=False)
    interrupt(monkeypatch, MatrixDesign, "matvec", 4)
    words = ["fit", "items.csv", "pairs.csv", "--loss", "absolute", "--n-knots", "4", "--alpha", "1e-3", "--output", "m.smm"]
    monkeypatch.chdir(tmp_path)
    assert main(words) == 130
    assert "interrupted" in capsys.readouterr().err
    assert not (tmp_path / "m.smm").exists()
