"""The house rules of kernels, read off their syntax trees: few parameters, and either to write or to return."""

import ast
import importlib
from pathlib import Path

import numpy as np
import pytest

import semimetric

MOST = 8  # parameters
IN_PLACE = {"sort", "fill"}  # methods that write into their array
FILES = {path.stem: path for path in sorted((Path(semimetric.__file__).parent / "_kernels").glob("*.py"))}
TREES = {file: ast.parse(path.read_text()) for file, path in FILES.items()}


def is_kernel(node):
    return isinstance(node, ast.FunctionDef) and {"kernel", "held", "exported"} & {
        getattr(d, "id", "") for d in node.decorator_list
    }


KERNELS = {(file, node.name): node for file, tree in TREES.items() for node in ast.walk(tree) if is_kernel(node)}
IMPORTED = {
    (file, alias.name): (node.module, alias.name)
    for file, tree in TREES.items()
    for node in ast.walk(tree)
    if isinstance(node, ast.ImportFrom) and node.level
    for alias in node.names
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=".".join)


def parameters(kernel):
    return [argument.arg for argument in KERNELS[kernel].args.args]


def called(file, call):
    """The kernel that a call in a file calls, if it is one."""
    place = (file, getattr(call.func, "id", ""))
    kernel = IMPORTED.get(place, place)
    return kernel if kernel in KERNELS else None


def assignments(target, value):
    """(target, value), one by one where both are tuples."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from assignments(one, other)
    else:
        yield target, value


def owners(expression, views):
    """The parameters whose memory an expression may share, as the name or a part of one, or a tuple of such."""
    if isinstance(expression, ast.Name):
        return views.get(expression.id, set())
    if isinstance(expression, (ast.Subscript, ast.Attribute, ast.Starred)):
        return owners(expression.value, views)
    parts = expression.elts if isinstance(expression, ast.Tuple) else []
    if isinstance(expression, ast.Call) and getattr(expression.func, "id", "a")[0].isupper():  # a NamedTuple
        parts = expression.args
    return set().union(*(owners(part, views) for part in parts))


def views_in(kernel):
    """For every local name of a kernel, the parameters whose memory it may share."""
    views = {name: {name} for name in parameters(kernel)}
    for statement in ast.walk(KERNELS[kernel]):
        for target in statement.targets if isinstance(statement, ast.Assign) else []:
            for one, value in assignments(target, statement.value):
                for name in one.elts if isinstance(one, ast.Tuple) else [one]:
                    if isinstance(name, ast.Name):
                        views[name.id] = views.get(name.id, set()) | owners(value, views)
    return views


def spread(arguments, views):
    """Arguments of a call, where a starred tuple may stand for any number: the owners at every place."""
    if any(isinstance(a, ast.Starred) for a in arguments):
        every = set().union(*(owners(a, views) for a in arguments))
        return [every] * MOST
    return [owners(a, views) for a in arguments]


def written(kernel, known):
    """The parameters that a kernel writes into, given what is known of the kernels that it calls."""
    views, out = views_in(kernel), set()
    for node in ast.walk(KERNELS[kernel]):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            out |= owners(node, views)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in IN_PLACE:
            out |= owners(node.func.value, views)
        elif isinstance(node, ast.Call) and (other := called(kernel[0], node)):
            places = zip(parameters(other), spread(node.args, views), strict=False)
            out |= set().union(*(own for name, own in places if name in known[other]))
    return out


def all_written():
    """What every kernel writes, itself or through those that it calls, to any depth."""
    known = {kernel: set() for kernel in KERNELS}
    while (found := {kernel: written(kernel, known) for kernel in KERNELS}) != known:
        known = found
    return known


WRITTEN = all_written()


def returns(node):
    """Whether a function returns a value; what is defined within it does not count."""
    inner = {id(n) for f in ast.walk(node) if isinstance(f, ast.FunctionDef) and f is not node for n in ast.walk(f)}
    return any(isinstance(n, ast.Return) and n.value is not None and id(n) not in inner for n in ast.walk(node))


def test_the_trees_are_read_through_views_tuples_and_calls():
    assert len(KERNELS) > 60
    assert WRITTEN["search", "nearest_of_each"] == {"best"}
    assert WRITTEN["coordinate_descent", "dual_pass"] == {"machine", "dual", "record", "state"}
    assert WRITTEN["additive", "min_gram"] == {"out"}
    assert not WRITTEN["locate", "lower_knot"]


@every_kernel
def test_takes_few_arguments(kernel):
    assert len(parameters(kernel)) <= MOST


@every_kernel
def test_writes_or_returns(kernel):
    """A generator of random numbers, whose state every draw changes, is no array; what a search collects grows."""
    both = kernel == ("list_scan", "search_lists")
    assert returns(KERNELS[kernel]) != bool(WRITTEN[kernel]) or both, f"it writes {WRITTEN[kernel]}"


@pytest.mark.compiled
def test_kernels_are_compiled_for_classes_of_their_own_room_only():
    """The compiler's caches name the classes; one that moves with another room leaves caches that cannot be read."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    y = (X[:, 0] > 0.5).astype(int)
    for embedding in (
        semimetric.PL1Embedding(3),
        semimetric.PL2Embedding(3),
        semimetric.IDEmbedding(3),
        semimetric.BSplineEmbedding(),
    ):
        semimetric.EmbeddedLinearClassifier(embedding, max_iter=3, tol=1e-1).fit(X, y).predict(X)
    pairs = rng.integers(0, 40, (80, 2))
    model = semimetric.DistanceRegressor(n_knots=3, alpha=1e-2, preprocessor=X, tables=semimetric.Tables(groups=[(0, 1), (2,)]))
    d = model.fit(pairs, np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1)).semimetric_
    semimetric.NeighborIndex(d).fit(X).kneighbors(X[:2], 3)
    semimetric.BoundaryPoints().fit(X, y)
    seen = set()
    for file in FILES:
        for value in vars(importlib.import_module(f"semimetric._kernels.{file}")).values():
            for signature in getattr(value, "signatures", ()):
                seen |= {t.instance_class for t in signature if hasattr(t, "instance_class")}
    assert {c.__name__ for c in seen} >= {"Chunk", "Problem", "Machine"}
    assert not {c for c in seen if not c.__module__.startswith("semimetric._kernels.")}
