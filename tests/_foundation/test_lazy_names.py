"""Names of a package that are imported once they are used."""

import sys

import pytest

from semimetric._foundation.lazy_names import lazy_names

TOY = {
    "__init__": "",
    "shapes": "class Circle: ...\nclass Square: ...",
    "drawing": "from .shapes import Circle",
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

    lazy_toy.__getattr__, lazy_toy.__dir__ = lazy_names(
        "lazy_toy", {"shapes": "Circle Square"}, ["drawing"], {"Ellipse": "Circle"}
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


def test_names_are_listed_before_they_are_imported_and_modules_are_not(toy):
    assert {*dir(toy)} - {*dir(object)} >= {"Circle", "Square", "drawing", "__name__"}
    assert toy.Circle is toy.drawing.Circle
    assert [name for name in dir(toy) if not name.startswith("__")] == ["Circle", "Square", "drawing"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Cicle", "module 'lazy_toy' has no attribute 'Cicle'; did you mean Circle?"),
        ("nothing", "module 'lazy_toy' has no attribute 'nothing'"),
        ("Ellipse", "lazy_toy has no Ellipse; Circle learns from the same data"),
    ],
)
def test_a_name_that_is_not_there_is_told_with_what_was_meant(toy, name, message):
    with pytest.raises(AttributeError) as refused:
        getattr(toy, name)
    assert str(refused.value) == message
    assert not hasattr(toy, name)
