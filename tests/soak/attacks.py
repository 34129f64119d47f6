"""The attacks by name: a new one joins by one row."""

from soak import models

ATTACKS = {
    "model-files": models.FILES,
    "index-folders": models.INDEXES,
    "shard-folders": models.SHARDS,
}
