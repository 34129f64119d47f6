"""The command ``demo``: run the demo, save its model, its picture and a few digits, and say what it measured."""

import shlex
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from shutil import which

from . import demo
from .model_files import check_folder
from .output import CommandResult, shows_progress
from .parser import DemoSizes


def run_demo(arguments: Namespace) -> CommandResult:
    """Learn the distance of the demo, check it, and write the files NAME.smm, NAME.png and NAME.csv."""
    files = {"model": f"{arguments.output}.smm", "picture": f"{arguments.output}.png", "digits": f"{arguments.output}.csv"}
    check_folder(files["model"])
    sizes = DemoSizes(**{field.name: getattr(arguments, field.name) for field in fields(DemoSizes)})
    result = demo.run(sizes, n_jobs=arguments.n_jobs, random_state=arguments.random_state, verbose=shows_progress(arguments))
    result.semimetric.save(files["model"])
    demo.draw(result, files["picture"])
    demo.write_digits(result, files["digits"])
    return CommandResult(asdict(result.report) | files, _demo_text(result.report, files))


def typed_command() -> str:
    """Return the command as the user can type it again: its name if the shell finds it, else its path."""
    given, found = Path(sys.argv[0]), which("semimetric")
    if given.parts[-2:] == ("semimetric", "__main__.py"):
        return "python -m semimetric"
    if given.stem != "semimetric" or len(given.parts) < 2 or (found and Path(found).resolve() == given.resolve()):
        return "semimetric"
    return shlex.quote(str(given))


def _demo_text(r: demo.DemoReport, files: Mapping[str, str]) -> str:
    found = f"{100 * r.first_10:.1f} % in its first 10, {100 * r.first_20:.1f} % in its first 20"
    return f"""\
The Earth Mover's Distance between images of digits, learned in {r.fit_seconds:.1f} s from {r.train_pairs:,} exact distances
between {r.train_images:,} images. Everything below is on {r.unseen_images:,} images that it never saw.

  error of a pair    median {100 * r.median_relative_error:.2f} %, correlation {r.pearson:.4f}  ({r.test_pairs:,} pairs)
  time of a pair     exact {r.exact_microseconds:.0f} us, learned {r.learned_microseconds:.2f} us: {r.speedup:.0f} times as fast
  true 10 nearest    {found}  ({r.queries} queries)
                     {100 * r.reranked:.1f} % after sorting its first 20 by the exact distance

Saved the model as {files["model"]}, the picture as {files["picture"]} and 20 digits as {files["digits"]}.
Now try:

  {typed_command()} info {files["model"]}
  {typed_command()} distance {files["model"]} {files["digits"]} --id name
  {typed_command()} fit --help          (learn from a table of your own)"""
