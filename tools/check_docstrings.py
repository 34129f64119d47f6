"""Check docstrings against signatures and against the rules of style, with nothing but the standard library.

``python tools/check_docstrings.py [package folder]`` prints one line for each finding, and exits with 1 if there are any.

Public are functions, classes and methods whose names do not begin with an underscore, so all of ``__all__``, and the classes
that public ones inherit from.

1. Every public function, class and method has a docstring. A method may do without if a base class in the package has one for
   it, or names it as an attribute.
2. Where a docstring has a section "Parameters", its names are those of the signature, in that order. The signature of a class
   is that of ``__init__``, or the fields of a dataclass or NamedTuple.
3. A default that a docstring states ("default 3", ``"quantile" (default)``, "None by default") is that of the signature.
4. Everything that users import from a face of the package (`FACES`) has a section "Parameters" if it takes any.
5. No docstring begins with Of, What, Where, Which, How, Whether, Who or Whose: it begins with a verb or a noun. This rule and
   the next hold for private names and modules too.
6. The first line of a docstring is its first sentence: it ends with a full stop, and has at most 120 characters.

Docstrings are read from the source; nothing is imported.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FACES = ("", "datasets", "distances", "out_of_core", "plotting", "vectors")
NO_OPENINGS = ("Of", "What", "Where", "Which", "How", "Whether", "Who", "Whose")
LONGEST_OPENING = 120  # characters of the first line

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
Documented = Definition | ast.Module


class Parameter(NamedTuple):
    """A parameter of a signature: its name, with the stars of ``*args``, and the source of its default, or None."""

    name: str
    default: str | None


class Entry(NamedTuple):
    """An entry of a section "Parameters": the names before the colon, what follows it, and the indented description."""

    names: list[str]
    header: str
    description: str

    def stated_default(self) -> str | None:
        """Return the source of the default that the entry states, or None."""
        for pattern in (r"(?:^|, )default:? (.+)$", r"(\S+) \(default\)"):
            if found := re.search(pattern, self.header):
                return found[1]
        by_default = re.findall(r"(\S+) by default", f"{self.header}\n{self.description}")
        return next((text.strip("`") for text in by_default if is_literal(text.strip("`"))), None)


class Module(NamedTuple):
    """A parsed file of the package, its name with dots, and the names that it exports.

    They are those of ``__all__``, or those of ``_HOMES``, a dict from modules to the names that are imported from each.
    """

    name: str
    path: Path
    tree: ast.Module
    exported: list[str]
    homes: dict[str, str]

    def definitions(self) -> dict[str, Definition]:
        """Return the functions and classes at the top of the file by name."""
        return {node.name: node for node in self.tree.body if isinstance(node, Definition)}


class Finding(NamedTuple):
    """A fault, with the file and line where the definition begins."""

    path: Path
    line: int
    text: str


def is_literal(source: str) -> bool:
    """Return True if the source is a number, a string in quotes, None, True, False, or a container of these."""
    try:
        ast.literal_eval(source)
    except (ValueError, SyntaxError):
        return False
    return True


def same(stated: str, actual: str) -> bool:
    """Return True if two sources mean the same default: 20000 is 20_000, 1 is 1.0 (but not True), float64 is np.float64."""
    if is_literal(stated) and is_literal(actual):
        first, second = ast.literal_eval(stated), ast.literal_eval(actual)
        return first == second and isinstance(first, bool) == isinstance(second, bool)
    return stated.removeprefix("np.") == actual.removeprefix("np.")


def entries(docstring: str, section: str = "Parameters") -> list[Entry] | None:
    """Return the entries of a section of a docstring; None if there is no such section."""
    lines = inspect.cleandoc(docstring).splitlines()
    titles = [i for i in range(len(lines) - 1) if re.fullmatch("-{3,}", lines[i + 1].strip())]
    start = next((i for i in titles if lines[i].strip() == section), None)
    if start is None:
        return None
    end = min((i for i in titles if i > start), default=len(lines))
    found: list[Entry] = []
    for line in filter(str.strip, lines[start + 2 : end]):
        if line.startswith(" ") and found:
            found[-1] = found[-1]._replace(description=f"{found[-1].description}\n{line.strip()}")
        else:
            names, _, header = line.partition(":")
            found.append(Entry([name.strip().replace("\\*", "*") for name in names.split(",")], header.strip(), ""))
    return found


def of_function(node: Function, *, bound: bool = False) -> list[Parameter]:
    """Return the parameters of a function; of a bound method without the first, ``self`` or ``cls``."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    padding = [None] * (len(plain) - len(given.defaults))
    found = [(a.arg, d) for a, d in zip(plain, [*padding, *given.defaults], strict=True)][int(bound) :]
    found += [(f"*{given.vararg.arg}", None)] if given.vararg else []
    found += [(a.arg, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    found += [(f"**{given.kwarg.arg}", None)] if given.kwarg else []
    return [Parameter(name, None if default is None else ast.unparse(default)) for name, default in found]


def name_of(node: ast.expr) -> str:
    """Return the last name of ``a.b``, ``a.b(c)`` or ``a.b[c]``: of a decorator, a base class or an annotation."""
    if isinstance(node, ast.Call):
        return name_of(node.func)
    if isinstance(node, ast.Subscript):
        return name_of(node.value)
    return getattr(node, "attr", getattr(node, "id", ""))


def decorators(node: Definition) -> set[str]:
    """Return the last names of the decorators."""
    return {name_of(d) for d in node.decorator_list}


def of_fields(node: ast.ClassDef) -> list[Parameter]:
    """Return the public fields of a dataclass or NamedTuple that its constructor takes."""
    found = []
    for field in node.body:
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name) or field.target.id.startswith("_"):
            continue
        options = field_options(field.value)
        if name_of(field.annotation) != "ClassVar" and options.get("init") != "False":
            found.append(Parameter(field.target.id, default_of_field(field.value, options)))
    return found


def field_options(value: ast.expr | None) -> dict[str, str]:
    """Return the arguments of ``dataclasses.field(...)``, by name; empty for any other value."""
    if not isinstance(value, ast.Call) or name_of(value) != "field":
        return {}
    return {str(k.arg): ast.unparse(k.value) for k in value.keywords}


def default_of_field(value: ast.expr | None, options: dict[str, str]) -> str | None:
    """Return the source of the default of a field; an empty tuple, list or dict if a factory makes one."""
    if not options:
        return None if value is None else ast.unparse(value)
    made = {"tuple": "()", "list": "[]", "dict": "{}"}
    factory = options.get("default_factory")
    return options.get("default", None if factory is None else made.get(factory, f"{factory}()"))


class Package:
    """The modules of a package and its classes, found by name: no two classes of a package share one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = [self._read(path) for path in sorted(root.rglob("*.py"))]
        pairs = [(node, m) for m in self.modules for node in ast.walk(m.tree) if isinstance(node, ast.ClassDef)]
        self.classes = {node.name: node for node, _ in pairs}
        self.home = {node: module for node, module in pairs}

    def _read(self, path: Path) -> Module:
        tree = ast.parse(path.read_text())
        name = ".".join(path.relative_to(self.root.parent).with_suffix("").parts).removesuffix(".__init__")
        given = {name_of(n.targets[0]): n.value for n in tree.body if isinstance(n, ast.Assign)}
        homes = ast.literal_eval(given["_HOMES"]) if "_HOMES" in given else {}
        listed = ast.literal_eval(given["__all__"]) if "__all__" in given else " ".join(homes.values()).split()
        return Module(name, path, tree, list(listed), homes)

    def bases(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """Return the base classes that the package defines, nearest first."""
        direct = [self.classes[name_of(b)] for b in node.bases if name_of(b) in self.classes]
        return [*direct, *(far for near in direct for far in self.bases(near))]

    def parameters(self, node: Definition) -> list[Parameter]:
        """Return the parameters of a function, or of the constructor of a class."""
        if not isinstance(node, ast.ClassDef):
            return of_function(node)
        if (init := methods(node).get("__init__")) is not None:
            return of_function(init, bound=True)
        inherited = next((found for base in self.bases(node) if (found := self.parameters(base))), [])
        if "dataclass" not in decorators(node) and "NamedTuple" not in map(name_of, node.bases):
            return inherited
        return list({p.name: p for p in [*inherited, *of_fields(node)]}.values())

    def describes(self, node: ast.ClassDef, method: str) -> bool:
        """Return True if a base class in the package has a docstring for the method, or names it as an attribute."""
        for base in self.bases(node):
            known, attributes = methods(base).get(method), entries((ast.get_docstring(base) or ""), "Attributes") or []
            if (known is not None and ast.get_docstring(known)) or any(method in entry.names for entry in attributes):
                return True
        return False

    def public(self) -> Iterator[tuple[Module, Definition]]:
        """Yield the public functions and classes, and the classes that these inherit from."""
        seen: set[Definition] = set()
        for module in self.modules:
            for node in (n for name, n in module.definitions().items() if not name.startswith("_")):
                family = [node, *self.bases(node)] if isinstance(node, ast.ClassDef) else [node]
                for member in (m for m in family if m not in seen):
                    seen.add(member)
                    yield (self.home[member] if isinstance(member, ast.ClassDef) else module), member

    def faces(self) -> set[Definition]:
        """Return the functions and classes that users import from one of `FACES`."""
        by_name = {module.name: module for module in self.modules}
        names = [f"{self.root.name}.{face}".rstrip(".") for face in FACES]
        faces = [by_name[name] for name in names if name in by_name]
        return {node for face in faces for name in face.exported if (node := resolved(face, name, by_name)) is not None}


def methods(node: ast.ClassDef) -> dict[str, Function]:
    """Return the methods that a class defines itself, by name; of a property the getter."""
    found: dict[str, Function] = {}
    for item in (n for n in node.body if isinstance(n, Function) and "overload" not in decorators(n)):
        found.setdefault(item.name, item)
    return found


def resolved(module: Module, name: str, modules: dict[str, Module]) -> Definition | None:
    """Return the function or class of that name in a module, or in the module of the package that it is imported from."""
    if name in module.definitions():
        return module.definitions()[name]
    home = next((home for home, names in module.homes.items() if name in names.split()), None)
    if home is not None:
        return resolved(modules[f"{module.name}.{home}"], name, modules)
    face = module.path.name == "__init__.py"
    for node in (n for n in ast.walk(module.tree) if isinstance(n, ast.ImportFrom) and n.level):
        parts = module.name.split(".")
        base = parts[: len(parts) - node.level + int(face)]
        source = modules.get(".".join([*base, *filter(None, [node.module])]))
        original = next((a.name for a in node.names if name in (a.asname, a.name)), None)
        if source is not None and original is not None:
            return resolved(source, original, modules)
    return None


def disagreements(docstring: str, signature: list[Parameter]) -> Iterator[str]:
    """Yield the differences between the section "Parameters" of a docstring, if it has one, and a signature."""
    found = entries(docstring)
    if found is None:
        return
    listed, taken = [name for entry in found for name in entry.names], [p.name for p in signature]
    missing, extra = [n for n in taken if n not in listed], [n for n in listed if n not in taken]
    if missing:
        yield f"Parameters lack {', '.join(missing)}"
    if extra:
        yield f"Parameters name {', '.join(extra)}, which the signature has not"
    if not missing and not extra and listed != taken:
        yield f"Parameters stand in the order {', '.join(listed)}; the signature has {', '.join(taken)}"
    defaults = {p.name: p.default for p in signature}
    for entry in found:
        yield from wrong_defaults(entry, defaults)


def wrong_defaults(entry: Entry, defaults: dict[str, str | None]) -> Iterator[str]:
    """Yield the names of an entry whose default is stated otherwise than in the signature."""
    stated = entry.stated_default()
    for name in entry.names if stated is not None else ():
        actual = defaults.get(name)
        if name in defaults and (actual is None or not same(str(stated), actual)):
            yield f"{name} is said to be {stated} by default; the signature has {actual or 'no default'}"


def check_class(package: Package, node: ast.ClassDef) -> Iterator[tuple[Definition, str]]:
    """Yield the findings on the public methods of a class."""
    for name, method in methods(node).items():
        if name.startswith("_"):
            continue
        if not ast.get_docstring(method):
            if not package.describes(node, name):
                yield method, f"{node.name}.{name} has no docstring, nor has that of a base class"
            continue
        signature = of_function(method, bound="staticmethod" not in decorators(method))
        for text in disagreements(ast.get_docstring(method) or "", signature):
            yield method, f"{node.name}.{name}: {text}"


def check_definition(package: Package, node: Definition, *, face: bool) -> Iterator[tuple[Definition, str]]:
    """Yield the findings on a public function or class."""
    docstring, signature = (ast.get_docstring(node) or ""), package.parameters(node)
    if not docstring:
        yield node, f"{node.name} has no docstring"
    elif face and signature and entries(docstring) is None:
        yield node, f"{node.name} has no section Parameters, but takes {', '.join(p.name for p in signature)}"
    for text in disagreements(docstring, signature):
        yield node, f"{node.name}: {text}"
    if isinstance(node, ast.ClassDef):
        yield from check_class(package, node)


def check_opening(node: Documented) -> Iterator[str]:
    """Yield the findings on the first line of a docstring, private or public."""
    first = (ast.get_docstring(node) or "").partition("\n")[0].rstrip()
    if not first:
        return
    name = getattr(node, "name", "the module")
    if (word := re.match(r"\w*", first)) and word[0] in NO_OPENINGS:
        yield f"{name}: the docstring begins with {word[0]}; begin with a verb or a noun"
    if not first.endswith("."):
        yield f"{name}: the first line of the docstring ends without a full stop"
    if len(first) > LONGEST_OPENING:
        yield f"{name}: the first line of the docstring has {len(first)} characters, more than {LONGEST_OPENING}"


def check(root: Path) -> list[Finding]:
    """Return all findings in a package, given its folder."""
    package = Package(root)
    faces = package.faces()
    found = [
        Finding(module.path, where.lineno, text)
        for module, node in package.public()
        for where, text in check_definition(package, node, face=node in faces)
    ]
    for module in package.modules:
        for node in (n for n in ast.walk(module.tree) if isinstance(n, Documented)):
            line = getattr(node, "lineno", 1)
            found += [Finding(module.path, line, text) for text in check_opening(node)]
    return found


def main() -> int:
    """Check the package that is named on the command line, or ``semimetric``."""
    default = Path(__file__).resolve().parents[1] / "semimetric"
    found = check(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else default)
    for finding in found:
        print(f"{finding.path}:{finding.line}: {finding.text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
