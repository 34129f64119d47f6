import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import StorageError
from semimetric._foundation.members import Members
from semimetric.data.grid import Grid
from semimetric.distances.state import directions_state, map_state, read_directions, read_map
from semimetric.embeddings.directions.linear_directions import Directions

GRID = Grid([[0.0, 1.0, 3.0], [0.0, 2.0], [5.0]])


@pytest.mark.parametrize("name", cases.EMBEDDINGS)
def test_a_pair_map_is_read_as_it_was(name, rng):
    embedding = cases.EMBEDDINGS[name](GRID)
    values, arrays = map_state(embedding)
    again = read_map(Members({}, arrays), Members(values), GRID.n_features, embedding.n_columns)
    assert type(again) is type(embedding)
    assert (again.groups, again.n_columns, again.symmetric) == (embedding.groups, embedding.n_columns, embedding.symmetric)
    X, w, r = rng.uniform(-1, 4, (20, 3)), rng.random(embedding.n_columns), np.arange(20)
    a, b = embedding.locate(X), again.locate(X)
    assert (embedding.paired(a, r, a, r[::-1], w) == again.paired(b, r, b, r[::-1], w)).all()


@pytest.mark.parametrize("directions", [None, Directions(np.array([[1.0, -1.0]]), ("u-v",))])
def test_directions_are_read_as_they_were(directions):
    values, arrays = directions_state(directions)
    again = read_directions(Members({}, arrays), values["directions"], 2)
    assert (again is None) == (directions is None)
    assert again is None or (again.names == directions.names and (again.matrix == directions.matrix).all())


def test_a_foreign_pair_map_cannot_be_saved():
    class Other:
        groups, grid = ((0,),), GRID

    assert_refused(lambda: map_state(Other()), "Other cannot be saved", "only the package's own", error=StorageError)
