"""What constraints know of the tables: where the columns of a feature stand, and which features qualify."""

import numpy as np
import pytest

from semimetric import InputError, NotSupportedError
from semimetric.data.grid import Grid
from semimetric.distances.features.linear_directions import Directions
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.programs.constraints import TableLayout, numeric

GRID = Grid([[0.0, 1.0, 3.0], [0.0, 2.0], [0.0, 1.0, 2.0, 5.0]])
NAMES = ("u", "v", "w")


def layout(groups, **options):
    embedding = PairEmbedding(GRID, groups)
    return TableLayout(embedding, NAMES, None, embedding.prior(np.ones(3)), **{"unit": 1.0} | options)


@pytest.mark.parametrize("groups", ["singles", "pairs", [(2, 0), (1,)], [(1, 2, 0)]], ids=str)
def test_the_first_two_axes_of_a_table_are_the_places_of_a_and_b(groups):
    """The weight that a column has in an L1 distance of one feature depends on these two places alone."""
    there = layout(groups)
    for feature in range(3):
        slopes = np.eye(3)[feature]
        padded = np.append(there.embedding.prior(slopes), 0.0)
        values = GRID.knots[feature]
        gaps = np.abs(values[:, None] - values[None, :])
        tables = there.tables(feature)
        assert [owner for _, owner in tables] == [g for g, group in enumerate(there.embedding.groups) if feature in group]
        for table, _ in tables:
            weights = padded[table]
            expected = gaps.reshape(gaps.shape + (1,) * (table.ndim - 2)) / len(tables)
            np.testing.assert_allclose(weights, np.broadcast_to(expected, weights.shape))


def test_distances_are_scaled_into_the_unit_of_the_program():
    assert layout("singles", unit=2.0).scaled(np.array([3.0]), "AtMost") == pytest.approx([1.5])
    assert layout("singles", unit=2.0, power=2).scaled(np.array([3.0]), "AtMost") == pytest.approx([4.5])


def test_features_are_named_or_numbered_and_none_is_all():
    embedding = PairEmbedding(GRID)
    assert numeric(embedding, NAMES, None, None, "Monotone") == [0, 1, 2]
    assert numeric(embedding, NAMES, None, ["w", 0], "Monotone") == [2, 0]
    used = Directions(np.array([[1.0, 1.0, 0.0]]), ("u+v",))
    assert numeric(embedding, NAMES, used, None, "Monotone") == [2]
    with pytest.raises(NotSupportedError, match="Monotone cannot be guaranteed of feature 'u': a direction uses it"):
        numeric(embedding, NAMES, used, ["u"], "Monotone")
    for wrong in ([3], ["x"], [True], "u", 0):
        with pytest.raises(InputError, match="Monotone"):
            numeric(embedding, NAMES, None, wrong, "Monotone")
