import os

import numpy as np
import pytest
from cases import assert_refused
from numpy.testing import assert_array_equal

from semimetric import StorageError
from semimetric._foundation.files import read_arrays, write_array


@pytest.mark.parametrize("mmap", [False, True])
def test_arrays_are_read_as_they_were_written_each_once(tmp_path, mmap):
    arrays = [np.arange(6.0).reshape(2, 3), np.array(["a", "b"]), np.empty((4, 0))]
    digests = [write_array(tmp_path, array) for array in arrays]
    files = read_arrays(tmp_path, [*digests, digests[0]], mmap=mmap)
    files.release()
    for digest, array in zip(digests, arrays, strict=True):
        assert_array_equal(files.arrays[digest], array)
    assert files.arrays[digests[0]].flags.writeable != mmap
    assert len(files.maps) == mmap * len(arrays)


def altered(path):
    path.write_bytes(path.read_bytes()[:-1] + b"\1")


def linked(path):
    path.symlink_to(path.rename(path.with_suffix(".kept")))


def piped(path):
    path.unlink()
    os.mkfifo(path)


HARM = {
    "missing": (os.unlink, "is missing"),
    "cut": (lambda path: os.truncate(path, 100), "truncated or altered"),
    "altered": (altered, "truncated or altered"),
    "empty": (lambda path: os.truncate(path, 0), "is empty"),
    "a link": (linked, "is a link"),
    "a pipe": (piped, "no file"),
}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", HARM)
def test_what_is_not_the_array_of_its_name_is_refused(tmp_path, name, mmap):
    harm, problem = HARM[name]
    digest = write_array(tmp_path, np.arange(6.0))
    harm(tmp_path / f"{digest}.npy")
    assert_refused(lambda: read_arrays(tmp_path, [digest], mmap=mmap), digest, problem, "restore it", error=StorageError)


def test_a_name_that_is_no_digest_is_never_opened(tmp_path):
    (tmp_path / "secret.npy").write_bytes(b"x")
    (tmp_path / "arrays").mkdir()
    assert_refused(
        lambda: read_arrays(tmp_path / "arrays", ["../secret"], mmap=False), "'../secret'", "no digest", "restore", StorageError
    )


def test_a_link_in_place_of_an_array_is_replaced_by_the_array(tmp_path):
    digest = write_array(tmp_path, np.arange(6.0))
    linked(tmp_path / f"{digest}.npy")
    assert write_array(tmp_path, np.arange(6.0)) == digest
    assert not (tmp_path / f"{digest}.npy").is_symlink()
