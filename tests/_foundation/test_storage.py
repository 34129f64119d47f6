import json
import os
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
from cases import assert_refused

from semimetric import StorageError
from semimetric._foundation import files as storage
from semimetric._foundation.files import FORMAT_VERSION, State, read_state, real_path, write_file, write_state

STATE = State("Thing", {"a": [1, 2.5, None], "b": "ü"}, {"w": np.arange(4.0), "k": np.array([[1], [2]], np.uint16)})


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "thing.semimetric"
    write_state(target, STATE)
    return target


def rewrite(path, changes):
    """The archive again, with some members replaced (None drops them) and nothing else touched."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()} | changes
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)


def header(path, **changes):
    with zipfile.ZipFile(path) as archive:
        return json.dumps(json.loads(archive.read("header.json")) | changes).encode()


def test_what_is_written_is_read(path):
    again = read_state(path)
    assert (again.kind, again.values) == (STATE.kind, STATE.values)
    for name, array in STATE.arrays.items():
        assert (again.arrays[name] == array).all()
        assert again.arrays[name].dtype == array.dtype


def test_the_same_state_gives_the_same_bytes(path, tmp_path):
    write_state(tmp_path / "again", STATE)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("killed", ["os.replace", "storage._write_archive", "os.fsync"])
@pytest.mark.parametrize("reason", [OSError("disk full"), KeyboardInterrupt()])
def test_a_killed_save_leaves_the_old_file_and_nothing_else(path, monkeypatch, killed, reason):
    def die(*args):
        raise reason

    before = path.read_bytes()
    owner, name = killed.split(".")
    monkeypatch.setattr({"os": os, "storage": storage}[owner], name, die)
    with pytest.raises(StorageError if isinstance(reason, OSError) else KeyboardInterrupt):
        write_state(path, State("Other", {}))
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_is_replaced_keeps_its_permissions(path):
    path.chmod(0o640)
    write_state(path, STATE)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_folder_is_no_file(tmp_path):
    assert_refused(
        lambda: write_state(tmp_path, State("A", {})), f"{tmp_path}: it is a folder", "name of a file", error=StorageError
    )
    assert not list(tmp_path.parent.glob(".*.part"))


def test_there_must_be_a_folder(tmp_path):
    missing = tmp_path / "no" / "model"
    assert_refused(lambda: write_state(missing, STATE), str(missing), "does not exist", "create it first", error=StorageError)
    with pytest.raises(FileNotFoundError):
        read_state(missing)


DAMAGE = {
    "truncated": (lambda p: p.write_bytes(p.read_bytes()[:-40]), "truncated or damaged", "save the model again"),
    "a flipped bit": (lambda p: p.write_bytes(p.read_bytes().replace(b"PK\1\2", b"PK\1\3")), "damaged", "restore"),
    "empty": (lambda p: p.write_bytes(b""), "no semimetric file", "restore it"),
    "text": (lambda p: p.write_text("pairs,distance\n"), "no semimetric file", "restore it"),
    "another archive": (lambda p: rewrite(p, {"header.json": None}), "not written by semimetric", "check the path"),
    "another format": (lambda p: rewrite(p, {"header.json": header(p, format="else")}), "has format 'else'", "check the path"),
    "altered values": (lambda p: rewrite(p, {"state.json": b"{}"}), "was altered", "restore it or save the model again"),
    "altered class": (lambda p: rewrite(p, {"header.json": header(p, **{"class": "X"})}), "was altered", "restore it"),
    "missing array": (lambda p: rewrite(p, {"arrays/w.npy": None}), "was altered", "its digest differs"),
    "added member": (lambda p: rewrite(p, {"arrays/evil.npy": b"x"}), "was altered", "its digest differs"),
    "newer": (
        lambda p: rewrite(p, {"header.json": header(p, format_version=FORMAT_VERSION + 1)}),
        f"has format version {FORMAT_VERSION + 1}", "upgrade semimetric",
    ),
}  # fmt: skip


def fitting(path, **members):
    """The archive with other members and the digest that fits them: what somebody with intent writes."""
    with zipfile.ZipFile(path) as archive:
        whole = {name: archive.read(name) for name in archive.namelist() if name != "header.json"}
    whole |= {name.replace("__", "/").replace("_", "."): content for name, content in members.items()}
    digest = storage._digest(whole | {"class": b"Thing"})
    rewrite(path, {**whole, "header.json": header(path, digest=digest)})


def unfolding(path, size):
    """An archive with a member of ``size`` zeros, deflated."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("arrays/zeros.npy", bytes(size))


def lying(path):
    """An archive whose member says that it has 4 bytes, and unfolds to 100 MB."""
    unfolding(path, 10**8)
    whole = path.read_bytes()
    path.write_bytes(whole.replace((10**8).to_bytes(4, "little"), (4).to_bytes(4, "little")))


def twice(path):
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("state.json", b"{}")


