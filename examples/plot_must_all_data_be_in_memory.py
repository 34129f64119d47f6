"""Must all data be in memory to learn a distance, and to search by it?
====================================================================

Three hundred thousand pairs are in a file. A fit in memory loads them all. In blocks, the same sums are added up block by
block, and give the same distance. A limit of memory says how large the blocks may be. Beside them, the sample of items among
which knots are placed stays in memory. It takes most of the 31 MB here, whatever the limit. Neighbours are then found in a
folder of shards. Each is a small index that is mapped rather than loaded. Every shard proves its own nearest items, so that
together they are those of one index. Learning from classes works in the same way: targets and impostors are searched in
shards, and triplets are made block by block.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from semimetric import DistanceRegressor, LargeMarginLearner, NeighborIndex, ShardedIndex, Triplets, out_of_core

rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "pairs.npy"
pairs = rng.random((300_000, 2, 4))
bent = np.stack([pairs[..., 0] ** 3, 0.5 * pairs[..., 1], np.sqrt(pairs[..., 2]), 0.1 * pairs[..., 3]], axis=-1)
target = np.abs(bent[:, 0] - bent[:, 1]).sum(axis=1)
np.save(file, pairs)
megabytes = pairs.nbytes / 1e6
del pairs, bent


def peak(learn):
    """Return a model, and the megabytes that learning took at its peak."""
    tracemalloc.start()
    model = learn(DistanceRegressor(n_knots=6, alpha=1e-4))
    most = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return model, most


whole, at_once = peak(lambda model: model.fit(np.load(file), target))
limits = [4, 16, 64]
models, peaks = zip(
    *(peak(lambda model, limit=limit: out_of_core.fit(model, file, target, memory_limit=f"{limit} MB")) for limit in limits),
    strict=True,
)
test = rng.random((1000, 2, 4))
for limit, model, most in zip(limits, models, peaks, strict=True):
    apart = np.abs(model.predict(test) / whole.predict(test) - 1).max()
    print(f"under {limit} MB: at most {most:.1f} MB at a time, and distances within {apart:.0e} of one fit ({at_once:.0f} MB)")

items, queries = rng.random((5_000, 4)), rng.random((200, 4))
d = whole.semimetric_
shards = ShardedIndex.build(Path(folder.name) / "items", d, items, n_shards=4)
near, ids = shards.kneighbors(queries, 10)
expected, same = NeighborIndex(d).fit(items).kneighbors(queries, 10)
print(f"{100 * (ids == same).mean():.0f} % of the neighbours found in {len(shards.shards)} shards are those of one index")

kinds = (items[:1000, 0] ** 3 + 0.5 * items[:1000, 1] > 0.5).astype(int)
options = {"n_knots": 6, "alpha": 1e-2, "directions": None, "tables": "warped", "triplets": Triplets(n_passes=1)}
blocks = out_of_core.fit(LargeMarginLearner(**options), items[:1000], kinds, memory_limit="2 MB")
once = LargeMarginLearner(**options).fit(items[:1000], kinds)
print(f"from classes: objective {blocks.solution_.objective:.6f} in blocks, {once.solution_.objective:.6f} at once")

figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
names = [f"in blocks,\nunder {limit} MB" for limit in limits] + ["one fit"]
axes[0].bar(names, [*peaks, at_once], color=["C0"] * len(limits) + ["C3"])
axes[0].axhline(megabytes, color="k", linestyle="--", label="the pairs")
axes[0].set(title="Memory that learning takes", ylabel="megabytes at most")
axes[0].legend()
axes[1].plot(expected.ravel(), near.ravel(), ".", markersize=3)
axes[1].axline((0, 0), slope=1, color="grey", linewidth=0.5)
axes[1].set(title="Ten neighbours of 200 queries", xlabel="distance, one index", ylabel="distance, four shards")
figure.suptitle("Must all data be in memory to learn a distance, and to search by it?")
plt.show()
folder.cleanup()
