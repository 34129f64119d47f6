"""What kernels return to Python."""

import ast
from pathlib import Path

import semimetric._kernels

KERNELS = Path(semimetric._kernels.__file__).parent
WITHIN = {  # kernels whose tuples go to other kernels, or are of numbers
    "step_and_base", "cell_of", "envelope", "log_joint",
}  # fmt: skip


def returned_tuples(tree, named):
    """The public kernels of a module that return tuples, named or not."""
    found = set()
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name.startswith("_"):
            continue
        if not any(ast.unparse(d) in ("kernel", "held") for d in function.decorator_list):
            continue
        made = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in named
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                is_call = isinstance(node.value, ast.Call)
                name = ast.unparse(node.value.func if is_call else node.value)
                if isinstance(node.value, ast.Tuple) or name in named | made:
                    found.add(function.name)
    return found


def test_kernels_return_one_array_at_most():
    """Numba makes arrays and named tuples by calls of Python, in which Ctrl-C may come: the second would end the process."""
    trees = [ast.parse(path.read_text()) for path in KERNELS.glob("*.py")]
    named = {
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases)
    }
    assert set.union(*(returned_tuples(tree, named) for tree in trees)) == WITHIN
    example = ast.parse("@kernel\ndef f(x):\n    out = Pair(x, x)\n    return out\n\n@held\ndef g(x):\n    return x, x")
    assert returned_tuples(example, {"Pair"}) == {"f", "g"}
