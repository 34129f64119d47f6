"""The attacks by name: a new one joins by one row."""

from soak import (
    certificates,
    command_lines,
    exact_search,
    full_disk,
    growth,
    hostile_input,
    interrupted_calls,
    interrupted_fits,
    interrupted_search,
    killed_savers,
    killed_workers,
    models,
    promises,
    readers,
)

ATTACKS = {
    "growing-memory": growth.GROWTH,
    "interrupted-fits": interrupted_fits.FITTED,
    "command-lines": command_lines.COMMAND_LINES,
    "hostile-input": hostile_input.INPUT,
    "model-files": models.FILES,
    "estimator-files": models.ESTIMATORS,
    "solvers-agree": certificates.CERTIFICATES,
    "promised-constraints": promises.PROMISES,
    "exact-search": exact_search.EXACT,
    "search-magnitudes": exact_search.MAGNITUDES,
    "interrupted-search": interrupted_search.INTERRUPTED,
    "index-folders": models.INDEXES,
    "shard-folders": models.SHARDS,
    "full-disk": full_disk.SAVES,
    "interrupted": interrupted_calls.CALLED,
    "killed-savers": killed_savers.SAVES,
    "killed-workers": killed_workers.KILLS,
    "readers-beside-writer": readers.READS,
}
