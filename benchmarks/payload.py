"""What does a condition on a text column of the payload cost, beside the same search among a mask of the same items?

Items of four features have two columns of text: "brand" with 20 different texts, and "name" with one for each item. They are
saved as one shard and as twenty, and loaded. "load_s" opens every shard, with its checks. "first_ms" is the first search after
it, the other times are medians of later ones, in milliseconds of one query.

    python benchmarks/payload.py [--points 1000000]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from report import once, report, seconds

from semimetric import Semimetric, ShardedIndex
from semimetric.distances.search.shard_files import close

CONDITIONS = {
    "brand ==": "brand == 'brand 7'", "brand in": "brand in ('brand 7', 'brand 8')", "brand >": "brand > 'brand 7'",
    "name ==": "name == 'item 77'", "name !=": "name != 'item 77'", "name <": "name < 'item 5'",
}  # fmt: skip


def rows_of(n: int, n_shards: int) -> list[dict]:
    """A row for each condition on an index of n items in so many shards."""
    rng = np.random.default_rng(0)
    X, numbers = rng.random((n, 4)), np.arange(n)
    texts = {"brand": np.array([f"brand {k}" for k in range(20)], dtype=object)[rng.integers(0, 20, n)]}
    texts["name"] = np.array([f"item {k}" for k in numbers], dtype=object)
    with tempfile.TemporaryDirectory() as folder:
        root = str(Path(folder).resolve() / "index")
        ShardedIndex.build(root, Semimetric.l1(X), X, n_shards=n_shards, payload=texts).kneighbors(X[:1], 1)
        rows = []
        for name, text in CONDITIONS.items():
            close(root)  # so that this process opens the shards again
            load, index = once(lambda: ShardedIndex(root))
            first, _ = once(lambda index=index, text=text: index.kneighbors(X[:1], 1, where=text))
            later = seconds(lambda index=index, text=text: index.kneighbors(X[:1], 1, where=text))
            mask = chosen(texts, name)
            by_mask = seconds(lambda index=index, mask=mask: index.kneighbors(X[:1], 1, where=mask))
            times = {"load_s": load, "first_ms": first * 1e3, "later_ms": later * 1e3, "mask_ms": by_mask * 1e3}
            rows.append({"points": n, "shards": n_shards, "condition": name} | {k: round(v, 2) for k, v in times.items()})
    return rows


def chosen(texts: dict[str, np.ndarray], name: str) -> np.ndarray:
    """The mask of the items for which a condition of `CONDITIONS` holds."""
    brand, item = texts["brand"].astype(str), texts["name"].astype(str)
    return {
        "brand ==": brand == "brand 7", "brand in": np.isin(brand, ["brand 7", "brand 8"]), "brand >": brand > "brand 7",
        "name ==": item == "item 77", "name !=": item != "item 77", "name <": item < "item 5",
    }[name]  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    points = parser.parse_args().points
    rows_of(1000, 2)  # kernels are compiled
    report("text conditions on payload", [row for n in (points // 10, points) for s in (1, 20) for row in rows_of(n, s)])
