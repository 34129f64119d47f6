"""Changes to the members of a saved object, each described by values that JSON can hold.

Places are given as fractions, so that a change can be drawn before the object is there: .25 of 8 members is the third.
"""

import copy
import json
import zipfile

import numpy as np

from soak.containers import array_of, bytes_of

NUMBERS = [
    "nan", "inf", "-inf", 1e300, -1e300, 1e154, 5e-324, -1.0, -0.0, 0.0, 0.5, 1.0, 1 + 1e-12, 2.0, 3.7, 17.0, 255.0, 65535.0,
    1e8, 2.0**40, 2.0**62, -(2.0**62),
]  # fmt: skip
DTYPES = [">f8", "<f4", "<f2", "<i8", ">i8", "<i4", "<u2", "|u1", "|i1", "|b1", "<U3", "<U0", "|S4", "<c16", "<M8[s]", "|V8"]
LEAVES = [
    None, True, False, -1, 0, 1, 2, 7, 10**9, 2**53, 2**63, 2**70, -(2**70), 0.5, 1e300, "nan", "", "x", "x0", "none", "swap",
    "query-last", "brute", "auto", "sqrt", "warped", "pairs", "mixed", "categorical", "periodic", "../../etc/passwd", "\ud800",
    "/dev/zero", "0" * 64, [], {}, [0], [[0]], [None], {"a": 1}, [0, 1, 2, 3], ["x0", "x1", "x2"], [True] * 3,
]  # fmt: skip
TEXTS = [
    "", "{}", "[]", "null", "1", "NaN", '{"a": NaN}', '{"a": Infinity}', '{"a": 1e999}', '{"a": 1, "a": 2}', "[" * 100_000,
    '{"a":' * 100_000, "\ufeff{}", '{"a": "\ud800"}', '{"a": ' + "9" * 10_000 + "}", "[" + "[]," * 300_000 + "[]]",
]  # fmt: skip
HEADERS = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (562949953421312,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 999999999999999), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999, 999999999999999, 0), }",
    "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
    "{'descr': '<U999999', 'fortran_order': False, 'shape': (0,), }",
    "(" * 5_000,
]
WAYS = {
    "fill": 4, "set": 6, "cut": 3, "grow": 2, "columns": 2, "retype": 3, "shape": 2, "permute": 3, "negate": 1, "add": 3,
    "scale": 2, "exchange": 3, "header": 2, "leaf": 10, "drop": 3, "twice": 2, "swap": 2, "text": 1,
    "flip": 3, "truncate": 1, "remove": 1, "rename": 1, "entry": 1,
}  # fmt: skip
CRAFTED = ("number", "count", "axes")  # the ways that set integers of arrays, integers of JSON, and shapes
WHOLES = [-1, 0, 1, 255, 65536, 10**6, 3 * 10**8, 2**31, 2**45, 2**53, 2**62, -(2**62), 2**63, 2**70]
BOMB = 300  # MiB that a member unfolds to


def draw(rng):
    """A change: its way, the places where, and what is put there."""
    ways, odds = list(WAYS), np.array(list(WAYS.values()), dtype=float)
    return {
        "way": ways[rng.choice(len(ways), p=odds / odds.sum())],
        "at": [round(float(u), 6) for u in rng.random(5)],
        "pick": int(rng.integers(2**31)),
    }


def draw_crafted(rng):
    """A change of a label, a count, a row number or a shape: what sizes an array, or is an index, where it is read."""
    return draw(rng) | {"way": CRAFTED[rng.integers(len(CRAFTED))]}


def place(u, n):
    return min(int(u * n), n - 1)


