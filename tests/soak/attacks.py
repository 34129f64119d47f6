"""The attacks by name: a new one joins by one row."""

from soak import growth, interrupts, models

ATTACKS = {
    "growing-memory": growth.GROWTH,
    "interrupted-fits": interrupts.FITS_ATTACK,
    "model-files": models.FILES,
}
