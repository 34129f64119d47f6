"""The attacks by name: a new one joins by one row."""

from soak import certificates, exact_search, growth, interrupted_search, interrupts, models, promises

ATTACKS = {
    "growing-memory": growth.GROWTH,
    "interrupted-fits": interrupts.FITS_ATTACK,
    "model-files": models.FILES,
    "solvers-agree": certificates.CERTIFICATES,
    "promised-constraints": promises.PROMISES,
    "exact-search": exact_search.EXACT,
    "search-magnitudes": exact_search.MAGNITUDES,
    "interrupted-search": interrupted_search.INTERRUPTED,
    "index-folders": models.INDEXES,
    "shard-folders": models.SHARDS,
}
