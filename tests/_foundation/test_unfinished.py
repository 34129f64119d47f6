"""Files and folders that take their place when they are complete: nothing is left of others."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from cases import assert_refused

from semimetric import StorageError
from semimetric._foundation import unfinished
from semimetric._foundation.unfinished import (
    discard,
    replacing,
    standstill,
    undo_all,
    undoing,
    unfinished_folder,
    uninterrupted,
)

HOLDS = """
import os, signal, sys
from pathlib import Path
from semimetric._foundation.unfinished import replacing, unfinished_folder
with {maker}(Path(sys.argv[1])):
    print("held", flush=True)
    {then}
"""
KILLED, WAITS = "os.kill(os.getpid(), signal.SIGKILL)", "sys.stdin.read()"


def process(maker, target, then):
    """A process that has begun a file or a folder, and now dies or waits."""
    command = [sys.executable, "-c", HOLDS.format(maker=maker.__name__, then=then), str(target)]
    began = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert began.stdout.readline() == "held\n"
    return began


@pytest.mark.parametrize("maker", [replacing, unfinished_folder])
def test_what_a_killed_process_left_is_deleted_by_the_next(tmp_path, maker):
    target = tmp_path / "a.smm"
    with process(maker, target, KILLED) as killed:
        assert killed.wait() == -signal.SIGKILL
    (tmp_path / ".a.smm.0123abcd.part").touch()  # as version 0.1.0 called them
    (tmp_path / ".aasmm.0123abcd.part").touch()
    (tmp_path / ".a.smm.mine").touch()
    assert len(os.listdir(tmp_path)) == 4
    with replacing(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == [".a.smm.mine", ".aasmm.0123abcd.part", "a.smm"]


@pytest.mark.parametrize("maker", [replacing, unfinished_folder])
def test_what_a_living_process_writes_stays(tmp_path, maker):
    target = tmp_path / "a.smm"
    with process(maker, target, WAITS) as living:
        before = os.listdir(tmp_path)
        with replacing(tmp_path / "a.smm" if maker is unfinished_folder else target) as file:
            file.write(b"new")
        assert set(before) < set(os.listdir(tmp_path))
        living.stdin.close()
        assert living.wait() == 0
    assert os.listdir(tmp_path) == ["a.smm"]


def test_one_that_is_taken_for_a_leftover_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    real, given = unfinished._lock, []

    def late(path, *, wait):
        if wait and not given:
            given.append(path)
            with replacing(tmp_path / "a") as file:  # another saver finds it without a lock
                file.write(b"theirs")
        return real(path, wait=wait)

    monkeypatch.setattr(unfinished, "_lock", late)
    with replacing(tmp_path / "a") as file:
        assert (tmp_path / "a").read_bytes() == b"theirs"
        file.write(b"ours")
    assert (tmp_path / "a").read_bytes() == b"ours"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("again", [False, True])
def test_the_lock_on_what_was_deleted_meanwhile_is_none(tmp_path, monkeypatch, again):
    real, path = unfinished.fcntl.flock, tmp_path / "a"

    def late(descriptor, operation):
        if operation != unfinished.fcntl.LOCK_UN:
            path.rename(tmp_path / "old")
            if again:
                path.touch()
        real(descriptor, operation)

    path.touch()
    monkeypatch.setattr(unfinished.fcntl, "flock", late)
    with pytest.raises(FileNotFoundError):
        unfinished._lock(path, wait=False)


def test_savers_beside_one_another_all_end(tmp_path):
    def save(k):
        for _ in range(50):
            with replacing(tmp_path / "a") as file:
                file.write(bytes([k]) * 1000)

    threads = [threading.Thread(target=save, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "a").read_bytes() in [bytes([k]) * 1000 for k in range(4)]
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("maker", [replacing, unfinished_folder])
def test_names_are_as_long_as_the_system_allows(tmp_path, maker):
    first, second = tmp_path / ("é" * 125 + ".smm"), tmp_path / ("é" * 125 + ".smn")
    with process(maker, first, KILLED) as killed:
        assert killed.wait() == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    for target, names in ((second, {left, second.name}), (first, {first.name, second.name})):
        with maker(target) as begun:
            assert len(os.listdir(tmp_path)) == len(names)
            if maker is unfinished_folder:
                begun.rename(target)
        assert set(os.listdir(tmp_path)) == names


def test_what_was_begun_last_is_undone_first():
    done = []

    def fail():
        raise OSError

    with undoing(lambda: done.append("first")), undoing(fail), undoing(lambda: done.append("last")), standstill():
        undo_all()
    undo_all()
    assert done == ["last", "first"]


def test_nothing_begins_at_a_standstill():
    begun, entered = threading.Event(), threading.Event()

    def begin():
        begun.set()
        with undoing(lambda: None):
            entered.set()

    other = threading.Thread(target=begin)
    with standstill():
        other.start()
        assert begun.wait(60)
        assert not entered.wait(0.2)
    other.join()
    assert entered.is_set()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_nothing_is_left_of_what_failed(tmp_path, error):
    def fail(maker):
        with maker(tmp_path / "a"):
            raise error

    for maker in (replacing, unfinished_folder):
        with pytest.raises(error):
            fail(maker)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("locks", [None, unfinished.fcntl])
def test_systems_without_locks_keep_leftovers(tmp_path, monkeypatch, locks):
    monkeypatch.setattr(unfinished, "fcntl", locks)
    (tmp_path / ".a.0123abcd.part").touch()
    with replacing(tmp_path / "a") as file, unfinished_folder(tmp_path / "b") as folder:
        file.write(b"new")
        folder.rename(tmp_path / "b")
    assert sorted(os.listdir(tmp_path)) == [*([".a.0123abcd.part"] if locks is None else []), "a", "b"]


def test_ctrl_c_waits_until_what_must_be_whole_is():
    done = []

    def work():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("cleaned")
        done.append("went on")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["cleaned"]
    other = threading.Thread(target=lambda: [uninterrupted().__enter__(), done.append("thread")])
    other.start()
    other.join()
    assert done == ["cleaned", "thread"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    call = lambda: unfinished_folder(tmp_path / "away" / "a").__enter__()  # noqa: E731
    assert_refused(call, "no folder can be made in", "No such file", "give another", error=StorageError)


def test_a_writer_that_is_late_makes_nothing_in_a_discarded_folder(tmp_path, monkeypatch):
    folder, real = tmp_path / "shards", unfinished.shutil.rmtree
    (folder / "a").mkdir(parents=True)

    def slow(path, **options):
        with pytest.raises(FileNotFoundError):
            (folder / "a" / "late").touch()
        real(path, **options)

    monkeypatch.setattr(unfinished.shutil, "rmtree", slow)
    discard(folder)
    assert not os.listdir(tmp_path)