def change(members, tricks, given):
    """Make one change to the members (bytes by name), or to the tricks of the archive."""
    way, at, pick = given["way"], given["at"], given["pick"]
    arrays = [n for n in members if not n.endswith(".json")]
    values = [n for n in members if n.endswith(".json")]
    if way in ("leaf", "drop", "twice", "swap", "text"):
        if values:
            name = values[place(at[0], len(values))] if at[4] < 0.3 else next((n for n in values if "state" in n), values[0])
            members[name] = changed_json(members[name], way, at, pick)
    elif way == "count":
        name = next((n for n in values if "state" in n), None)
        if name is not None:
            members[name] = counted_json(members[name], at, pick)
    elif way in ("number", "axes"):
        if name := crafted_member(members, way, at):
            members[name] = bytes_of(crafted_array(array_of(members[name]), way, at, pick))
    elif way in ("flip", "truncate", "remove", "rename"):
        name = list(members)[place(at[0], len(members))]
        change_bytes(members, name, way, at, pick)
    elif way == "entry":
        tricks.append(entry(pick, list(members)))
    elif arrays:
        name, other = arrays[place(at[0], len(arrays))], arrays[place(at[1], len(arrays))]
        if way == "header":
            text = HEADERS[pick % len(HEADERS)].encode() + b"\n"
            members[name] = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + members[name][128:]
        elif way == "exchange":
            members[name], members[other] = members[other], members[name]
        else:
            try:
                members[name] = bytes_of(changed_array(array_of(members[name]), way, at, pick))
            except Exception:  # NumPy reads, and changes, what is no array any more with errors of many kinds
                members[name] = members[name][:-1]


def number(pick, dtype):
    value = float(NUMBERS[pick % len(NUMBERS)])
    if dtype.kind in "iub":
        value = np.nan_to_num(value, nan=0.0, posinf=2.0**62, neginf=-(2.0**62))
        return np.array(int(value) % 2 ** (8 * dtype.itemsize - (dtype.kind == "i"))).astype(dtype)
    return np.array(str(value) if dtype.kind == "U" else value).astype(dtype)


def changed_array(array, way, at, pick):
    if array.dtype.itemsize > 1000:
        raise ValueError("a header of before says that items are so wide that changes would take the memory of the attack")
    rng, out = np.random.default_rng(pick), array.copy()
    n = len(out) if out.ndim else 0
    if way == "retype":
        return (
            np.nan_to_num(out).astype(DTYPES[pick % len(DTYPES)])
            if out.dtype.kind == "f"
            else out.astype(DTYPES[pick % len(DTYPES)])
        )
    if way == "fill":
        out[...] = number(pick, out.dtype)
    elif way == "set":
        count = 1 if at[3] < 0.7 else place(at[4], out.size) + 1
        out.reshape(-1)[rng.integers(0, out.size, count)] = number(pick, out.dtype)
    elif way == "cut":
        return out[: place(at[2], n)]
    elif way == "grow":
        return np.concatenate([out, out[: max(place(at[2], n), 1)]])
    elif way == "columns":
        return out[:, :-1] if pick % 2 else np.hstack([out, out[:, :1]])
    elif way == "shape":
        return [out.T, out.ravel(), out[None], out[..., None], np.asfortranarray(out), out[::-1], out[:0]][pick % 7]
    elif way == "permute":
        return rng.permutation(out, axis=pick % out.ndim)
    elif way == "negate":
        return -out if out.dtype.kind in "fi" else ~out
    elif way == "add":
        some = rng.random(out.shape) < max(at[3], 0.05)
        step = [1, -1, 1e-12, 1e-6, 0.1, 1e3][pick % 6]
        out[some] += np.array(step).astype(out.dtype) if out.dtype.kind in "fiu" else True
    elif way == "scale":
        out = out * [0.5, 2.0, 1e-9, 1e9, 1e150, 1e290, 1e-300][pick % 7]
    return out


def crafted_member(members, way, at):
    """The name of an array; of one of integers where a number is to be changed. None if there is none."""
    kinds = "iu" if way == "number" else "iufbU"
    arrays = [n for n in members if n.endswith(".npy") or "/" in n and not n.endswith(".json")]
    fitting = [n for n in arrays if array_of(members[n]).dtype.kind in kinds and array_of(members[n]).size]
    return fitting[place(at[0], len(fitting))] if fitting else None


