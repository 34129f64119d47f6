"""Docstrings agree with signatures and keep the rules of style: `make lint` finds no fault, and finds planted ones."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

import semimetric
from semimetric.distances.estimators.base import LearnedDistance

ROOT = Path(semimetric.__file__).parent
TOOL = ROOT.parent / "tools" / "check_docstrings.py"

if not TOOL.exists():
    pytest.skip("the tools of the repository are not beside the installed package", allow_module_level=True)

SPEC = importlib.util.spec_from_file_location("check_docstrings", TOOL)
lint = importlib.util.module_from_spec(SPEC)
sys.modules["check_docstrings"] = lint  # its NamedTuples look their module up
SPEC.loader.exec_module(lint)

FUNCTION = '''
__all__ = ["count"]


def count(items, *more, start: int = 20_000, how="all", p=1.0, dtype=np.float64, **rest):
    """Count.

    Parameters
    ----------
    {}
    """
'''
GOOD = """items : list
        What is counted, all of them by default.
    *more : lists
    start : int, default 20000
    how : "all" (default) or "some"
    p : float, default 1
    dtype : dtype, default float64
    **rest"""

CLASS = '''
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

__all__ = {exported}


class Base:
    """Methods that machines share."""

    def fit(self, X):
        """Learn."""

    def size(self):
        pass


class Machine(Base):
    """Learns.

    Parameters
    ----------
    {machine}
    """

    def __init__(self, n_knots=3, alpha="auto"):
        self.n_knots, self.alpha = n_knots, alpha

    def fit(self, X):
        pass

    def _private(self, X):
        pass


@dataclass
class Box(Base):
    """A box.

    Parameters
    ----------
    {box}
    """

    low: float
    high: float = 1.0
    names: tuple = field(default_factory=tuple)
    area: float = field(init=False)
    kind: ClassVar[str] = "box"

    @property
    def width(self):
        """High less low."""


class Pair(NamedTuple):
    """Two.

    Parameters
    ----------
    {pair}
    """

    first: int
    second: int = 0
'''
DOCUMENTED = {
    "exported": ["Machine", "Box", "Pair"],
    "machine": 'n_knots, alpha : int or "auto"',
    "box": "low : float\n    high : float, default 1.0\n    names : tuple, default ()",
    "pair": "first : int\n    second : int, default 0",
}


@pytest.fixture
def found(tmp_path):
    """A function from the source of a module to the findings in a package of it; `face` exports names from it."""

    def check(source, face=()):
        package = tmp_path / "toy"
        package.mkdir()
        (package / "__init__.py").write_text(f"from .module import {', '.join(face)}\n__all__ = {list(face)}\n" if face else "")
        (package / "module.py").write_text(source)
        return [finding.text for finding in lint.check(package)]

    return check


@pytest.mark.slow
def test_the_package_has_no_findings():
    assert lint.check(ROOT) == []


def test_what_is_right_is_not_found(found):
    assert found(FUNCTION.format(GOOD), face=["count"]) == []


@pytest.mark.parametrize(
    ("right", "wrong", "text"),
    [
        ("start : int, default 20000\n", "", "Parameters lack start"),
        ("*more : lists\n", "", "Parameters lack *more"),
        ("**rest", "**rest\n    extra : int", "Parameters name extra, which the signature has not"),
        ("start : int", "begin : int", "Parameters lack start"),
        ('how : "all" (default) or "some"\n    p : float, default 1', 'p : float\n    how : str', "stand in the order"),
        ("start : int, default 20000\n    how : \"all\" (default) or \"some\"", "how, start : as said", "stand in the order"),
        ("default 20000", "default 2000", "start is said to be 2000 by default; the signature has 20000"),
        ('"all" (default) or "some"', '"all" or "some" (default)', 'how is said to be "some" by default'),
        ("p : float, default 1", "p : float, default True", "p is said to be True by default; the signature has 1.0"),
        ("p : float, default 1", "p : float\n            2 by default.", "p is said to be 2 by default"),
        ("default float64", "default float32", "dtype is said to be float32 by default; the signature has np.float64"),
        ("all of them by default", "None by default", "items is said to be None by default; the signature has no default"),
        ("items : list", "items : list, default ()", "items is said to be () by default; the signature has no default"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(found, right, wrong, text):
    assert right in GOOD
    findings = found(FUNCTION.format(GOOD.replace(right, wrong)))
    assert any(text in finding for finding in findings), findings


def test_several_names_on_one_line_stand_for_one_parameter_each(found):
    assert found(FUNCTION.format("items, *more, start, how, p, dtype, **rest : as said")) == []


def test_a_public_name_without_a_docstring_is_found(found):
    assert found('__all__ = ["a", "B"]\ndef a(): pass\nclass B: pass\ndef _private(): pass\n') == [
        "a has no docstring",
        "B has no docstring",
    ]


def test_what_users_import_has_parameters_and_the_rest_need_not(found, tmp_path):
    source = '__all__ = ["a", "b"]\ndef a(x):\n    """A."""\ndef b():\n    """B."""\n'
    assert found(source, face=["a", "b"]) == ["a has no section Parameters, but takes x"]
    (tmp_path / "toy" / "__init__.py").write_text("")
    assert lint.check(tmp_path / "toy") == []


def test_classes_are_held_against_constructors_and_fields(found):
    assert found(CLASS.format(**DOCUMENTED)) == ["Base.size has no docstring, nor has that of a base class"]


@pytest.mark.parametrize(
    ("name", "entry", "text"),
    [
        ("machine", "n_knots : int", "Machine: Parameters lack alpha"),
        ("box", "low, names, high : float", "Box: Parameters stand in the order low, names, high"),
        ("box", "low, high, names, area : float", "Box: Parameters name area"),
        (
            "box",
            "low, high : float\n    names : tuple, default (0,)",
            "names is said to be (0,) by default; the signature has ()",
        ),
        ("pair", "first : int, default 0\n    second : int", "first is said to be 0 by default; the signature has no default"),
    ],
)
def test_what_is_wrong_in_a_class_is_found(found, name, entry, text):
    findings = found(CLASS.format(**DOCUMENTED | {name: entry}))
    assert any(text in finding for finding in findings), findings


@pytest.mark.parametrize("word", lint.NO_OPENINGS)
def test_a_docstring_that_begins_without_a_verb_or_noun_is_found(found, word):
    source = (
        f'"""{word} of it."""\n\n\nclass _Box:\n    """{word} it is."""\n\n    def _open(self):\n        """{word}. It is."""\n'
    )
    ends = f": the docstring begins with {word}; begin with a verb or a noun"
    assert found(source) == [name + ends for name in ("the module", "_Box", "_open")]


def test_words_that_only_begin_like_these_are_not_found(found):
    assert found('def _f():\n    """Offset of a row."""\ndef _g():\n    """\n    However long, one sentence.\n    """\n') == []


@pytest.mark.parametrize(
    ("first", "text"),
    [
        ("Count items", "f: the first line of the docstring ends without a full stop"),
        ("Count items:\n\n    all of them.", "f: the first line of the docstring ends without a full stop"),
        ("C" * 120 + ".", "f: the first line of the docstring has 121 characters, more than 120"),
    ],
)
def test_a_first_line_that_is_no_short_sentence_is_found(found, first, text):
    assert found(f'def f():\n    """{first}"""\n') == [text]
    assert list(lint.check_opening(lint.ast.parse('"""' + "C" * 119 + '."""'))) == []


CLASSES = [value for name in semimetric.__all__ if inspect.isclass(value := getattr(semimetric, name))]


@pytest.mark.parametrize("cls", [c for c in CLASSES if not issubclass(c, Exception)])
def test_help_lists_every_parameter_as_python_sees_it(cls):
    entries = lint.entries(inspect.getdoc(cls)) or []
    assert [n for e in entries for n in e.names] == list(inspect.signature(cls).parameters)


LEARNERS = [c for c in CLASSES if getattr(c, "_recipe", LearnedDistance._recipe) is not LearnedDistance._recipe]
CHOICES = ["axioms", "tables", "symmetry", "outside", "link", "loss", "penalty", "solver", "missing"]
TAKEN = [(c, name) for c in LEARNERS for name in CHOICES if name in inspect.signature(c).parameters]
ONLY_OF_DISTANCES = {"'gram'", "'splitting'"}  # solvers of the squared loss, which a margin has not


def choices(text):
    """The names in quotes, and None, of a text."""
    return {name.replace('"', "'") for name in re.findall(r"""["'][\w-]+["']|\bNone\b""", text)}


@pytest.mark.parametrize(("learner", "name"), TAKEN)
def test_what_learners_say_they_take_is_what_they_take(learner, name):
    (entry,) = [e for e in lint.entries(inspect.getdoc(learner)) if e.names == [name]]
    documented = choices(re.match(r"\{(.*?)\}", entry.header)[1])
    with pytest.raises(semimetric.InputError) as refused:
        learner(**{name: "nothing"})._recipe()
    known = choices(str(refused.value)) - {"'nothing'"}
    judged_by_margins = not issubclass(learner, semimetric.DistanceRegressor)
    assert documented == known - (ONLY_OF_DISTANCES if name == "solver" and judged_by_margins else set())
