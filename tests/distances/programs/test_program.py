import cases
import numpy as np
import pytest

from semimetric.distances.programs.penalties import total


@pytest.mark.parametrize("loss", cases.LOSSES)
def test_the_objective_is_loss_plus_penalty(loss, rng):
    program = cases.program(cases.PENALTIES["mixed"], loss=loss)
    w = rng.random(len(program.lower))
    residual = program.design.csr() @ w - program.y
    want = program.loss.value(residual, program.sample_weight) + total(program.penalties, program.columns).value(w)
    assert program.objective(w) == pytest.approx(want)


def test_a_program_without_axioms_is_free():
    assert cases.program().bounded
    free = cases.program(axioms=None)
    assert not free.bounded
    assert np.isneginf(free.lower).all()


def test_delta_bounds_raw_features_and_not_directions_or_bases():
    program = cases.program(delta=1e-2, directions=[[1.0, 1.0, 0.0]], base_distances=(cases.cityblock,))
    n = len(program.columns.prior)
    raw = 3 * 3  # three features of three knots
    np.testing.assert_allclose(program.lower[:raw], 1e-2 * program.columns.prior.mean())
    assert not program.lower[raw:n].any()
    assert program.lower[n:].tolist() == [0.0]
