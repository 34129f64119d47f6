"""Readers beside a process that saves over what they read, again and again: each reads the old or the new."""

import os
import signal

from soak.attack import Attack
from soak.saving import SAVERS

_READS = 25


def draw(rng):
    what = [name for name in SAVERS if not name.startswith("pairwise")]  # which are never written over
    return {"what": str(rng.choice(what)), "way": str(rng.choice(["load", "map", "ask"]))}


def attempt(case, folder):
    saver = SAVERS[case["what"]]
    path, known = folder / saver.name, saver.known
    saver.save(path, 0)
    writer = writing(saver, path)
    try:
        seen = {known.answers.index(saver.answers(path, case["way"])) for _ in range(_READS)}
    finally:
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
    return ("old", "new", "both")[sum(k + 1 for k in seen) - 1]


def writing(saver, path):
    """A process that saves the new and the old state in turn."""
    writer = os.fork()
    if writer:
        return writer
    try:
        while True:
            saver.change(path)
            saver.save(path, 0)
    finally:
        os._exit(1)


READS = Attack(draw, attempt, short=12)
