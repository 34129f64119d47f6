"""A saved object taken apart into members, and put together again with digests that fit: what somebody with intent would do.

Members are bytes by name. The large arrays of an index are called ``SEGMENT/NAME`` after what the index calls them, so that one
can be changed, and its file gets the name of its new digest. Nothing here uses the package, but for the digest of a distance.
"""

import hashlib
import io
import json
import shutil
import zipfile

import numpy as np

EPOCH = (1980, 1, 1, 0, 0, 0)


def array_of(content):
    return np.load(io.BytesIO(content), allow_pickle=False)


def bytes_of(array):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(array), allow_pickle=False)
    return out.getvalue()


def unzipped(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def digest_of(members):
    total = hashlib.sha256()
    for name in sorted(members):
        for part in (name.encode(errors="surrogatepass"), members[name]):
            total.update(len(part).to_bytes(8, "little"))
            total.update(part)
    return total.hexdigest()


def zip_members(path, members, tricks=()):
    """Write an archive whose header has the digest of the other members; ``tricks`` are further entries that it gets."""
    members = dict(members)
    header = members.pop("header.json", None)
    try:
        values = json.loads(header)
        values["digest"] = digest_of(members | {"class": values["class"].encode(errors="surrogatepass")})
        header = json.dumps(values).encode()
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
        pass  # the header itself was changed beyond repair
    if header is not None:
        members = {"header.json": header} | members
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
        for name, content, method, times in tricks:
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = method
            with archive.open(entry, "w", force_zip64=True) as member:
                for _ in range(times):
                    member.write(content)


class File:
    """A model file."""

    def __init__(self, path):
        self.members, self.tricks = unzipped(path), []

    def write(self, path):
        zip_members(path, self.members, self.tricks)


class Folder:
    """An index: the members of its file, and its large arrays."""

    FILE = "index.smm"

    def __init__(self, path):
        self.members, self.tricks = unzipped(path / self.FILE), []
        self.segments = json.loads(self.members["state.json"])["segments"]
        for k, names in enumerate(self.segments):
            for name, digest in names.items():
                self.members[f"{k}/{name}"] = (path / "arrays" / f"{digest}.npy").read_bytes()

    def write(self, path):
        (path / "arrays").mkdir(parents=True)
        small = dict(self.members)
        digests = [{} for _ in self.segments]
        for k, names in enumerate(self.segments):
            for name in names:
                content = small.pop(f"{k}/{name}", None)
                if content is not None:
                    digests[k][name] = hashlib.sha256(content).hexdigest()
                    (path / "arrays" / f"{digests[k][name]}.npy").write_bytes(content)
        small["state.json"] = self._renamed(small.get("state.json", b""), digests)
        zip_members(path / self.FILE, small, self.tricks)

    def _renamed(self, state, digests):
        """The state with the new digest in place of each old one, wherever it still stands."""
        text = state.decode(errors="surrogateescape")
        for old, new in zip(self.segments, digests, strict=True):
            for name, digest in old.items():
                text = text.replace(f'"{name}": "{digest}"', f'"{name}": "{new.get(name, digest)}"')
        return text.encode(errors="surrogateescape")


class Shards:
    """A folder of shards: the members of its file, and those of every shard."""

    FILE = "shards.smm"

    def __init__(self, path):
        self.tricks = []
        self.names = sorted(p.name for p in path.iterdir() if p.is_dir())
        self.parts = [Folder(path / name) for name in self.names]
        self.members = {f"top/{name}": content for name, content in unzipped(path / self.FILE).items()}
        for k, part in enumerate(self.parts):
            self.members |= {f"shard {k}/{name}": content for name, content in part.members.items()}

    def write(self, path):
        path.mkdir()
        text = self.members.get("top/state.json", b"").decode(errors="surrogateescape")
        try:
            old = json.loads(text)
        except (ValueError, RecursionError):
            old = None  # the digests of the shards are left as they are
        for k, (name, part) in enumerate(zip(self.names, self.parts, strict=True)):
            prefix = f"shard {k}/"
            part.members = {n[len(prefix) :]: c for n, c in self.members.items() if n.startswith(prefix)}
            part.write(path / name)
            digest = hashlib.sha256((path / name / Folder.FILE).read_bytes()).hexdigest()
            for shard in old.get("shards", ()) if isinstance(old, dict) and isinstance(old.get("shards"), list) else ():
                if isinstance(shard, dict) and shard.get("name") == name and isinstance(shard.get("digest"), str):
                    text = text.replace(f'"{shard["digest"]}"', f'"{digest}"') if len(shard["digest"]) == 64 else text
        top = {n.removeprefix("top/"): c for n, c in self.members.items() if n.startswith("top/")}
        if "state.json" in top:
            top["state.json"] = text.encode(errors="surrogateescape")
        zip_members(path / self.FILE, top, self.tricks)


def copied(path, target):
    """A copy of a saved object as it is."""
    (shutil.copytree if path.is_dir() else shutil.copy)(path, target)
