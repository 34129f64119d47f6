"""The attacks by name: a new one joins by one row."""

from soak import killed_savers, models

ATTACKS = {
    "killed-savers": killed_savers.SAVES,
    "model-files": models.FILES,
}
