"""Shards: ordinary saved indexes in one folder, and one verified file that says which belong together.

    shards.smm     digests of the distance and of every shard's index.smm, which names the shard's arrays by their digests
    shard-TOKEN/   a saved `NeighborIndex`

A shard is never changed. A new one is written into a folder of its own and moved beside it. Then ``shards.smm`` is renamed
over the old one, and folders that it does not name are deleted. A process killed at any moment leaves the last
consistent whole; what else it leaves is deleted by the next change.
"""

import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from ..._foundation.errors import InputError, SemimetricError, StorageError
from ..._foundation.files import State, check_regular, file_digest, read_state, read_whole, real_path, write_state
from ..._foundation.stored import Members, located, state_of
from ..._foundation.unfinished import discard, resumable_folder, undoing, unfinished_folder, uninterrupted
from ..model.semimetric import Semimetric
from .files import FILE as INDEX
from .index import NeighborIndex
from .query_tables import SIDES

T = TypeVar("T")

FILE = "shards.smm"
_KIND, _PREFIX, _BUILT = "ShardedIndex", "shard-", "shards"
_RECORD = "BuiltShard"
_NAME, _DIGEST = re.compile(_PREFIX + "[0-9a-f]{32}"), re.compile("[0-9a-f]{64}")
_OPENED = 1024  # A process keeps at most so many shards open; their items are mapped.


@dataclass(frozen=True)
class Shard:
    """Name of its folder, digest of its index file, number of items, and the kind of ids: integers ("i") or text ("U")."""

    name: str
    digest: str
    n: int
    kind: str

    @classmethod
    def read(cls, members: Members) -> "Shard":
        """Return the shard that a folder names, which can be no other folder and no other file."""
        shard = cls(members.text("name"), members.text("digest"), members.whole("n"), members.text("kind"))
        members.done()
        if not _NAME.fullmatch(shard.name) or not _DIGEST.fullmatch(shard.digest) or shard.kind not in ("i", "U"):
            raise StorageError(f"{str(shard)[:200]} is no shard; restore the file, or build the index again")
        return shard


@dataclass(frozen=True)
class ShardLocation:
    """The location of a shard, and the digest of its distance (empty for an index alone), small enough to be sent anywhere."""

    root: str
    shard: Shard
    distance: str
    base_distances: tuple[Any, ...] = ()
    mmap: bool = True
    key: bytes | None = field(default=None, repr=False)  # of an index alone; the file that names shards vouches for them

    def open(self) -> NeighborIndex:
        """Return the shard, verified and opened once a process; a StorageError names a shard that is not as saved."""
        index = _OPEN.get(self)
        if index is None:
            index = _opened(self)
        with _LOCK:
            _OPEN.pop(self, None)
            _OPEN[self] = index  # The shard that was used last comes last.
            while len(_OPEN) > _OPENED:
                del _OPEN[next(iter(_OPEN))]
        return index


def shard_locations(
    folder: str | os.PathLike[str], *, base_distances: Sequence[Any] = (), mmap: bool = True, key: bytes | None = None
) -> list[ShardLocation]:
    """Return locations of the shards of a folder; of a saved `NeighborIndex`, its own."""
    root, options = real_path(folder), (tuple(base_distances), mmap)
    if (root / FILE).is_file() or not (root / INDEX).is_file():
        distance, shards = read_shards(root, key=key)
        return [ShardLocation(str(root), shard, distance, *options) for shard in shards]
    check_regular(root / INDEX)
    alone = Shard(".", file_digest(root / INDEX), -1, "i")
    index = ShardLocation(str(root), alone, "", *options, key).open()
    return [ShardLocation(str(root), replace(alone, n=index.n_samples_fit_), "", *options, key)]


def read_locations(folder: str | os.PathLike[str], read: Callable[[list[ShardLocation]], T], **options: Any) -> T:
    """Call ``read`` with the locations of a folder, see `shard_locations`; again where the index was changed meanwhile."""
    root = real_path(folder)
    return read_whole(root / (FILE if (root / FILE).is_file() else INDEX), lambda: read(shard_locations(root, **options)))


_OPEN: dict[ShardLocation, NeighborIndex] = {}
_LOCK = Lock()


def close(root: str) -> None:
    """Let go of the shards of a folder that is to be deleted: files that stay mapped keep their room on the disc."""
    with _LOCK:
        for location in [p for p in _OPEN if p.root == root]:
            del _OPEN[location]


def _opened(location: ShardLocation) -> NeighborIndex:
    folder, shard = Path(location.root) / location.shard.name, location.shard
    if not (folder / INDEX).is_file():
        raise StorageError(f"shard {shard.name} of {location.root} is missing; restore its folder, or build the index again")
    if file_digest(folder / INDEX) != shard.digest:
        raise StorageError(
            f"shard {shard.name} of {location.root} is not the one that {FILE} names: it is foreign, or was saved by itself; "
            "restore it, or build the index again"
        )
    try:
        index = NeighborIndex.load(folder, mmap=location.mmap, base_distances=location.base_distances, key=location.key)
    except SemimetricError as error:
        raise type(error)(f"shard {shard.name}: {error}") from error
    if location.distance and distance_digest(index.semimetric) != location.distance:
        raise StorageError(
            f"shard {shard.name} of {location.root} is from another distance than the others; build it again under theirs"
        )
    found = (index.n_samples_fit_, index.segments_[0].ids.dtype.kind, index.segments_[0].view.side)
    if location.distance and found != (shard.n, shard.kind, SIDES[0]):
        raise StorageError(
            f"shard {shard.name} of {location.root} has {found[0]} items with ids of the kind {found[1]!r}, {found[2]}; {FILE} "
            f"says {shard.n} of the kind {shard.kind!r}, {SIDES[0]}: restore it, or build the index again"
        )
    return index


