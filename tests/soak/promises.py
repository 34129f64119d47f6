"""Fits that were promised constraints and axioms: random data with outliers, every promise checked at points of all kinds."""

import warnings

import numpy as np

from semimetric import (
    AtLeast,
    AtMost,
    Bounded,
    Columns,
    Concave,
    DistanceRegressor,
    InputError,
    Monotone,
    NotSupportedError,
    Program,
    Tables,
    TranslationInvariant,
)
from soak.attack import Attack

ROUNDING = 1e-9  # a promise may be missed by this share of the distance that it is about
AXIOMS = ["semimetric", "metric", "quasimetric", "premetric"]


def draw(rng):
    """Data, an outlier, and constraints of which the sample says nothing."""
    n_features = int(rng.integers(1, 4))
    category = bool(n_features > 1 and rng.random() < 0.25)
    tied = bool(rng.random() < 0.3)
    some = [("TranslationInvariant",)] if tied else []
    some += [("Concave",)] if tied and rng.random() < 0.6 else []
    some += [("Monotone",)] if rng.random() < 0.5 else []
    some += [("Bounded", float(10 ** rng.uniform(-3, 3)))] if rng.random() < 0.4 else []
    some += [("AtLeast", float(10 ** rng.uniform(-3, 3)))] if rng.random() < 0.4 else []
    some += [("AtMost", float(10 ** rng.uniform(-3, 3)))] if rng.random() < 0.4 else []
    missing, axioms = not tied and bool(rng.random() < 0.2), str(rng.choice(AXIOMS))
    some = [s for s in some if not (missing and s[0] == "Monotone")]
    groups = "singles" if tied or n_features == 1 else str(rng.choice(["singles", "singles", "pairs", "one"]))
    most_knots = {"singles": 6, "pairs": 4, "one": 4 if n_features == 2 else 3}[groups]
    missing = missing and not (groups == "one" and n_features == 3)  # the triangle would have a million rows
    return {
        "seed": int(rng.integers(2**32)), "n_features": n_features, "n_items": int(rng.integers(8, 40)),
        "n_pairs": int(rng.integers(15, 120)), "unit": float(10 ** rng.choice([0.0, 0.0, 0.0, 0.0, -6.0, 6.0, -200.0, 140.0])),
        "outlier": float(10 ** rng.choice([0.0, 3.0, 6.0, 7.0, 9.0, 12.0])), "constraints": some,
        "n_knots": int(rng.integers(2, most_knots)), "groups": groups,
        "knots": "uniform" if tied else "quantile", "delta": float(rng.choice([0.0, 1e-6, 1e-3])),
        "outside": "clip" if any(s[0] == "Bounded" for s in some) else str(rng.choice(["clip", "extend"])),
        "axioms": axioms, "link": str(rng.choice(["identity", "identity", "sqrt"])),
        "tables": "warped" if not tied and axioms in AXIOMS[:2] and groups == "singles" and rng.random() < 0.2 else "full",
        "loss": str(rng.choice(["squared", "squared", "absolute", "huber"])),
        "penalty": str(rng.choice(["auto", "auto", "none", "lasso", "ridge-zero"])),
        "alpha": 10 ** float(rng.choice([-9, -3, 0, 6])),
        "category": category, "missing": missing,
    }  # fmt: skip


def sample(case):
    """The items, the pairs and their targets, one of which is far larger than the rest."""
    rng = np.random.default_rng(case["seed"])
    items = rng.random((case["n_items"], case["n_features"]))
    if case["category"]:
        items[:, -1] = rng.integers(0, 3, len(items))
        items[:3, -1] = [0, 1, 2]
    index = rng.integers(0, len(items), (case["n_pairs"], 2))
    values = np.abs(np.sin(3 * (items[index[:, 0]] - items[index[:, 1]]))).sum(axis=1) + 0.1 * rng.random(len(index))
    y = np.where((index[:, 0] == index[:, 1]), 0.0, values)
    y[np.flatnonzero(y)[0]] *= case["outlier"]
    if case["missing"]:
        items[rng.random(items.shape) < 0.1] = np.nan
    return items, index, case["unit"] * y, rng


