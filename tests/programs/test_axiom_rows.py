import numpy as np
import pytest
from cases import assert_refused

from semimetric import NotSupportedError
from semimetric.data.grid import Grid
from semimetric.embeddings.pairs.full_tables import PairEmbedding
from semimetric.programs.axiom_rows import Symmetry, ZeroDiagonal, equality_rows

GRID = Grid([[0.0, 1.0, 3.0], [0.0, 2.0]])


@pytest.mark.parametrize("groups", ["singles", "pairs"])
def test_rows_vanish_exactly_on_tables_with_the_axiom(groups, rng):
    free = PairEmbedding(GRID, groups, symmetry="none", zero_diagonal=False)
    tables = [rng.random((v.n_points,) * 2) for v in free.vertices]
    symmetric = np.concatenate([(t + t.T).ravel() for t in tables])
    hollow = np.concatenate([(t - np.diag(np.diag(t))).ravel() for t in tables])
    raw = np.concatenate([t.ravel() for t in tables])
    for constraint, good in ((Symmetry(), symmetric), (ZeroDiagonal(), hollow)):
        E = constraint.rows(free)
        assert not (E @ good).any()
        assert (E @ raw != 0).all()
    sizes = [v.n_points for v in free.vertices]
    assert equality_rows((Symmetry(), ZeroDiagonal()), free).shape[0] == sum(c * (c + 1) // 2 for c in sizes)


def test_rows_that_hold_by_construction_are_dropped():
    tied = PairEmbedding(GRID)
    assert equality_rows((Symmetry(), ZeroDiagonal()), tied) is None
    half = PairEmbedding(GRID, symmetry="none")
    assert equality_rows((Symmetry(), ZeroDiagonal()), half).shape == (3 + 1, half.n_columns)


def test_touched_tables_have_no_explicit_rows():
    whole = PairEmbedding(GRID, symmetry="none")
    part = PairEmbedding(GRID, symmetry="none", vertices=[v.restricted(v.keys[:2]) for v in whole.vertices])
    assert_refused(lambda: Symmetry().rows(part), "need whole tables", 'symmetry="tie"', error=NotSupportedError)