def distance_digest(semimetric: Semimetric) -> str:
    """Return SHA-256 of the values and arrays that a saved distance consists of, in hexadecimal digits."""
    state = state_of(semimetric)
    digest = hashlib.sha256(json.dumps(state.values, sort_keys=True).encode())
    for name in sorted(state.arrays):
        array = np.ascontiguousarray(state.arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


@contextmanager
def new_root(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Return the folder of an index; if it was not there, it is made, and deleted if it is empty in the end."""
    root = real_path(folder)
    unfinished = root.is_dir() and all(p.name.startswith((_PREFIX, f".{_BUILT}.", f".{FILE}.")) for p in root.iterdir())
    if root.exists() and not (root / FILE).is_file() and not unfinished:
        raise StorageError(f"{root} is there and is no sharded index; give another folder")
    if not root.parent.is_dir():
        raise StorageError(f"cannot write {root}: the folder {root.parent} does not exist; create it first")
    is_new = not root.exists()

    def undo() -> None:
        with suppress(OSError):  # it is not empty
            if is_new:
                root.rmdir()

    with undoing(undo):
        root.mkdir(exist_ok=True)
        yield root
        undo()


def building(root: Path) -> AbstractContextManager[Path]:
    """Return a folder to save new shards in, from which `switch` takes them; what it does not take is deleted.

    Workers may still save shards when the call that asked for them has failed; then they find no folder.
    """
    return unfinished_folder(root / _BUILT)


@contextmanager
def resuming(root: Path) -> Iterator[Path]:
    """Return the same as `building`, in which shards of an earlier call are, and which stays if this block fails."""
    with resumable_folder(root / f".{_BUILT}") as built:
        yield built
        with uninterrupted():
            discard(built)


def record_built(root: str | os.PathLike[str], digest: str, shard: Shard) -> None:
    """Record that a shard of the folder ``root``, which `resuming` opened, is complete, by a digest of what it was made of."""
    write_state(Path(root) / f"{digest}.smm", State(_RECORD, asdict(shard)))


def built_before(root: str | os.PathLike[str], digest: str) -> Shard | None:
    """Return the complete shard that was made of the same, if there is one in ``root``; it is verified when it is opened."""
    path = Path(root) / f"{digest}.smm"
    if not path.is_file():
        return None
    state = read_state(path)
    if state.kind != _RECORD:
        raise StorageError(f"{path} holds a {state.kind}, not a record of a shard; delete it")
    with located(path):
        shard = Shard.read(Members(state.values, state.arrays))
    index = Path(root) / shard.name / INDEX
    return shard if index.is_file() and file_digest(index) == shard.digest else None


def save_shard(root: str | os.PathLike[str], index: NeighborIndex, old: Path | None = None) -> Shard:
    """Save an index as a new shard in ``root``; arrays of the saved index ``old`` that it keeps are linked, not copied."""
    if not Path(root).is_dir():
        raise InputError(
            f"there is no folder {root} here; a sharded index needs storage that every machine sees, and that nobody deletes"
        )
    name = _PREFIX + uuid.uuid4().hex
    folder = Path(root) / name
    if old is not None:
        with suppress(OSError):  # where the storage has no links, saving writes every array
            folder.mkdir()
            (folder / "arrays").mkdir()
            for path in (old / "arrays").iterdir():
                os.link(path, folder / "arrays" / path.name)
    index.save(folder)
    return Shard(name, file_digest(folder / INDEX), index.n_samples_fit_, index.segments_[0].ids.dtype.kind)


def shard_size(n_features: int, limit: int) -> int:
    """Return the number of items in a shard, so that building it takes at most about ``limit`` bytes."""
    return max(limit // (40 * n_features + 200), 1)


def switch(root: Path, distance: str, shards: Sequence[Shard], built: Path, *, key: bytes | None = None) -> None:
    """Let ``shards``, some from the folder ``built``, be the index from now on, and delete the folders of all others."""
    state = State(_KIND, {"distance": distance, "shards": [asdict(s) for s in shards]})
    with uninterrupted():
        try:
            for shard in shards:
                if (built / shard.name).is_dir():
                    os.replace(built / shard.name, root / shard.name)
            write_state(root / FILE, state, key=key)
        except OSError as error:
            raise StorageError(
                f"{root} could not be written ({error.strerror or error}) and has not changed; try again"
            ) from error
        finally:
            with suppress(StorageError):  # nobody knows what an index of another key names
                used = {s.name for s in read_shards(root, key=key)[1]} if (root / FILE).is_file() else set()
                for path in root.glob(f"{_PREFIX}*"):
                    if path.name not in used:
                        discard(path)


def read_shards(folder: str | os.PathLike[str], *, key: bytes | None = None) -> tuple[str, list[Shard]]:
    """Return the digest of the distance, and the shards, that the folder names, signed if there is a key."""
    path = Path(folder) / FILE
    state = read_state(path, key=key)
    if state.kind != _KIND:
        raise StorageError(f"{path} holds a {state.kind}, not a sharded index; restore it")
    with located(path):
        members = Members(state.values, state.arrays)
        distance, shards = members.text("distance"), [Shard.read(part) for part in members.parts("shards")]
        members.done()
        if not _DIGEST.fullmatch(distance):
            raise StorageError(f"the distance is {distance[:80]!r}, which is no digest; restore the file, or build it again")
        if not shards or len({s.name for s in shards}) < len(shards) or len({s.kind for s in shards}) > 1:
            raise StorageError("there are no shards, or one is named twice, or their ids are of two kinds; restore the file")
    return distance, shards
