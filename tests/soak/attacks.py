"""The attacks by name: a new one joins by one row."""

from soak import full_disk, interrupted, killed_savers, killed_workers, models, readers

ATTACKS = {
    "full-disk": full_disk.SAVES,
    "interrupted": interrupted.CALLED,
    "killed-savers": killed_savers.SAVES,
    "killed-workers": killed_workers.KILLS,
    "model-files": models.FILES,
    "readers-beside-writer": readers.READS,
}
