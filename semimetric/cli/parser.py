"""The arguments of the command line: its commands, their options, help and examples.

Every command sets ``arguments.command``, the name of the function that runs it, such as "fit.run_fit". Its module is
imported when it runs, so that help and wrong usage are answered at once. ``fit`` also sets ``arguments.check``, which refuses
options that do not go together.
"""

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, NoReturn

from .._foundation.errors import InputError
from .._foundation.names import package_version
from .._foundation.optional_imports import optional

LABEL_SETTINGS = ("tables", "n_knots", "groups", "directions", "axioms", "penalty", "alpha", "outside", "effort")
"""Options of ``fit`` that ``--label`` takes; they are parameters of `LargeMarginLearner`."""


def _number(kind: type, *, least: float = -math.inf, below: float = math.inf, auto: bool = False) -> Callable[[str], Any]:
    """Return the type of an option that is a finite number from ``least`` to less than ``below``, or the word auto."""
    required = "an integer" if kind is int else "a number"
    limits = [f"{word} {limit:g}" for word, limit in (("at least", least), ("less than", below)) if math.isfinite(limit)]
    required += f" of {' and '.join(limits)}" if limits else ""

    def number(text: str) -> Any:
        if auto and text == "auto":
            return text
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value < below:
            raise argparse.ArgumentTypeError(f"{text!r} must be {required}{', or auto' if auto else ''}")
        return value

    return number


def _link(text: str) -> str | float:
    if text in ("auto", "identity", "sqrt", "power", "concave"):
        return text
    try:
        return float(_number(float, least=0.1, below=math.nextafter(10.0, 11.0))(text))
    except argparse.ArgumentTypeError as error:
        message = f"{text!r} must be auto, identity, sqrt, power, concave, or an exponent from 0.1 to 10"
        raise argparse.ArgumentTypeError(message) from error


def _table(name: str) -> str:
    return STANDARD_INPUT if name in ("-", "/dev/stdin") else name


_N_NEIGHBORS = 5  # as in `kneighbors`
_positive = _number(int, least=1)
_share = _number(float, least=0, below=1)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = OneLineParser(
        prog="semimetric", description="Learn distances from pairs, and use them.",
        epilog="Begin with: semimetric demo. Each command has its own help: semimetric fit --help. Tables are .csv, .tsv (both "
        "also .gz) or .parquet files, or - for standard input. Exit codes are 0, 1 (data), 2 (usage) and 130 (Ctrl-C).",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"semimetric {package_version()}")
    parser.add_argument(
        "--print-completion", action=PrintCompletion, choices=("bash", "zsh", "tcsh"),
        help="print a script by which this shell completes commands, options and files",
    )  # fmt: skip
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    parser.commands = commands.choices
    for add in (
        _add_demo,
        _add_fit,
        _add_distance,
        _add_index,
        _add_query,
        _add_join,
        _add_neighbors,
        _add_info,
        _add_plot,
        _add_report,
        _add_export,
        _add_warmup,
    ):
        add(commands)
    return parser


