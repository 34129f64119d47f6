import cases
import numpy as np
import pytest
from scipy import sparse

from semimetric import Reference
from semimetric.distances.programs.certificate import GapBound
from semimetric.distances.programs.design_matrix import MatrixDesign
from semimetric.distances.programs.penalties import PenaltyColumns
from semimetric.distances.programs.program import ConvexProgram


@pytest.mark.parametrize("penalty", ["ridge", "mixed", "lasso", "nothing"])
@pytest.mark.parametrize("loss", cases.LOSSES)
@pytest.mark.filterwarnings("ignore:Solution.Reference")
def test_any_dual_point_and_any_weights_give_a_bound_below_the_optimum(loss, penalty, rng):
    program = cases.program(cases.PENALTIES[penalty], loss=cases.LOSSES[loss], n_knots=3)
    best, certificate = Reference().solve(program).objective, GapBound(program)
    low, high = program.loss.bounds(program.sample_weight)
    for scale in (0.0, 0.1, 1.0, 10.0):
        theta = np.clip(scale * program.sample_weight * rng.normal(size=len(program.y)), low, high)
        w = program.lower + scale * rng.random(len(program.lower))
        product, objective = program.design.rmatvec(theta), program.objective(w)
        assert certificate.bound(theta, product, w, objective) <= best + 1e-12


@pytest.mark.parametrize("loss", cases.LOSSES)
def test_the_box_holds_the_minimiser(loss, rng):
    program = cases.program(cases.PENALTIES["ridge"], loss=cases.LOSSES[loss])
    best, certificate = Reference().solve(program).weights, GapBound(program)
    for w in (program.lower, program.columns.prior, 3 * rng.random(len(best))):
        upper = certificate.box.ends(program.objective(np.maximum(w, program.lower)))[1]
        assert (best <= upper + 1e-9).all()
        assert (upper >= program.lower).all()


@pytest.mark.parametrize("loss", cases.LOSSES)
def test_the_box_is_tight_where_one_weight_explains_everything(loss):
    column, nothing = np.array([[1.0], [2.0], [0.5]]), PenaltyColumns(1, *[np.ones(1)] * 5, differences=None)
    program = ConvexProgram(
        MatrixDesign(sparse.csr_array(column)),
        3 * column[:, 0],
        np.full(3, 1 / 3),
        cases.LOSSES[loss],
        (),
        nothing,
        np.zeros(1),
    )
    certificate = GapBound(program)
    upper = [certificate.box.ends(v)[1][0] for v in (0.0, 0.1, 1.0)]
    assert 3 - 1e-12 <= upper[0] <= 3.5
    assert (np.diff(upper) > 0).all()
