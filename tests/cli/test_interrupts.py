"""Ctrl-C ends a command soon: by itself where Python runs, and by a watcher where compiled code runs."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from semimetric.cli.interrupts import end_soon_on_ctrl_c

STUCK = """
import signal, time
from semimetric.cli.interrupts import end_soon_on_ctrl_c

signal.signal(signal.SIGINT, lambda number, frame: None)  # Python takes the signal, and goes on like a compiled loop
with end_soon_on_ctrl_c(lambda: print("interrupted", flush=True), 130):
    print("stuck", flush=True)
    while True:
        time.sleep(1)
"""


def test_what_goes_on_is_ended():
    with subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "stuck\n"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "interrupted\n")


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
