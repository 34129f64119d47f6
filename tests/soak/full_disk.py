"""Saves that a small file system has no room for: each is complete, or one sentence that leaves the old as it was."""

import os
import subprocess
from contextlib import contextmanager

from semimetric import LargeMarginLearner, StorageError, Triplets, out_of_core
from soak.attack import Attack
from soak.saving import SAVERS, inventory, problem

_SIZE = 2**23
_SCRATCH = "scratch folder"


def draw(rng):
    room = float(rng.random() * 1.3)  # in units of what the new state takes
    return {"what": str(rng.choice([*SAVERS, _SCRATCH])), "room": room}


def attempt(case, folder):
    tries = learned if case["what"] == _SCRATCH else saved
    with small_disk(folder) as disk:
        return "no small file system can be mounted here" if disk is None else tries(case, disk)


def saved(case, disk):
    """The new state is saved over the old one."""
    saver = SAVERS[case["what"]]
    path, known = disk / saver.name, saver.known
    saver.save(path, 0)
    fill(disk, int(case["room"] * known.size))
    with refused_or_not() as refusals:
        saver.change(path)
    assert saver.state(path) == (0 if refusals else 1)
    left, wanted = [name for name in inventory(disk) if name != "ballast"], known.inventories[0 if refusals else 1]
    assert left == wanted, f"{left} is there; it should be {wanted}"
    return "refused" if refusals else "complete"


def learned(case, disk):
    """Items are learned from part by part, with an index of them in a scratch folder on this disk."""
    fill(disk, int(case["room"] * 60_000))
    X = problem()[2]
    model = LargeMarginLearner(n_knots=3, alpha=1e-2, directions=None, tables="warped", triplets=Triplets(n_passes=1))
    with refused_or_not() as refusals:
        out_of_core.fit(model, X, X[:, 0] > 0, memory_limit="500 kB", scratch=disk)
    assert inventory(disk) == ["ballast"]
    assert hasattr(model, "semimetric_") is not bool(refusals)
    return "refused" if refusals else "complete"


@contextmanager
def refused_or_not():
    """A list that has the one sentence in the end if the system has refused to write."""
    refusals = []
    try:
        yield refusals
    except StorageError as error:
        refusals.append(str(error))
    assert all("No space left" in said and "\n" not in said for said in refusals)


@contextmanager
def small_disk(folder):
    """A small file system in memory; None where this process may not mount one."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "soak", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk, room):
    """Leave so many bytes free."""
    there = os.statvfs(disk)
    with (disk / "ballast").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(there.f_bavail * there.f_frsize - room, 1))


SAVES = Attack(draw, attempt, short=40)
