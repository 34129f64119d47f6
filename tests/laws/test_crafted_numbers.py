"""No label, count, row number or shape of a file sizes an array, or is an index, before it is checked against the others."""

import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from fitted_estimators import ITEMS, MACHINES, bases_of

from semimetric import SemimetricClusterer, SeriesFeatures, StorageError, StringFeatures, load
from semimetric._foundation.files import State, read_state, write_state

pytestmark = pytest.mark.filterwarnings("ignore::semimetric.SemimetricWarning")

ROWS = ["planes in a given number", "boundary", "support points", "pieces in a given number", "embedding of touched"]
MADE = {name: MACHINES[name] for name in ROWS} | {"clusters": lambda: SemimetricClusterer("l1", n_clusters=3).fit(ITEMS)}
WHOLES = [-1, 3 * 10**8, 2**45, 2**62]
SHAPES = [lambda a: a[None], lambda a: a[..., None], lambda a: a.ravel()[:1].reshape(()), lambda a: a[:0]]
MOST = 64 * 2**20  # bytes that reading a file of some kilobytes may take


def check(path, kind, values, arrays, bases):
    """A file is loaded or refused, and takes little memory: any other error is a failure."""
    write_state(path, State(kind, values, arrays))
    tracemalloc.start()
    try:
        with suppress(StorageError):
            load(path, base_distances=bases)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST


LONG = {"embedding of touched"}  # its file has the most arrays


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in MADE])
def test_every_integer_and_every_shape_of_a_file_is_checked(name, tmp_path):
    MADE[name]().save(tmp_path / "m")
    state, bases = read_state(tmp_path / "m"), bases_of(name)
    integers = [label for label, array in state.arrays.items() if array.dtype.kind == "i" and array.size]
    assert integers
    for label in integers:
        for whole in WHOLES:
            array = state.arrays[label].copy()
            array.reshape(-1)[-1] = whole
            check(tmp_path / "c", state.kind, state.values, state.arrays | {label: array}, bases)
    for label, array in state.arrays.items():
        for change in SHAPES if array.size else ():
            check(tmp_path / "c", state.kind, state.values, state.arrays | {label: np.array(change(array))}, bases)


@pytest.mark.slow
@pytest.mark.parametrize("label", [3 * 10**8, 2**45, -1])
def test_labels_of_a_mixture_are_numbers_of_its_planes(label, tmp_path):
    model = MACHINES["planes in a given number"]()
    model.labels_ = np.append(model.labels_[:-1], label)
    model.save(tmp_path / "m")
    with pytest.raises(StorageError, match=r"HyperplaneMixture\.labels_' holds .*; numbers [<>]= "):
        load(tmp_path / "m")


COUNTS = {
    "n_path": SeriesFeatures, "n_quantiles": SeriesFeatures, "n_windows": SeriesFeatures, "n_channels_": SeriesFeatures,
    "n_places": StringFeatures,
}  # fmt: skip


@pytest.mark.parametrize("number", [3 * 10**8, 2**45, 2**62])
@pytest.mark.parametrize("name", COUNTS)
def test_numbers_of_features_of_an_object_are_bounded(name, number, tmp_path):
    """They size an array for every object, and a file holds no array that would say them."""
    features = COUNTS[name]()
    features.fit(["bone", "stone"] if isinstance(features, StringFeatures) else [[0.0, 1.0, 3.0], [2.0, 1.0]])
    setattr(features, name, number)
    features.save(tmp_path / "m")
    with pytest.raises(StorageError, match=f"{name}={number}: an integer from . to "):
        load(tmp_path / "m")
