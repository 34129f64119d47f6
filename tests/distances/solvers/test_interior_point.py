import cases
import numpy as np
import pytest
from scipy.optimize import linprog

from semimetric import InteriorPoint
from semimetric.distances import Status
from semimetric.distances.solvers.interior_point import _NewtonSystem


def test_least_absolute_deviations_is_the_linear_program():
    program = cases.program(cases.PENALTIES["nothing"], loss="absolute")
    A, s, n = program.design.csr().toarray(), program.sample_weight, len(program.lower)
    m = len(s)
    best = linprog(
        np.concatenate([np.zeros(n), s]), A_ub=np.block([[A, -np.eye(m)], [-A, -np.eye(m)]]),
        b_ub=np.concatenate([program.y, -program.y]), bounds=[(low, None) for low in program.lower] + [(0, None)] * m,
    )  # fmt: skip
    solution = InteriorPoint(tol=1e-8).solve(program)
    assert solution.objective == pytest.approx(best.fun, rel=1e-7)
    assert solution.n_iter < 60


@pytest.mark.parametrize("loss", cases.LOSSES)
def test_progress_bars_do_not_change_the_answer(loss, capsys):
    program = cases.program(cases.PENALTIES["ridge"], loss=cases.LOSSES[loss])
    quiet, loud = (InteriorPoint().solve(program, verbose=v) for v in (False, True))
    assert (quiet.weights == loud.weights).all()
    assert "interior point" in capsys.readouterr().err


def test_ctrl_c_returns_the_best_weights_so_far(monkeypatch):
    program = cases.program(cases.PENALTIES["ridge"], loss="absolute")
    steps = iter(range(100))
    original = _NewtonSystem.step

    def interrupted(self, point, state):
        if next(steps) == 3:
            raise KeyboardInterrupt
        return original(self, point, state)

    monkeypatch.setattr(_NewtonSystem, "step", interrupted)
    with pytest.warns(UserWarning, match="interrupted by the user"):
        solution = InteriorPoint().solve(program)
    assert solution.status is Status.INTERRUPTED
    assert solution.objective <= program.objective(program.lower)
    assert np.isfinite(solution.weights).all()
