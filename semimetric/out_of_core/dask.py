"""A Dask cluster as an `Engine`: Dask schedules calls, moves results and retries; the engine fixes the tree of the sums."""

import asyncio
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from time import monotonic, sleep
from typing import Any, TypeVar

import numpy as np

from .._foundation.errors import ClusterError, InputError, NotSupportedError, SemimetricError
from .._foundation.names import package_version
from .._foundation.optional_imports import optional
from .._foundation.threads import one_blas_thread
from ..data.parts.engine import Call, Engine
from ..data.parts.labeled_parts import LabeledPart, LabeledTable, features_of, loaded
from ..data.parts.readers import column_named, columns_needed, item_rows, named_in, names_of, rows_of
from ..data.parts.row_parts import parse_memory
from ..data.parts.tuples import TargetSpec, TuplePart, TupleTable, tuple_columns
from ..distances.search.sharded import ItemPart


def item_parts(X: Any, block_size: str | int) -> list[ItemPart]:
    """Items in parts: chunks of a Dask array, partitions of a Dask frame, or slices of what is no Dask collection."""
    if not is_dask(X):
        size = max(parse_memory(block_size) // 20_000, 1)
        return [ItemPart(r.name, (r,), 0, len(r)) for r in item_rows(X, size, even=False)]
    return _dask_item_parts(X)


def _dask_item_parts(X: Any) -> list[ItemPart]:
    """Chunks of a Dask array of shape (n, n_features), or partitions of a Dask frame, of unknown lengths."""
    if hasattr(X, "columns"):
        chunks, counts = list(X.to_delayed()), [np.nan] * X.npartitions
    else:
        if X.ndim != 2:
            raise InputError(f"X has shape {X.shape}; (n, n_features) is required")
        chunks, counts = _chunks_of(X), list(_lengths(X, "X"))
    return [ItemPart(f"partition {k} of X", (c,), 0, n) for k, (c, n) in enumerate(zip(chunks, counts, strict=True))]


def is_dask(value: Any) -> bool:
    """Return True if a value is a Dask array, frame or series."""
    return hasattr(value, "__dask_graph__")


def computed(values: Any) -> Any:
    """A Dask collection as an array or a frame in memory; other values as they are."""
    return values.compute() if is_dask(values) else values


def dask_items(X: Any, y: Any, weight: Any) -> tuple[list[LabeledPart], LabeledTable]:
    """Chunks of a Dask array, or partitions of a Dask frame, of labelled items as parts."""
    label_columns = [column_named(values) for values in (y, weight)]
    if hasattr(X, "columns"):
        names = features_of(list(map(str, X.columns)), label_columns, "X")
    else:
        names = tuple(f"x{k}" for k in range(X.shape[1])) if X.ndim == 2 else ()  # _dask_item_parts refuses others
    parts = [LabeledPart(p.name, p.pieces[0], None if np.isnan(p.n) else int(p.n)) for p in _dask_item_parts(X)]
    return parts, LabeledTable(names, *label_columns)


def dask_tuples(tuples: Any, y: Any, weight: Any, items: Any, spec: TargetSpec) -> tuple[list[TuplePart], TupleTable]:
    """Chunks of a Dask array, or partitions of a Dask frame, of tuples as parts; ``items`` is what row numbers are of."""
    called, size = spec.called, spec.kind.size
    item_table = None if items is None else rows_of(items)
    by_row = item_table is not None
    if hasattr(tuples, "columns"):
        columns = list(map(str, tuples.columns))
        names = named_in(columns, spec) if item_table is None else names_of(items, item_table.view().shape[1])
        _check_columns(columns, tuple_columns(spec.kind, names, by_row=by_row), spec)
        chunks, counts = list(tuples.to_delayed()), None
    else:
        if tuples.ndim != (2 if by_row else 3) or tuples.shape[1] != size:
            raise InputError(
                f"{called} have shape {tuples.shape}; (n_{called}, {size}, n_features), or row numbers (n_{called}, {size}) "
                "with preprocessor=, are required"
            )
        names = names_of(items, tuples.shape[2] if item_table is None else item_table.view().shape[1])
        counts = _lengths(tuples, called)
        chunks = _chunks_of(tuples)
    targets = _divided_values(y, counts, len(chunks), "y", called)
    weights = _divided_values(weight, counts, len(chunks), "sample_weight", called)
    members = enumerate(zip(chunks, targets, weights, strict=True))
    return [TuplePart(f"partition {k} of {called}", *given) for k, given in members], TupleTable(names, spec, item_table)


def _chunks_of(array: Any) -> list[Any]:
    """The delayed chunks of an array, one for each chunk of its rows, with all columns together."""
    by_rows = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    return list(by_rows.to_delayed().ravel())


def _lengths(array: Any, name: str) -> tuple[int, ...]:
    """The number of rows of each chunk, which must be known and above 0; ``name`` is what messages call the array."""
    counts = array.chunks[0]
    if np.isnan(counts).any():
        raise InputError(
            f"chunk {int(np.argmax(np.isnan(counts)))} of {name} has an unknown size; call compute_chunk_sizes() first"
        )
    if 0 in counts:
        raise InputError(f"partition {counts.index(0)} of {name} is empty; every part needs some rows: rechunk it")
    return tuple(counts)


def _divided_values(values: Any, counts: Sequence[int] | None, n: int, name: str, called: str) -> list[Any]:
    """The targets or weights of each of n parts: a chunk, a slice, or the name of a column; None where there are none."""
    values = loaded(values)
    if values is None or isinstance(values, str):
        return [values] * n
    if is_dask(values) and not hasattr(values, "chunks"):  # a series; lengths are compared where it is read
        if values.npartitions != n:
            raise InputError(
                f"{name} has {values.npartitions} partitions, the {called} have {n}; repartition one like the other"
            )
        return list(values.to_delayed())
    if counts is None:
        raise InputError(f"{name} is an array beside a frame of unknown lengths; give the name of a column, or a series")
    if values.shape != (sum(counts),):
        raise InputError(f"{name} has shape {values.shape} for {sum(counts)} {called}; one entry a {called[:-1]} is required")
    if is_dask(values):
        return list(values.rechunk((tuple(counts),)).to_delayed().ravel())
    return np.split(np.asarray(values), np.cumsum(counts)[:-1])


def _check_columns(columns: Sequence[str], required: Sequence[str], spec: TargetSpec) -> None:
    missing = [c for c in required if c not in columns]
    if missing or not required:
        which = f": {missing[0]} is missing" if missing else ""
        raise InputError(f"{spec.called} have the columns {', '.join(columns[:6])}; {columns_needed(spec)}{which}")


PATIENCE = 60.0  # seconds in which a first worker must come, or another one after all were lost
_LOST = (
    "the scheduler was lost or restarted, or let go of the work, before all of it was done, and nothing is kept; connect a "
    "client to a scheduler that runs, and call again"
)
_ALL_LOST = "all workers were lost, and none has come back for {:g} s; start some by: dask worker ADDRESS, and call again"
_SILENCE = 2.0  # seconds for which others are waited for when one worker has answered
_CONNECTING, _AGAIN = 10.0, 0.1  # seconds in which a scheduler must answer, and between two questions


def connect(address: str | None = None, *, workers: int | None = None) -> Any:
    """A Dask client: of a scheduler that runs somewhere, or of new processes on this machine.

    Parameters
    ----------
    address : str or None, default None
        Of the scheduler, such as ``"tcp://host:8786"``; None starts processes here.
    workers : int or None, default None
        How many processes are started, of one thread each; None leaves it to Dask.

    Returns
    -------
    distributed.Client

    Raises
    ------
    InputError
        If no scheduler answers there, or no processes can be started here.

    Examples
    --------
    >>> from semimetric import out_of_core
    >>> client = out_of_core.connect()  # doctest: +SKIP
    >>> client.close()  # doctest: +SKIP
    """
    distributed = optional("distributed")
    if address is None:
        try:
            # The scheduler serves pages even if it is given None, at a port that another cluster may have; 0 is any free one.
            return distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"workers={workers}, and no Dask cluster starts on this machine ({error}); ask for fewer workers, or give the "
                "address of a scheduler that runs"
            ) from error
    try:
        return distributed.Client(address, timeout=_CONNECTING)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address} ({error}); start one by: dask scheduler") from error