def crafted_array(array, way, at, pick):
    if way == "axes":
        shapes = [
            array[None],
            array[..., None],
            array.ravel()[:1].reshape(()),
            np.atleast_1d(array)[:0],
            array.ravel(),
            np.atleast_1d(array)[..., :-1],
        ]
        return shapes[pick % len(shapes)]
    out, limits = array.copy(), np.iinfo(array.dtype)
    out.reshape(-1)[place(at[1], out.size)] = min(max(WHOLES[pick % len(WHOLES)], limits.min), limits.max)
    return out


def counted_json(content, at, pick):
    """The values with another integer in the place of one."""
    root = [json.loads(content)]
    numbers = [path for path in nodes(root) if path and type(value_at(root, path)) is int]
    if numbers:
        path = numbers[place(at[1], len(numbers))]
        parent_of(root, path)[path[-1]] = WHOLES[pick % len(WHOLES)]
    return json.dumps(root[0]).encode()


def value_at(root, path):
    return parent_of(root, path)[path[-1]]


def nodes(value, path=()):
    """The paths of all values in a JSON value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from nodes(part, (*path, key))


def changed_json(content, way, at, pick):
    if way == "text":
        return TEXTS[pick % len(TEXTS)].encode(errors="surrogatepass")
    try:
        root = [json.loads(content)]
    except (ValueError, RecursionError):
        return content
    paths = list(nodes(root))[1:]
    path = paths[place(at[1], len(paths))]
    parent = parent_of(root, path)
    if way == "leaf":
        parent[path[-1]] = copy.deepcopy(LEAVES[pick % len(LEAVES)])
    elif way == "drop":
        del parent[path[-1]]
    elif way == "twice" and isinstance(parent, list):
        parent.insert(path[-1], copy.deepcopy(parent[path[-1]]))
    elif way == "twice":
        parent[f"{path[-1]}_"] = copy.deepcopy(parent[path[-1]])
    else:
        other = paths[place(at[2], len(paths))]
        if path[: len(other)] != other and other[: len(path)] != path:
            second = parent_of(root, other)
            parent[path[-1]], second[other[-1]] = second[other[-1]], parent[path[-1]]
    return json.dumps(root[0] if root else None).encode()


def parent_of(root, path):
    for key in path[:-1]:
        root = root[key]
    return root


def change_bytes(members, name, way, at, pick):
    content = members[name]
    if way == "flip" and content:
        k = place(at[1] ** (3 if pick % 2 else 1), len(content))  # often in the header
        members[name] = content[:k] + bytes([content[k] ^ (1 << pick % 8)]) + content[k + 1 :]
    elif way == "truncate":
        members[name] = content[: place(at[1], len(content) + 1)]
    elif way == "remove":
        del members[name]
    elif way == "rename":
        new = ["arrays/x.npy", "arrays/../x.npy", "/etc/x", f"{name}x", "arrays/" + "n" * 300 + ".npy"][pick % 5]
        members[new] = members.pop(name)


def entry(pick, names):
    """A further entry of an archive: foreign, a second one of the same name, a bomb, or packed in another way."""
    return [
        ("arrays/more.npy", bytes_of(np.arange(3.0)), zipfile.ZIP_DEFLATED, 1),
        ("../outside", b"x", zipfile.ZIP_STORED, 1),
        ("header.json", b"{}", zipfile.ZIP_STORED, 1),
        ("arrays/bomb.npy", bytes(1 << 20), zipfile.ZIP_DEFLATED, BOMB),
        ("arrays/packed.npy", b"\0" * 1000, zipfile.ZIP_LZMA, 1),
        ("arrays/packed.npy", b"\0" * 1000, zipfile.ZIP_BZIP2, 1),
        ("state.json", b'{"a": 1}', zipfile.ZIP_STORED, 1),
    ][pick % 7]
