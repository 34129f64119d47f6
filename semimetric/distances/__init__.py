"""The wing of distances: pairs, programs, the learned distance, search under it, and the estimators that learn it.

It stands on `_foundation`, `_kernels` and `data`.
Names of `semimetric` itself are not repeated here.
"""

from .._foundation.names import lazy_names

_HOMES = {
    "programs.losses": "Loss",
    "programs.penalties": "Penalty",
    "programs.program": "ConvexProgram CvxpyProgram",
    "solvers.auto": "choose",
    "solvers.base": "Repair Solution Solver Status",
}
__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES, (), {})