@cache
def required_versions() -> Mapping[str, str]:
    """Versions that must be the same in this process and on all workers, so that the answers are the same."""
    return {"semimetric": package_version(), "python": f"{sys.version_info[0]}.{sys.version_info[1]}", "numpy": np.__version__}


def check_cluster(client: Any) -> None:
    """Refuse what is no client, a cluster without workers, and workers of other versions."""
    distributed = optional("distributed")
    if not isinstance(client, distributed.Client):
        raise InputError(f"client={client!r} is no Dask client; give distributed.Client(...), or use semimetric.out_of_core")
    end, answers, silent = monotonic() + PATIENCE, dict[str, Any](), dict[str, OSError]()
    while client.status in ("running", "connecting"):
        answers, silent = _asked(client, end - monotonic())
        if answers or monotonic() > end:
            break
        sleep(_AGAIN)
    if client.status not in ("running", "connecting"):
        of = f" of {client.scheduler.address}" if client.scheduler else ""  # which a client that was closed has no more
        raise InputError(f"the client{of} is {client.status}; a client that is connected is required: make a new one")
    if not answers:
        lost = "".join(f"; {address} did not answer ({error})" for address, error in silent.items())
        raise InputError(f"the scheduler has no workers after {PATIENCE:g} s{lost}; start some by: dask worker ADDRESS")
    _check_versions(answers)