def promised(case, items, y, rng):
    """The constraints of a case, on the scale of its data."""
    numbers = list(range(case["n_features"] - case["category"]))
    low, high = np.nanmin(items, axis=0), np.nanmax(items, axis=0)
    typical, made = float(np.median(y[y > 0])), []
    for name, *values in case["constraints"]:
        if name == "Bounded":
            made.append(Bounded(values[0] * typical))
        elif name in ("AtLeast", "AtMost"):
            points = low + (high - low) * rng.random((3, 2, case["n_features"]))
            points[..., numbers[-1] + 1 :] = np.round(points[..., numbers[-1] + 1 :]) if numbers else 0.0
            distances = values[0] * typical * rng.random(3)
            made.append({"AtLeast": AtLeast, "AtMost": AtMost}[name](points, distances))
        else:
            made.append({"Monotone": Monotone, "Concave": Concave, "TranslationInvariant": TranslationInvariant}[name](numbers))
    return made


def attempt(case, folder):
    items, index, y, rng = sample(case)
    if not (y > 0).any():
        return "nothing to learn"
    warnings.simplefilter("ignore")
    try:
        model = DistanceRegressor(
            n_knots=case["n_knots"],
            tables=Tables(
                case["tables"], groups=grouped(case), knots=case["knots"], outside=case["outside"], delta=case["delta"]
            ),
            axioms=case["axioms"],
            link=case["link"],
            loss=case["loss"],
            alpha=case["alpha"],
            program=Program(
                penalty=None if case["penalty"] == "none" else case["penalty"], constraints=promised(case, items, y, rng)
            ),
            columns=Columns(
                [case["n_features"] - 1] if case["category"] else None, missing="level" if case["missing"] else "error"
            ),
            preprocessor=items,
        ).fit(index, y)
    except (InputError, NotSupportedError) as error:
        if "what was learned" in str(error):
            raise
        return "no weights keep them" if "no weights keep" in str(error) else "refused"
    d = model.semimetric_
    for constraint in model.recipe_.constraints:
        CHECKS[type(constraint)](d, constraint, rng)
    keeps_axioms(d, case, rng)
    return "kept"


def grouped(case):
    return [tuple(range(case["n_features"]))] if case["groups"] == "one" else case["groups"]


def within(d, n, rng, *, beyond=0.0):
    """Encoded points in the range of the knots, many of them at knots; ``beyond`` is the share outside."""
    grid = d.embedding.grid
    m = d.n_features
    points = grid.low[:m] + (grid.high - grid.low)[:m] * rng.random((n, m))
    for f in range(m):
        at = rng.random(n) < 0.4
        points[at, f] = rng.choice(grid.knots[f][: len(grid.knots[f]) - (grid.kinds[f] == "categorical")], at.sum())
        if grid.kinds[f] == "categorical":
            points[:, f] = rng.choice(grid.knots[f][:-1], n)
        elif beyond:
            out = rng.random(n) < beyond
            points[out, f] += (grid.high - grid.low)[f] * rng.normal(size=out.sum())
    return points


def distances(d, x, y):
    return d.paired_by_index(np.concatenate([x, y]), np.column_stack([np.arange(len(x)), len(x) + np.arange(len(x))]))


def exceeded(what, value, limit, size):
    """Raise if a value is above its limit by more than rounding."""
    excess = value - limit
    worst = int(np.argmax(excess - ROUNDING * size))
    if not (excess <= ROUNDING * size).all():
        raise AssertionError(f"{what}: {value[worst]:.17g} exceeds {limit[worst]:.17g}, at the size {size[worst]:g}")


def is_monotone(d, constraint, rng):
    for f in constraint.features:
        x, y = within(d, 1500, rng, beyond=0.1), within(d, 1500, rng, beyond=0.1)
        inner = np.sort(rng.choice([0.0, 1.0, 0.5, *rng.random(5)], (1500, 2)), axis=1)
        a, b = x.copy(), y.copy()
        ends = np.minimum(x, y)[:, f], np.maximum(x, y)[:, f]
        a[:, f] = np.clip(x[:, f] + inner[:, 0] * (y - x)[:, f], *ends)  # else rounding may lead out of the interval
        b[:, f] = np.clip(x[:, f] + inner[:, 1] * (y - x)[:, f], *ends)
        far = distances(d, x, y)
        exceeded("Monotone", distances(d, a, b), far, far)


