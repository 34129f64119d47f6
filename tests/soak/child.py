"""Tries cases of attacks in this process; the parent judges deaths and silences.

Reads names of attacks with cases as JSON lines, and writes a JSON line for each: what came of it, with seconds and mebibytes,
or the traceback.
"""

import faulthandler
import json
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path

from soak.attacks import ATTACKS
from soak.memory import forget_peak, status

ROOM = 2**31  # bytes of addresses above what the attack may use: threads and maps take some that are never resident


def tried(attack, case):
    """What came of one try of a case."""
    forget_peak()
    before, start = status("VmRSS"), time.perf_counter()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (status("VmSize") + attack.mebibytes * 2**20 + ROOM, hard))
    try:
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            result = {"outcome": attack.attempt(case, Path(folder))}
    except Exception:
        result = {"finding": traceback.format_exc()}
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    mebibytes = (status("VmHWM") - before) / 2**20
    if mebibytes > attack.mebibytes and "finding" not in result:
        result = {"finding": f"memory rose by {mebibytes:.0f} MiB; {attack.mebibytes} are allowed"}
    return result | {"seconds": time.perf_counter() - start, "mebibytes": mebibytes}


def main():
    faulthandler.enable()
    answers = sys.stdout
    sys.stdout = sys.stderr  # what the package prints is no answer
    for line in sys.stdin:
        name, case = json.loads(line)
        print(json.dumps(tried(ATTACKS[name], case)), file=answers, flush=True)


if __name__ == "__main__":
    main()
