"""Saved objects that somebody with intent has changed, with digests that fit: each is refused, or is a correct object.

What loads may be another object than the one that was changed; it is correct if its answers are the distances of its own items,
if exact search agrees with brute force, and if it is the same once it is saved and loaded again.
"""

import os
import shutil
import warnings
from pathlib import Path

import numpy as np

import semimetric as sm
from semimetric import out_of_core
from semimetric.distances.features.objects import ObjectFeatures
from soak import containers, mutations, saved_objects
from soak.attack import Attack


def drawn(names):
    def draw(rng):
        case = {"object": names[rng.integers(len(names))], "mmap": bool(rng.integers(2))}
        case["changes"] = [mutations.draw(rng) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        if rng.random() < 0.03:
            case["outside"] = OUTSIDE[rng.integers(len(OUTSIDE))]
        return case

    return draw


def drawn_numbers(rng):
    """A saved object of any kind, with one or two labels, counts, row numbers or shapes changed."""
    names = [*saved_objects.MODELS, *saved_objects.ESTIMATORS, *saved_objects.INDEXES, *saved_objects.SHARDS]
    changes = [mutations.draw_crafted(rng) for _ in range(rng.choice([1, 1, 2]))]
    return {"object": names[rng.integers(len(names))], "mmap": bool(rng.integers(2)), "changes": changes}


MOST_COLUMNS = 100_000  # of an embedding whose rows are asked for: what has more is right, and larger than an attack may be
OUTSIDE = ["link to a device", "link to a file", "pipe", "pipe as file", "folder as file", "linked arrays", "cut"]


def write(case, path):
    """The changed object."""
    source = saved_objects.saved(case["object"])
    kind = containers.File if source.is_file() else containers.Folder if ":shards" not in case["object"] else containers.Shards
    parts = kind(source)
    for given in case["changes"]:
        if not parts.members:
            break
        mutations.change(parts.members, parts.tricks, given)
    parts.write(path)
    if "outside" in case and path.is_dir():
        disturb(path, case["outside"])


def disturb(path, how):
    """Put something that is no file where one is expected."""
    arrays = sorted(path.rglob("arrays/*.npy"))
    files = sorted(path.rglob("*.smm"))
    target = arrays[0] if how in ("link to a device", "link to a file", "pipe", "cut") and arrays else files[0]
    if how == "cut":
        os.truncate(target, target.stat().st_size // 2)
        return
    if how == "linked arrays":
        folder = files[0].parent / "arrays"
        if folder.is_dir():
            shutil.move(folder, path.parent / "elsewhere")
            folder.symlink_to(path.parent / "elsewhere")
        return
    kept = target.rename(path.parent / "kept")
    if how == "link to a device":
        target.symlink_to("/dev/zero")
    elif how == "link to a file":
        target.symlink_to(kept)
    elif how == "folder as file":
        target.mkdir()
    else:
        os.mkfifo(target)


def attempt(case, folder):
    saved_objects.lower_thresholds()
    path = folder / "object"
    write(case, path)
    bases = saved_objects.bases_of(case["object"])
    around = sorted(p for p in folder.rglob("*"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = sm.load(path, base_distances=bases, mmap=case["mmap"])
        except (sm.StorageError, FileNotFoundError) as error:
            if isinstance(error, FileNotFoundError) and Path(error.filename or "").exists():
                raise
            return "refused"
        with np.errstate(all="ignore"):
            CHECKS.get(type(found), check_estimator)(found, bases, folder)
    assert sorted(p for p in folder.rglob("*") if not p.relative_to(folder).parts[0].startswith("again")) == around
    return "correct"


def assert_near(found, expected, rounding=0.0):
    """Equal but for rounding, relative to the largest finite number, and to what is added up and may cancel."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    finite = np.abs(expected[np.isfinite(expected)])
    tolerance = 1e-7 * finite.max(initial=0.0) + rounding
    same = (found == expected) | (np.abs(found - expected) <= tolerance)
    assert found.shape == expected.shape
    assert same.all(), f"{found[~same][:5]} instead of {expected[~same][:5]}"


def rounding_of(d):
    """What sums of the weights, and of the slopes outside the range, may lose where large ones cancel."""
    lost = 1e-13 * (np.abs(d.weights).sum() + (d.epsilon.max(axis=1) * d.embedding.grid.widths).sum()) + 1e-300
    return float(d.link_function.apply(np.minimum(lost, 1e30)))


def check_distance(d, bases, folder):
    """The distance agrees with itself, has the axioms that it claims, and is the same when it is saved again."""
    items = saved_objects.encoded(d, 12, 1)
    X = saved_objects.table(d, items)
    every = d.pairwise(X)
    assert not np.isnan(every).any(), "a distance is no number"
    i, j = np.divmod(np.arange(144), 12)
    assert_near(d.paired(X[i], X[j]).reshape(12, 12), every, rounding_of(d))
    total = d.contributions(X[i], X[j]).sum(axis=1).reshape(12, 12)
    assert_near(d.link_function.apply(np.maximum(total, 0.0)) if d.link != "identity" else total, every, rounding_of(d))
    axioms = d.axioms
    assert not axioms.nonnegative or (every >= 0).all()
    assert not axioms.symmetric or (every == every.T).all()
    assert not axioms.zero_on_diagonal or not np.diag(every).any()
    str(d), d.terms, d.outside(X)
    d.save(folder / "again.smm")
    again = sm.load(folder / "again.smm", base_distances=bases)
    np.testing.assert_array_equal(again.pairwise(X), every)


def check_estimator(model, bases, folder):
    """What it answers are numbers or classes, and it is the same when it is saved again; its distance is a correct one."""
    learner = getattr(model, "learner_", model)
    if hasattr(learner, "semimetric_"):
        check_distance(learner.semimetric_, bases, folder)
    if hasattr(model, "index_"):
        check_index(model.index_, bases, folder)
    given = table_for(model)
    first = answers_to(model, given)
    repr(model), model.get_params()
    for name in ("choices_", "group_choices_", "solution_", "recipe_", "passes_"):
        repr(getattr(learner, name, None))
    model.save(folder / "again-estimator.smm")
    again = answers_to(sm.load(folder / "again-estimator.smm", base_distances=bases), given)
    assert list(again) == list(first)
    for name, found in first.items():
        np.testing.assert_array_equal(again[name], found)


def table_for(model):
    """Items that an estimator takes."""
    if isinstance(model, ObjectFeatures):
        return np.random.default_rng(3).uniform(-0.2, 1.2, (12, 3, 1) if isinstance(model, sm.PointCloudFeatures) else (12, 3))
    if not hasattr(model, "index_") and not hasattr(model, "semimetric_"):
        return np.random.default_rng(3).uniform(-0.2, 1.2, (12, model.n_features_in_ if model.n_features_in_ < 1000 else 1))
    d = model.index_.semimetric if hasattr(model, "index_") else model.semimetric_
    return saved_objects.table(d, saved_objects.encoded(d, 12, 3))


def answers_to(model, X):
    """What an estimator answers, by the name of the method; what it refuses on purpose is no answer."""
    size, out = getattr(getattr(model, "_kind", None), "size", 2), {}
    for name in ("predict", "predict_proba", "decision_function", "kneighbors", "transform", "pair_distance"):
        if not hasattr(model, name):
            continue
        if max(getattr(m, "n_columns_", 0) for m in (model, getattr(model, "embedding_", model))) > MOST_COLUMNS:
            continue
        of_items = name in ("kneighbors", "transform") or hasattr(model, "index_") or not hasattr(model, "semimetric_")
        of_tuples = name == "pair_distance" or not of_items
        n = 2 if name == "pair_distance" else size
        given = X.reshape(12 // n, n, -1) if of_tuples else X
        if of_tuples and getattr(model, "preprocessor", None) is not None:
            given = np.zeros((1, n), dtype=int)
        try:
            found = getattr(model, name)(given)
        except sm.SemimetricError:
            continue
        out[name] = np.asarray(
            found[0] if isinstance(found, tuple) else found.toarray() if hasattr(found, "toarray") else found
        )
        assert out[name].dtype.kind != "f" or not np.isnan(out[name]).any(), f"{name} gives NaN"
    return out


def own_items(index):
    """The encoded items of an index."""
    return np.concatenate([np.asarray(s.points.raw[s.alive], dtype=float) for s in index.segments_])


def check_index(index, bases, folder):
    """Answers are the distances of the own items, exact search is brute force, and the index is the same when saved again."""
    inner = index if isinstance(index, sm.NeighborIndex) else index._joined
    d, items = inner.semimetric, own_items(inner)
    ids = index.ids_
    assert len(ids) == len(items) == len(set(ids.tolist())) == index.n_samples_fit_
    if not len(items):
        return
    queries = np.vstack([saved_objects.encoded(d, 4, 2), items[:3]])
    X = saved_objects.table(d, queries)
    both, n = np.vstack([queries, items]), len(items)
    pairs = np.array([(q, len(queries) + k) for q in range(len(queries)) for k in range(n)])
    pairs = pairs if inner._view.side == "query-first" else pairs[:, ::-1]
    true = d.paired_by_index(both, pairs).reshape(len(queries), n)
    assert not np.isnan(true).any(), "a distance is no number"
    place = {own: k for k, own in enumerate(ids.tolist())}
    k, rounding = min(7, n), rounding_of(d)
    brute, brute_ids = index.kneighbors(X, n, algorithm="brute")
    assert_near(brute, np.sort(true, axis=1), rounding)
    for algorithm in ("exact", "approximate"):
        distances, found = index.kneighbors(X, k, algorithm=algorithm)
        rows = np.array([[place[own] for own in row] for row in found.tolist()])
        assert_near(distances, np.take_along_axis(true, rows, axis=1), rounding)
        assert all(len(set(row)) == k for row in rows.tolist())
        if algorithm == "exact":
            assert_near(distances, brute[:, :k], rounding)
            assert (found == brute_ids[:, :k]).all() or np.ptp(true) == 0 or ties(brute, k, rounding)
    radius = float(np.median(brute[:, : k + 1]))
    if np.isfinite(radius):
        within, _ = index.radius_neighbors(X, radius)
        room = rounding + 1e-7 * np.abs(brute[np.isfinite(brute)]).max(initial=0.0)
        counts = [(row < radius - room).sum() for row in brute], [(row <= radius + room).sum() for row in brute]
        assert all(low <= len(found) <= high for found, low, high in zip(within, *counts, strict=True))
    if isinstance(index, sm.NeighborIndex):
        index.save(folder / "again")
        again = sm.load(folder / "again", base_distances=bases).kneighbors(X, k)
    else:
        again = out_of_core.kneighbors(index.folder, queries, k) if d.schema.plain else index.kneighbors(X, k)
    np.testing.assert_array_equal(again[0], index.kneighbors(X, k)[0])


def ties(distances, k, rounding):
    """Whether distances are so close to one another that rounding decides which comes first."""
    gaps = np.diff(distances[:, : k + 1], axis=1)
    return bool((gaps <= rounding + 1e-12 * np.abs(distances).max()).any())


CHECKS = {sm.Semimetric: check_distance, sm.NeighborIndex: check_index, sm.ShardedIndex: check_index}
FILES = Attack(drawn(saved_objects.MODELS), attempt, short=40)
ESTIMATORS = Attack(drawn(list(saved_objects.ESTIMATORS)), attempt, short=40)
INDEXES = Attack(drawn(list(saved_objects.INDEXES)), attempt, short=25)
SHARDS = Attack(drawn(list(saved_objects.SHARDS)), attempt, short=12)
NUMBERS = Attack(drawn_numbers, attempt, short=40)