def packed(path):
    with zipfile.ZipFile(path, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("arrays/x.npy", bytes(1000))


DAMAGE |= {
    "a bomb": (lambda p: unfolding(p, 3 * 10**8), "made to fill memory", "restore it"),
    "a bomb that lies": (lying, "truncated or damaged", "restore it"),
    "another way of packing": (packed, "compressed in another way", "restore it"),
    "a member twice": (twice, "a member twice", "restore it"),
    "a foreign member": (lambda p: rewrite(p, {"../evil": b"x"}), "holds '../evil'", "restore it"),
    "NaN": (lambda p: fitting(p, state_json=b'{"a": NaN}'), "NaN is no finite number", "restore the file"),
    "a name twice": (lambda p: fitting(p, state_json=b'{"a": 1, "a": 2}'), "a name occurs twice", "restore the file"),
    "deeply nested": (lambda p: fitting(p, state_json=b"[" * 10**5), "state.json in", "restore the file"),
    "no object": (lambda p: fitting(p, state_json=b"[]"), "no JSON object", "restore the file"),
    "objects": (lambda p: fitting(p, arrays__w_npy=b"\x93NUMPY\x01\x00"), "arrays/w.npy in", "restore the file"),
    "no version": (lambda p: rewrite(p, {"header.json": header(p, format_version="1")}), "version '1'", "restore the file"),
    "a class of no letters": (lambda p: rewrite(p, {"header.json": header(p, **{"class": "\ud800"})}), "has format", "check"),
    "a long header": (lambda p: rewrite(p, {"header.json": b" " * 10**5 + header(p)}), "made to fill memory", "restore it"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_is_not_as_written_is_refused(path, damage):
    harm, problem, remedy = DAMAGE[damage]
    harm(path)
    assert_refused(lambda: read_state(path), str(path), problem, remedy, error=StorageError)


def test_any_cut_and_any_flipped_byte_is_noticed(path):
    whole = path.read_bytes()
    for k in range(0, len(whole), 3):
        for broken in (whole[:k], whole[:k] + bytes([whole[k] ^ 0x20]) + whole[k + 1 :]):
            path.write_bytes(broken)
            try:
                again = read_state(path)
            except StorageError:
                continue
            assert (again.kind, again.values) == (STATE.kind, STATE.values)  # a byte of the archive that means nothing
            assert all((again.arrays[name] == array).all() for name, array in STATE.arrays.items())


def test_objects_are_never_pickled(tmp_path):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_state(tmp_path / "x", State("Thing", {}, {"w": np.array([{}], dtype=object)}))
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_device_is_written_to_and_never_replaced(tmp_path):
    (tmp_path / "link").symlink_to("/dev/full")
    for path in (tmp_path / "link", Path("/dev/full")):
        with pytest.raises(StorageError, match="No space left"):
            storage.write_file(path, lambda file: file.write(b"rows"))
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert_refused(lambda: read_state(tmp_path / "pipe"), "pipe is no file", "give the path", error=StorageError)


def test_what_would_unfold_to_more_than_is_read_is_written_as_it_is(tmp_path):
    """Zeros are packed a thousand times smaller; such a file would be refused."""
    large = State("Thing", {"names": ["a"] * 600_000}, {"w": np.zeros(9 << 20)})
    write_state(tmp_path / "x", large)
    again = read_state(tmp_path / "x")
    assert (again.arrays["w"] == 0).all()
    assert again.values == large.values


KEY = b"0123456789abcdef"


def test_a_signed_file_opens_with_its_key_only(path, tmp_path):
    write_state(tmp_path / "signed", STATE, key=KEY)
    assert read_state(tmp_path / "signed", key=KEY).values == STATE.values
    for key, problem in ((None, "is signed, and no key was given"), (KEY[::-1], "was not signed with this key")):
        assert_refused(lambda: read_state(tmp_path / "signed", key=key), problem, "give the key", error=StorageError)  # noqa: B023
    assert_refused(lambda: read_state(path, key=KEY), "is not signed", "save it with key=", error=StorageError)


@pytest.mark.parametrize("signature", [1, None, "", "\ud800", "0" * 64])
def test_a_signature_that_is_none_is_refused(tmp_path, signature):
    write_state(tmp_path / "signed", STATE, key=KEY)
    rewrite(tmp_path / "signed", {"header.json": header(tmp_path / "signed", signature=signature)})
    assert_refused(lambda: read_state(tmp_path / "signed", key=KEY), "signed", "with", error=StorageError)


def test_who_changes_a_signed_file_cannot_sign_it(tmp_path):
    write_state(tmp_path / "signed", STATE, key=KEY)
    fitting(tmp_path / "signed", state_json=b'{"a": 3}')
    assert_refused(lambda: read_state(tmp_path / "signed", key=KEY), "was not signed with this key", "", error=StorageError)


@pytest.mark.parametrize("key", ["text" * 9, b"short", b"", 7])
def test_a_key_is_bytes_and_not_too_few(tmp_path, key):
    assert_refused(lambda: write_state(tmp_path / "x", STATE, key=key), "key= is", "at least 16 bytes", "secrets.token_bytes")
    assert not list(tmp_path.iterdir())


def test_what_is_replaced_while_it_is_read_is_read_again(path):
    """An index that is saved again deletes arrays that a reader has still to read."""
    tries = []

    def read(times):
        tries.append(1)
        if len(tries) <= times:
            write_state(path, STATE)
            raise StorageError("an array is missing")
        return "whole"

    assert storage.read_whole(path, lambda: read(3)) == "whole"
    assert len(tries) == 4
    assert_refused(
        lambda: storage.read_whole(path, lambda: read(1000)), "replaced 100 times", "nobody saves", error=StorageError
    )
    for error in (StorageError("damaged"), FileNotFoundError("gone")):
        tries.clear()

        def fail(error=error):
            tries.append(1)
            raise error

        with pytest.raises(type(error), match=str(error)):
            storage.read_whole(path, fail)
        assert len(tries) == 1


def test_a_link_that_leads_to_itself_is_refused_in_words(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "link").symlink_to("there")
    assert real_path(tmp_path / "link") == tmp_path / "there"
    for path in (tmp_path / "loop", tmp_path / "loop" / "model.smm"):
        assert_refused(lambda path=path: real_path(path), "leads to itself", "give another name", error=StorageError)
        assert_refused(lambda path=path: write_file(path, None), "leads to itself", "give another name", error=StorageError)
