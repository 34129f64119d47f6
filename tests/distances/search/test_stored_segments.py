"""An index that somebody has changed, with digests that fit, is refused before it exists; the message names what is wrong."""

import json
import shutil

import numpy as np
import pytest
from cases import assert_refused
from searches import rough_distance
from soak import containers

import semimetric
from semimetric import Grid, NeighborIndex, StorageError
from semimetric._foundation import files
from semimetric.distances.search import proofs, segment


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Saved indexes of single features in lists, and of joint groups beside single features."""
    rng, root = np.random.default_rng(0), tmp_path_factory.mktemp("indexes")
    items = rng.normal(size=(80, 3))
    for kind in ("singles", "overlapping"):
        d = rough_distance(Grid.fit(items, n_knots=4), kind=kind, low=0.05)
        index = NeighborIndex(d, n_lists=3 if kind == "singles" else 1).fit(items)
        index.save(root / kind)
        if kind == "overlapping":
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(segment, "_FEW", 0)
                index.save(root / "boxes")
    items = np.round(rng.normal(size=(600, 3)), 1)
    d = rough_distance(Grid.fit(items, n_knots=4), low=0.05)
    for storage in ("float64", "uint16"):
        index = NeighborIndex(d, n_lists=1, storage=storage).fit(items)
        index.save(root / f"without lists, {storage}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(segment, "_FEW", 0)
            index.save(root / f"lists, {storage}")
    return root


def model_in(state):
    """The arguments of the distance of an index."""
    return state["model"]["object"]["arguments"]


def label_in(parts, name):
    """The label of the array that is an argument of the distance, of its knots or of their numbers."""
    model = model_in(json.loads(parts.members["state.json"]))
    knots = model["embedding"]["arguments"]["grid"]["arguments"]["knots"]["arrays"]
    return (model | knots)[name]["array"]


@pytest.fixture
def changed(folders, tmp_path):
    """An index with a changed array or value, at its path."""

    def make(kind, name, change):
        parts = containers.Folder(folders / kind)
        name = f"arrays/model_{label_in(parts, name[6:])}.npy" if name.startswith("model:") else name
        if "/" in name:
            array = containers.array_of(parts.members[name]).copy()
            parts.members[name] = containers.bytes_of(change(array))
        else:
            state = json.loads(parts.members["state.json"])
            change(state)
            parts.members["state.json"] = json.dumps(state).encode()
        parts.write(tmp_path / "index")
        return tmp_path / "index"

    return make


def put(value, place=(0,)):
    def change(array):
        array[place] = value
        return array

    return change


def fill(value):
    return lambda array: np.full_like(array, value)


LISTS, CODED_LISTS = "lists, float64", "lists, uint16"
ARRAYS = {
    "order is far": ("overlapping", "0/order", fill(10**9), "'order'"),
    "order is cut": ("overlapping", "0/order", lambda a: a[:40], "'order' is int64 of shape (40, 3)"),
    "lower is large": ("overlapping", "0/lower", fill(65535), "'lower'"),
    "upper is large": ("overlapping", "0/upper", fill(65535), "'upper'"),
    "a fraction is NaN": ("overlapping", "0/fraction", put(np.nan), "'fraction'"),
    "a fraction is far": ("overlapping", "0/fraction", put(1e300), "'fraction'"),
    "a box code is another": ("overlapping", "0/codes", lambda a: a ^ 1, "'codes'"),
    "a cut is beyond": ("overlapping", "arrays/cut_0_0.npy", put(99, -1), "cut at"),
    "shares are negative": ("overlapping", "arrays/share_0_0.npy", fill(-1), "shares"),
    "positions of one column": ("singles", "0/positions", lambda a: a[:, :1], "'positions' is float64 of shape (80, 1)"),
    "positions are cut": ("singles", "0/positions", lambda a: a[:79], "'positions' is float64 of shape (79, 3)"),
    "a position is NaN": ("singles", "0/positions", put(np.nan), "'positions' says of item 0"),
    "a position is 1e300": ("singles", "0/positions", put(1e300, (7, 1)), "'positions' says of item 7"),
    "positions are others": ("singles", "0/positions", lambda a: a[::-1], "'positions' says of item"),
    "raw is NaN": ("singles", "0/raw", put(np.nan, (3, 0)), "'positions' says of item 3"),
    "raw is other": ("singles", "0/raw", lambda a: a + 1e-3, "'positions' says of item"),
    "codes are cut": ("singles", "0/codes", lambda a: a[:5], "'codes' is uint8 of shape (5, 2)"),
    "a code is another": ("singles", "0/codes", lambda a: a ^ 16, "'codes' puts item"),
    "a code has bits too many": ("singles", "0/codes", lambda a: a | np.uint8(0x80), "'codes'"),
    "alive is integers": ("singles", "0/alive", lambda a: a.astype(np.int64), "'alive' is int64"),
    "alive is cut": ("singles", "0/alive", lambda a: a[:-1], "'alive' is bool of shape (79,)"),
    "ids are cut": ("singles", "0/ids", lambda a: a[:-1], "shape"),
    "ids are equal": ("singles", "0/ids", put(5), "same id twice"),
    "ids are big-endian": ("singles", "0/ids", lambda a: a.astype(">i8"), "does not begin as an array"),
    "a list is far": ("singles", "0/member", lambda a: put(10**8)(a.astype(np.int64)), "in the lists 0 to 100000000"),
    "a list is negative": ("singles", "0/member", lambda a: put(-1)(a.astype(np.int64)), "in the lists -1 to"),
    "a list is empty": ("singles", "0/member", lambda a: np.minimum(a, 1), "a list has no items"),
    "centroids of others": ("singles", "0/centroids", lambda a: a[:, :1], "'centroids'"),
    "a column is far": ("singles", "arrays/column.npy", put(2**40), "columns of codes"),
    "a column is negative": ("singles", "arrays/column.npy", put(-1), "columns of codes"),
    "a step is 0": ("singles", "arrays/step.npy", put(0), "steps of parts"),
    "a count is 0": ("singles", "arrays/count.npy", put(0), "a part no cell"),
    "a count is 17": ("singles", "arrays/count.npy", put(17), "more than 16 codes"),
    "edges are cut": ("singles", "arrays/edges.npy", lambda a: a[:, :7], "'edges' is float64 of shape (3, 7)"),
    "edges fall": ("singles", "arrays/edges.npy", lambda a: a[:, ::-1], "edges of cells decrease"),
    "a range is NaN": ("singles", "arrays/low_0.npy", put(np.nan, (0, 0)), "ranges of cells"),
    "a range is too small": ("singles", "arrays/high_0.npy", lambda a: a - 1e-6, "'codes' puts item"),
    "a range is too large": ("singles", "arrays/high_0.npy", lambda a: a + (a > -9) * 1e-6, "'high' ends cell"),
    "typical is elsewhere": ("singles", "arrays/typical_0.npy", lambda a: a + 50, "typical positions"),
    "typical is infinite": ("singles", "arrays/typical_0.npy", put(np.inf), "'typical_0' holds NaN or infinity"),
    "boxes are cut": ("boxes", "0/joint_codes", lambda a: a[:-1], "codes of boxes for each item"),
    "boxes of few items": ("boxes", "0/joint_codes", lambda a: a[:, :40], "'joint_codes' is uint8 of shape"),
    "a box is another": ("boxes", "0/joint_codes", put(255, (-1, 11)), "'joint_codes' says of item 11"),
    "a byte of cells is another": (
        "boxes",
        "0/joint_codes",
        lambda a: put(a[0, 5] ^ 1, (0, 5))(a),
        "'joint_codes' says of item 5",
    ),
    "intervals are too small": ("boxes", "arrays/held_high_0.npy", lambda a: a * 0.999, "'joint_codes' says of item"),
    "intervals are too large": ("boxes", "arrays/held_high_0.npy", fill(1.5), "no parts of the cells"),
    "an interval is NaN": ("boxes", "arrays/held_low_0.npy", put(np.nan), "held_low_0"),
    "intervals overlap": ("boxes", "arrays/held_low_0.npy", fill(0.0), "overlap"),
    "a cell is far": ("boxes", "arrays/held_cell_0.npy", put(2**40, -1), "no parts of the cells"),
    "a cell is negative": ("boxes", "arrays/held_cell_0.npy", put(-1), "no parts of the cells"),
    "codes of intervals are large": ("boxes", "arrays/held_code_0.npy", put(300), "beyond the 256"),
    "codes of intervals are negative": ("boxes", "arrays/held_code_0.npy", put(-1), "beyond the 256"),
    "codes of intervals are others": ("boxes", "arrays/held_code_0.npy", fill(0), "'joint_codes' says of item"),
    "intervals begin elsewhere": ("boxes", "arrays/held_first_0.npy", put(1), "begin at"),
    "intervals are fewer": ("boxes", "arrays/held_cell_0.npy", lambda a: a[:-1], "begin at"),
    "an item is in no list": (LISTS, "0/list_rows", lambda a: put(a[1])(a), "is in no list"),
    "an item of a list is far": (LISTS, "0/list_rows", put(600), "0 to 599 are required"),
    "an item of a list is negative": (LISTS, "0/list_rows", put(-1), "lists hold the items -1 to"),
    "items of lists are cut": (LISTS, "0/list_rows", lambda a: a[:-1], "'list_rows' is int32 of shape (599,)"),
    "items of lists are others": (LISTS, "0/list_rows", lambda a: a[::-1], "'list_bins' says of item"),
    "a list of items is empty": (LISTS, "0/list_starts", lambda a: put(a[1], 2)(a), "lists begin at"),
    "a list of items is too long": (LISTS, "0/list_starts", lambda a: a[[0, 2, 3]], "1 to 256 of the 600 items"),
    "lists of items end early": (LISTS, "0/list_starts", lambda a: a[:-1], "lists begin at"),
    "lists of items begin late": (LISTS, "0/list_starts", put(1), "lists begin at"),
    "there are no lists of items": (LISTS, "0/list_starts", lambda a: a[:0], "lists begin at"),
    "a bin is another": (CODED_LISTS, "0/list_bins", lambda a: put(a[5] ^ 1, 5)(a), "'list_bins' says of item"),
    "a bin is far": (LISTS, "0/list_bins", put(64, -1), "below 64 are required"),
    "bins are cut": (LISTS, "0/list_bins", lambda a: a[:-64], "bins up to"),
    "edges of bins are others": (LISTS, "arrays/list_edges_0.npy", lambda a: a + 0.5, "'list_bins' says of item"),
    "edges of bins fall": (LISTS, "arrays/list_edges_0.npy", lambda a: a[:, ::-1], "edges of the bins of lists"),
    "an edge of bins is NaN": (LISTS, "arrays/list_edges_0.npy", put(np.nan, (0, 0)), "edges of the bins of lists"),
    "edges of bins are cut": (LISTS, "arrays/list_edges_0.npy", lambda a: a[:, :9], "edges of the bins of lists"),
    "edges of bins of two features": (LISTS, "arrays/list_edges_0.npy", lambda a: a[:2], "edges of the bins of lists"),
    "a value of bins is NaN": (LISTS, "arrays/list_values_0.npy", put(np.nan, (0, 0)), "not within 0 and 1"),
    "a value of bins is large": (LISTS, "arrays/list_values_0.npy", put(2.0, (0, 0)), "not within 0 and 1"),
    "values of bins are cut": (LISTS, "arrays/list_values_0.npy", lambda a: a[:, :9], "values of the bins of lists"),
    "weights are NaN": ("singles", "model:weights", put(np.nan), "the weights add up to nan"),
    "weights are cut": ("singles", "model:weights", lambda a: a[:-1], "'weights' has 17 numbers for 18"),
    "knots are equal": ("singles", "model:flat", fill(1.0), "strictly increasing"),
    "knots are counted wrong": ("singles", "model:counts", put(-4), "knots.counts' adds up"),
}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_is_not_that_of_the_items_is_refused(changed, name, mmap):
    kind, member, change, problem = ARRAYS[name]
    path = changed(kind, member, change)
    assert_refused(lambda: semimetric.load(path, mmap=mmap), problem, str(path), error=StorageError)


@pytest.mark.parametrize("mmap", [False, True])
def test_saved_boxes_are_those_that_were_made(folders, monkeypatch, mmap):
    """They are not made again, and an index without them makes them."""
    monkeypatch.setattr(segment, "_FEW", 0)
    monkeypatch.setattr(segment, "_WORTH", 0)
    loaded, without = (semimetric.load(folders / name, mmap=mmap) for name in ("boxes", "overlapping"))
    assert "_joint_codes" in vars(loaded.segments_[0])
    assert "_joint_codes" not in vars(without.segments_[0])
    queries = np.random.default_rng(1).normal(size=(9, 3))
    np.testing.assert_array_equal(loaded.kneighbors(queries, 4), without.kneighbors(queries, 4))
    np.testing.assert_array_equal(loaded.kneighbors(queries, 4)[1], loaded.kneighbors(queries, 4, algorithm="brute")[1])
    one, two = (index.segments_[0]._joint_codes for index in (loaded, without))
    np.testing.assert_array_equal(one.codes, two.codes)
    for (name, array), (_, other) in zip(one.intervals, two.intervals, strict=True):
        np.testing.assert_array_equal(array, other, err_msg=name)
    assert files.is_mapped(one.codes) == mmap


@pytest.mark.slow
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("storage", ["float64", "uint16"])
def test_saved_lists_are_those_that_were_made(folders, monkeypatch, storage, mmap):
    """They are not made again, and an index without them makes them."""
    monkeypatch.setattr(segment, "_FEW", 0)
    loaded, without = (semimetric.load(folders / f"{name}, {storage}", mmap=mmap) for name in ("lists", "without lists"))
    assert "_item_lists" not in vars(without.segments_[0])
    queries = np.random.default_rng(1).normal(size=(9, 3))
    wanted = without.kneighbors(queries, 4)
    one, two = vars(loaded.segments_[0])["_item_lists"], without.segments_[0]._item_lists
    monkeypatch.setattr(segment.ItemLists, "of", None)  # It would be called to make lists.
    np.testing.assert_array_equal(loaded.kneighbors(queries, 4), wanted)
    np.testing.assert_array_equal(loaded.kneighbors(queries, 4), loaded.kneighbors(queries, 4, algorithm="brute"))
    for name, array in one.arrays._asdict().items():
        np.testing.assert_array_equal(array, getattr(two.arrays, name), err_msg=name)
    for array, other in zip((*one.ranges, *one.small), (*two.ranges, *two.small), strict=True):
        np.testing.assert_array_equal(array, other)
    assert files.is_mapped(one.arrays.rows) == files.is_mapped(one.arrays.bins) == mmap


def test_lists_stay_with_an_index_that_changes(folders, monkeypatch, tmp_path):
    """Lists hold removed items too. Items that are added are put into one segment with these few, in new lists."""
    monkeypatch.setattr(segment, "_FEW", 0)
    index = semimetric.load(folders / LISTS)
    items, lists = index.segments_[0].points.raw, index.segments_[0]._item_lists
    index.remove(np.arange(0, 600, 30)).save(tmp_path / "removed")
    index.add(items[:90] + 0.01).save(tmp_path / "added")
    removed, added = (semimetric.load(tmp_path / name) for name in ("removed", "added"))
    np.testing.assert_array_equal(vars(removed.segments_[0])["_item_lists"].arrays.bins, lists.arrays.bins)
    for other in (removed, index, added):
        assert all("_item_lists" in vars(s) for s in other.segments_)
        np.testing.assert_array_equal(other.kneighbors(items[:9], 4), other.kneighbors(items[:9], 4, algorithm="brute"))


def parameter(name, value):
    return lambda state: state.update({name: value})


VALUES = {
    "algorithm": (parameter("algorithm", "magic"), "algorithm='magic'"),
    "threads": (parameter("n_jobs", 10**9), "n_jobs=1000000000"),
    "no threads": (parameter("n_jobs", 0), "n_jobs=0"),
    "lists": (parameter("n_lists", -3), "n_lists=-3"),
    "lists are text": (parameter("n_lists", "many"), "n_lists='many'"),
    "probe": (parameter("n_probe", 0), "n_probe=0"),
    "candidates": (parameter("n_candidates", "5"), "'n_candidates' is '5'"),
    "seed": (parameter("random_state", -1), "'random_state' is -1"),
    "features": (parameter("n_features_in", 1), "there are 1 features"),
    "names": (parameter("feature_names_in", ["a"]), "names of others"),
    "side": (parameter("side", "both"), "side='both'"),
    "segments": (parameter("segments", []), "there are no segments"),
    "a segment twice": (lambda s: s["segments"].append(s["segments"][0]), "two of the same ids"),
    "another file": (lambda s: s["segments"][0].update(raw="../../secret"), "'../../secret', which is no digest"),
    "an array that is none": (lambda s: s["segments"][0].update(more="0" * 64), "'more' is no part"),
    "no codes": (lambda s: s["segments"][0].pop("codes"), "'codes' is missing"),
    "boxes": (parameter("boxes", [{"group": [0], "cuts": 1}]), "'cut_0_0' is missing"),
    "foreign": (parameter("more", 1), "'more' is no part"),
    "no model": (lambda s: s.pop("model"), "'model' is missing"),
    "link": (lambda s: model_in(s).update(link="log"), "link='log'"),
    "groups": (lambda s: model_in(s)["embedding"]["arguments"].update(groups=[[0], [1], [9]]), "names a feature outside"),
    "kind": (lambda s: model_in(s)["embedding"].update(object="Other"), "'Other', which this version cannot read"),
}


@pytest.mark.parametrize(
    ("names", "problem"), [(["list_bins"], "'list_bins' is missing"), (["list_rows", "list_starts", "list_bins"], "is no part")]
)
def test_a_part_of_lists_is_refused(changed, names, problem):
    path = changed(LISTS, "state", lambda s: [s["segments"][0].pop(name) for name in names])
    assert_refused(lambda: semimetric.load(path), problem, str(path), error=StorageError)


def test_lists_of_joint_groups_are_refused(folders, tmp_path):
    parts, lists = containers.Folder(folders / "overlapping"), containers.Folder(folders / LISTS)
    large = {"list_rows": np.arange(80, dtype=np.int32), "list_starts": np.array([0, 80]), "list_bins": np.zeros(384, np.uint8)}
    state = json.loads(parts.members["state.json"])
    parts.segments[0] |= dict.fromkeys(large, "0" * 64)
    state["segments"] = parts.segments
    parts.members |= {f"0/{name}": containers.bytes_of(array) for name, array in large.items()}
    parts.members |= {m: lists.members[m] for m in ("arrays/list_edges_0.npy", "arrays/list_values_0.npy")}
    parts.members["state.json"] = json.dumps(state).encode()
    parts.write(tmp_path / "index")
    problem = "lists of a distance that has none"
    assert_refused(lambda: semimetric.load(tmp_path / "index"), problem, "build it again", error=StorageError)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_no_constructor_takes_is_refused(changed, name):
    change, problem = VALUES[name]
    path = changed("singles", "state", change)
    assert_refused(lambda: semimetric.load(path), problem, str(path), error=StorageError)


def test_another_correct_index_is_the_index_that_it_is(changed):
    """Another weight makes another distance, and answers are its distances."""
    path = changed("singles", "model:weights", put(3.0))
    index = semimetric.load(path)
    items = index.segments_[0].points.raw
    distances, ids = index.kneighbors(items[:4], 5)
    np.testing.assert_allclose(distances, np.sort(index.semimetric.pairwise(items[:4], items))[:, :5], rtol=1e-12, atol=1e-12)
    assert (ids[:, 0] == np.arange(4)).all()


KEY = b"0123456789abcdef"


@pytest.mark.parametrize("mmap", [False, True])
def test_a_signed_index_opens_with_its_key_only(folders, tmp_path, mmap):
    semimetric.load(folders / "singles").save(tmp_path / "signed", key=KEY)
    queries = np.zeros((2, 3))
    signed = semimetric.load(tmp_path / "signed", key=KEY, mmap=mmap).kneighbors(queries)
    np.testing.assert_array_equal(signed, semimetric.load(folders / "singles").kneighbors(queries))
    for key, problem in ((None, "no key was given"), (KEY[::-1], "not signed with this key")):
        assert_refused(lambda: semimetric.load(tmp_path / "signed", key=key), problem, "give the key", error=StorageError)  # noqa: B023
    assert_refused(
        lambda: semimetric.load(folders / "singles", key=KEY), "is not signed", "save it with key", error=StorageError
    )


def test_what_is_not_of_the_index_is_not_deleted(folders, tmp_path):
    shutil.copytree(folders / "singles", tmp_path / "index")
    (tmp_path / "index" / "arrays" / "notes.txt").write_text("mine")
    index = semimetric.load(tmp_path / "index")
    index.remove([3]).save(tmp_path / "index")
    assert (tmp_path / "index" / "arrays" / "notes.txt").read_text() == "mine"
    (tmp_path / "index" / "arrays").rename(tmp_path / "elsewhere")
    (tmp_path / "index" / "arrays").symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").iterdir())
    assert_refused(lambda: index.save(tmp_path / "index"), "is a link", "give another folder", error=StorageError)
    assert sorted((tmp_path / "elsewhere").iterdir()) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a * 1.5, "cells that were saved are not those of the items"),
        (lambda a: np.where(a == a[3, 0], np.nan, a), "NaN"),
        (lambda a: a[:, :1], "'raw' is float64 of shape"),
        (lambda a: a[:70], "'raw' is float64 of shape"),
    ],
)
def test_what_is_found_again_is_held_against_the_cells(change, message, tmp_path):
    items = np.random.default_rng(0).normal(size=(80, 3))
    NeighborIndex(rough_distance(Grid.fit(items, n_knots=4), low=0.05), storage="uint16").fit(items).save(tmp_path / "index")
    semimetric.load(tmp_path / "index")
    parts = containers.Folder(tmp_path / "index")
    parts.members["0/raw"] = containers.bytes_of(change(containers.array_of(parts.members["0/raw"]).copy()))
    parts.write(tmp_path / "changed")
    with pytest.raises(StorageError, match=message):
        semimetric.load(tmp_path / "changed")


def test_blocks_that_are_proved_at_once_share_no_ends(folders, monkeypatch):
    """Each thread reads and writes the ends again and again, so shared ones lose what another thread has found meanwhile."""
    given = []

    def proved(*arguments):
        given.append(arguments[6])
        assert not arguments[6].any()
        return prove(*arguments)

    prove = proofs.prove_cells
    monkeypatch.setattr(proofs, "prove_cells", proved)
    monkeypatch.setattr(proofs, "_ROWS", 8)
    semimetric.load(folders / "singles")
    assert len(given) == 10
    assert len({id(ends) for ends in given}) == 10