def _add(commands: Any, name: str, run: str, about: str, example: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=f"{about[0].upper()}{about[1:]}.", epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    command.set_defaults(command=run)
    command.add_argument("--json", action="store_true", help="print JSON and nothing else")
    return command


def _add_demo(commands: Any) -> None:
    about = "learn the Earth Mover's Distance between images of digits, in about a minute"
    command = _add(commands, "demo", "demo.run_demo", about, "semimetric demo --output digits")
    command.add_argument("--output", default="semimetric-demo", metavar="NAME", help="files are NAME.smm, .png and .csv")
    sizes = DemoSizes()
    for name, about in (
        ("train_images", "images to learn from"),
        ("train_pairs", "pairs of them whose exact distance is computed"),
        ("test_pairs", "pairs of other images to check on"),
        ("queries", "searches among the other images"),
    ):
        flag = f"--{name.replace('_', '-')}"
        command.add_argument(
            flag, type=_number(int, least=2), default=getattr(sizes, name), metavar="N", help=f"{about} (%(default)s)"
        )
    _add_n_jobs(command, default=2)
    _add_random_state(command)


def _add_warmup(commands: Any) -> None:
    about = "compile the loops that learning and search need, or read them from the cache, and say how long it took"
    _add(commands, "warmup", "warmup_command.run_warmup", about, "semimetric warmup")


class _StoreGiven(argparse.Action):
    """Store the value of an option, and in the dict ``given`` that the option was on the command line, and how it was spelt."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, values)
        namespace.given = {**getattr(namespace, "given", {}), self.dest: option_string}


def _add_fit(commands: Any) -> None:
    about = "learn a distance from a table of items and a table of pairs with measured distances, or from classes"
    example = (
        "semimetric fit items.csv pairs.csv --id name --target distance --output model.smm\n"
        "  semimetric fit table.csv --label species --output model.smm"
    )
    command = _add(commands, "fit", "fit.run_fit", about, example)
    command.set_defaults(given={}, check=partial(_check_fit, command))
    items = "table: a row an item; columns are numbers, text of few values (categories) or dates; names and ids are left out"
    command.add_argument("items", type=_table, metavar="ITEMS", help=items)
    pairs = "table: two columns that name items, one with distances; none with --label"
    command.add_argument("pairs", type=_table, metavar="PAIRS", nargs="?", help=pairs)
    command.add_argument("--output", metavar="MODEL", help="file for the model (with --label: model.smm)")
    command.add_argument("--label", metavar="COLUMN", help="learn from the classes in this column of ITEMS, without pairs")
    add = partial(command.add_argument, action=_StoreGiven)
    categorical = "columns of ITEMS that are categories beside those of text of few values, such as numbers of districts"
    add("--categorical", nargs="+", default=[], metavar="COLUMN", help=categorical)
    periodic = "columns that are circles, with their periods: --periodic hour=24 angle=360; of dates day, week or year"
    add("--periodic", nargs="+", type=period, default=[], metavar="COLUMN=PERIOD", help=periodic)
    missing = "empty cells are a level of their own where there are some (auto), are refused, or are a level in every column"
    add("--missing", choices=("auto", "error", "level"), default="auto", help=missing)
    add("--target", default="distance", metavar="COLUMN", help="measured distances (%(default)s)")
    _add_pair_columns(command)
    share = "share of the items that check the model, before it learns from all; 0 for no check (%(default)s)"
    command.add_argument("--held-out", type=_share, default=0.2, metavar="SHARE", help=share)
    _add_model_options(command.add_argument_group("the model (as in DistanceRegressor; with --label, in LargeMarginLearner)"))
    _add_n_jobs(command)
    _add_random_state(command)
    _add_cluster(command)


def _check_fit(command: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    if arguments.label is not None:
        arguments.command = "fit.run_fit_labels"
        _check_fit_labels(command, arguments)
        return
    missing = [name for name, given in (("PAIRS", arguments.pairs), ("--output", arguments.output)) if given is None]
    if missing:
        command.error(f"the following arguments are required: {', '.join(missing)} (or --label COLUMN to learn from classes)")


_OF_COLUMNS = ("categorical", "missing", "periodic")  # options that both kinds of fit take


def _check_fit_labels(command: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    wrong = [option for name, option in arguments.given.items() if name not in (*LABEL_SETTINGS, *_OF_COLUMNS)]
    wrong += [f"--{name}" for name in ("scheduler", "workers") if getattr(arguments, name) is not None]
    if arguments.pairs is not None:
        wrong.insert(0, f"PAIRS ({arguments.pairs})")
    if wrong:
        command.error(f"--label learns from the classes of one table and takes no {', '.join(wrong)}; leave out one of the two")
    if arguments.axioms in ("premetric", "none"):
        command.error(f"--axioms {arguments.axioms} does not go with --label; use semimetric or metric")


def _add_model_options(group: Any) -> None:
    add = partial(group.add_argument, action=_StoreGiven)
    add(
        "--tables",
        choices=("auto", "full", "shared", "warped"),
        default="auto",
        help="warped: a metric, with fewer weights; shared: one table of all features, of measured distances",
    )
    add("--n-knots", type=_number(int, auto=True), default="auto", metavar="N", help="knots a feature, or auto (auto)")
    groups = "singles, pairs, auto, or groups of columns joined by commas: --groups lat,lon depth (singles)"
    add("--groups", nargs="+", default=["singles"], metavar="GROUP", help=groups)
    directions = "none, pca, even, even:COLUMN,COLUMN, or histogram:FILE with a row of coordinates a bin (none); with --label "
    directions += "none, pca, lda, nca, discriminant, combined, nca-embedded, forest or auto (auto)"
    add("--directions", default="none", metavar="KIND", help=directions)
    add("--axioms", choices=("semimetric", "metric", "quasimetric", "premetric", "none"), default="semimetric")
    add("--loss", choices=("squared", "absolute", "huber"), default="squared")
    penalties = ("auto", "ridge", "ridge-zero", "roughness", "roughness-2", "lasso")
    add("--penalty", choices=penalties, default="auto")
    add("--alpha", type=_number(float, auto=True), default="auto", metavar="A", help="strength of the penalty, or auto (auto)")
    add("--effort", choices=("fast", "default", "thorough"), default="default", help="how far is looked for auto (%(default)s)")
    outside = "beyond the range of the items, go on at the slope at that end, or clip"
    add("--outside", choices=("extend", "clip"), default="extend", help=outside)
    link = (
        "identity: the sum itself; sqrt: learn the squared distance; power: a power of the sum, chosen on held-out pairs, or "
        "its exponent P; concave: pieces that are learned from there on; auto: a power where it is clearly better (auto)"
    )
    add("--link", type=_link, default="auto", metavar="KIND", help=link)
    relative = "divide errors by the distance, or by FLOOR mean distances where that is larger (0.1)"
    add("--relative", nargs="?", type=_number(float, least=0), const=True, default=False, metavar="FLOOR", help=relative)


def _add_distance(commands: Any) -> None:
    about = "print distances between items: all, or those of a table of pairs"
    command = _add(
        commands, "distance", "search_commands.run_distance", about, "semimetric distance model.smm items.csv --id name"
    )
    command.add_argument("model", metavar="MODEL")
    command.add_argument("items", type=_table, metavar="ITEMS", help="table with the features of the model")
    command.add_argument(
        "other", type=_table, metavar="OTHER", nargs="?", help="measure from ITEMS to these instead of among ITEMS"
    )
    command.add_argument("--pairs", type=_table, metavar="FILE", help="only the pairs of this table")
    command.add_argument("--output", metavar="FILE", help="write a table (.csv, .tsv, .gz, .parquet) instead of printing CSV")
    _add_pair_columns(command)
    _add_n_jobs(command)


def _add_index(commands: Any) -> None:
    about = "build an index of a table of items, which query searches for nearest neighbours"
    command = _add(
        commands, "index", "search_commands.run_index", about, "semimetric index model.smm items.csv --id name -o items.index"
    )
    command.add_argument("model", metavar="MODEL")
    command.add_argument(
        "items", type=_table, metavar="ITEMS", help="table with the features of the model; all columns are kept"
    )
    command.add_argument("-o", "--output", required=True, metavar="INDEX", help="folder for the index; a new one or an index")
    _add_id(command)
    command.add_argument("--shards", type=_positive, metavar="N", help="a sharded index of N parts (one a worker of a cluster)")
    _add_n_jobs(command)
    _add_cluster(command)


def _add_query(commands: Any) -> None:
    about = "find the nearest items of an index for every row of a table"
    example = 'semimetric query items.index queries.csv -k 5 --id name --where \'price < 20 and colour in ("red", "blue")\''
    command = _add(commands, "query", "search_commands.run_query", about, example)
    command.add_argument("index", metavar="INDEX", help="folder that semimetric index wrote")
    command.add_argument("queries", type=_table, metavar="QUERIES", help="table with the features of the model")
    command.add_argument("-k", type=_positive, default=_N_NEIGHBORS, metavar="K", help="neighbours of each query (%(default)s)")
    _add_id(command)
    algorithms = ("exact", "approximate", "brute")
    command.add_argument("--algorithm", choices=algorithms, help="approximate is faster and misses some (exact)")
    where = (
        "answer only items of which this holds: comparisons of columns with numbers or quoted text by ==, !=, <, <=, >, >=, "
        "in, joined by and, or, not and parentheses; column names with spaces in backticks"
    )
    command.add_argument("--where", metavar="CONDITION", help=where)
    command.add_argument("--output", metavar="FILE", help="write a table (.csv, .tsv, .gz, .parquet) instead of printing CSV")
    _add_n_jobs(command)
    _add_cluster(command)


def _add_join(commands: Any) -> None:
    about = "join every row of a table with its nearest rows of another, or with other rows of the same"
    example = "semimetric join model.smm left.csv right.csv -k 3 --by shop --output pairs.csv"
    command = _add(commands, "join", "search_commands.run_join", about, example)
    command.add_argument("model", metavar="MODEL")
    command.add_argument("left", type=_table, metavar="LEFT", help="table with the features of the model")
    command.add_argument(
        "right", type=_table, metavar="RIGHT", nargs="?", help="another one (LEFT itself, whose rows are joined with others)"
    )
    most = "rows of RIGHT for each of LEFT (1, or with --radius all)"
    command.add_argument("-k", type=_positive, metavar="K", help=most)
    radius = "join only rows that are at most so far apart"
    command.add_argument("--radius", type=_number(float, least=0), metavar="DISTANCE", help=radius)
    by = "column of both tables in which joined rows are equal; may be given several times"
    command.add_argument("--by", action="append", metavar="COLUMN", help=by)
    command.add_argument("--how", choices=("inner", "left"), default="inner", help="left keeps rows without any (%(default)s)")
    command.add_argument("--explain", action="store_true", help="a column for what each feature adds to the distance")
    _add_id(command)
    command.add_argument("--output", metavar="FILE", help="write a table (.csv, .tsv, .gz, .parquet) instead of printing CSV")
    _add_n_jobs(command)


def _add_neighbors(commands: Any) -> None:
    about = "print the nearest items of every row of a table, and why they are near"
    example = "semimetric neighbors model.smm row.csv --items table.csv --label species --explain"
    command = _add(commands, "neighbors", "search_commands.run_neighbors", about, example)
    command.add_argument("model", metavar="MODEL_OR_INDEX", help="what semimetric fit or semimetric index wrote")
    command.add_argument("rows", type=_table, metavar="ROWS", help="table with the features of the model")
    command.add_argument("--items", type=_table, metavar="TABLE", help="the items to search, for a model; an index has its own")
    command.add_argument("-k", type=_positive, default=_N_NEIGHBORS, metavar="K", help="neighbours of each row (%(default)s)")
    _add_id(command)
    command.add_argument("--label", metavar="COLUMN", help="column of the items to print beside their names, such as a class")
    command.add_argument("--explain", action="store_true", help="the largest terms of each distance")


def _add_info(commands: Any) -> None:
    about = "say what a model guarantees, its terms and ranges, and what an index holds"
    command = _add(commands, "info", "model_commands.run_info", about, "semimetric info model.smm")
    command.add_argument("model", metavar="MODEL_OR_INDEX", help="what semimetric fit or semimetric index wrote")


def _add_plot(commands: Any) -> None:
    about = "draw a feature's table, the distance around an item, or where a pair's distance comes from"
    example = "semimetric plot model.smm items.csv --around 0 --features height weight --output around.png"
    command = _add(commands, "plot", "model_commands.run_plot", about, example)
    command.add_argument("model", metavar="MODEL")
    command.add_argument("items", type=_table, metavar="ITEMS", nargs="?", help="table of items, for --around and --pair")
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--term", metavar="NAME", help="picture of the table of this term; semimetric info lists them")
    what.add_argument("--around", metavar="ROW", help="distances from this item, over two features or one")
    what.add_argument("--pair", nargs=2, metavar="ROW", help="terms of the distance between these two items")
    command.add_argument("--features", nargs="+", metavar="NAME", help="for --around: two, or one for a line (the first two)")
    _add_id(command)
    command.add_argument("--output", required=True, metavar="FILE", help="picture, such as plot.png")


def _add_report(commands: Any) -> None:
    about = "write a page that shows a model and its items, and computes distances or scores again as one changes values"
    example = "semimetric report model.smm items.csv --label species -o why.html"
    command = _add(commands, "report", "report_commands.run_report", about, example)
    command.add_argument("model", metavar="MODEL_OR_INDEX", help="what semimetric fit, semimetric index or save() wrote")
    command.add_argument("items", type=_table, metavar="ITEMS", nargs="?", help="table with the features of the model")
    command.add_argument("--label", metavar="COLUMN", help="column of ITEMS that holds classes, or measured values")
    against = "another model, which a tab more compares with the first; may be given several times"
    command.add_argument("--against", action="append", default=[], metavar="MODEL", help=against)
    _add_id(command)
    command.add_argument("--title", metavar="TEXT", help="title of the page (the name of the model)")
    groups = "column of ITEMS, such as sex, for whose values the page shows how good the model is; may be given several times"
    command.add_argument("--by", action="append", metavar="COLUMN", help=groups)
    chosen = "a tab of the page, such as overview, instead of all; may be given several times"
    command.add_argument("--include", action="append", metavar="TAB", help=chosen)
    most = "items in the page; of more a sample is drawn (%(default)s)"
    command.add_argument("--max-items", type=_positive, default=1_000, metavar="N", help=most)
    _add_random_state(command)
    command.add_argument("-o", "--output", default="report.html", metavar="FILE", help="the page (%(default)s)")


def _add_export(commands: Any) -> None:
    about = "write a model as SQL for a database, or as a graph of ONNX"
    example = (
        "semimetric export model.smm --to postgres --table houses --key id -o houses.sql\n"
        "  semimetric export model.smm --to onnx -o model.onnx"
    )
    command = _add(commands, "export", "export_commands.run_export", about, example)
    command.set_defaults(check=partial(_check_export, command))
    command.add_argument("model", metavar="MODEL", help="what semimetric fit or save() wrote")
    command.add_argument("--to", required=True, choices=("postgres", "duckdb", "sqlite", "onnx"), help="the other language")
    command.add_argument("--table", metavar="NAME", help="table whose rows are compared; with its schema: shop.houses")
    command.add_argument("--key", metavar="COLUMN", help="column that names the rows of the table")
    index = "with --to postgres: add the index of pgvector that names candidates for the nearest rows"
    command.add_argument("--index", action="store_true", help=index)
    nearest = "also print the query of the K nearest rows, as a comment below the script"
    command.add_argument("--nearest", type=_positive, metavar="K", help=nearest)
    what = "with --to onnx: coordinates, the distance of two rows, or predictions (model if it predicts, else transform)"
    command.add_argument("--what", choices=("transform", "distance", "model"), help=what)
    command.add_argument("-o", "--output", metavar="FILE", help="file to write; SQL is printed without it")


def _check_export(command: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    options = {"--table": arguments.table, "--key": arguments.key, "--nearest": arguments.nearest, "--what": arguments.what}
    is_onnx = arguments.to == "onnx"
    needed = {"-o": arguments.output} if is_onnx else {"--table": arguments.table, "--key": arguments.key}
    if missing := [name for name, given in needed.items() if given is None]:
        command.error(f"--to {arguments.to} needs {' and '.join(missing)}")
    wrong = [name for name, given in options.items() if given is not None and (name == "--what") != is_onnx]
    wrong += ["--index"] if arguments.index and arguments.to != "postgres" else []
    if wrong:
        command.error(f"--to {arguments.to} takes no {' and no '.join(wrong)}; leave it out")


def _add_id(command: argparse.ArgumentParser) -> None:
    command.add_argument("--id", metavar="COLUMN", help="column that names the items; by default rows are numbered from 0")


def _add_pair_columns(command: argparse.ArgumentParser) -> None:
    _add_id(command)
    command.add_argument(
        "--left", default="left", metavar="COLUMN", action=_StoreGiven, help="first item of a pair (%(default)s)"
    )
    command.add_argument(
        "--right", default="right", metavar="COLUMN", action=_StoreGiven, help="second item of a pair (%(default)s)"
    )


def _add_n_jobs(command: argparse.ArgumentParser, default: int | None = None) -> None:
    command.add_argument(
        "--n-jobs", type=_number(int), default=default, metavar="N", help=f"threads; -1 is all ({default or 1})"
    )
    command.add_argument("--verbose", action="store_true", help="show progress, as at a terminal")


def _add_random_state(command: argparse.ArgumentParser) -> None:
    seed = _number(int, least=0, below=2**32)
    command.add_argument("--random-state", type=seed, default=0, metavar="SEED", help="(%(default)s)")


def _add_cluster(command: argparse.ArgumentParser) -> None:
    where = command.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="work on the Dask cluster of this scheduler")
    where.add_argument("--workers", type=_positive, metavar="N", help="work in N processes of this machine, by Dask")


STANDARD_INPUT = "<stdin>"
"""What a table from standard input, which is given as ``-``, is called in the arguments and in messages."""


_FILES = frozenset("FILE INDEX ITEMS LEFT MODEL MODEL_OR_INDEX OTHER PAIRS QUERIES RIGHT ROWS TABLE".split())
"""Placeholders of arguments that name files or folders."""


class PrintCompletion(argparse.Action):
    """An option that prints a shell's completion, which the package `shtab` writes, and ends the program."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Print the script for the shell that was named."""
        shtab = optional("shtab")
        for command in (parser, *parser.commands.values()):
            for action in command.files:
                action.complete = shtab.FILE
        sys.stdout.write(f"{shtab.complete(parser, values)}\n")
        parser.exit()


class OneLineParser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong, and how to see the usage, instead of printing all of it.

    ``commands`` are the parsers of its commands by name, and ``files`` its arguments that name files or folders.
    """

    def __init__(self, **options: Any) -> None:
        self.commands: Mapping[str, OneLineParser] = {}
        self.files: list[argparse.Action] = []
        super().__init__(**options)

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Add an argument, as argparse does, and note whether it names a file."""
        action = super().add_argument(*names, **options)
        if action.metavar in _FILES:
            self.files.append(action)
        return action

    def error(self, message: str) -> NoReturn:
        """End the program with the exit code 2 and one line: the command, what is wrong with it, and how to see more."""
        self.exit(2, f"{self.prog}: {' '.join(message.splitlines())}; see {self.prog} --help\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments, of which none may be left over, so that a command, not the program, names its own."""
        namespace, left = super().parse_known_args(args, namespace)
        if [*vars(namespace).values()].count(STANDARD_INPUT) > 1:
            self.error("two tables are -, but only one can come from standard input; give a file for the other")
        if left:
            similar = get_close_matches(left[0], self._option_string_actions, n=1)
            hint = f" (did you mean {similar[0]}?)" if similar else ""
            self.error(f"unrecognized arguments: {' '.join(left)}{hint}")
        return namespace, left


Period = tuple[str, float | str]
_OF_TIMES = ("day", "week", "year")  # as in `data.times`, which a parser does not import, because it takes NumPy with it


def period(text: str) -> Period:
    """Return the type of an option that names a column and its period, such as ``hour=24``, or ``when=day`` of times."""
    column, _, given = text.rpartition("=")
    if column and given in _OF_TIMES:
        return column, given
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not column or not 0 < value < math.inf:
        words = ", ".join(_OF_TIMES)
        raise argparse.ArgumentTypeError(f"{text!r} must be COLUMN=PERIOD, such as hour=24; of times the period is {words}")
    return column, value


def periods_of(given: Sequence[Period], columns: Sequence[str], path: str) -> dict[int | str, float | str] | None:
    """Return the parameter ``periodic`` of a learner; None if no column is periodic."""
    for column, _ in given:
        if column not in columns:
            raise InputError(f"--periodic names {column!r}, which is no column of features of {path}; correct it")
        if sum(name == column for name, _ in given) > 1:
            raise InputError(f"--periodic gives {column!r} twice; one period a column is required: leave one out")
    found: dict[int | str, float | str] = dict(given)
    return found or None


@dataclass(frozen=True)
class DemoSizes:
    """Sizes of the demo; the defaults take about a minute on two cores."""

    train_images: int = 1000
    train_pairs: int = 20_000
    test_pairs: int = 2000
    queries: int = 100
