"""The attacks by name: a new one joins by one row."""

from soak import models, promises

ATTACKS = {
    "model-files": models.FILES,
    "promised-constraints": promises.PROMISES,
}
