from .programs.losses import Loss as Loss
from .programs.penalties import Penalty as Penalty
from .programs.program import ConvexProgram as ConvexProgram
from .programs.program import CvxpyProgram as CvxpyProgram
from .solvers.auto import choose as choose
from .solvers.base import Repair as Repair
from .solvers.base import Solution as Solution
from .solvers.base import Solver as Solver
from .solvers.base import Status as Status

__all__ = [
    "ConvexProgram",
    "CvxpyProgram",
    "Loss",
    "Penalty",
    "Repair",
    "Solution",
    "Solver",
    "Status",
    "choose",
]
