"""What ``help`` and editors show of a public name is short: annotations are the names that the source uses."""

import importlib
import inspect

import pytest

import semimetric

FACES = ["semimetric", *(f"semimetric.{room}" for room in semimetric._ROOMS)]
LONGEST = 70  # characters of the annotation of one parameter
WHOLE = 600  # characters of a signature


def signatures():
    """The signature of every public function, class and method of the package, by its name."""
    found = {}
    for face in map(importlib.import_module, FACES):
        for name in face.__all__:
            public = getattr(face, name)
            if inspect.isclass(public) and issubclass(public, Exception):
                continue  # which Python makes, so that they have no signature
            members = [m for m in dir(public) if not m.startswith("_")] if inspect.isclass(public) else []
            for path, thing in [(name, public), *((f"{name}.{m}", getattr(public, m)) for m in members)]:
                if callable(thing) and (getattr(thing, "__module__", "") or "").startswith("semimetric"):
                    found[path] = inspect.signature(thing)
    return found


SIGNATURES = signatures()


def annotations(signature):
    """The annotations of a signature as they are shown."""
    given = [*(p.annotation for p in signature.parameters.values()), signature.return_annotation]
    return [inspect.formatannotation(annotation) for annotation in given if annotation is not inspect.Signature.empty]


def test_there_are_signatures():
    assert {"NeighborIndex.kneighbors", "DistanceRegressor.fit", "pairwise", "plot_table", "Lasso.reach"} <= {*SIGNATURES}


@pytest.mark.parametrize("name", SIGNATURES)
def test_annotations_are_names_that_a_reader_knows(name):
    for shown in annotations(SIGNATURES[name]):
        assert len(shown) <= LONGEST, f"{name} shows {shown}"
        assert "numpy." not in shown, f"{name} shows {shown}: begin its module with from __future__ import annotations"
        assert "typing." not in shown, f"{name} shows {shown}: begin its module with from __future__ import annotations"


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_signature_is_no_longer_than_a_screen_shows(name):
    assert len(str(SIGNATURES[name])) <= WHOLE, f"{name}{SIGNATURES[name]}"


@pytest.mark.parametrize("name", ["DistanceApproximator", "LargeMarginLearner", "PairLearner", "PL2Embedding"])
def test_the_types_of_a_constructor_are_where_editors_look_for_them(name):
    kind = getattr(semimetric, name)
    shown, whole = SIGNATURES[name].parameters, inspect.signature(kind.__init__).parameters
    assert list(shown) == list(whole)[1:]
    assert all(p.annotation is p.empty and p.default == whole[key].default for key, p in shown.items())
    assert all(p.annotation is not p.empty for key, p in whole.items() if key != "self")
    assert len(str(inspect.signature(kind.__init__))) < 1100


def test_a_subclass_shows_its_own_constructor():
    class Own(semimetric.TripletLearner):
        def __init__(self, n_knots: int = 3, *, mine: float = 1.0) -> None: ...

    assert str(inspect.signature(Own)) == "(n_knots=3, *, mine=1.0)"
    assert not hasattr(Own(), "__signature__")


def test_array_like_is_shown_by_its_name():
    parameters = SIGNATURES["NeighborIndex.kneighbors"].parameters
    assert inspect.formatannotation(parameters["X"].annotation).strip("'") == "ArrayLike | None"
