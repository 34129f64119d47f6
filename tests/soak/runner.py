"""Tries cases in a process of their own, which may die or hang, and counts what came of them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue

import numpy as np

from soak.attacks import ATTACKS

__all__ = ["Record", "drawn", "run"]

STARTING = 300  # seconds in which a process must import the package, and compile kernels for the first case of an attack


@dataclass
class Record:
    """What came of the cases of one attack: how many were tried, numbers of outcomes, and the findings with their cases."""

    attack: str
    tries: int = 0
    outcomes: Counter = field(default_factory=Counter)
    findings: list = field(default_factory=list)
    seconds: float = 0.0
    mebibytes: float = 0.0

    def add(self, case, answer):
        """Count one answer of a process."""
        if "finding" in answer:
            self.findings.append({"attack": self.attack, "case": dict(case), "finding": answer["finding"]})
        outcome = answer.get("outcome", "finding")
        self.tries += 1
        self.outcomes.update(outcome if isinstance(outcome, dict) else [outcome])
        self.seconds = max(self.seconds, answer.get("seconds", 0.0))
        self.mebibytes = max(self.mebibytes, answer.get("mebibytes", 0.0))


class Child:
    """A process that tries cases; its answers are read by a thread, so that silence is noticed.

    What it leaves in the temporary directory, which is one of its own, goes with it, however it ends.
    """

    def __init__(self):
        self.errors = tempfile.TemporaryFile("w+")
        self.folder = tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "MPLBACKEND": "Agg"}
        environment["TMPDIR"] = self.folder.name
        self.process = subprocess.Popen(
            [sys.executable, "-m", "soak.child"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=environment,
            start_new_session=True,
        )  # fmt: skip
        self.answers = Queue()
        self.begun = set()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.answers.put(json.loads(line))
        self.answers.put(None)

    def ask(self, attack, case):
        """The answer to a case, or the finding that the process died or was silent."""
        seconds = ATTACKS[attack].seconds
        try:
            self.process.stdin.write(json.dumps([attack, case]) + "\n")
            self.process.stdin.flush()
            answer = self.answers.get(timeout=seconds + STARTING * (attack not in self.begun))
        except BrokenPipeError:
            answer = None
        except Empty:
            self.process.kill()
            return {"finding": f"no answer within {seconds} seconds\n{self._said()}"}
        self.begun.add(attack)
        return answer or {"finding": f"the process died with {self.process.wait()}\n{self._said()}"}

    def _said(self):
        self.errors.seek(0)
        return self.errors.read()[-4000:]

    @property
    def alive(self):
        return self.process.poll() is None

    def close(self):
        with suppress(ProcessLookupError):  # it is dead, and so are those that it started
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            with suppress(BrokenPipeError):  # a case that was never read
                file.close()
        self.folder.cleanup()


def drawn(attack, seed):
    """The case of an attack that a seed stands for."""
    return ATTACKS[attack].draw(np.random.default_rng([seed, *attack.encode()]))


class Children:
    """One process after another: one that died or hung is replaced when the next is asked for, and the last is closed."""

    def __init__(self):
        self.child = None

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        if self.child is not None:
            self.child.close()

    def living(self):
        if self.child is not None and not self.child.alive:
            self.child.close()
            self.child = None
        self.child = self.child or Child()
        return self.child


def run(attack, cases, *, until=lambda record: False, children=None):
    """Try cases one after another, in processes of their own or in given ones. Ends early where ``until(record)`` is true."""
    if children is None:
        with Children() as children:
            return run(attack, cases, until=until, children=children)
    record = Record(attack)
    for case in cases:
        record.add(case, children.living().ask(attack, case))
        if until(record):
            break
    return record


def found(path=Path(__file__).parent / "found.jsonl"):
    """The cases that once broke something, by attack; each is one line of the file."""
    lines = [json.loads(line) for line in path.read_text().splitlines() if line]
    return {name: [line["case"] for line in lines if line["attack"] == name] for name in {line["attack"] for line in lines}}
