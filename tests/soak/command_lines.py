"""Random command lines on random tables: what the command line says, which code it returns, and which files it leaves."""

import contextlib
import io
import os
import re
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from unittest.mock import patch

import matplotlib.image
import numpy as np
import pandas as pd

import semimetric
from semimetric.cli import main
from soak import tables
from soak.attack import Attack

# what a message of the package is not: Python's own words for a mistake in a program
FOREIGN = re.compile(
    r"Traceback|object has no attribute|NoneType|unexpected keyword|not subscriptable|invalid literal|could not convert|"
    r"encountered in|index out of|out of bounds|broadcast|unhashable|<class|recursion|_positive|_share|_count|Errno"
)


@cache
def made():
    """A folder of good files, which every try gets a copy of: tables, two models, an index with columns and one of shards."""
    folder = Path(tempfile.mkdtemp(prefix="soak-commands-"))
    rng = np.random.default_rng(0)
    n = 40
    items = pd.DataFrame({
        "name": [f"item{k}" for k in range(n)], "width": rng.random(n).round(3) * 10, "height": rng.random(n).round(3),
        "shoe size": rng.integers(35, 47, n), "colour": rng.choice(["red", "blue", "grün"], n),
    })  # fmt: skip
    items["species"] = np.where(items.width > 5, "cat", "dog")
    pairs = rng.integers(0, n, (150, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    X = items[["width", "height", "shoe size"]].to_numpy()
    distance = np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]) @ [1.0, 3.0, 0.1]
    items.to_csv(folder / "items.csv", index=False)
    items.to_parquet(folder / "items.parquet", index=False)
    items.head(5).to_csv(folder / "few.csv", index=False)
    items.drop(columns=["colour", "species"]).to_csv(folder / "numbers.csv", index=False)  # shards take numbers alone
    names = items.name.to_numpy()
    table = pd.DataFrame({"left": names[pairs[:, 0]], "right": names[pairs[:, 1]], "distance": distance})
    table.to_csv(folder / "pairs.csv", index=False)
    with contextlib.chdir(folder), silent():
        fit = "fit numbers.csv pairs.csv --id name --held-out 0 --n-knots 3 --alpha 0.01 --output model.smm"
        label = "fit items.csv --label species --id name --held-out 0 --n-knots 3 --alpha 0.01 --tables full --directions none"
        for line in (
            fit, f"{label} --output mixed.smm", "index model.smm items.csv --id name -o items.index",
            "index model.smm items.csv --id name -o shards.index --shards 2",
        ):  # fmt: skip
            assert main(line.split()) == 0, line
    return folder


def silent():
    stack = contextlib.ExitStack()
    stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
    stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
    return stack


TABLES = [*["items.csv"] * 9, "items.parquet", "items.parquet", "few.csv", "few.csv", "pairs.csv", "model.smm", "nowhere.csv"]
MODELS = [*["model.smm"] * 9, "mixed.smm", "mixed.smm", "items.index", "shards.index", "items.csv", "nowhere.smm", "", "."]
INDEXES = [*["items.index"] * 5, "shards.index", "shards.index", "model.smm", "items.csv", "nowhere"]
COLUMNS = ["name", "width", "height", "shoe size", "colour", "species", "left", "right", "distance", "nothing", "", "é", "x0"]
OUTPUTS = [
    *["out.csv"] * 12, *["out.parquet"] * 4, *["out"] * 4, "out.pq", "out.smm", "out.png", "none/out.csv", "items.csv",
    "pairs.csv", "model.smm", ".", "", "items.index", "out.txt", "few.csv", "/proc/out.csv", "a" * 300 + ".csv", "full.csv",
]  # fmt: skip
NUMBERS = [
    *["1", "2", "3", "5"] * 4, "0", "-1", "40", "41", "x", "1.5", "1e3", "nan", "inf", "9" * 20, "", "auto", "٣",
]  # fmt: skip
SMALL = ["2", "3", "4"]
WORDS = [
    *["width", "height", "`shoe size`"] * 4, "colour", "species", "name", "`", "nothing", "``", "grün", "and", "(", "width*2",
]  # fmt: skip
SIGNS = [*["<", "<=", ">", ">=", "==", "!="] * 4, "=", "<>", "in", "not in", "", "=<", "&&"]
VALUES = [
    *["3", "0.5"] * 8, "1e300", "-2", "nan", "inf", '"red"', "'blue'", '"grün"', '"', "'", "red", "", "`width`", '"a and b"',
    "0x10", "(1, 2)", "('red', \"blue\")", "(", "()",
]  # fmt: skip
JOINTS = [*[" and "] * 9, *[" or "] * 3, " and not ", " or (", ") and ", " AND ", "and", " ", " && ", ","]
DIRECTIONS = [
    *["none"] * 5, "pca", "lda", "even", "even:width,height", "histogram:items.csv", "nca", "even:", "histogram:", "even:width",
    "discriminant",
]  # fmt: skip
STRANGE = ["--", "-", "--bogus", "--out", "-k", "\x00", "\udcff", "a\nb"]


