"""Processes that save are killed at a random moment: the old or the new is there, and the next save cleans up."""

import os
import signal
import time

from soak.attack import Attack
from soak.saving import SAVERS, inventory


def draw(rng):
    moment = float(rng.random() * 1.1)  # in units of the time that the save takes
    return {"what": str(rng.choice(list(SAVERS))), "over": bool(rng.random() < 0.7), "moment": moment}


def attempt(case, folder):
    saver = SAVERS[case["what"]]
    path, known = folder / saver.name, saver.known
    if case["over"]:
        saver.save(path, 0)
    kill_while_it(lambda: saver.change(path) if case["over"] else saver.save(path, 1), case["moment"] * known.seconds)
    try:
        state = ("old", "new")[saver.state(path)]
    except FileNotFoundError:
        assert not case["over"], "nothing is left of the old"
        state = "none"
    if saver.name.endswith(".parquet") and state == "new":  # such a file is never written over
        return state
    saver.save(path, 1)
    assert saver.state(path) == 1
    left = inventory(folder)
    assert left == known.inventories[1], f"{left} is there; it should be {known.inventories[1]}"
    return state


def kill_while_it(saves, seconds):
    """Save in a process of its own, and kill that after some seconds."""
    saver = os.fork()
    if not saver:
        try:
            saves()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(saver, signal.SIGKILL)
    os.waitpid(saver, 0)


SAVES = Attack(draw, attempt, short=40)
