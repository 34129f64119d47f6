"""Ctrl-C ends a command soon: by itself where Python runs, and by a watcher where compiled code runs."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from searches import search_problem

import semimetric
from semimetric._foundation.files import read_state
from semimetric.cli.entry_point import end_soon_on_ctrl_c

STUCK = """
import signal, time
from semimetric.cli.entry_point import end_soon_on_ctrl_c

def stuck(*ignored):
    print("stuck", flush=True)
    while True:
        time.sleep(1)

signal.signal(signal.SIGINT, lambda number, frame: None)  # Python takes the signal, and goes on like a compiled loop
with end_soon_on_ctrl_c(lambda: print("interrupted", flush=True), 130):
    """
SAVES = """
    import os, sys
    import numpy as np
    import semimetric
    d = semimetric.load(sys.argv[2])
    X = np.random.default_rng(0).random((9, d.n_features))
    index = semimetric.NeighborIndex(d).fit(X)
    if {again}:
        index.save(sys.argv[1])
        index.add(X[:5])
    os.fsync = stuck
    index.save(sys.argv[1])
"""
BUILDS = """
    import os, sys
    from pathlib import Path
    from semimetric.distances.search.shard_files import building
    from semimetric.distances.search.shard_files import new_root
    with new_root(sys.argv[1]) as root, building(root) as built:
        (built / "shard").mkdir()
        stuck()
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.smm"
    search_problem()[0].save(path)
    return str(path)


def said_after_ctrl_c(work, *arguments):
    """What a process says that is stuck in this work when Ctrl-C comes; it ends with 130."""
    with subprocess.Popen([sys.executable, "-c", STUCK + work, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "stuck\n"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    return said


def test_what_goes_on_is_ended():
    assert said_after_ctrl_c("stuck()") == "interrupted\n"


@pytest.mark.parametrize("work", [SAVES.format(again=False), BUILDS])
@pytest.mark.slow
def test_nothing_is_left_of_what_was_begun(work, model, tmp_path):
    assert said_after_ctrl_c(work, str(tmp_path / "index"), model) == "interrupted\n"
    assert not os.listdir(tmp_path)


def test_what_was_saved_before_is_what_it_was(model, tmp_path):
    said_after_ctrl_c(SAVES.format(again=True), str(tmp_path / "index"), model)
    assert semimetric.load(tmp_path / "index").n_samples_fit_ == 9
    files = {path.name.removesuffix(".npy") for path in (tmp_path / "index" / "arrays").iterdir()}
    named = read_state(tmp_path / "index" / "index.smm").values["segments"]
    assert files == {digest for digests in named for digest in digests.values()}
    assert sorted(os.listdir(tmp_path / "index")) == ["arrays", "index.smm"]


def test_what_is_to_be_whole_is_waited_for():
    work = """
    from semimetric._foundation.unfinished import uninterrupted
    with uninterrupted():
        print("stuck", flush=True)
        time.sleep(2.5)
        print("whole", flush=True)
    while True:
        time.sleep(1)
"""
    assert said_after_ctrl_c(work) == "whole\ninterrupted\n"


def test_python_ends_by_itself():
    said = []
    with pytest.raises(KeyboardInterrupt), end_soon_on_ctrl_c(lambda: said.append("ended"), 130):
        os.kill(os.getpid(), signal.SIGINT)
    assert not said


def test_what_was_there_before_is_there_again():
    threads = threading.active_count()
    with end_soon_on_ctrl_c(lambda: None, 130):
        pass
    assert threading.active_count() == threads
    assert signal.set_wakeup_fd(-1) == -1


def test_another_thread_gets_no_signals_and_is_left_alone():
    done = []

    def work():
        with end_soon_on_ctrl_c(lambda: None, 130):
            done.append(True)

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert done == [True]
