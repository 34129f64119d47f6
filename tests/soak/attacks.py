"""The attacks by name: a new one joins by one row."""

from soak import growth, models

ATTACKS = {
    "growing-memory": growth.GROWTH,
    "model-files": models.FILES,
}
