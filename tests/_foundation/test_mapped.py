"""What lies in a file that is mapped is told from what lies in memory."""

import mmap

import numpy as np

from semimetric._foundation.files import is_mapped


def test_maps_are_seen_through_views(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6.0))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert is_mapped(mapped)
    assert is_mapped(np.asarray(mapped)[1:].reshape(5, 1))
    assert not is_mapped(np.array(mapped))
    with open(tmp_path / "a.npy", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        values = np.frombuffer(memoryview(whole)[-48:])
        assert is_mapped(values[2:])
        del values
