import json
import tracemalloc

import cases
import numpy as np
import pytest
from cases import assert_refused

from semimetric import InputError, NotSupportedError, Partitions, Semimetric, StorageError, load
from semimetric._foundation.files import State, write_state
from semimetric._foundation.stored import state_of, value_of
from semimetric.data.grid import Grid
from semimetric.distances.features.linear_directions import Directions
from semimetric.distances.pairs.base import PairMap
from semimetric.distances.pairs.full_tables import PairEmbedding
from semimetric.distances.pairs.monotone_scales import WarpedEmbedding
from semimetric.distances.pairs.scales_and_tables import MixedEmbedding

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
    again = value_of(state_of(embedding), PairMap, ())
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
    keys = [v.keys[::2] for v in whole.vertices] if touched else ()
    embedding = PairEmbedding(GRID, whole.groups, touched=keys, unseen_slopes=slopes)
    again = value_of(state_of(embedding), PairMap, ())
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
    again = value_of(state_of(directions), Directions | None, ())
    assert (again is None) == (directions is None)
    assert again is None or (again.names == directions.names and again.same_as(directions))


def parts_of(state):
    """What a file says of the parts of a distance, by name."""
    return state.values["object"]["arguments"]


def label(state, *path):
    """The name of the array that is an argument of a part of a distance."""
    part = {"arguments": parts_of(state)}
    for name in path:
        part = part["arguments"][name]
    return part["array"]


def crafted(d, tmp_path, change):
    """A file of a distance, in which ``change`` was made to the state."""
    state = state_of(d)
    state = State(state.kind, state.values, {key: np.array(array) for key, array in state.arrays.items()})
    change(state)
    write_state(tmp_path / "crafted.smm", state)
    return tmp_path / "crafted.smm"


