"""Names of a package that are imported once they are used."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from semimetric._foundation.names import lazy_names

TOY = {
    "__init__": "",
    "shapes": "class Circle: ...\nclass Square: ...",
    "drawing": "from .shapes import Circle",
    "left": "from . import alone\nwith alone.alone(): Left = 1",
    "right": "from . import alone\nwith alone.alone(): Right = 2",
    "alone": """
from contextlib import contextmanager
from time import sleep
inside = []
@contextmanager
def alone():
    inside.append(1)
    sleep(0.2)
    assert len(inside) == 1, "two modules are imported at once"
    yield
    inside.pop()
""",
}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package with two modules, of which none is imported yet, and its lazy names."""
    folder = tmp_path / "lazy_toy"
    folder.mkdir()
    for name, code in TOY.items():
        (folder / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    import lazy_toy

    lazy_toy.__all__, lazy_toy.__getattr__, lazy_toy.__dir__ = lazy_names(
        "lazy_toy", {"shapes": "Circle Square", "left": "Left", "right": "Right"}, ["drawing"], {"Ellipse": "Circle"}
    )
    yield lazy_toy
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazy_toy"]:
        del sys.modules[name]


def test_a_name_brings_the_module_that_defines_it(toy):
    assert "lazy_toy.shapes" not in sys.modules
    circle = toy.Circle
    assert circle is sys.modules["lazy_toy.shapes"].Circle
    assert vars(toy)["Circle"] is circle  # found without asking from now on
    assert "lazy_toy.drawing" not in sys.modules
    assert toy.drawing.Circle is circle


def test_threads_that_use_names_first_import_one_after_another(toy):
    ready = Barrier(2)

    def used(name):
        ready.wait()
        return getattr(toy, name)

    with ThreadPoolExecutor(2) as threads:
        assert [*threads.map(used, ["Left", "Right"])] == [1, 2]


def test_names_are_listed_before_they_are_imported_and_modules_are_not(toy):
    assert {*dir(toy)} - {*dir(object)} >= {"Circle", "Square", "drawing", "__name__"}
    assert toy.Circle is toy.drawing.Circle
    assert [name for name in dir(toy) if not name.startswith("__")] == ["Circle", "Left", "Right", "Square", "drawing"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Cicle", "module 'lazy_toy' has no attribute 'Cicle'; did you mean Circle?"),
        ("nothing", "module 'lazy_toy' has no attribute 'nothing'"),
        ("Ellipse", "module 'lazy_toy' has no attribute 'Ellipse': did you mean Circle?"),
    ],
)
def test_a_name_that_is_not_there_is_told_with_what_was_meant(toy, name, message):
    with pytest.raises(AttributeError) as refused:
        getattr(toy, name)
    assert str(refused.value) == message
    assert not hasattr(toy, name)