def pick(rng, choices):
    return str(choices[rng.integers(len(choices))])


def condition(rng):
    """A text for ``--where``, of the grammar or nearly so."""
    parts = [f"{pick(rng, WORDS)} {pick(rng, SIGNS)} {pick(rng, VALUES)}" for _ in range(rng.integers(1, 4))]
    text = parts[0] + "".join(pick(rng, JOINTS) + part for part in parts[1:])
    return text if rng.random() < 0.8 else text[: rng.integers(len(text) + 1)]


def table(rng):
    if rng.random() < 0.03:
        return "-"
    return pick(rng, TABLES) if rng.random() < 0.5 else f"hostile{rng.integers(3)}.csv"


def maybe(rng, chance, *words):
    return list(words) if rng.random() < chance else []


def common(rng):
    return [*maybe(rng, 0.8, "--id", "name"), *maybe(rng, 0.04, "--id", pick(rng, COLUMNS)), *maybe(rng, 0.3, "--json"),
            *maybe(rng, 0.1, "--n-jobs", pick(rng, NUMBERS))]  # fmt: skip


def fit(rng):
    words = ["fit", table(rng)]
    if rng.random() < 0.4:
        words += ["--label", pick(rng, COLUMNS) if rng.random() < 0.4 else "species", *maybe(rng, 0.3, "--missing", "level")]
    else:
        words += [table(rng) if rng.random() < 0.5 else "pairs.csv"]
    words += maybe(rng, 0.9, "--output", pick(rng, OUTPUTS) if rng.random() < 0.5 else "out.smm")
    words += ["--n-knots", pick(rng, NUMBERS if rng.random() < 0.1 else SMALL)]
    words += ["--alpha", pick(rng, NUMBERS) if rng.random() < 0.2 else "0.01"]
    words += ["--held-out", pick(rng, NUMBERS) if rng.random() < 0.2 else pick(rng, ["0", "0", "0.3"])]
    words += ["--directions", pick(rng, DIRECTIONS)]
    words += ["--tables", pick(rng, ["full", "full", "warped", "other"])]
    words += maybe(rng, 0.2, "--groups", *(pick(rng, ["pairs", "singles", "width,height", "width", "width,width", ",", "x"])
                                           for _ in range(rng.integers(0, 3))))  # fmt: skip
    words += maybe(rng, 0.2, "--axioms", pick(rng, ["semimetric", "metric", "quasimetric", "premetric", "none"]))
    words += maybe(rng, 0.15, "--loss", pick(rng, ["squared", "absolute", "huber"]))
    words += maybe(rng, 0.15, "--penalty", pick(rng, ["auto", "ridge", "ridge-zero", "roughness", "roughness-2", "lasso"]))
    words += maybe(rng, 0.1, "--link", "sqrt") + maybe(rng, 0.1, "--outside", "clip")
    words += maybe(rng, 0.1, "--relative", pick(rng, NUMBERS)) + maybe(rng, 0.1, "--random-state", pick(rng, NUMBERS))
    words += maybe(rng, 0.1, "--target", pick(rng, COLUMNS)) + maybe(rng, 0.1, "--left", pick(rng, COLUMNS))
    return words + common(rng)


def distance(rng):
    words = ["distance", pick(rng, MODELS), table(rng), *maybe(rng, 0.3, table(rng)), *maybe(rng, 0.4, "--pairs", table(rng))]
    words += maybe(rng, 0.4, "--output", pick(rng, OUTPUTS)) + maybe(rng, 0.1, "--left", pick(rng, COLUMNS))
    return words + maybe(rng, 0.1, "--right", pick(rng, COLUMNS)) + common(rng)


def index(rng):
    words = ["index", pick(rng, MODELS), table(rng), *maybe(rng, 0.95, "-o", pick(rng, OUTPUTS))]
    return words + maybe(rng, 0.3, "--shards", pick(rng, NUMBERS)) + common(rng)


def query(rng):
    words = ["query", pick(rng, INDEXES), table(rng), *maybe(rng, 0.5, "-k", pick(rng, NUMBERS))]
    words += maybe(rng, 0.5, "--where", condition(rng)) + maybe(rng, 0.3, "--output", pick(rng, OUTPUTS))
    return words + maybe(rng, 0.3, "--algorithm", pick(rng, ["exact", "approximate", "brute", "fast"])) + common(rng)


def neighbors(rng):
    words = ["neighbors", pick(rng, MODELS), table(rng), *maybe(rng, 0.6, "--items", table(rng))]
    words += maybe(rng, 0.3, "-k", pick(rng, NUMBERS)) + maybe(rng, 0.3, "--label", pick(rng, COLUMNS))
    return words + maybe(rng, 0.4, "--explain") + [w for w in common(rng) if w != "--n-jobs"]


