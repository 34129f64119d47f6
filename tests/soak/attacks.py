"""The attacks by name: a new one joins by one row."""

from soak import exact_search, interrupted_search, models

ATTACKS = {
    "model-files": models.FILES,
    "exact-search": exact_search.EXACT,
    "search-magnitudes": exact_search.MAGNITUDES,
    "interrupted-search": interrupted_search.INTERRUPTED,
}
