"""Every own solver tells how it came to its solution; the last entry is that of the solution."""

import pickle
from dataclasses import replace

import cases
import numpy as np
import pytest

from semimetric import CuttingPlane, DistanceRegressor, Newton, Program, Reference, Splitting
from semimetric.distances.solvers.base import History, Repair

OWN = {name: solver for name, (solver, _) in cases.SOLVERS.items()} | {"splitting": Splitting()}


@pytest.mark.parametrize("name", OWN)
def test_objective_and_gap_are_told(name):
    program = cases.program(cases.PENALTIES["ridge"], loss="squared" if name in ("gram", "splitting") else "huber")
    solution = OWN[name].solve(program)
    history = solution.history
    assert 1 <= len(history) == len(history.objective) == len(history.gap)
    assert (np.diff(history.iterations) > 0).all()
    assert history.iterations[-1] <= solution.n_iter
    assert history.objective[-1] == pytest.approx(solution.objective, rel=1e-6, abs=1e-9)
    optimum = solution.objective - solution.gap
    assert (history.objective >= optimum - 1e-9).all()
    assert (history.objective - history.gap <= solution.objective + 1e-9).all()  # every bound is one
    again = OWN[name].solve(program).history
    np.testing.assert_array_equal(again.objective, history.objective)


def test_cutting_planes_tell_each_round():
    items, index, y = cases.sample()
    model = DistanceRegressor(
        n_knots=5,
        alpha=1e-3,
        axioms="metric",
        loss="huber",
        program=Program(solver=CuttingPlane(all_rows=0)),
        preprocessor=items,
    ).fit(index, y)
    history = model.solution_.history
    assert len(history) >= 2
    assert (np.diff(history.objective) >= -1e-6 * history.objective[0]).all()  # a round adds inequalities that matter


def test_a_foreign_solver_tells_none():
    assert Reference().solve(cases.program(cases.PENALTIES["ridge"])).history is None


def test_a_history_is_a_frame_and_a_frozen_value():
    pandas = pytest.importorskip("pandas")
    history = Newton().solve(cases.program(cases.PENALTIES["ridge"])).history
    frame = history.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["objective", "gap"]
    assert frame.index.tolist() == history.iterations.tolist()
    assert repr(history).startswith(f"History of {len(history)} looks: objective ")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(history)).gap, history.gap)
    with pytest.raises(ValueError, match="read-only"):
        history.gap[0] = 0.0
    assert History.of([]) is None


def test_a_solution_is_a_table_in_notebooks():
    solution = replace(Newton().solve(cases.program(cases.PENALTIES["ridge"])), solver="<Newton & co>")
    html = solution._repr_html_()
    for text in (
        "&lt;Newton &amp; co&gt;",
        solution.status.value,
        f"{solution.objective:.6g}",
        f"<td>{len(solution.weights)}</td>",
    ):
        assert text in html
    assert f"{solution.relative_gap:.2g} of the objective" in html
    assert "inequalities" not in html
    unknown = replace(solution, gap=np.inf, repair=Repair(0.01, 0.0, 0.0))._repr_html_()
    assert "<td>not known</td>" in unknown
    assert "0.01 of the largest weight" in unknown
