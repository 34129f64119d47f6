"""The house rules that keep rooms apart, read off the imports themselves."""

import ast
import inspect
import re
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import semimetric

ROOT = Path(semimetric.__file__).parent

# A room imports only rooms that stand before it here. Modules in the root are rooms of their own.
ROOMS = """
_foundation _kernels
data data.parts
distances.pairs distances.features distances.model distances.programs distances.solvers distances.search distances.learning
distances.estimators distances
vectors.embeddings vectors.machines vectors.pieces vectors
exports
datasets
persistence
__init__
out_of_core plotting
reports
cli
__main__
""".split()

OPTIONAL = {"matplotlib", "pandas", "pyarrow", "ot", "kmedoids", "skimage", "dask", "distributed", "zarr"}
OPTIONAL |= {"anywidget", "traitlets", "onnx", "onnxruntime", "duckdb", "psycopg"}
GRAB_BAGS = {"utils", "util", "core", "common", "helpers", "misc"}


def name_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}
TEXTS = {name: path.read_text() for name, path in MODULES.items()}
FACES = {name for name in MODULES if name.endswith("__init__")}  # a face says what its room is for, and exports its names
every_module = pytest.mark.parametrize("name", MODULES)
every_room = pytest.mark.parametrize("room", sorted({name.rpartition(".")[0] for name in MODULES} - {""}))


@cache
def tree_of(name):
    """The syntax of a module, which is read once, by the first test that asks for it."""
    return ast.parse(TEXTS[name])


@cache
def nodes_of(name):
    return [*ast.walk(tree_of(name))]


def room_of(name):
    """The folder of a module, with dots; a module in the root is a room of its own."""
    return name.rpartition(".")[0] or name


@cache
def relative_imports(name):
    """(module, names) of every relative import, the module named from the root of the package."""
    found = []
    for node in nodes_of(name):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = name.split(".")[: -node.level] + (node.module.split(".") if node.module else [])
            found.append((".".join(base), [alias.name for alias in node.names]))
    return found


@cache
def imported(name):
    """Every module of the package that a module imports; a room stands for its face."""
    found = []
    for base, names in relative_imports(name):
        for part in names:
            inner = f"{base}.{part}" if base else part
            found.append(next(m for m in (inner, f"{inner}.__init__", base, f"{base}.__init__") if m in MODULES))
    return found