# the array of the trees of a saved distance that is changed, and what it becomes
CRAFTED = {
    "a circle": ("children", lambda a: np.where(a > 0, 0, a)),
    "out of the tree": ("children", lambda a: np.where(a == a.max(), 2**40, a)),
    "a shared child": ("children", lambda a: np.where(a == 2, 1, a)),
    "no axis": ("children", lambda _: np.array(1)),
    "a foreign feature": ("feature", lambda a: np.where(a >= 0, 3, a)),
    "below a leaf": ("feature", lambda a: a - 1),
    "leaves alone": ("feature", lambda a: np.full_like(a, -1)),
    "infinite": ("threshold", lambda a: a + np.inf),
    "no numbers": ("threshold", lambda a: a * np.nan),
    "fewer": ("threshold", lambda a: a[:-1]),
    "another dtype": ("missing_left", lambda a: a.astype(np.int64)),
    "starts that fall": ("start", lambda a: a[::-1].copy()),
    "no tree": ("start", lambda a: a[:0]),
    "no starts": ("start", lambda _: np.array(0)),
    "one tree less": ("start", lambda a: np.append(a[:-2], a[-1])),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_trees_are_refused(name, tmp_path):
    part, change = CRAFTED[name]

    def changed(state):
        array = label(state, "directions", "partitions", part)
        state.arrays[array] = change(state.arrays[array])

    path = crafted(cases.fitted("metric trees")[0].semimetric_, tmp_path, changed)
    with pytest.raises(StorageError):
        load(path)


def test_a_tree_with_a_leaf_more_on_the_grid_is_refused(tmp_path):
    def changed(state):
        joined = parts_of(state)["embedding"]["arguments"]["grid"]["arguments"]["knots"]["arrays"]
        flat, counts = joined["flat"]["array"], joined["counts"]["array"]
        state.arrays[flat] = np.append(state.arrays[flat], state.arrays[flat][-1] + 1)
        state.arrays[counts][-1] += 1

    path = crafted(cases.fitted("metric trees")[0].semimetric_, tmp_path, changed)
    with pytest.raises(StorageError):
        load(path)


def put(*path, value):
    """A change of one argument of a part."""

    def change(state):
        part = {"arguments": parts_of(state)}
        for name in path[:-1]:
            part = part["arguments"][name]
        part["arguments"][path[-1]] = value

    return change


NESTED = {"object": "Schema", "arguments": {"features": {"tuple": []}}}
for _ in range(60):
    NESTED = {"tuple": [NESTED]}
PARTS = {
    "no names": (put("feature_names", value={"tuple": []}), "there are no feature_names"),
    "a name of no text": (put("feature_names", value={"tuple": [1, 2, 3]}), "feature_names is of type tuple"),
    "groups of no feature": (put("embedding", "groups", value={"tuple": []}), "groups is empty"),
    "a feature that is not there": (
        put("embedding", "groups", value={"tuple": [{"tuple": [k]} for k in (0, 1, 7)]}),
        "names a feature outside",
    ),
    "a symmetry": (put("embedding", "symmetry", value="half"), "symmetry='half'"),
    "vertices of other groups": (put("embedding", "touched", value={"tuple": [None]}), "vertices of 1 groups for 3"),
    "slopes below 0": (
        lambda s: (put("embedding", "unseen_slopes", value={"array": "t"})(s), s.arrays.update(t=np.array([1.0, -1.0, 0.0]))),
        "numbers >= 0 are required",
    ),
    "a link": (put("link", value="log"), "link='log'"),
    "an estimator for a link": (
        put("link", value={"estimator": "Pipeline", "parameters": {}, "fitted": None}),
        "this version cannot read",
    ),
    "a distance for an embedding": (put("embedding", value={"object": "Semimetric", "arguments": {}}), "in another way"),
    "a schema of other features": (
        put("schema", value={"object": "Schema", "arguments": {"features": {"tuple": []}}}),
        "the same are required",
    ),
    "depth": (put("schema", value=NESTED), "40 values in one another"),
    "directions of other features": (
        lambda s: (
            put(
                "directions",
                value={"object": "Directions", "arguments": {"matrix": {"array": "t"}, "names": {"tuple": []}}},
            )(s),
            s.arrays.update(t=np.ones((0, 2))),
        ),
        "directions are of 2 features, but the vectors have 3",
    ),
    "an array more": (lambda s: s.arrays.update(t=np.ones(1)), "'t' is no part"),
    "a part more": (put("more", value=1), "'more'"),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_that_no_distance_has_are_refused(name, tmp_path):
    change, problem = PARTS[name]
    path = crafted(cases.fitted("singles")[0].semimetric_, tmp_path, change)
    with pytest.raises(StorageError) as caught:
        load(path)
    assert problem in str(caught.value)


def small_files():
    """Embeddings of many columns that take few bytes, by name."""
    many = Grid([np.arange(32.0)] * 60)
    return {
        "pairs": PairEmbedding(many, "pairs"),
        "without symmetry": PairEmbedding(many, "pairs", symmetry="none"),
        "too large to be held": PairEmbedding(Grid([np.arange(60_000.0)])),
        "one weight": PairEmbedding(Grid([np.arange(60_000.0)], ["categorical"]), one_weight=[0]),
        "by difference": PairEmbedding(Grid([np.arange(60_000.0)]), by_difference=[0]),
    }


@pytest.mark.parametrize("name", small_files())
def test_a_small_file_of_many_columns_takes_no_memory(name, tmp_path):
    embedding = small_files()[name]
    d = Semimetric(PairEmbedding(Grid([[0.0, 1.0]] * 60)), np.ones(60), np.ones(60), tuple(f"x{f}" for f in range(60)))

    def changed(state):
        other = state_of(embedding)
        renamed = {key: f"t{key}" for key in other.arrays}
        text = json.dumps(other.values["object"])
        for old, new in renamed.items():
            text = text.replace(f'"{old}"', f'"{new}"')
        knots = [key for key in state.arrays if key in str(parts_of(state)["embedding"])]
        for key in knots:
            del state.arrays[key]
        parts_of(state)["embedding"] = json.loads(text)
        state.arrays.update({renamed[key]: array for key, array in other.arrays.items()})

    path = crafted(d, tmp_path, changed)
    tracemalloc.start()
    with pytest.raises(StorageError, match=r"has 60 numbers for|too large to be whole"):
        load(path)
    assert tracemalloc.get_traced_memory()[1] < 30 * 2**20
    tracemalloc.stop()


def test_a_foreign_pair_map_cannot_be_saved(tmp_path):
    class Other(WarpedEmbedding):
        pass

    d = Semimetric(Other(GRID), np.ones(3), np.ones(3), ("a", "b", "c"))
    assert_refused(
        lambda: d.save(tmp_path / "d"), "embedding is of type", "Other, which no file holds", error=NotSupportedError
    )


def test_arrays_without_axes_are_refused():
    """No file holds them, but another program may make an object of one."""
    assert_refused(lambda: Directions(np.array(1.0), ()), "directions have shape ()", "are required", error=InputError)
    one = [np.array(1), None, None]
    assert_refused(lambda: PairEmbedding(GRID, touched=one), "vertices of shape ()", "is required", error=InputError)


def test_scales_and_tables_need_both():
    kinds = Grid([[0.0, 1.0], [0.0, 1.0, 2.0]], ["numeric", "categorical"])
    assert MixedEmbedding(kinds, [(1,), (0,)]).groups == ((0,), (1,))
    assert_refused(lambda: MixedEmbedding(kinds, [(1,)]), "need numbers and other features", "use scales_of", error=InputError)
