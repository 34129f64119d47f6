"""The attacks by name: a new one joins by one row."""

from soak import certificates, growth, interrupts, models, promises

ATTACKS = {
    "growing-memory": growth.GROWTH,
    "interrupted-fits": interrupts.FITS_ATTACK,
    "model-files": models.FILES,
    "solvers-agree": certificates.CERTIFICATES,
    "promised-constraints": promises.PROMISES,
}