def is_bounded(d, constraint, rng):
    x, y = within(d, 3000, rng), within(d, 3000, rng)
    ceiling = np.full(3000, constraint.ceiling)
    exceeded("Bounded", distances(d, x, y), ceiling, ceiling)


def is_at_least(d, constraint, rng):
    found = distances(d, constraint.pairs[:, 0], constraint.pairs[:, 1])
    exceeded("AtLeast", constraint.distances, found, constraint.distances)


def is_at_most(d, constraint, rng):
    found = distances(d, constraint.pairs[:, 0], constraint.pairs[:, 1])
    exceeded("AtMost", found, constraint.distances, constraint.distances)


def is_invariant(d, constraint, rng):
    grid = d.embedding.grid
    for f in constraint.features:
        x, y = within(d, 800, rng), within(d, 800, rng)
        a, b = x.copy(), y.copy()
        room = np.minimum(grid.high[f] - np.maximum(x, y)[:, f], np.inf)
        shift = room * rng.random(800)
        a[:, f] += shift
        b[:, f] += shift
        a, b = np.minimum(a, grid.high[: d.n_features]), np.minimum(b, grid.high[: d.n_features])
        near, far = distances(d, x, y) ** 2 ** (d.link == "sqrt"), distances(d, a, b) ** 2 ** (d.link == "sqrt")
        size = np.full(800, float(d.weights.max()))
        exceeded("TranslationInvariant", np.abs(near - far), np.zeros(800), size)


def is_concave(d, constraint, rng):
    grid = d.embedding.grid
    for f in constraint.features:
        at = within(d, 1, rng)
        line = np.repeat(at, 61, axis=0)
        line[:, f] = np.linspace(grid.low[f], grid.high[f], 61)
        along = distances(d, np.repeat(line[:1], 61, axis=0), line) ** (2 if d.link == "sqrt" else 1)
        exceeded("Concave", np.diff(along, 2), np.zeros(59), np.full(59, float(along.max())))


CHECKS = {
    Monotone: is_monotone, Bounded: is_bounded, AtLeast: is_at_least, AtMost: is_at_most, TranslationInvariant: is_invariant,
    Concave: is_concave,
}  # fmt: skip


def keeps_axioms(d, case, rng):
    """What the model claims, and at least what was asked, at points of all kinds."""
    claims = d.axioms
    triangle = case["axioms"] in ("metric", "quasimetric")
    if claims.triangle < triangle or claims.symmetric < (case["axioms"] in ("metric", "semimetric")):
        raise AssertionError(f"{case['axioms']} was asked, and {claims} is claimed")
    x, y, z = (anywhere(d, 1000, rng) for _ in range(3))
    xy, yx, xz, yz = distances(d, x, y), distances(d, y, x), distances(d, x, z), distances(d, y, z)
    if claims.triangle:
        exceeded("triangle", xz, xy + yz, xy + yz)
    if claims.symmetric:
        exceeded("symmetry", np.abs(xy - yx), np.zeros(1000), xy)
    if claims.nonnegative:
        exceeded("nonnegative", -xy, np.zeros(1000), xy)
    if claims.positive:
        apart = ~np.all((x == y) | (np.isnan(x) & np.isnan(y)), axis=1)
        assert (xy[apart] > 0).all(), "positivity"
    assert not claims.zero_on_diagonal or not distances(d, x, x).any(), "the diagonal"


def anywhere(d, n, rng):
    """Points within and outside the knots, with categories that were not in the fit, and missing values."""
    points = within(d, n, rng, beyond=0.2)
    grid = d.embedding.grid
    for f in range(d.n_features):
        if grid.kinds[f] == "categorical":
            points[rng.random(n) < 0.3, f] = grid.high[f]
        if grid.missing[f]:
            points[rng.random(n) < 0.3, f] = np.nan
    return points


PROMISES = Attack(draw, attempt, seconds=120, short=40)