def _asked(client: Any, patience: float) -> tuple[dict[str, Any], dict[str, OSError]]:
    """Return the versions that workers answer with, and the errors of those that were lost before they could."""
    try:
        found = client.sync(ask, client, patience, required_versions)
    except (optional("distributed").CancelledError, OSError):
        return {}, {}
    silent = {address: given for address, given in found.items() if isinstance(given, OSError)}
    return {address: given for address, given in found.items() if address not in silent}, silent


async def ask(client: Any, patience: float, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """Return the result of ``function(*args)`` on each worker, or its error; those silent long after the first are left out.

    Each is asked by itself, since Dask waits for long for one that dies while it is asked.
    """
    asked = {asyncio.ensure_future(_ask_one(client, address, function, *args)) for address in await client.nthreads()}
    end, waiting, found = monotonic() + patience, asked, dict[str, Any]()
    while waiting and monotonic() < end:
        done, waiting = await asyncio.wait(waiting, timeout=end - monotonic(), return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            found |= task.result()
        if any(not isinstance(given, OSError) for given in found.values()):
            end = min(end, monotonic() + _SILENCE)
    for task in waiting:
        task.cancel()
    return found


async def _ask_one(client: Any, address: str, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
    try:
        return dict(await client.run(function, *args, workers=[address], on_error="return"))
    except OSError as error:
        return {address: error}


def _check_versions(answers: Mapping[str, Any]) -> None:
    for address, found in answers.items():
        if isinstance(found, BaseException):
            raise NotSupportedError(f"worker {address} cannot run semimetric ({found}); install {package_version()} there")
        _check_same(address, found, required_versions())


def _check_same(address: str, there: Mapping[str, str], here: Mapping[str, str]) -> None:
    differ = [f"{name} {there[name]} there, {version} here" for name, version in here.items() if there[name] != version]
    if differ:
        raise NotSupportedError(f"worker {address} has other versions ({', '.join(differ)}); install the same on both sides")


def check_here(required: Mapping[str, str]) -> None:
    """Refuse to work in this worker if its versions are others: it may have joined after the cluster was checked."""
    if required_versions() != required:
        _check_same(optional("distributed").get_worker().address, required_versions(), required)


@contextmanager
def telling(client: Any) -> Iterator[None]:
    """Turn errors of the cluster itself into one sentence; errors of the work, and Ctrl-C, pass."""
    try:
        yield
    except SemimetricError:
        raise
    except optional("distributed").KilledWorker as error:
        raise ClusterError(
            f"{error.allowed_failures + 1} workers were lost while they worked on the same part, the last of them "
            f"{error.last_worker.address}: they were killed, or short of memory; give smaller parts, or workers more of it"
        ) from error
    except (optional("distributed").CancelledError, optional("distributed.comm").CommClosedError) as error:
        raise ClusterError(_LOST) from error
    except Exception as error:
        if client.status != "running":
            raise ClusterError(_LOST) from error
        _check_versions(_asked(client, _SILENCE)[0])
        raise


T = TypeVar("T")

_WATCHED = 1.0  # seconds between two looks at whether any worker is there
_CALLED = 10.0  # seconds in which workers must have called what is called everywhere
_ANCHOR_BYTES = 1 << 26
_AHEAD = 2  # calls for each thread of the workers that are submitted at a time


class Cluster(Engine):
    """The workers of a Dask client."""

    def __init__(self, client: Any) -> None:
        check_cluster(client)
        self.client = client

    def each(self, function: Callable[..., T], parts: Sequence[Any], *shared: Any) -> Iterator[T]:
        """The results, from calls that are all submitted at once; this process holds all of them."""
        with telling(self.client):
            return iter(self._results(self._calls(function, parts, shared)))

    def each_near(self, function: Callable[..., T], parts: Sequence[Any], near: Sequence[int], *shared: Any) -> Iterator[T]:
        """The results of calls for tuples; those of one first member and one number in ``near`` run on one worker, if possible.

        Each such couple has an anchor, which is a result that claims to be large. Dask sends calls to the worker that holds it,
        and makes it again if that worker is lost. Calls bound to the address of a worker would wait for ever if all workers
        were lost at once, since new workers have new addresses.
        """
        with telling(self.client), _futures() as futures:
            for part, k in zip(parts, near, strict=True):
                futures.append(self._submitted(function, part, k, shared))
            return iter(self._gathered(futures))

    def drain(self, function: Callable[..., Any], following: Callable[[], Call | None], *shared: Any) -> None:
        """Make calls near their first members, of which every thread of a worker has one at hand while it runs another."""
        running: dict[Any, Call] = {}
        with telling(self.client), _futures() as futures:
            width, seen = self.width, monotonic()
            while True:
                while len(running) < _AHEAD * width and (call := following()) is not None:
                    futures.append(self._submitted(function, call.part, call.near, shared))
                    running[futures[-1]] = call
                if not running:
                    return
                done = _first_done(list(running))
                if not done:
                    seen = self._check_alive(seen)
                    width = self.width
                for future in done:
                    result, call = future.result(), running.pop(future)
                    futures.remove(future)
                    future.release()
                    seen = monotonic()
                    call.then(result)

    def _submitted(self, function: Callable[..., Any], part: tuple[Any, ...], near: int, shared: tuple[Any, ...]) -> Any:
        """The future of a call for a tuple, which goes to the worker that holds the anchor of its first member."""
        anchors = vars(self.client).setdefault("_semimetric_anchors", {})  # they are kept as long as the client
        anchor = anchors.get((part[0], near))
        if anchor is None or anchor.status not in ("pending", "finished"):
            anchor = anchors[part[0], near] = self.client.submit(_Anchor, part[0], pure=False)
        return self.client.submit(_near, required_versions(), function, anchor, part[1:], *shared, pure=False)

    def _check_alive(self, seen: float) -> float:
        """Return when a worker was last seen; a ClusterError where that is too long ago."""
        if self.client.nthreads():
            return monotonic()
        if monotonic() - seen > PATIENCE:
            raise ClusterError(_ALL_LOST.format(PATIENCE))
        return seen

    @property
    def width(self) -> int:
        """The number of threads of all workers together, at least 1."""
        with telling(self.client):
            return max(sum(self.client.nthreads().values()), 1)

    def total(self, function: Callable[..., T], add: Callable[[T, T], T], parts: Sequence[Any], *shared: Any) -> T:
        """The sum along the tree of `tree_sum`; terms are added by a worker that holds one of them."""
        level, plus = self._calls(function, parts, shared), optional("dask").delayed(add, traverse=False)
        while len(level) > 1:
            pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
            level = [plus(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        with telling(self.client):
            return self._results(level)[0]

    def persist(self, function: Callable[..., Any], parts: Sequence[Any], *shared: Any) -> Sequence[Any]:
        """Results kept in the memory of the workers, and made again where one is lost."""
        with telling(self.client), _large_graphs():
            return list(self.client.persist(self._calls(function, parts, shared)))

    def everywhere(self, function: Callable[..., Any], *args: Any) -> None:
        """Call the function on every worker at once, beside what it computes; workers that are lost are left out."""
        with suppress(OSError, RuntimeError, ValueError):  # the connection is lost
            self.client.sync(ask, self.client, _CALLED, function, *args)

    def _calls(self, function: Callable[..., Any], parts: Sequence[Any], shared: tuple[Any, ...]) -> list[Any]:
        delayed = optional("dask").delayed
        call = delayed(_called, traverse=False)
        versions, called, *delayed_shared = (
            delayed(value, traverse=False) for value in (required_versions(), function, *shared)
        )
        return [call(versions, called, part, *delayed_shared) for part in parts]  # what they share is in the graph once

    def _results(self, calls: list[Any]) -> list[Any]:
        with _futures() as futures:
            with _large_graphs():
                futures.extend(self.client.compute(calls))
            return self._gathered(futures)

    def _gathered(self, futures: list[Any]) -> list[Any]:
        """The results of futures, in this process, with Dask's progress bar on a terminal."""
        return list(self.client.sync(_gather_watched, self.client, futures))


@contextmanager
def _futures() -> Iterator[list[Any]]:
    """A list of futures that are let go of at the end, so that an error or Ctrl-C takes back the calls that have not begun."""
    futures: list[Any] = []
    try:
        yield futures
    finally:
        for future in futures:
            future.release()


def _first_done(futures: list[Any]) -> list[Any]:
    """The futures that are done as soon as one is; none after a while."""
    try:
        return list(optional("distributed").wait(futures, timeout=_WATCHED, return_when="FIRST_COMPLETED").done)
    except TimeoutError:
        return []


async def _gather_watched(client: Any, futures: list[Any]) -> list[Any]:
    """The results of futures, unless all workers are lost and none comes back: Dask alone would wait for ever."""
    waiting, seen = {asyncio.ensure_future(client.gather(futures, asynchronous=True))}, monotonic()
    results = next(iter(waiting))
    if sys.stderr.isatty():
        bar = optional("distributed.diagnostics.progressbar").TextProgressBar(futures, start=False)
        waiting.add(asyncio.ensure_future(bar.listen()))
    try:
        while not results.done():
            await asyncio.wait({results}, timeout=_WATCHED)
            seen = monotonic() if results.done() or await client.nthreads() else seen
            if monotonic() - seen > PATIENCE:
                raise ClusterError(_ALL_LOST.format(PATIENCE))
        return list(results.result())
    finally:
        for task in waiting:
            task.cancel()


def _called(versions: Mapping[str, str], function: Callable[..., T], part: Any, *shared: Any) -> T:
    """The result of one call, with the versions and one thread of BLAS as in the calling process: so the bits are the same."""
    check_here(versions)
    with one_blas_thread():
        return function(part, *shared)


class _Anchor:
    """A value on one worker that claims to be large, so that Dask sends calls that take it to that worker."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __sizeof__(self) -> int:  # Dask compares it with the size of the other arguments of a call
        return _ANCHOR_BYTES


def _near(versions: Mapping[str, str], function: Callable[..., T], anchor: _Anchor, rest: tuple[Any, ...], *shared: Any) -> T:
    return _called(versions, function, (anchor.value, *rest), *shared)


class _large_graphs(warnings.catch_warnings):
    """Silences Dask's warning of large graphs: shared arguments are in the graph so that lost workers can be replaced."""

    def __enter__(self) -> None:  # the base class may return a list of warnings
        super().__enter__()
        warnings.filterwarnings("ignore", message="Sending large graph")
