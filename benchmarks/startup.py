"""How soon does the command line answer, and how long does an import take?

CPU seconds of fresh processes, the median of seven after a warm-up: numbers that a busy machine changes little.
"""

import os
import statistics
import subprocess
import sys

from report import report

RUN = ["-m", "semimetric"]
PROCESSES = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import semimetric": ["-c", "import semimetric"],
    "semimetric.DistanceRegressor": ["-c", "import semimetric; semimetric.DistanceRegressor"],
    "semimetric --version": [*RUN, "--version"],
    "semimetric --help": [*RUN, "--help"],
    "semimetric fit --help": [*RUN, "fit", "--help"],
    "wrong usage": [*RUN, "fit", "--lable", "species"],
    "info of a file that is not there": [*RUN, "info", "nowhere.smm"],
}


def cpu_seconds(arguments: list[str]) -> float:
    """CPU seconds of a Python process with these arguments, its own and the system's for it."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, *arguments], **silent)
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and report."""
    rows = []
    for name, arguments in PROCESSES.items():
        times = [cpu_seconds(arguments) for _ in range(8)][1:]
        rows.append({"process": name, "median_cpu_s": statistics.median(times), "least_cpu_s": min(times)})
    report("CPU seconds until a process has answered", rows)


if __name__ == "__main__":
    main()
