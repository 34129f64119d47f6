import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import Partitions, StorageError, load
from semimetric._foundation.files import State, write_state
from semimetric._foundation.stored import Members
from semimetric.data.grid import Grid
from semimetric.distances.features.linear_directions import Directions
from semimetric.distances.model.state import directions_state, map_state, read_directions, read_map
from semimetric.distances.pairs.full_tables import PairEmbedding

STUMP = Partitions(
    2,
    np.array([0, 3]),
    np.array([1, -1, -1]),
    np.array([2.5, 0.0, 0.0]),
    np.array([[1, 2], [-1, -1], [-1, -1]]),
    np.ones(3, bool),
)
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


@pytest.mark.parametrize("slopes", [None, np.array([1.0, 0.5, 0.0])])
@pytest.mark.parametrize("touched", [False, True])
def test_slopes_of_vertices_that_no_pair_saw_are_read_as_they_were(slopes, touched, rng):
    """Whole tables have slopes too, where they were learned with few columns."""
    whole = cases.EMBEDDINGS["pairs"](GRID)
    vertices = [v.restricted(v.keys[::2]) if touched else v for v in whole.vertices]
    embedding = PairEmbedding(GRID, whole.groups, vertices=vertices, unseen_slopes=slopes)
    values, arrays = map_state(embedding)
    again = read_map(members := Members({}, arrays), Members(values), GRID.n_features, embedding.n_columns)
    members.done()
    assert (again.unseen_slopes is None) == (slopes is None)
    assert slopes is None or (again.unseen_slopes == slopes).all()
    X, w, r = rng.uniform(-1, 4, (20, 3)), rng.random(embedding.n_columns), np.arange(20)
    a, b = embedding.locate(X), again.locate(X)
    assert (embedding.paired(a, r, a, r[::-1], w) == again.paired(b, r, b, r[::-1], w)).all()


@pytest.mark.parametrize("groups", ["pairs", [(0, 1), (1, 2)], [(0,), (2, 1)], [(0, 1, 2)]])
@pytest.mark.parametrize("n_knots", [3, 9])
def test_a_learned_distance_with_joint_groups_is_loaded_as_it_was(groups, n_knots, tmp_path):
    """With 9 knots only few of the vertices are columns while it is learned."""
    model, items, *_ = cases.fitted("pairs", groups=groups, n_knots=n_knots)
    d = model.semimetric_
    d.save(tmp_path / "d.smm")
    again = load(tmp_path / "d.smm")
    given, read = d.embedding.unseen_slopes, again.embedding.unseen_slopes
    assert (given is None and read is None) or (given == read).all()
    assert (again.pairwise(items) == d.pairwise(items)).all()


LINEAR = np.array([[1.0, -1.0]])
DIRECTIONS = {
    "none": None,
    "linear": Directions(LINEAR, ("u-v",)),
    "trees": Directions(LINEAR[:0], ("tree0",), (), STUMP),
    "both": Directions(LINEAR, ("u-v", "tree0"), (), STUMP),
    "bent": Directions(np.ones((1, 3)), ("bent", "tree0"), (np.arange(3.0), np.arange(2.0)), STUMP),
}


@pytest.mark.parametrize("name", DIRECTIONS)
def test_directions_are_read_as_they_were(name):
    directions = DIRECTIONS[name]
    values, arrays = directions_state(directions)
    names = values.pop("directions")
    again = read_directions(Members(values, arrays), names, 2)
    assert (again is None) == (directions is None)
    assert again is None or (again.names == directions.names and again.same_as(directions))


# what is changed in a saved distance with trees, and what it becomes
CRAFTED = {
    "a circle": ("tree_children", lambda a: np.where(a > 0, 0, a)),
    "out of the tree": ("tree_children", lambda a: np.where(a == a.max(), 2**40, a)),
    "a shared child": ("tree_children", lambda a: np.where(a == 2, 1, a)),
    "a foreign feature": ("tree_feature", lambda a: np.where(a >= 0, 3, a)),
    "below a leaf": ("tree_feature", lambda a: a - 1),
    "leaves alone": ("tree_feature", lambda a: np.full_like(a, -1)),
    "infinite": ("tree_threshold", lambda a: a + np.inf),
    "no numbers": ("tree_threshold", lambda a: a * np.nan),
    "fewer": ("tree_threshold", lambda a: a[:-1]),
    "another dtype": ("tree_missing_left", lambda a: a.astype(np.int64)),
    "starts that fall": ("tree_start", lambda a: a[::-1].copy()),
    "no tree": ("tree_start", lambda a: a[:0]),
    "one tree less": ("tree_start", lambda a: np.append(a[:-2], a[-1])),
    "more leaves": ("knot_counts", lambda a: a),
    "another word": ("leaf_tables", lambda _: "half"),
    "no word": ("leaf_tables", lambda _: None),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_trees_are_refused(name, tmp_path):
    d = cases.fitted("metric trees")[0].semimetric_
    state, (part, change) = d.to_state(), CRAFTED[name]
    values, arrays = dict(state.values), {key: np.array(array) for key, array in state.arrays.items()}
    if part == "leaf_tables":
        values[part] = change(values[part])
        values = {key: value for key, value in values.items() if value is not None}
    elif part == "knot_counts":  # a tree has a leaf more on the grid than it has
        arrays["knots"] = np.append(arrays["knots"], arrays["knots"][-1] + 1)
        arrays[part][-1] += 1
    else:
        arrays[part] = change(arrays[part])
    write_state(tmp_path / "crafted.smm", State(state.kind, values, arrays))
    with pytest.raises(StorageError):
        load(tmp_path / "crafted.smm")


def test_a_foreign_pair_map_cannot_be_saved():
    class Other:
        groups, grid = ((0,),), GRID

    assert_refused(lambda: map_state(Other()), "Other cannot be saved", "only the package's own", error=StorageError)