def info(rng):
    return ["info", pick(rng, MODELS), *maybe(rng, 0.3, "--json")]


def plot(rng):
    words = [
        "plot",
        pick(rng, MODELS),
        *maybe(rng, 0.7, table(rng)),
        "--output",
        pick(rng, [*OUTPUTS, "p.png", "p.pdf", "p.svg"]),
    ]
    ids = ["item0", "item1", "0", "3", "-1", "x", "", "99"]
    words += maybe(rng, 0.4, "--term", pick(rng, [*COLUMNS, "outside range", "0"])) + maybe(
        rng, 0.4, "--around", pick(rng, ids)
    )
    words += maybe(rng, 0.3, "--pair", pick(rng, ids), pick(rng, ids)) + maybe(rng, 0.3, "--features", pick(rng, COLUMNS))
    return words + [w for w in common(rng) if w != "--n-jobs"]


def nonsense(rng):
    words = ["fit", "--help", "query", "-h", "--version", "demos", "--json", "", "x", "info"]
    return [pick(rng, words) for _ in range(rng.integers(3))]


COMMANDS = {fit: 0.24, distance: 0.17, index: 0.15, query: 0.2, neighbors: 0.12, info: 0.03, plot: 0.07, nonsense: 0.02}


def draw(rng):
    command = rng.choice(list(COMMANDS), p=list(COMMANDS.values()))
    hostile = {f"hostile{k}.csv": tables.drawn(rng) for k in range(3)}
    called = {
        name: name.replace(".csv", ".parquet") if spec["bytes"] in tables.PARQUETS else name for name, spec in hostile.items()
    }
    words = [called.get(word, word) for word in command(rng)]
    if rng.random() < 0.05:
        words.insert(rng.integers(len(words) + 1), pick(rng, STRANGE))
    return {"words": words, "tables": {called[name]: spec for name, spec in hostile.items() if called[name] in words}}


def attempt(case, folder):
    shutil.copytree(made(), folder, dirs_exist_ok=True)
    (folder / "full.csv").symlink_to("/dev/full")
    for name, spec in case["tables"].items():
        tables.write(folder / name, spec)
    before = contents(folder)
    with contextlib.chdir(folder):
        code, out, err = called(case["words"], Path("items.csv").read_bytes())
    after = contents(folder)
    said = f"code {code}\n{out[-2000:]}\n{err[-4000:]}"
    assert not FOREIGN.search(err), said
    if code == 2:
        assert re.fullmatch(r"semimetric.*: .*; see semimetric.* --help\n", err), said
        assert after == before, said
        return "wrong usage"
    assert all(line.startswith("semimetric: ") for line in err.splitlines()), said
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if code == 1:
        assert out == "", said
        assert err, said
        assert not changed, f"{changed} changed, though refused\n{said}"
        return "refused"
    assert code == 0, said
    assert not re.search(r"\bnan\b", out, re.IGNORECASE), said
    check_written(folder, changed, case["words"], before)
    return "done" if not err else "done with warnings"


def called(words, given=b""):
    """Exit code, standard output and standard error of a command line; ``given`` comes from standard input."""
    out, err, piped = io.StringIO(), io.StringIO(), io.TextIOWrapper(io.BytesIO(given))
    with patch("sys.stdin", piped), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        try:
            code = main(words)
        except SystemExit as end:
            code = 0 if end.code is None else end.code
    return code, out.getvalue(), err.getvalue()


def contents(folder):
    """The bytes of every file below a folder, and None for folders."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in files:
            path = Path(root, name)
            found[str(path.relative_to(folder))] = os.readlink(path) if path.is_symlink() else path.read_bytes()
        found |= {str(Path(root, name).relative_to(folder)): None for name in folders}
    return found


def check_written(folder, changed, words, before):
    """What a command wrote is whole, is the output that was asked for, and is no table or model that was there before."""
    option = next((o for o in ("--output", "-o", "--out") if o in words[:-1]), None)
    output = words[words.index(option) + 1] if option else "model.smm" if words[0] == "fit" else None
    others = [word for k, word in enumerate(words) if not (option and k == words.index(option) + 1)]
    for name in changed:
        assert output is not None, f"{name} was written"
        assert name == output or name.startswith(f"{output}/"), f"{name} was written, not {output}"
        assert name not in others, f"the input {name} was overwritten"
    if not changed:
        return
    path = folder / output
    if words[0] == "fit":
        semimetric.load(path)
    elif words[0] == "index":
        assert semimetric.load(path).n_samples_fit_ > 0
    elif words[0] == "plot":
        matplotlib.image.imread(path) if path.suffix == ".png" else path.stat()
    elif path.suffix == ".csv":
        assert len(pd.read_csv(path)) > 0
    else:
        assert len(pd.read_parquet(path)) > 0


COMMAND_LINES = Attack(draw, attempt, mebibytes=512, short=60)
