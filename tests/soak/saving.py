"""Everything that the package writes: how an old and a new state of it are saved, and what tells which of them is there."""

import re
import tempfile
from functools import cache, cached_property
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from searches import rough_distance, search_problem

from semimetric import Grid, NeighborIndex, ShardedIndex, load, out_of_core

__all__ = ["SAVERS", "inventory", "problem"]


_PAGE = 4096


class Known(NamedTuple):
    """Answers and inventories of both states, bytes of the new on a disk of pages, and seconds to come to it from the old."""

    answers: tuple
    inventories: tuple
    size: int
    seconds: float


def inventory(folder):
    """The files and folders below a folder; their tokens and digests are left out."""
    return sorted(re.sub("[0-9a-f]{32,}", "*", str(path.relative_to(folder))) for path in folder.rglob("*"))


@cache
def problem():
    """A distance, items and queries; another distance on the same items."""
    d, items, queries = search_problem(400)
    return d, rough_distance(Grid.fit(items, n_knots=5), seed=1, low=0.05), items, queries


class Saver:
    """One kind of what is written to a path: state 0 is the old one, and state 1 the new one."""

    name = "saved"

    def save(self, path, state):
        """Write a state, over what is there."""
        raise NotImplementedError

    def change(self, path):
        """Write the new state where the old one is, the way a user would come to it."""
        self.save(path, 1)

    def answers(self, path, way="load"):
        """What users get from what is there, as bytes; FileNotFoundError where there is nothing.

        It is loaded, or mapped, or asked where it is.
        """
        queries = problem()[3]
        found = (
            out_of_core.kneighbors(path, queries, 5) if way == "ask" else load(path, mmap=way == "map").kneighbors(queries, 5)
        )
        return b"".join(array.tobytes() for array in found)

    def state(self, path):
        """Which state is there; anything else is an error."""
        return self.known.answers.index(self.answers(path))

    @cached_property
    def known(self):
        """What is true of both states where nothing goes wrong."""
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            path, found = Path(folder) / self.name, []
            for k in (0, 1):
                start = perf_counter()
                self.save(path, 0) if k == 0 else self.change(path)
                seconds = perf_counter() - start
                found.append((self.answers(path), inventory(path.parent)))
            size = sum(-(-file.stat().st_size // _PAGE) * _PAGE for file in Path(folder).rglob("*") if file.is_file())
        (old, few), (new, many) = found
        assert old != new
        return Known((old, new), (few, many), size, seconds)


class Model(Saver):
    def save(self, path, state):
        problem()[state].save(path)

    def answers(self, path, way="load"):
        items = problem()[2]
        return load(path).paired(items[:50], items[50:100]).tobytes()


class Index(Saver):
    def save(self, path, state):
        NeighborIndex(problem()[state]).fit(problem()[2]).save(path)


class ChangedIndex(Index):
    """An index that is loaded, changed and saved where it was."""

    def save(self, path, state):
        index = NeighborIndex(problem()[0]).fit(problem()[2])
        (index.add(problem()[3]).remove([1, 2]) if state else index).save(path)

    def change(self, path):
        load(path).add(problem()[3]).remove([1, 2]).save(path)


class Shards(Saver):
    def save(self, path, state):
        ShardedIndex.build(path, problem()[state], problem()[2], n_shards=3)


class ChangedShards(Shards):
    def save(self, path, state):
        index = ShardedIndex.build(path, problem()[0], problem()[2], n_shards=3)
        if state:
            index.add(problem()[3])

    def change(self, path):
        ShardedIndex(path).add(problem()[3])


class Rebalanced(ChangedShards):
    """Shards that hold the same before and after, so what is there is told by their number."""

    def save(self, path, state):
        ShardedIndex.build(path, problem()[0], problem()[2], n_shards=2 if state else 3)

    def change(self, path):
        ShardedIndex(path).rebalance(2)

    def answers(self, path, way="load"):
        index = load(path, mmap=way == "map")
        return bytes([len(index.shards)]) + index.ids_.tobytes()


class Pairwise(Saver):
    """A file of distances, which is never written over: the old state is that there is none."""

    name = "saved.parquet"

    def save(self, path, state):
        if state:
            out_of_core.pairwise(problem()[0], problem()[2], to=path, memory_limit="300 kB")

    def answers(self, path, way="load"):
        import pandas as pd  # it takes seconds

        return pd.read_parquet(path).to_numpy().tobytes() if path.exists() else b""


SAVERS = {
    "model": Model(),
    "index": Index(),
    "changed index": ChangedIndex(),
    "shards": Shards(),
    "changed shards": ChangedShards(),
    "rebalanced shards": Rebalanced(),
    "pairwise distances": Pairwise(),
}