def absolute_roots(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


def test_every_room_has_a_place_in_the_order():
    assert {room_of(name) for name in MODULES} == set(ROOMS)


@every_module
def test_imports_only_its_own_room_and_rooms_below(name):
    place = ROOMS.index(room_of(name))
    above = [other for other in imported(name) if ROOMS.index(room_of(other)) > place]
    assert not above, f"{name} imports {above}, whose rooms are not below {room_of(name)}"


def test_no_circle_of_imports_anywhere():
    inner = {name: {other for other in imported(name) if other not in FACES} for name in set(MODULES) - FACES}
    assert {*TopologicalSorter(inner).static_order()} >= {*inner}  # CycleError names the circle


@every_module
def test_imports_are_relative_and_never_of_the_root(name):
    assert "semimetric" not in absolute_roots(nodes_of(name))
    assert name == "__init__" or "__init__" not in imported(name)


@every_module
def test_numba_is_imported_by_kernels_only(name):
    assert "numba" not in absolute_roots(nodes_of(name)) or name in {"_kernels.jit", "_kernels.simd"}


@every_module
def test_optional_packages_are_imported_in_functions(name):
    assert not OPTIONAL & {*absolute_roots(tree_of(name).body)}


@every_module
def test_is_named_by_its_content(name):
    assert name.split(".")[-1].lstrip("_") not in GRAB_BAGS


@every_module
def test_a_face_names_what_it_exports_with_strings_and_no_other_module_does(name):
    assigned = [n for n in tree_of(name).body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__"]
    assert not assigned or name in FACES or "." not in name
    assert all(isinstance(e, ast.Constant) and isinstance(e.value, str) for n in assigned for e in n.value.elts)


@every_module
def test_a_wing_never_imports_the_other(name):
    others = {"distances", "vectors"} - {name.split(".")[0]}
    assert len(others) == 2 or not others & {other.split(".")[0] for other in imported(name)}


def test_a_base_class_has_two_users_or_is_public_or_abstract():
    nodes = [node for name in MODULES for node in tree_of(name).body if isinstance(node, ast.ClassDef)]
    classes = {node.name: [ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases] for node in nodes}
    abstract = {n.name for n in nodes if "abstractmethod" in ast.unparse(n) or {"ABC", "Protocol"} & {*classes[n.name]}}
    users = Counter(base for bases in classes.values() for base in bases if base in classes)
    single = {base for base, n in users.items() if n == 1}
    assert not single - {*semimetric.__all__} - {*semimetric.distances.__all__} - abstract


def top(room, other):
    """How a room speaks of another: by its first name, unless both are in one house."""
    first = other.split(".")[0]
    return other if first == room.split(".")[0] else first


@every_room
def test_a_room_says_on_which_rooms_it_stands(room):
    text = ast.get_docstring(tree_of(f"{room}.__init__"))
    first, _, rest = text.partition("\n\n")
    rest = rest.partition(".\n")[0]
    assert first.endswith(".")
    assert rest.startswith("It stands on ")
    modules = [name for name in MODULES if f"{room_of(name)}.".startswith(f"{room}.") and name not in FACES]
    below = {top(room, room_of(other)) for name in modules for other in imported(name)}
    below = {other for other in below if not f"{other}.".startswith(f"{room}.")}
    assert set(re.findall(r"`([\w.]+)`", rest)) == below


def test_terms_and_embeddings_do_not_know_solvers():
    for name in MODULES:
        if name.startswith(
            ("distances.programs.", "distances.pairs.", "distances.features.", "vectors.embeddings.", "_kernels.")
        ):
            above = ("distances.solvers", "distances.learning", "distances.estimators")
            assert not [other for other in imported(name) if other.startswith(above)]
    for term in ("distances.programs.losses", "distances.programs.penalties"):  # and terms do not know one another
        known = [other for other in imported(term) if other.startswith("distances.programs.")]
        assert not known


def test_every_picture_is_imported_from_plotting():
    functions = {(name, n.name) for name in MODULES for n in tree_of(name).body if isinstance(n, ast.FunctionDef)}
    pictures = {(room_of(name), function) for name, function in functions if function.startswith("plot_")}
    assert {room for room, _ in pictures} == {"plotting"}
    assert {function for _, function in pictures} == {*semimetric.plotting.__all__}


def calls_of(tree, name):
    """Every call of a function by its name, with the class and the method in which it stands."""
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for method in (node for node in owner.body if isinstance(node, ast.FunctionDef)):
            for node in ast.walk(method):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                    yield owner.name, method, node


PICTURES = [found for name, text in TEXTS.items() if "picture(" in text for found in calls_of(tree_of(name), "picture")]


@pytest.mark.parametrize(("owner", "method", "call"), PICTURES, ids=[owner for owner, _, _ in PICTURES])
def test_a_picture_of_a_value_is_a_function_of_plotting_with_the_same_parameters(owner, method, call):
    """Rooms below `plotting` name its functions in ``plot`` alone, and a method draws nothing itself."""
    assert method.name == "plot"
    assert len(method.body) == 2  # a docstring, and the call
    assert call.args[0].value in semimetric.plotting.__all__
    function = inspect.signature(getattr(semimetric.plotting, call.args[0].value)).parameters
    own = [*method.args.args[1:], *method.args.kwonlyargs]
    assert [arg.arg for arg in own] == [name for name in list(function)[1:] if name != "term"]
    assert str(function["ax"].annotation) == "Axes | None"
    for arg, default in zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True):
        assert ast.unparse(default) in (str(function[arg.arg].default), "_MOST_SHOWN")


EXPORTS = [
    ast.literal_eval(f"({', '.join(map(ast.unparse, node.args))})")
    for name, text in TEXTS.items()
    for node in (nodes_of(name) if "exporter(" in text else ())
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "exporter"
]


@pytest.mark.parametrize(("module", "function"), EXPORTS)
def test_an_export_of_a_value_is_a_function_of_exports(module, function):
    assert function in {n.name for n in tree_of(f"exports.{module}").body if isinstance(n, ast.FunctionDef)}


def test_modules_of_the_package_are_imported_by_name_in_few_places_only():
    """They are lazy names of a face, pictures and exports of values, and commands: no other module can reach above its room."""
    by_name = {
        name
        for name in MODULES
        for node in nodes_of(name)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("import_module")
        and not (len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and not node.args[0].value.startswith("."))
    }
    assert by_name == {
        "_foundation.names",
        "_foundation.optional_imports",
        "_foundation.pictures",
        "_foundation.exported",
        "cli.entry_point",
    }
    assert not {name for name in MODULES if "__import__" in TEXTS[name]}
