"""The attacks by name: a new one joins by one row."""

from soak import certificates, models, promises

ATTACKS = {
    "model-files": models.FILES,
    "solvers-agree": certificates.CERTIFICATES,
    "promised-constraints": promises.PROMISES,
}
